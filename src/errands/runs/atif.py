"""Episodes in the Agent Trajectory Interchange Format (ATIF), for other people's tools.

The first step is the user's: the page on which the episode began. Every action is a step of the
agent, with the tool calls that it was read as, and with the page that came of it as their
result. Only fields of ATIF 1.4 are used, so that readers of that and of all later versions take
it; what the format has no field for (rewards, parts, fingerprints) is under `extra`. Steps have
no timestamp, since only the duration of each is kept.
"""

import re
from typing import Any, Final

import errands
from errands.runs.episode import Episode, RunInfo, Step
from errands.shop.navigation import parse_action
from errands.turk.actions.grammar import GrammarError, parse_answer

__all__ = ["SCHEMA", "trajectory", "valid_text"]

SCHEMA: Final = "ATIF-v1.4"

_HALF_PAIRS: Final = re.compile("[\ud800-\udfff]")

Call = tuple[str, dict[str, Any]]


def trajectory(episode: Episode, info: RunInfo) -> dict[str, Any]:
    """One episode as an ATIF document."""
    summary = episode.summary
    pages = [step.observation for step in episode.steps] + [episode.last]
    first = pages[0]
    if first is None:
        first = f"{info.protocol_key}: {summary.key} (the pages of this run were not kept)"
    steps: list[dict[str, Any]] = [{"step_id": 1, "source": "user", "message": first}]
    for place, step in enumerate(episode.steps):
        steps.append(_agent_step(place + 2, step, pages[place + 1], info.domain))
    document: dict[str, Any] = {
        "schema_version": SCHEMA,
        "session_id": f"{info.id}-{summary.number}",
        "agent": _agent(info),
        "steps": steps,
        "final_metrics": {
            "total_prompt_tokens": summary.tokens_in,
            "total_completion_tokens": summary.tokens_out,
            "total_cost_usd": summary.cost,
            "total_steps": len(steps),
            "extra": {
                "reward": summary.reward,
                "success": summary.success,
                "seconds": summary.seconds,
                "parts": summary.parts,
                "states": summary.states,
                "items": summary.items,
                "searches": summary.searches,
            },
        },
        "extra": {
            "run": info.id,
            "started": info.started,
            "protocol": info.protocol_key,
            "checksum": info.checksum,
            "seed": info.seed,
            "insider": info.privileged,
            "remarks": list(info.remarks),
            "versions": info.versions,
            "number": summary.number,
            "key": summary.key,
            "status": summary.status,
            "last_digest": episode.last_digest,
        },
    }
    if summary.status == "error":
        document["notes"] = f"Not scored, {summary.owner} failed: {summary.error}"
        document["extra"]["owner"] = summary.owner
        document["extra"]["error"] = summary.error
    whole: dict[str, Any] = valid_text(document)
    return whole


def _agent(info: RunInfo) -> dict[str, Any]:
    agent: dict[str, Any] = {
        "name": info.agent,
        "version": info.versions.get("errands", errands.__version__),
        "extra": {"settings": info.agent_settings},
    }
    if isinstance(model := info.agent_settings.get("model"), str):
        agent["model_name"] = model
    return agent


def _agent_step(number: int, step: Step, came: str | None, domain: str) -> dict[str, Any]:
    made: dict[str, Any] = {"step_id": number, "source": "agent", "message": step.action}
    if step.thought:
        made["reasoning_content"] = step.thought
    calls = _shop_calls(step.action) if domain == "shop" else _form_calls(step.action)
    names = [f"call_{number}_{place}" for place in range(1, len(calls) + 1)]
    if calls:
        made["tool_calls"] = [
            {"tool_call_id": name, "function_name": function, "arguments": arguments}
            for name, (function, arguments) in zip(names, calls, strict=True)
        ]
    # All calls of a step are carried out before the page is shown again: it is the last one's.
    source = {"source_call_id": names[-1]} if names else {}
    results = [{**source, "content": text} for text in (came, step.message) if text]
    if results:
        made["observation"] = {"results": results}
    if step.tokens_in or step.tokens_out or step.cost:
        made["metrics"] = {
            "prompt_tokens": step.tokens_in,
            "completion_tokens": step.tokens_out,
            "cost_usd": step.cost,
        }
    made["extra"] = {"reward": step.reward, "seconds": step.seconds, "digest": step.digest}
    return made


def _shop_calls(action: str) -> list[Call]:
    name, argument = parse_action(action)
    if argument is None or name not in ("search", "click"):
        return []
    return [(name, {"query" if name == "search" else "target": argument})]


def _form_calls(action: str) -> list[Call]:
    try:
        return [(call.name, dict(call.arguments)) for call in parse_answer(action)]
    except GrammarError:
        return []


def valid_text(value: Any) -> Any:
    """The same value with the replacement character for halves of surrogate pairs, which no file
    in UTF-8 can hold. The store keeps them as they were."""
    if isinstance(value, str):
        # `isascii` is told from a flag, and most texts are.
        return value if value.isascii() else _HALF_PAIRS.sub("\ufffd", value)
    if isinstance(value, dict):
        return {valid_text(key): valid_text(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [valid_text(item) for item in value]
    return value

"""ATIF documents keep the format's rules, as its specification words them."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from errands.runs.atif import trajectory
from errands.runs.episode import Episode, RunInfo, Step, Summary

SHOP = RunInfo(
    id="r7",
    protocol={"id": "demo"},
    protocol_key="demo@1",
    domain="shop",
    agent="llm",
    agent_settings={"model": "small", "temperature": 0.5},
    episodes=2,
    seed=3,
    observations="full",
    checksum="abc",
    versions={"errands": "0.3"},
)
FORM = msgspec.structs.replace(SHOP, domain="turk", agent_settings={})

KEYS = {
    "document": {
        "schema_version",
        "session_id",
        "agent",
        "steps",
        "notes",
        "final_metrics",
        "extra",
    },
    "agent": {"name", "version", "model_name", "extra"},
    "step": {
        *("step_id", "timestamp", "source", "model_name", "reasoning_effort", "message"),
        *("reasoning_content", "tool_calls", "observation", "metrics", "extra"),
    },
    "call": {"tool_call_id", "function_name", "arguments"},
    "result": {"source_call_id", "content"},
    "metrics": {"prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd", "extra"},
    "final": {
        *("total_prompt_tokens", "total_completion_tokens", "total_cached_tokens"),
        *("total_cost_usd", "total_steps", "extra"),
    },
}
AGENT_ONLY = {"model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics"}


def check(document: dict[str, Any]) -> None:
    """The rules that readers of ATIF enforce: known keys, numbered steps, calls that exist."""
    assert document.keys() <= KEYS["document"]
    assert document["schema_version"] == "ATIF-v1.4"
    assert isinstance(document["session_id"], str)
    assert {"name", "version"} <= document["agent"].keys() <= KEYS["agent"]
    assert document["final_metrics"].keys() <= KEYS["final"]
    assert document["final_metrics"]["total_steps"] == len(document["steps"]) > 0
    for place, step in enumerate(document["steps"], 1):
        assert {"step_id", "source", "message"} <= step.keys() <= KEYS["step"]
        assert step["step_id"] == place
        assert isinstance(step["message"], str)
        assert step["source"] in ("user", "agent")
        if step["source"] == "user":
            assert not step.keys() & AGENT_ONLY
        calls = step.get("tool_calls", [])
        assert all(call.keys() == KEYS["call"] for call in calls)
        assert all(isinstance(call["arguments"], dict) for call in calls)
        names = {call["tool_call_id"] for call in calls}
        assert len(names) == len(calls)
        for result in step.get("observation", {}).get("results", []):
            assert result.keys() <= KEYS["result"]
            assert result.get("source_call_id") in names | {None}
        assert step.get("metrics", {}).keys() <= KEYS["metrics"]


def episode(*steps: Step, last: str | None = None, **more: Any) -> Episode:
    about: dict[str, Any] = {"status": "done", "reward": 0.5, "success": False, **more}
    summary = Summary(number=4, key="goal 4", steps=len(steps), seconds=1.0, **about)
    return Episode(summary=summary, steps=steps, last_digest="z", last=last)


def test_an_episode_in_the_shop() -> None:
    made = trajectory(
        episode(
            Step("search[red shoes]", observation="a search page", thought="I need shoes."),
            Step("click[b01]", observation="results", tokens_in=9, tokens_out=2, cost=0.1),
            Step("think about it", observation="an item", digest="d"),
            last="a thank-you page",
            tokens_in=9,
            tokens_out=2,
            cost=0.1,
        ),
        SHOP,
    )
    check(made)
    assert made["session_id"] == "r7-4"
    assert made["agent"]["model_name"] == "small"
    user, search, click, nonsense = made["steps"]
    assert user == {"step_id": 1, "source": "user", "message": "a search page"}
    assert search["reasoning_content"] == "I need shoes."
    [call] = search["tool_calls"]
    assert (call["function_name"], call["arguments"]) == ("search", {"query": "red shoes"})
    assert search["observation"]["results"] == [
        {"source_call_id": call["tool_call_id"], "content": "results"}
    ]
    assert "metrics" not in search
    assert click["tool_calls"][0]["arguments"] == {"target": "b01"}
    assert click["metrics"] == {"prompt_tokens": 9, "completion_tokens": 2, "cost_usd": 0.1}
    assert "tool_calls" not in nonsense
    assert nonsense["observation"]["results"] == [{"content": "a thank-you page"}]
    assert nonsense["extra"]["digest"] == "d"
    assert made["final_metrics"]["extra"]["reward"] == 0.5
    assert made["final_metrics"]["total_cost_usd"] == 0.1


def test_an_episode_of_paperwork() -> None:
    answer = "modify_text('q1', 'yes')\nmodify_radio('q2', 'no')\nsubmit()"
    made = trajectory(
        episode(Step("modify_text(", message="The call is not closed."), Step(answer)), FORM
    )
    check(made)
    assert "model_name" not in made["agent"]
    first, wrong, right = made["steps"]
    assert first["message"] == "demo@1: goal 4 (the pages of this run were not kept)"
    assert wrong["observation"]["results"] == [{"content": "The call is not closed."}]
    assert [(call["function_name"], call["arguments"]) for call in right["tool_calls"]] == [
        ("modify_text", {"name": "q1", "value": "yes"}),
        ("modify_radio", {"name": "q2", "value": "no"}),
        ("submit", {}),
    ]
    assert "observation" not in right


def test_an_error_is_no_score() -> None:
    made = trajectory(
        episode(status="error", reward=None, success=None, owner="page", error="It broke."), SHOP
    )
    check(made)
    assert made["notes"] == "Not scored, page failed: It broke."
    assert made["final_metrics"]["extra"]["reward"] is None
    assert (made["extra"]["owner"], made["extra"]["error"]) == ("page", "It broke.")


TEXTS = st.text(st.characters(codec=None), max_size=20)
ACTIONS = TEXTS | st.sampled_from(["search[a[b]]", "click[]", "submit()", '{"name": "submit"}'])


@given(
    st.lists(st.builds(Step, action=ACTIONS, observation=st.none() | TEXTS, message=TEXTS)),
    st.none() | TEXTS,
    st.dictionaries(TEXTS, TEXTS),
    st.sampled_from([SHOP, FORM]),
)
def test_whatever_was_played_keeps_the_rules(
    steps: list[Step], last: str | None, parts: dict[str, str], info: RunInfo
) -> None:
    made = trajectory(episode(*steps, last=last, parts=parts, error=str(last)), info)
    check(made)
    assert msgspec.json.decode(msgspec.json.encode(made)) == made

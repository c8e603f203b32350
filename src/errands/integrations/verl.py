"""verl: an agent loop that plays episodes, and the files that verl reads them from.

    train = open_episodes("shop-learn-train", max_steps=15, training=True)
    print(*prepare("data", [train]))        # files, and the settings that name them to verl

A loop is made for each trajectory and holds its episode; verl's own loop makes the prompt, parses
the calls and masks what the model did not write. It ends with the call that ended the episode, so
that the reward is on a token of the model's.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from typing import Any, Final

from errands.agents.llm.tools import EpisodeTools, ToolError, call_tool
from errands.errors import SettingError
from errands.home import real
from errands.integrations.episodes import ToolEpisodes, open_episodes
from errands.integrations.frameworks import require

require("verl")

import pyarrow  # noqa: E402
import pyarrow.parquet  # noqa: E402
from verl.experimental.agent_loop.agent_loop import AgentLoopOutput, register  # noqa: E402
from verl.experimental.agent_loop.tool_agent_loop import (  # noqa: E402
    AgentData,
    AgentState,
    ToolAgentLoop,
)
from verl.experimental.agent_loop.tool_parser import FunctionCall  # noqa: E402
from verl.tools.function_tool import FunctionTool  # noqa: E402
from verl.tools.schemas import OpenAIFunctionToolSchema, ToolResponse  # noqa: E402

__all__ = ["ErrandsAgentLoop", "prepare", "rows"]

_AGENT: Final = "errands"
_LOOPS: Final = f"- name: {_AGENT}\n  _target_: errands.integrations.verl.ErrandsAgentLoop\n"


def rows(*episodes: ToolEpisodes, evaluation: bool = False) -> Iterator[dict[str, Any]]:
    """A row of verl's data for each episode: its first messages, and how a worker opens it. With
    `evaluation` it may be of a split for testing."""
    for one in episodes:
        if not evaluation:
            one.check_training()
        if one.pointer:
            raise SettingError(
                f"The pages of {one.protocol.id!r} are worked with a browser, which verl's event"
                " loop cannot wait for; expected the shop, or form pages with driver='dom'."
            )
        opening = json.dumps(one.options)
        for number in range(len(one)):
            yield {
                "data_source": one.key,
                "agent_name": _AGENT,
                "prompt": one.conversation(number)[1],
                "reward_model": {"style": "rule", "ground_truth": ""},
                "extra_info": {"index": number, "episodes": opening},
            }


def prepare(
    folder: str | PathLike[str],
    train: Iterable[ToolEpisodes],
    test: Iterable[ToolEpisodes] = (),
) -> list[str]:
    """Write the data and the list of agent loops, and give the settings by which verl finds
    them; what is tested on is never trained on."""
    place = real(folder)
    place.mkdir(parents=True, exist_ok=True)
    tables = {"train": list(rows(*train)), "val": list(rows(*test, evaluation=True))}
    if not tables["train"]:
        raise SettingError(
            "verl needs episodes to train on; pass"
            " [open_episodes('shop-learn-train', training=True)]."
        )
    settings = []
    for name, table in tables.items():
        if table:
            file = place / f"{name}.parquet"
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(table), file)
            settings.append(f"data.{name}_files={file}")
    loops = place / "agent_loops.yaml"
    loops.write_text(_LOOPS)
    return [*settings, f"actor_rollout_ref.rollout.agent.agent_loop_config_path={loops}"]


@register(_AGENT)
class ErrandsAgentLoop(ToolAgentLoop):
    """One trajectory: an episode that a model plays by calling its tools."""

    episode: EpisodeTools

    async def run(
        self, sampling_params: dict[str, Any], priority: int = 0, **row: Any
    ) -> AgentLoopOutput:
        """Play the episode of a row of `rows`, and score it."""
        episodes, number = _episode(row)
        self.episode, _ = episodes.begin(number)
        self.tool_schemas = [spec.function() for spec in self.episode.specs]
        self.tools = {
            spec.name: FunctionTool(
                spec.name,
                getattr(self.episode, spec.name),
                OpenAIFunctionToolSchema.model_validate(spec.function()),
            )
            for spec in self.episode.specs
        }
        output = await super().run(sampling_params, priority, **row)
        result = episodes.result(self.episode)
        output.reward_score = result.pop("reward")
        output.extra_fields["reward_extra_info"] = {
            **result,
            # verl's name, for the reward before it is rounded to 32 bits.
            "score": output.reward_score,
            "success": float(result["success"]),
            "done": float(result["done"]),
            "reward_parts": json.dumps(result["reward_parts"]),
        }
        return output

    async def _handle_processing_tools_state(self, agent_data: AgentData) -> AgentState:
        tokens = agent_data.prompt_ids, agent_data.response_mask, agent_data.response_logprobs
        state = await super()._handle_processing_tools_state(agent_data)
        if not self.episode.done:
            return state
        # Nobody answers the last page; a reward behind it would be on a masked token, which
        # generalised advantage estimation passes over.
        agent_data.prompt_ids, agent_data.response_mask, agent_data.response_logprobs = tokens
        return AgentState.TERMINATED

    async def _call_tool(
        self, tool_call: FunctionCall, tools_kwargs: Mapping[str, Any], agent_data: AgentData
    ) -> tuple[ToolResponse, None, dict[str, Any]]:
        """Pages are shown whole: verl would cut them to `max_tool_response_length`. What the model
        did wrong it is told; any other failure ends the rollout, as it is none of the model's."""
        try:
            text = call_tool(self.episode, tool_call.name, tool_call.arguments)
        except ToolError as failure:
            text = str(failure)
        return ToolResponse(text=text), None, {}


def _episode(row: Mapping[str, Any]) -> tuple[ToolEpisodes, int]:
    """What a row plays; a sentence where it is not one of `rows`, or the data are others now."""
    extra = row.get("extra_info") or {}
    try:
        episodes = open_episodes(**json.loads(extra["episodes"]))
        number = int(extra["index"])
    except (KeyError, TypeError, ValueError):
        raise SettingError(
            "A row of the data names no episode in its extra_info; write the files anew with"
            " errands.integrations.verl.prepare."
        ) from None
    if row.get("data_source") != episodes.key:
        raise SettingError(
            f"The data were written for {row.get('data_source')!r}, and here is {episodes.key!r};"
            " write the files anew with errands.integrations.verl.prepare."
        )
    return episodes, number

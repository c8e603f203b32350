"""Inspect: `inspect eval errands/webshop -T protocol=shop-demo`, and `errands/turkingbench`.

Inspect finds the tasks by an entry point and imports this module whenever it looks for extensions,
so nothing of a domain is imported before a task is made. A sample's store holds its episode as a
value, which is logged; tools carry it on, and the scorer plays it again.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from errands.errors import ErrandsError, SettingError
from errands.integrations.frameworks import require

require("inspect")

from inspect_ai import Task, task  # noqa: E402
from inspect_ai._util.error import PrerequisiteError  # noqa: E402
from inspect_ai.dataset import MemoryDataset, Sample  # noqa: E402
from inspect_ai.model import (  # noqa: E402
    ChatMessage,
    ChatMessageSystem,
    ChatMessageUser,
    execute_tools,
)
from inspect_ai.scorer import (  # noqa: E402
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    Value,
    ci,
    ci_wilson,
    mean,
    metric,
    scorer,
    stderr,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver  # noqa: E402
from inspect_ai.tool import ToolDef, ToolError, ToolParams  # noqa: E402
from inspect_ai.util import StoreModel, store_as  # noqa: E402
from pydantic import Field  # noqa: E402
from rich.markup import escape  # noqa: E402

if TYPE_CHECKING:
    from errands.agents.llm.tools import EpisodeTools, ToolSpec
    from errands.integrations.episodes import ToolEpisodes

__all__ = [
    "SampleEpisode",
    "episode_score",
    "episode_tools",
    "play_episode",
    "reward_interval",
    "success_interval",
    "turkingbench",
    "webshop",
]

_CLUSTER: Final = "cluster"
_MOST_STEPS: Final = 1_000
"""Of an episode whose protocol has no limit."""
_MESSAGES: Final[dict[str, Callable[..., ChatMessage]]] = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
}


class SampleEpisode(StoreModel):
    """A sample's episode as a value: what is played, and the calls so far."""

    row: dict[str, Any] = Field(default_factory=dict)
    calls: list[dict[str, Any]] = Field(default_factory=list)
    done: bool = False


@task
def webshop(
    protocol: str = "shop-demo",
    data: str | None = None,
    split: str | None = None,
    episodes: int | None = None,
    max_steps: int | None = None,
    shots: int = 1,
) -> Task:
    """Shopping by instruction: search, choose options, buy.

    Args:
        protocol: A protocol of the shop (`errands protocols`), or FILE.toml#name.
        data: Another catalogue.
        split: Another split of its goals.
        episodes: So many, from the beginning.
        max_steps: Steps of an episode.
        shots: 1: the rules have a worked example; 0: they have none.
    """
    changes = {"data": data, "split": split, "episodes": episodes, "max_steps": max_steps}
    return _made("shop", protocol, changes, shots)


@task
def turkingbench(
    protocol: str = "turk-demo",
    data: str | None = None,
    split: str | None = None,
    episodes: int | None = None,
    max_steps: int | None = None,
    per_task: int | None = None,
    driver: str | None = None,
) -> Task:
    """Crowd workers' form pages: read, fill in, submit.

    Args:
        protocol: A protocol of form pages (`errands protocols`), or FILE.toml#name.
        data: Another folder of tasks.
        split: Another split of them.
        episodes: So many pages, from the beginning.
        max_steps: Steps of an episode.
        per_task: At most so many pages of each task.
        driver: How pages are opened: auto, dom or browser.
    """
    changes = {"data": data, "split": split, "episodes": episodes, "max_steps": max_steps}
    return _made("turk", protocol, {**changes, "per_task": per_task, "driver": driver}, 1)


@solver
def episode_tools(protocol: str, changes: dict[str, Any]) -> Solver:
    """Begin a sample's episode, and offer its tools; runs before any solver, a user's own too."""
    episodes = _opened(protocol, changes)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.store_as(SampleEpisode).row = state.metadata["row"]
        live = _LiveEpisode(episodes)
        state.tools = [*state.tools, *(_tool(spec, live) for spec in episodes.specs)]
        return state

    return solve


@solver
def play_episode() -> Solver:
    """Ask the model for calls until the episode is over; not once more after that."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        while not (state.completed or state.store_as(SampleEpisode).done):
            state = await generate(state, tool_calls="none")
            if state.output.stop_reason == "model_length":
                break
            if state.output.message.tool_calls:
                called = await execute_tools(state.messages, state.tools)
                state.messages.extend(called.messages)
            else:
                reminder = "That was no call of a tool, and nothing has changed: call a tool."
                state.messages.append(ChatMessageUser(content=reminder))
        return state

    return solve


@metric
def reward_interval() -> Metric:
    """The mean's interval by clusters, within what a mean can be."""
    clustered = ci(cluster=_CLUSTER)

    def interval(scores: list[SampleScore]) -> Value:
        bounds = clustered(scores)
        return {side: min(max(bound, 0.0), 1.0) for side, bound in bounds.items()}

    return interval


@metric
def success_interval() -> Metric:
    """Wilson's interval by clusters; without them where there is but one."""
    clustered, plain = ci_wilson(cluster=_CLUSTER), ci_wilson()

    def interval(scores: list[SampleScore]) -> Value:
        clusters = {(score.sample_metadata or {}).get(_CLUSTER) for score in scores}
        bounds: Value = (clustered if len(clusters) > 1 else plain)(scores)
        return bounds

    return interval


@scorer(
    metrics={
        "reward": [mean(), stderr(cluster=_CLUSTER), reward_interval()],
        "success": [mean(), success_interval()],
        "steps": [mean()],
    }
)
def episode_score(protocol: str, changes: dict[str, Any] | None = None) -> Scorer:
    """The environment's own reward, of the sample's calls played again."""
    with _told_to_user():
        episodes = _opened(protocol, changes or {})

    async def score(state: TaskState, target: Target) -> Score:
        played = state.store_as(SampleEpisode)
        result = episodes.result(episodes.at({**played.row, "calls": played.calls}))
        value = {name: float(result[name]) for name in ("reward", "success", "steps")}
        return Score(value=value, metadata=result)

    return score


class _LiveEpisode:
    """The episode that the store tells of, kept as long as the store tells of no other: a sample
    that was forked or restored is played again from its state."""

    def __init__(self, episodes: "ToolEpisodes") -> None:
        self._episodes = episodes
        self._tools: EpisodeTools | None = None

    def at(self, state: SampleEpisode) -> "EpisodeTools":
        value = {**state.row, "calls": state.calls}
        if self._tools is None or self._tools.state != value:
            self._tools = self._episodes.at(value)
        return self._tools


def _tool(spec: "ToolSpec", live: _LiveEpisode) -> ToolDef:
    from errands.agents.llm import tools as errands_tools

    async def execute(**kwargs: Any) -> str:
        state = store_as(SampleEpisode)
        tools = live.at(state)
        try:
            return errands_tools.call_tool(tools, spec.name, kwargs)
        except errands_tools.ToolError as problem:
            raise ToolError(str(problem)) from None
        finally:
            state.calls = list(tools.calls)
            state.done = tools.done

    return ToolDef(
        execute,
        spec.name,
        spec.description,
        ToolParams.model_validate(spec.parameters),
        max_output=0,  # The protocol says how much of a page is shown.
    )


@contextlib.contextmanager
def _told_to_user() -> Iterator[None]:
    """What a user can mend, as the error that Inspect shows without a traceback."""
    try:
        yield
    except ErrandsError as problem:
        raise PrerequisiteError(escape(str(problem))) from None


def _made(domain: str, protocol: str, changes: dict[str, Any], shots: int) -> Task:
    given = {name: value for name, value in changes.items() if value is not None}
    with _told_to_user():
        episodes = _checked(domain, protocol, given, shots)
        samples = [_sample(episodes, number, shots) for number in range(len(episodes))]
    steps = episodes.protocol.max_steps
    return Task(
        dataset=MemoryDataset(samples, name=episodes.protocol.id),
        setup=episode_tools(protocol, given),
        solver=play_episode(),
        scorer=episode_score(protocol, given),
        # A step is a message of the model's and its answer; some end even where steps do not.
        message_limit=len(samples[0].input) + 2 * (steps or _MOST_STEPS),
        version=episodes.protocol.version,
        metadata={"protocol": episodes.key},
        headline_metric="episode_score.reward",
    )


def _checked(domain: str, protocol: str, changes: dict[str, Any], shots: int) -> "ToolEpisodes":
    for name, value in (("protocol", protocol), *changes.items()):
        kind = int if name in ("episodes", "max_steps", "per_task") else str
        if not isinstance(value, kind) or isinstance(value, bool):
            expected = "a whole number" if kind is int else "a text"
            raise SettingError(f"-T {name}={value!r}: expected {expected}.")
    if shots not in (0, 1):
        raise SettingError(f"-T shots={shots!r}: expected 0 or 1.")
    episodes = _opened(protocol, changes)
    if episodes.domain != domain:
        right = "webshop" if episodes.domain == "shop" else "turkingbench"
        raise SettingError(
            f"The protocol {protocol!r} is none of this task's; run"
            f" inspect eval errands/{right} -T protocol={protocol}."
        )
    return episodes


def _opened(protocol: str, changes: dict[str, Any]) -> "ToolEpisodes":
    from errands.integrations.episodes import open_episodes

    return open_episodes(protocol, **changes)


def _sample(episodes: "ToolEpisodes", number: int, shots: int) -> Sample:
    _, messages = episodes.conversation(number)
    if not shots:
        from errands.agents.llm.shop.tools import opening_messages

        messages[0] = opening_messages(shots=0)[0]
    return Sample(
        id=number,
        input=[_MESSAGES[one["role"]](content=one["content"]) for one in messages],
        metadata={
            "episode": episodes.name(number),
            "row": episodes.row(number),
            _CLUSTER: episodes.cluster(number),
        },
    )

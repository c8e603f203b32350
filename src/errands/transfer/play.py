"""Playing an agent in a real shop, goal by goal, with everything that happens written down."""

import asyncio
import contextlib
import datetime
import hashlib
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

import errands as package
from errands.agents.agent import AgentFactory, EndOfRun
from errands.agents.registry import find_kind, make_factory
from errands.agents.views import chosen_observation
from errands.envs.observations import Observation
from errands.errors import DataError, SettingError
from errands.runs.episode import Episode, Summary
from errands.runs.play import PlayConfig, agent_for, play, play_waiting
from errands.runs.protocol import Protocol
from errands.transfer.environment import LiveShopEnv
from errands.transfer.fetch.fetcher import Fetch, RequestPolicy, RequestRecord
from errands.transfer.goals import TransferGoal
from errands.transfer.journal import (
    EndLine,
    PurchaseLine,
    RequestLine,
    RunLine,
    ScoreLine,
    StartLine,
    StepLine,
    TransferJournal,
    TransferRun,
    read_run,
)
from errands.transfer.sites.site import SiteReader

__all__ = ["TransferConfig", "default_file", "score_of", "transfer"]


class TransferConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How a run is played, and where it is written."""

    agent: str
    out: Path
    """The run's file."""
    resume: bool = False
    """Whether to go on with the run that `out` holds."""
    settings: Mapping[str, Any] = {}
    """Of the agent."""
    seed: int = 0
    pages: str = ""
    """Where pages come from, in words."""
    observation: str = ""
    """What the agent is shown; what it can read if empty."""
    rules: str = "released"
    details: bool = False
    """This and the next are those of `LiveShopEnv`."""
    stand_in: bool = False
    max_steps: int | None = 50
    per_episode: int = 60
    """The most requests of an episode, and of the run."""
    per_run: int = 3_000
    seconds: float | None = 1800.0
    """The longest that an episode may take."""


class _Track:
    """Writes each step down as it happens."""

    def __init__(self, journal: TransferJournal, number: int) -> None:
        self._journal = journal
        self._number = number
        self._states: set[tuple[str, str, int]] = set()
        self._items: set[int] = set()
        self._searches = 0

    def saw(self, env: Any, observation: Any, action: str, info: Mapping[str, Any]) -> None:
        episode = env.episode
        state = episode.page.state
        self._states.add((state.page, state.query, state.product))
        if state.product >= 0:
            self._items.add(state.product)
        self._searches += action.startswith("search[")
        self._journal.write(
            StepLine(
                episode=self._number,
                action=_sound(action),
                page=state.page,
                site_url=episode.site_url,
                observation=_sound(observation) if isinstance(observation, str) else "",
            )
        )
        if episode.purchase is not None:
            self._journal.write(PurchaseLine(episode=self._number, purchase=episode.purchase))

    def figures(self) -> dict[str, Any]:
        return {
            "states": len(self._states), "items": len(self._items), "searches": self._searches,
        }  # fmt: skip

    def parts(self, env: Any, info: dict[str, Any]) -> dict[str, Any]:
        return dict(info.get("reward_parts", {}))


def _sound(text: str) -> str:
    """A text that can be written down: a model may say half a character."""
    return text.encode("utf-8", "replace").decode("utf-8")


class _LiveSource:
    """The goals of a run, as `errands.runs.play` sees them."""

    waits = True
    observation_version = ""
    remarks: tuple[str, ...] = ()
    checksum = verified = ""

    def __init__(
        self, env: LiveShopEnv, count: int, journal: TransferJournal, max_steps: int | None
    ) -> None:
        site = env.live.site.name
        self.observation: Observation = env.config.observation
        self.protocol = Protocol(
            id=f"transfer-{site}", version=1, title=f"Transfer to {site}", domain="shop",
            data=site, max_steps=max_steps,
        )  # fmt: skip
        self.title = self.protocol.title
        self.keys: Sequence[str] = [f"errand {number}" for number in range(count)]
        self.clusters: Sequence[str] = self.keys
        self.key = self.protocol.id
        self.number = 0
        self._env = env
        self._journal = journal

    def env(self) -> LiveShopEnv:
        return self._env

    def options(self, number: int) -> dict[str, Any]:
        return {"goal": number}

    def track(self) -> _Track:
        return _Track(self._journal, self.number)

    def write_request(self, record: RequestRecord) -> None:
        fields = msgspec.structs.asdict(record)
        fields["seconds"] = round(record.seconds, 4)
        self._journal.write(RequestLine(episode=self.number, **fields))

    def close(self) -> None:
        """Nothing is open."""


def transfer(
    goals: Sequence[TransferGoal],
    site: SiteReader,
    fetch: Fetch,
    config: TransferConfig,
    on_episode: Callable[[Summary, ScoreLine | None], None] = lambda summary, score: None,
) -> tuple[TransferRun, str]:
    """Play the goals that have no end yet, with pages from `fetch`; gives the run, and why it
    ended early, if it did."""
    agent = config.agent
    if ":" not in agent and find_kind(agent).privileged:
        raise SettingError(f"The agent {agent!r} is shown the answers; a real shop has none.")
    before = read_run(config.out) if config.resume and config.out.exists() else None
    policy = RequestPolicy(
        fetch,
        site,
        per_episode=config.per_episode,
        per_run=config.per_run,
        sent=before.requests if before else 0,
    )
    env = LiveShopEnv(
        goals,
        site,
        policy,
        observation=chosen_observation(agent, "shop", config.observation or None, "text_rich"),
        rules=config.rules,
        max_steps=config.max_steps,
        details=config.details,
        stand_in=config.stand_in,
    )
    ended = ""
    with contextlib.closing(make_factory(agent, "shop", env, config.settings)) as factory:
        info = _info(goals, site, factory, config)
        if before is not None:
            _check_same(before, info)
        with TransferJournal(config.out, is_new=before is None) as journal:
            if before is None:
                journal.write(info)
            source = _LiveSource(env, len(goals), journal, config.max_steps)
            policy.on_request = source.write_request
            done = {played.number for played in before.finished} if before else set()
            for number in sorted(set(range(len(goals))) - done):
                source.number = number
                journal.write(StartLine(episode=number))
                try:
                    episode = _play(source, env, factory, PlayConfig(config.seed, config.seconds))
                except EndOfRun as reason:
                    ended = str(reason) or "the agent ended the run"
                    break
                journal.write(_end(number, episode.summary, env.live.live_catalog.notes))
                score = _score(number, episode.summary, goals[number], config.rules)
                if score is not None:
                    journal.write(score)
                on_episode(episode.summary, score)
    return read_run(config.out), ended


def _play(
    source: _LiveSource, env: LiveShopEnv, factory: AgentFactory, config: PlayConfig
) -> Episode:
    player = agent_for(factory, config.seed, source.number)
    if factory.mode == "model":
        return asyncio.run(play_waiting(source, env, player, source.number, config))
    return play(source, env, player, source.number, config)


def _end(number: int, summary: Summary, notes: list[str]) -> EndLine:
    return EndLine(
        episode=number,
        status=summary.status,
        steps=summary.steps,
        seconds=round(summary.seconds, 3),
        notes=notes,
        error=summary.error,
        owner=summary.owner,
        tokens_in=summary.tokens_in,
        tokens_out=summary.tokens_out,
        cost=summary.cost,
    )


def _score(number: int, summary: Summary, goal: TransferGoal, rules: str) -> ScoreLine | None:
    """The score of an episode, where it needs nobody."""
    if summary.status == "truncated":
        nothing = None if not goal.by_hand and not goal.goal.goal_options else 0.0
        return ScoreLine(
            episode=number, attribute=0.0, option=nothing, type=0.0, price=0.0, total=0.0,
            by="nothing was bought",
        )  # fmt: skip
    if summary.status == "done" and not goal.by_hand:
        return score_of(number, summary.parts, float(summary.reward or 0.0), rules)
    return None


def score_of(number: int, parts: Mapping[str, Any], total: float, rules: str) -> ScoreLine:
    """The score that a rule set gave."""
    option = parts.get("r_option")
    return ScoreLine(
        episode=number,
        attribute=float(parts["r_att"]),
        option=None if option is None else float(option),
        type=float(parts["r_type"]),
        price=float(parts["r_price"]),
        total=total,
        by=f"rules {rules}",
    )


def _info(
    goals: Sequence[TransferGoal], site: SiteReader, factory: AgentFactory, config: TransferConfig
) -> RunLine:
    return RunLine(
        id=uuid.uuid4().hex[:12],
        site=site.name,
        agent=factory.name,
        agent_settings=dict(factory.settings),
        instructions=[goal.instruction for goal in goals],
        pages=config.pages,
        rules=config.rules,
        max_steps=config.max_steps,
        seed=config.seed,
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        version=package.__version__,
        goals=hashlib.sha256(msgspec.json.encode(goals)).hexdigest()[:16],
        where=site.search_url("", 1),
        details=config.details,
    )


def _check_same(before: TransferRun, info: RunLine) -> None:
    earlier = before.info
    for what, mine, its in (
        ("site", info.site, earlier.site),
        ("agent", info.agent, earlier.agent),
        ("agent's settings", msgspec.to_builtins(info.agent_settings), earlier.agent_settings),
        ("list of instructions", info.instructions, earlier.instructions),
        ("list of goals", info.goals, earlier.goals or info.goals),
        ("seed", info.seed, earlier.seed),
        ("set of rules (--rules)", info.rules, earlier.rules),
        ("limit of steps (--max-steps)", info.max_steps, earlier.max_steps),
        ("source of pages", info.pages, earlier.pages),
        ("shop's address", info.where, earlier.where or info.where),
        ("--details", info.details, info.details if earlier.details is None else earlier.details),
    ):
        if mine != its:
            raise DataError(
                f"{before.path} holds another run: its {what} is not the one asked for ("
                f"{str(its)[:80]}, not {str(mine)[:80]}). Resume it with the same, or choose"
                " another --out."
            )


def default_file(site: str, agent: str) -> Path:
    """Where a run is kept if nobody says otherwise."""
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S")
    name = agent.replace(":", ".").replace("/", ".")
    return Path("runs") / f"transfer-{site}-{name}-{stamp}-{uuid.uuid4().hex[:4]}.jsonl"

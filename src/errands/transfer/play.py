"""Playing an agent in a real shop, goal by goal, with everything that happens written down."""

import asyncio
import contextlib
import datetime
import hashlib
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

import errands as package
from errands.agents.agent import AgentFactory, EndOfRun
from errands.agents.registry import find_kind, make_factory
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

__all__ = ["MAX_STEPS", "TransferLimits", "default_file", "score_of", "transfer"]

MAX_STEPS: Final = 50
SECONDS: Final = 1800.0


class TransferLimits(msgspec.Struct, frozen=True):
    """How much a run may request and do."""

    max_steps: int | None = MAX_STEPS
    per_episode: int = 60
    per_run: int = 3_000
    seconds: float | None = SECONDS


class _Track:
    """Writes each step down as it happens."""

    def __init__(self, journal: TransferJournal, number: int) -> None:
        self._journal = journal
        self._number = number
        self._states: set[tuple[str, str, int]] = set()
        self._items: set[int] = set()
        self._searches = 0

    def saw(self, env: Any, observation: Any, action: str) -> None:
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
    remarks: tuple[str, ...] = ()
    checksum = ""

    def __init__(
        self,
        env: LiveShopEnv,
        goals: Sequence[TransferGoal],
        journal: TransferJournal,
        limits: TransferLimits,
    ) -> None:
        site = env.live.site.name
        self.protocol = Protocol(
            id=f"transfer-{site}", version=1, title=f"Transfer to {site}", domain="shop",
            data=site, max_steps=limits.max_steps,
        )  # fmt: skip
        self.keys: Sequence[str] = [f"errand {number}" for number in range(len(goals))]
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

    def close(self) -> None:
        """Nothing is held open."""


def transfer(
    goals: Sequence[TransferGoal],
    site: SiteReader,
    fetch: Fetch,
    agent: str,
    *,
    out: Path,
    pages: str = "",
    settings: Mapping[str, Any] | None = None,
    observation: str = "",
    rules: str = "released",
    limits: TransferLimits | None = None,
    seed: int = 0,
    resume: bool = False,
    details: bool = False,
    stand_in: bool = False,
    on_episode: Callable[[Summary, ScoreLine | None], None] | None = None,
) -> tuple[TransferRun, str]:
    """Play the goals that have no end yet; gives the run, and why it ended early, if it did.

    `fetch` is where pages come from and `pages` says so in words; `details` and `stand_in` are
    those of `LiveShopEnv`. Without `observation` the agent is shown what it can read.
    """
    limits = limits or TransferLimits()
    if ":" not in agent and find_kind(agent).privileged:
        raise SettingError(f"The agent {agent!r} is shown the answers; a real shop has none.")
    before = read_run(out) if resume and out.exists() else None
    shown = observation or ("text" if agent == "careful" else "text_rich")
    current = [0]
    journals: list[TransferJournal] = []

    def note(record: RequestRecord) -> None:
        journals[0].write(
            RequestLine(episode=current[0], kind=record.kind, url=record.url, status=record.status,
                  seconds=round(record.seconds, 4), error=record.error)
        )  # fmt: skip

    policy = RequestPolicy(
        fetch,
        site,
        per_episode=limits.per_episode,
        per_run=limits.per_run,
        sent=before.requests if before else 0,
        on_request=note,
    )
    env = LiveShopEnv(
        goals,
        site,
        policy,
        observation=shown,
        rules=rules,
        max_steps=limits.max_steps,
        details=details,
        stand_in=stand_in,
    )
    ended = ""
    with contextlib.closing(make_factory(agent, "shop", env, settings or {})) as factory:
        info = _info(goals, site, factory, pages, rules, limits, seed, details)
        if before is not None:
            _check_same(before, info)
        with TransferJournal(out, is_new=before is None) as journal:
            journals.append(journal)
            if before is None:
                journal.write(info)
            done = {played.number for played in before.finished} if before else set()
            source = _LiveSource(env, goals, journal, limits)
            for number in range(len(goals)):
                if number in done:
                    continue
                current[0] = source.number = number
                journal.write(StartLine(episode=number))
                try:
                    episode = _played(
                        source, env, factory, number, PlayConfig(seed, limits.seconds)
                    )
                except EndOfRun as reason:
                    ended = str(reason) or "the agent ended the run"
                    break
                scored = _keep(journal, env, goals[number], rules, number, episode)
                if on_episode is not None:
                    on_episode(episode.summary, scored)
    return read_run(out), ended


def _played(
    source: _LiveSource, env: LiveShopEnv, factory: AgentFactory, number: int, config: PlayConfig
) -> Episode:
    player = agent_for(factory, config.seed, number)
    if factory.mode == "model":
        return asyncio.run(play_waiting(source, env, player, number, config))
    return play(source, env, player, number, config)


def _keep(
    journal: TransferJournal,
    env: LiveShopEnv,
    goal: TransferGoal,
    rules: str,
    number: int,
    episode: Episode,
) -> ScoreLine | None:
    summary = episode.summary
    journal.write(
        EndLine(
            episode=number,
            status=summary.status,
            steps=summary.steps,
            seconds=round(summary.seconds, 3),
            notes=env.live.live_catalog.notes,
            error=summary.error,
            tokens_in=summary.tokens_in,
            tokens_out=summary.tokens_out,
            cost=summary.cost,
        )
    )
    scored = None
    if summary.status == "truncated":
        nothing = None if not goal.by_hand and not goal.goal.goal_options else 0.0
        scored = ScoreLine(
            episode=number, attribute=0.0, option=nothing, type=0.0, price=0.0, total=0.0,
            by="nothing was bought",
        )  # fmt: skip
    elif summary.status == "done" and not goal.by_hand:
        scored = score_of(number, summary.parts, float(summary.reward or 0.0), rules)
    if scored is not None:
        journal.write(scored)
    return scored


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
    goals: Sequence[TransferGoal],
    site: SiteReader,
    factory: AgentFactory,
    pages: str,
    rules: str,
    limits: TransferLimits,
    seed: int,
    details: bool,
) -> RunLine:
    return RunLine(
        id=uuid.uuid4().hex[:12],
        site=site.name,
        agent=factory.name,
        agent_settings=dict(factory.settings),
        instructions=[goal.instruction for goal in goals],
        pages=pages,
        rules=rules,
        max_steps=limits.max_steps,
        seed=seed,
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        version=package.__version__,
        goals=hashlib.sha256(msgspec.json.encode(goals)).hexdigest()[:16],
        where=site.search_url("", 1),
        details=details,
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

"""Playing an agent in a real shop, errand by errand, with everything that happens written down."""

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
from errands.transfer.environment import RealShopEnv
from errands.transfer.fetch.fetcher import Fetch, Gate, Outgoing
from errands.transfer.goals import Errand
from errands.transfer.journal import (
    Asked,
    Begun,
    Bought,
    Ended,
    Journal,
    Scored,
    Started,
    Stepped,
    TransferRun,
    read_run,
)
from errands.transfer.sites.site import Site

__all__ = ["MAX_STEPS", "Limits", "default_file", "score_of", "transfer"]

MAX_STEPS: Final = 50
SECONDS: Final = 1800.0


class Limits(msgspec.Struct, frozen=True):
    """How much a run may ask for and do."""

    max_steps: int | None = MAX_STEPS
    per_episode: int = 60
    per_run: int = 3_000
    seconds: float | None = SECONDS


class _Track:
    """Writes each step down as it happens."""

    def __init__(self, journal: Journal, number: int) -> None:
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
            Stepped(
                episode=self._number,
                action=_sound(action),
                page=state.page,
                site_url=episode.context.shop.address(episode.page),
                observation=_sound(observation) if isinstance(observation, str) else "",
            )
        )
        if episode.held is not None:
            self._journal.write(Bought(episode=self._number, held=episode.held))

    def figures(self) -> dict[str, Any]:
        return {
            "states": len(self._states), "items": len(self._items), "searches": self._searches,
        }  # fmt: skip

    def parts(self, env: Any, info: dict[str, Any]) -> dict[str, Any]:
        return dict(info.get("reward_parts", {}))


def _sound(text: str) -> str:
    """A text that can be written down: a model may say half a character."""
    return text.encode("utf-8", "replace").decode("utf-8")


class _World:
    """The errands of a run, as `errands.runs.play` sees them."""

    waits = True
    remarks: tuple[str, ...] = ()
    checksum = ""

    def __init__(
        self, env: RealShopEnv, errands: Sequence[Errand], journal: Journal, limits: Limits
    ) -> None:
        site = env.context.site.name
        self.protocol = Protocol(
            id=f"transfer-{site}", version=1, title=f"Transfer to {site}", domain="shop",
            data=site, max_steps=limits.max_steps,
        )  # fmt: skip
        self.keys: Sequence[str] = [f"errand {number}" for number in range(len(errands))]
        self.key = self.protocol.id
        self.number = 0
        self._env = env
        self._journal = journal

    def env(self) -> RealShopEnv:
        return self._env

    def options(self, number: int) -> dict[str, Any]:
        return {"goal": number}

    def track(self) -> _Track:
        return _Track(self._journal, self.number)

    def close(self) -> None:
        """Nothing is held open."""


def transfer(
    errands: Sequence[Errand],
    site: Site,
    fetch: Fetch,
    agent: str,
    *,
    out: Path,
    pages: str = "",
    settings: Mapping[str, Any] | None = None,
    observation: str = "",
    rules: str = "released",
    limits: Limits | None = None,
    seed: int = 0,
    resume: bool = False,
    details: bool = False,
    stand_in: bool = False,
    on_episode: Callable[[Summary, Scored | None], None] | None = None,
) -> tuple[TransferRun, str]:
    """Play the errands that have no end yet; gives the run, and why it ended early, if it did.

    `fetch` is where pages come from and `pages` says so in words; `details` and `stand_in` are
    those of `RealShopEnv`. Without `observation` the agent is shown what it can read.
    """
    limits = limits or Limits()
    if ":" not in agent and find_kind(agent).privileged:
        raise SettingError(f"The agent {agent!r} is shown the answers; a real shop has none.")
    before = read_run(out) if resume and out.exists() else None
    shown = observation or ("text" if agent == "careful" else "text_rich")
    current = [0]
    journals: list[Journal] = []

    def note(made: Outgoing) -> None:
        journals[0].write(
            Asked(episode=current[0], kind=made.kind, url=made.url, status=made.status,
                  seconds=round(made.seconds, 4), error=made.error)
        )  # fmt: skip

    gate = Gate(
        fetch,
        site,
        per_episode=limits.per_episode,
        per_run=limits.per_run,
        sent=before.requests if before else 0,
        on_request=note,
    )
    env = RealShopEnv(
        errands, site, gate, shown, rules, limits.max_steps, details=details, stand_in=stand_in
    )
    ended = ""
    with contextlib.closing(make_factory(agent, "shop", env, settings or {})) as factory:
        info = _info(errands, site, factory, pages, rules, limits, seed, details)
        if before is not None:
            _check_same(before, info)
        with Journal(out, is_new=before is None) as journal:
            journals.append(journal)
            if before is None:
                journal.write(info)
            done = {played.number for played in before.finished} if before else set()
            world = _World(env, errands, journal, limits)
            for number in range(len(errands)):
                if number in done:
                    continue
                current[0] = world.number = number
                journal.write(Started(episode=number))
                try:
                    episode = _played(world, env, factory, number, PlayConfig(seed, limits.seconds))
                except EndOfRun as reason:
                    ended = str(reason) or "the agent ended the run"
                    break
                scored = _keep(journal, env, errands[number], rules, number, episode)
                if on_episode is not None:
                    on_episode(episode.summary, scored)
    return read_run(out), ended


def _played(
    world: _World, env: RealShopEnv, factory: AgentFactory, number: int, rules: PlayConfig
) -> Episode:
    player = agent_for(factory, rules.seed, number)
    if factory.mode == "model":
        return asyncio.run(play_waiting(world, env, player, number, rules))
    return play(world, env, player, number, rules)


def _keep(
    journal: Journal, env: RealShopEnv, errand: Errand, rules: str, number: int, episode: Episode
) -> Scored | None:
    summary = episode.summary
    journal.write(
        Ended(
            episode=number,
            status=summary.status,
            steps=summary.steps,
            seconds=round(summary.seconds, 3),
            notes=env.context.shop.shelf.notes,
            error=summary.error,
            tokens_in=summary.tokens_in,
            tokens_out=summary.tokens_out,
            cost=summary.cost,
        )
    )
    scored = None
    if summary.status == "truncated":
        nothing = None if not errand.by_hand and not errand.goal.goal_options else 0.0
        scored = Scored(
            episode=number, attribute=0.0, option=nothing, type=0.0, price=0.0, total=0.0,
            by="nothing was bought",
        )  # fmt: skip
    elif summary.status == "done" and not errand.by_hand:
        scored = score_of(number, summary.parts, float(summary.reward or 0.0), rules)
    if scored is not None:
        journal.write(scored)
    return scored


def score_of(number: int, parts: Mapping[str, Any], total: float, rules: str) -> Scored:
    """The score that a rule set gave."""
    option = parts.get("r_option")
    return Scored(
        episode=number,
        attribute=float(parts["r_att"]),
        option=None if option is None else float(option),
        type=float(parts["r_type"]),
        price=float(parts["r_price"]),
        total=total,
        by=f"rules {rules}",
    )


def _info(
    errands: Sequence[Errand],
    site: Site,
    factory: AgentFactory,
    pages: str,
    rules: str,
    limits: Limits,
    seed: int,
    details: bool,
) -> Begun:
    return Begun(
        id=uuid.uuid4().hex[:12],
        site=site.name,
        agent=factory.name,
        agent_settings=dict(factory.settings),
        errands=[errand.instruction for errand in errands],
        pages=pages,
        rules=rules,
        max_steps=limits.max_steps,
        seed=seed,
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        version=package.__version__,
        goals=hashlib.sha256(msgspec.json.encode(errands)).hexdigest()[:16],
        where=site.search_url("", 1),
        details=details,
    )


def _check_same(before: TransferRun, info: Begun) -> None:
    held = before.info
    for what, mine, its in (
        ("site", info.site, held.site),
        ("agent", info.agent, held.agent),
        ("agent's settings", msgspec.to_builtins(info.agent_settings), held.agent_settings),
        ("list of errands", info.errands, held.errands),
        ("list of goals", info.goals, held.goals or info.goals),
        ("seed", info.seed, held.seed),
        ("set of rules (--rules)", info.rules, held.rules),
        ("limit of steps (--max-steps)", info.max_steps, held.max_steps),
        ("source of pages", info.pages, held.pages),
        ("shop's address", info.where, held.where or info.where),
        ("--details", info.details, info.details if held.details is None else held.details),
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

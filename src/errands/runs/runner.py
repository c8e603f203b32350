"""The runner: plays an agent under a protocol and keeps every episode the moment it ends.

A run can be stopped at any moment, by any means, and resumed: episodes that are kept are not
played again, and the others are, each with the seed that its number gives it. So a run that was
stopped a hundred times is the run that was never stopped.
"""

import asyncio
import concurrent.futures
import contextlib
import datetime
import hashlib
import json
import platform
import uuid
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Final

import msgspec

import errands
from errands.agents.agent import AgentFactory, EndOfRun, PrivilegedAgent, Spender
from errands.agents.registry import agent_reference, make_factory
from errands.envs.observations import Observation, observation_reference
from errands.errors import SettingError
from errands.plugins import path_of
from errands.runs.episode import OBSERVATIONS, RunInfo, Summary
from errands.runs.episode_source import EpisodeSource, open_source
from errands.runs.play import PlayConfig, agent_for, play, play_waiting
from errands.runs.protocol import Protocol, find_protocol, named_protocols
from errands.runs.store.base import EpisodeWriter, Lock, Store, StoreError
from errands.runs.store.places import create_run, open_run, run_lock
from errands.runs.workers.processes import Job, play_in_processes
from errands.runs.workers.ray_cluster import joined
from errands.runs.workers.ray_pool import played_on_ray
from errands.shop.rewards.registry import rules_named, rules_reference
from errands.shop.rewards.rules import RewardRules

__all__ = [
    "DEFAULT_SECONDS",
    "RunResult",
    "changed_protocol",
    "default_place",
    "protocol_key",
    "run",
]

DEFAULT_SECONDS: Final = 900.0
"""How long an episode may take if nobody says otherwise."""

_LONGEST_SECONDS: Final = 1e9
_NAMELESS: Final = "()"
"""Ends what a run says of an object that no name leads to: its class, which was called."""

OnEpisode = Callable[[Summary], None]


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended."""

    place: str
    info: RunInfo
    kept: int
    """Episodes that the store has now."""
    played: int
    """Episodes that were played this time."""
    ended: str = ""
    """Why it ended before its time; empty where it is complete."""


@dataclass
class _RunWork:
    """What is left to play of a run, where it goes, and how much of it was played."""

    job: Job
    source: EpisodeSource
    factory: AgentFactory
    store: Store
    pending: Sequence[int]
    on_episode: OnEpisode | None
    played: int = 0

    def count(self, summary: Summary) -> None:
        """An episode is kept."""
        self.played += 1
        if self.on_episode is not None:
            self.on_episode(summary)


def run(
    protocol: str | Protocol,
    agent: Any,
    *,
    out: str | Path | None = None,
    data: str | None = None,
    episodes: int | None = None,
    max_steps: int | None = None,
    rules: str | RewardRules | None = None,
    observation: Observation | None = None,
    split: str | None = None,
    per_task: int | None = None,
    driver: str | None = None,
    settings: Mapping[str, Any] | None = None,
    workers: int | None = None,
    ray: str | None = None,
    resume: bool = False,
    retry_errors: bool = False,
    observations: str = "auto",
    seconds: float | None = DEFAULT_SECONDS,
    seed: int | None = None,
    fsync: bool = False,
    on_start: Callable[[RunInfo, Sequence[int]], None] | None = None,
    on_episode: OnEpisode | None = None,
    on_remark: Callable[[str], None] | None = None,
) -> RunResult:
    """Play an agent under a protocol, and keep every episode.

        class First:
            def begin(self, observation, info): ...
            def act(self, observation, info):
                clickables = info["available_actions"]["clickables"]
                return f"click[{clickables[0]}]" if clickables else "search[shoes]"

        result = errands.run("shop-demo", First, episodes=10)
        errands.report(result, "report")

    `agent` is a name (`errands agents` lists them), `module:attribute`, or the thing itself: an
    agent class, an agent, an `AgentFactory`, or a function (domain, env, settings) that gives one;
    `settings` are the agent's.

    `out` is a new directory (default: one below `runs`), or a PostgreSQL address; with `resume`
    one that holds a run, whose missing episodes are played, with `retry_errors` failed ones, too.
    `data` names other data than the protocol's; `episodes`, `max_steps`, `rules` (of the reward:
    a name, `module:attribute` or the rules themselves), `observation` (the format that pages are
    shown in, given likewise), `split`, and for TurkingBench `per_task` and the page `driver` change
    the protocol, and its key says so.

    `workers` play at once: as processes, or in one process where the agent waits for a model.
    `ray` is the address of a Ray cluster (see `errands.runs.workers.ray_cluster`) that plays
    instead, by default with every CPU it has; what it tells on the way goes to `on_remark`.

    `observations`, what is kept of pages, is `full`, `hash`, `none` or `auto`: full where a model
    or a person plays, else hashes, from which a replay shows every page again.
    """
    _check(protocol, settings, workers, seconds, seed, observations)
    base = find_protocol(protocol) if isinstance(protocol, str) else protocol
    object_rules = object_format = None
    if rules is not None and not isinstance(rules, str):
        object_rules, rules = rules_named(rules), _named(rules, rules_reference(rules))
    if observation is not None and not isinstance(observation, str):
        object_format = observation
        observation = _named(observation, observation_reference(observation))
    used = changed_protocol(
        base,
        driver,
        data=data,
        episodes=episodes,
        max_steps=max_steps,
        rules=rules,
        observation=observation,
        split=split,
        per_task=per_task,
    )
    options = dict(settings or {})
    with contextlib.ExitStack() as stack:
        source = open_source(used, object_rules, object_format)
        stack.enter_context(contextlib.closing(source))
        factory = make_factory(agent, used.domain, source.env(), options)
        stack.enter_context(contextlib.closing(factory))
        if observations == "auto":
            observations = "hash" if factory.mode == "compute" and not source.waits else "full"
        config = PlayConfig(used.seed if seed is None else seed, seconds, observations)
        info = _info(base, used, source, factory, config)
        place = str(out if out is not None else default_place(info))
        job = Job(
            protocol=used,
            agent=agent_reference(agent),
            settings=options,
            rules=config,
            place=place,
            fsync=fsync,
        )
        _check_workers(job, factory, min(workers or 1, len(source.keys)), ray)
        lock = stack.enter_context(run_lock(place))
        opened = _reopened(place, info, fsync) if resume else create_run(place, info, fsync=fsync)
        store = stack.enter_context(contextlib.closing(opened))
        if retry_errors:
            store.drop([row.number for row in store.summaries() if row.status == "error"])
        if resume and isinstance(factory, Spender):
            factory.charge(_spent(store))
        done = store.numbers()
        pending = [number for number in range(len(source.keys)) if number not in done]
        if on_start is not None:
            on_start(store.info, pending)
        work = _RunWork(job, source, factory, store, pending, on_episode)
        ended = _play_pending(work, workers, ray, lock, on_remark or warnings.warn)
        return RunResult(
            place=store.place if "://" in place else place,
            info=store.info,
            kept=len(done) + work.played,
            played=work.played,
            ended=ended,
        )


def _check(
    protocol: Any, settings: Any, workers: Any, seconds: Any, seed: Any, observations: str
) -> None:
    """Whatever a caller may have got wrong, in one sentence."""
    if not isinstance(protocol, str | Protocol):
        raise SettingError(
            f"protocol={protocol!r}: expected the name of a protocol, FILE.toml#name, or a"
            " Protocol."
        )
    if settings is not None and not isinstance(settings, Mapping):
        raise SettingError(f"settings={settings!r}: expected the agent's settings by name.")
    if workers is not None and (not isinstance(workers, Integral) or workers < 1):
        raise SettingError(f"workers={workers!r}: expected a whole number, 1 or more.")
    if seconds is not None and (
        not isinstance(seconds, Real) or not 0 < float(seconds) <= _LONGEST_SECONDS
    ):
        raise SettingError(
            f"seconds={seconds!r}: expected more than 0, up to {_LONGEST_SECONDS:g}, or no limit."
        )
    if seed is not None and (not isinstance(seed, Integral) or not 0 <= int(seed) < 1 << 63):
        raise SettingError(f"seed={seed!r}: expected a whole number, 0 or more, below 2**63.")
    if observations not in ("auto", *OBSERVATIONS):
        raise SettingError(
            f"observations={observations!r}: expected auto, {', '.join(OBSERVATIONS)}."
        )


def _named(thing: object, reference: str) -> str:
    """What a run says of rules or a format that were given as an object."""
    return reference or path_of(thing) + _NAMELESS


def _check_workers(job: Job, factory: AgentFactory, workers: int, ray: str | None) -> None:
    """Before anything is written: other processes must find what was given as an object."""
    if ray is not None and factory.mode == "person":
        raise SettingError(f"The agent {factory.name!r} sits at one terminal, not on a cluster.")
    if ray is None and (factory.mode != "compute" or workers == 1):
        return
    for what, importable in (
        ("agent", job.agent),
        ("rules", not job.protocol.rules.endswith(_NAMELESS)),
        ("observation", not job.protocol.observation.endswith(_NAMELESS)),
    ):
        if not importable:
            where = "several workers" if ray is None else "a cluster"
            raise SettingError(
                f"{what} is an object, which plays in one process; for {where} name it:"
                f" {what}='package.module:attribute'."
            )


def _spent(store: Store) -> float:
    """What the episodes of a run have cost, in US dollars."""
    return float(store.columns()["cost"].sum())


def _reopened(place: str, info: RunInfo, fsync: bool) -> Store:
    """The store of a run that is to go on; it must be this run."""
    store = open_run(place, fsync=fsync)
    for what, name in (
        ("protocol", "protocol_key"),
        ("agent", "agent"),
        ("agent's settings", "agent_settings"),
        ("seed", "seed"),
        ("choice of observations", "observations"),
    ):
        mine, its = getattr(info, name), getattr(store.info, name)
        if mine != its:
            store.close()
            raise StoreError(
                f"{store.place} holds another run: its {what} is {its}, and {mine} was asked for."
                " Resume it with the same, or choose another --out."
            )
    return store


def changed_protocol(base: Protocol, driver: str | None = None, **changes: Any) -> Protocol:
    """A protocol with other data, episodes, steps, rules, ...; what is None stays as it is."""
    given = {name: value for name, value in changes.items() if value is not None}
    for name in ("episodes", "max_steps", "per_task"):
        value = given.get(name, 1)
        if not isinstance(value, Integral) or not 1 <= int(value) < 1 << 63:
            raise SettingError(
                f"{name}={value!r}: expected a whole number, 1 or more, below 2**63."
            )
    if base.episodes is not None and "episodes" in given:
        given["episodes"] = min(given["episodes"], base.episodes)
    if driver is not None:
        given["settings"] = {**base.settings, "driver": driver}
    if base.domain == "shop" and (driver is not None or "per_task" in given):
        raise SettingError(
            "per_task and driver are for TurkingBench, and the protocol is WebShop's."
        )
    return msgspec.structs.replace(base, **given)


def protocol_key(base: Protocol, used: Protocol, source: EpisodeSource) -> str:
    """The source's key, and what departs from the protocol as published; one of a user's own is
    told from another of the same id by a fingerprint."""
    own = [] if named_protocols().get(base.id) == base else [f"own:{_fingerprint(base)}"]
    departures = [
        f"{name}={getattr(used, name)}"
        for name in ("episodes", "max_steps", "rules", "observation", "split", "per_task")
        if getattr(used, name) != getattr(base, name)
        and f" {name}:" not in source.key  # Told there, with its version.
    ]
    driver = used.settings.get("driver")
    if driver != base.settings.get("driver"):
        departures.append(f"driver={driver}")
    return " ".join([source.key, *own, *departures])


def _fingerprint(protocol: Protocol) -> str:
    """Of all that can move a score; the data has a checksum of its own."""
    told = {"title", "warning", "source", "data", "checksum"}
    if not protocol.picked:  # so that protocols without it keep the key they had before it was
        told.add("picked")
    played = {
        name: value for name, value in msgspec.to_builtins(protocol).items() if name not in told
    }
    listed = json.dumps(played, sort_keys=True, default=str).encode()
    return hashlib.sha256(listed).hexdigest()[:8]


def _info(
    base: Protocol, used: Protocol, source: EpisodeSource, factory: AgentFactory, rules: PlayConfig
) -> RunInfo:
    return RunInfo(
        id=uuid.uuid4().hex[:12],
        protocol=msgspec.to_builtins(used),
        protocol_key=protocol_key(base, used, source),
        domain=used.domain,
        agent=factory.name,
        agent_settings=dict(factory.settings),
        privileged=isinstance(agent_for(factory, rules.seed, 0), PrivilegedAgent),
        episodes=len(source.keys),
        seed=rules.seed,
        observations=rules.observations,
        checksum=source.checksum,
        remarks=source.remarks,
        versions={"errands": errands.__version__, "python": platform.python_version()},
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )


def default_place(info: RunInfo) -> Path:
    """Where a run is kept if nobody says otherwise."""
    stamp = info.started.replace("-", "").replace(":", "")[:15]
    agent = info.agent.replace(":", ".").replace("/", ".")
    return Path("runs") / f"{info.protocol['id']}-{agent}-{stamp}-{info.id[:4]}"


def _play_pending(
    work: _RunWork,
    workers: int | None,
    ray: str | None,
    lock: Lock,
    on_remark: Callable[[str], None],
) -> str:
    """Play what is left; the reason why it ended early, if it did."""
    try:
        if ray is not None and work.pending:
            _play_on_ray(work, ray, workers, on_remark)
        else:
            _play_on_this_machine(work, workers or 1, lock)
    except EndOfRun as reason:
        return str(reason)
    return ""


def _play_on_ray(
    work: _RunWork, address: str, workers: int | None, on_remark: Callable[[str], None]
) -> None:
    with joined(address, workers) as cluster, work.store.writer() as writer:
        played = played_on_ray(
            cluster,
            work.job,
            work.source,
            work.pending,
            workers,
            on_remark=on_remark,
            waits=work.factory.mode == "model",
            spent=_spent(work.store),
        )
        with contextlib.closing(played):
            for episode in played:
                writer.write(episode)
                work.count(episode.summary)


def _play_on_this_machine(work: _RunWork, workers: int, lock: Lock) -> None:
    mode = work.factory.mode
    if mode == "model":
        _play_waiting(work, workers)
    elif mode == "compute" and min(workers, len(work.pending)) > 1:
        play_in_processes(
            *(work.job, work.source, work.store, work.pending, workers, work.count),
            lock.descriptors,
        )
    else:
        _play_one_by_one(work)


def _play_one_by_one(work: _RunWork) -> None:
    config = work.job.rules
    env = work.source.env()
    with work.store.writer() as writer:
        for number in work.pending:
            agent = agent_for(work.factory, config.seed, number)
            episode = play(work.source, env, agent, number, config)
            writer.write(episode)
            work.count(episode.summary)


def _play_waiting(work: _RunWork, workers: int) -> None:
    """Many episodes at once on one event loop; in a thread where a loop runs already."""
    config = work.job.rules

    async def everything(writer: EpisodeWriter) -> None:
        waiting = iter(work.pending)

        async def worker() -> None:
            env = work.source.env()
            for number in waiting:
                agent = agent_for(work.factory, config.seed, number)
                episode = await play_waiting(work.source, env, agent, number, config)
                writer.write(episode)
                work.count(episode.summary)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(workers, max(len(work.pending), 1))):
                    group.create_task(worker())
        except BaseExceptionGroup as several:
            # Whoever failed first has stopped the others.
            raise several.exceptions[0] from None

    with work.store.writer() as writer:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            asyncio.run(everything(writer))
        else:
            with concurrent.futures.ThreadPoolExecutor(1) as thread:
                thread.submit(asyncio.run, everything(writer)).result()

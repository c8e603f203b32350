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
import re
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Final

import msgspec

import errands
from errands.agents.agent import AgentFactory, EndOfRun, PrivilegedAgent, Spender, Teaching
from errands.agents.registry import agent_reference, make_factory
from errands.agents.views import chosen_observation
from errands.envs.observations import Observation, observation_reference
from errands.errors import ErrandsError, SettingError
from errands.notebook import notebook_facts
from errands.plugins import path_of
from errands.progress import Progress, silent
from errands.runs.answers import answer_figures
from errands.runs.episode import OBSERVATIONS, RunInfo, Summary
from errands.runs.episode_source import EpisodeSource, ShopSource, TurkSource, open_source
from errands.runs.identity import DIFFICULTY, OTHER_DATA, other_data_title
from errands.runs.play import PlayConfig, agent_for, play, play_waiting
from errands.runs.protocol import MOST_REPEATS, Protocol, find_protocol, named_protocols
from errands.runs.store.base import EpisodeWriter, Lock, Store, StoreError
from errands.runs.store.places import check_place, create_run, open_run, run_lock
from errands.runs.workers.processes import Job, play_in_processes
from errands.runs.workers.ray_cluster import check_address, joined
from errands.runs.workers.ray_pool import played_on_ray
from errands.shop.catalog.verification import Verify, check_verify
from errands.shop.fingerprints import GoalFingerprints
from errands.shop.rewards.registry import rules_named, rules_reference
from errands.shop.rewards.rules import RewardRules
from errands.turk.proofs import PROOF_SECONDS, check_proof_seconds

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

_LATER: Final[Mapping[str, Any]] = {
    "picked": (),
    "per_product": None,
    "repeat": 1,
    "weights": "episode",
}
"""Settings of protocols that came later, and what they are where nothing is said."""

_OBSERVATION_WORD: Final = re.compile(r" observation([:=]\S+)")
"""What older keys say of the format that pages are shown in."""

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
    failed: str = ""
    """Why it has no score: too many of a model's answers came to nothing."""

    def _repr_html_(self) -> str:
        state = notebook_facts("", {"ended early": self.ended, "no score": self.failed})
        try:
            with contextlib.closing(open_run(self.place)) as store:
                return store._repr_html_() + (state if self.ended or self.failed else "")
        except ErrandsError as failure:
            return notebook_facts(f"Run {self.place}", {"cannot be read": failure})


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
    goals: str | None = None,
    split: str | None = None,
    per_task: int | None = None,
    repeat: int | None = None,
    driver: str | None = None,
    settings: Mapping[str, Any] | None = None,
    workers: int | None = None,
    ray: str | None = None,
    resume: bool = False,
    retry_errors: bool = False,
    observations: str = "auto",
    seconds: float | None = DEFAULT_SECONDS,
    seed: int | None = None,
    allow_overlap: bool = False,
    fsync: bool = False,
    prove: float = PROOF_SECONDS,
    verify: Verify = "quick",
    progress: Progress = silent,
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
    a name, `module:attribute` or the rules themselves), `goals` (`human`, `synthetic` or a goal
    file), `split`, `repeat` (how often each episode is played), and for TurkingBench `per_task` and
    the page `driver` change the protocol, and its key says so. `observation` is the format that the
    agent is shown pages in, given as rules are; by default what the agent declares
    (`errands.agents.views`). It is kept with the agent.

    `workers` play at once: as processes, or in one process where the agent waits for a model.
    `ray` is the address of a Ray cluster (see `errands.runs.workers.ray_cluster`) that plays
    instead, by default with every CPU it has; what it tells on the way goes to `on_remark`.

    An agent that was trained on goals of these products, or of these words, is refused; with
    `allow_overlap` it plays, and title and key say on how many.

    Form pages with scripts that nobody has judged yet are judged before the first episode, in at
    most `prove` seconds a task (0: not at all), told to `progress`: which of them are the same
    without a browser. That is kept in Errands' home, and no result depends on it.

    Before the first episode a catalogue's files are compared with its checksums, and the run says
    how: `verify` is `full` (every file is read), `quick` (those that changed since they were last
    compared on this machine) or `off`.

    `observations`, what is kept of pages, is `full`, `hash`, `none` or `auto`: full where a model
    or a person plays, else hashes, from which a replay shows every page again.
    """
    _check(protocol, settings, workers, seconds, seed, observations)
    check_proof_seconds(prove)
    check_verify(verify)
    base = find_protocol(protocol) if isinstance(protocol, str) else protocol
    object_rules = None
    if rules is not None and not isinstance(rules, str):
        object_rules, rules = rules_named(rules), _named(rules, rules_reference(rules))
    shown = chosen_observation(agent, base.domain, observation, base.observation)
    used = changed_protocol(
        base,
        driver,
        data=data,
        episodes=episodes,
        max_steps=max_steps,
        rules=rules,
        goals=goals,
        split=split,
        per_task=per_task,
        repeat=repeat,
    )
    options = dict(settings or {})
    with contextlib.ExitStack() as stack:
        source = open_source(used, object_rules, shown, verify)
        stack.enter_context(contextlib.closing(source))
        factory = make_factory(agent, used.domain, source.env(), options)
        stack.enter_context(contextlib.closing(factory))
        if observations == "auto":
            observations = "hash" if factory.mode == "compute" and not source.waits else "full"
        config = PlayConfig(used.seed if seed is None else seed, seconds, observations)
        info = _with_overlap(
            _info(base, used, source, factory, config), source, factory, allow_overlap
        )
        place = str(out if out is not None else default_place(info))
        job = Job(
            protocol=used,
            agent=agent_reference(agent),
            settings=options,
            observation=info.observation,
            rules=config,
            place=place,
            fsync=fsync,
            verify="off" if verify == "off" else "quick",
        )
        _check_workers(job, factory, min(workers or 1, len(source.keys)), ray)
        if ray is not None:
            check_address(ray)
        check_place(place, is_new=not resume)
        lock = stack.enter_context(run_lock(place))
        opened = (
            _reopened(place, info, base, fsync) if resume else create_run(place, info, fsync=fsync)
        )
        store = stack.enter_context(contextlib.closing(opened))
        if retry_errors:
            store.drop([row.number for row in store.summaries() if row.status == "error"])
        if resume and isinstance(factory, Spender):
            factory.charge(_spent(store))
        done = store.numbers()
        pending = [number for number in range(len(source.keys)) if number not in done]
        if on_start is not None:
            on_start(store.info, pending)
        if isinstance(source, TurkSource):
            proofs = source.prove(pending, prove, progress, on_remark or warnings.warn)
            job = msgspec.structs.replace(job, proofs=proofs)
        work = _RunWork(job, source, factory, store, pending, on_episode)
        ended = _play_pending(work, workers, ray, lock, on_remark or warnings.warn)
        return RunResult(
            place=store.place if "://" in place else place,
            info=store.info,
            kept=len(done) + work.played,
            played=work.played,
            ended=ended,
            failed=_failed(store),
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
        ("observation", not job.observation.endswith(_NAMELESS)),
    ):
        if not importable:
            where = "several workers" if ray is None else "a cluster"
            raise SettingError(
                f"{what} is an object, which plays in one process; for {where} name it:"
                f" {what}='package.module:attribute'."
            )


def _failed(store: Store) -> str:
    """Why a run has failed, by what its model answered; empty where it has not."""
    figures = answer_figures((parts for _, parts in store.parts()), store.info.agent_settings)
    return "" if figures is None else figures.failed


def _spent(store: Store) -> float:
    """What the episodes of a run have cost, in US dollars."""
    return float(store.columns()["cost"].sum())


def _reopened(place: str, info: RunInfo, base: Protocol, fsync: bool) -> Store:
    """The store of a run that is to go on; it must be this run."""
    store = open_run(place, fsync=fsync)
    kept = store.info
    key, seen_key = kept.protocol_key, info.protocol_key
    if not kept.observation:  # From before it was the agent's.
        key, seen_key = _OBSERVATION_WORD.sub("", key), _older_key(seen_key, base)
    for what, its, mine in (
        ("protocol", key, seen_key),
        ("agent", kept.agent, info.agent),
        ("agent's settings", kept.agent_settings, info.agent_settings),
        ("agent's observation", _format_of(kept), _format_of(info)),
        ("seed", kept.seed, info.seed),
        ("choice of observations", kept.observations, info.observations),
    ):
        if mine != its:
            store.close()
            raise StoreError(
                f"{store.place} holds another run: its {what} is {its}, and {mine} was asked for."
                " Resume it with the same, or choose another --out."
            )
    return store


def _format_of(info: RunInfo) -> str:
    """The format of a run's pages, with its version where it is not ours."""
    version = info.versions.get("observation", "")
    if not info.observation and (told := _OBSERVATION_WORD.search(info.protocol_key)):
        version = told[1].removeprefix(":") if told[1][0] == ":" else ""
    return f"{info.shown_as} ({version})" if version else info.shown_as


def _older_key(key: str, base: Protocol) -> str:
    """A key as it was before observations were the agent's and data had an identity."""
    older = _fingerprint(base, base.observation or "text")
    words = [
        word for word in key.split(" ") if word != OTHER_DATA and not word.startswith(DIFFICULTY)
    ]
    return " ".join(words).replace(f"own:{_fingerprint(base)}", f"own:{older}")


def changed_protocol(base: Protocol, driver: str | None = None, **changes: Any) -> Protocol:
    """A protocol with other data, episodes, steps, rules, ...; what is None stays as it is."""
    given = {name: value for name, value in changes.items() if value is not None}
    for name in ("episodes", "max_steps", "per_task", "repeat"):
        value = given.get(name, 1)
        if not isinstance(value, Integral) or not 1 <= int(value) < 1 << 63:
            raise SettingError(
                f"{name}={value!r}: expected a whole number, 1 or more, below 2**63."
            )
    if given.get("repeat", 1) > MOST_REPEATS:
        raise SettingError(f"repeat={given['repeat']!r}: expected {MOST_REPEATS:,} or less.")
    if base.episodes is not None and "episodes" in given:
        given["episodes"] = min(given["episodes"], base.episodes)
    if driver is not None:
        given["settings"] = {**base.settings, "driver": driver}
    if base.domain == "turk" and "goals" in given:
        raise SettingError("goals are WebShop's, and the protocol is TurkingBench's.")
    if base.domain == "shop" and (driver is not None or "per_task" in given):
        raise SettingError(
            "per_task and driver are for TurkingBench, and the protocol is WebShop's."
        )
    return msgspec.structs.replace(base, **given)


def protocol_key(base: Protocol, used: Protocol, source: EpisodeSource) -> str:
    """The source's key, and what departs from the protocol as published; one of a user's own is
    told from another of the same id by a fingerprint."""
    own = [] if base in named_protocols().values() else [f"own:{_fingerprint(base)}"]
    departures = [
        f"{name}={Path(used.goals).name if name == 'goals' else getattr(used, name)}"
        for name in ("episodes", "max_steps", "rules", "goals", "split", "per_task", "repeat")
        if getattr(used, name) != getattr(base, name)
        and f" {name}:" not in source.key  # Told there, with its version.
    ]
    driver = used.settings.get("driver")
    if driver != base.settings.get("driver"):
        departures.append(f"driver={driver}")
    return " ".join([source.key, *own, *departures])


def _fingerprint(protocol: Protocol, observation: str = "text") -> str:
    """Of all that can move a score; the data has a checksum of its own. Keys from before
    observations were the agent's have theirs."""
    told = {"title", "warning", "source", "data", "checksum", "identity", "observation"}
    # Protocols without these keep the key that they had before there were any.
    told.update(name for name in _LATER if getattr(protocol, name) == _LATER[name])
    played = {
        name: value for name, value in msgspec.to_builtins(protocol).items() if name not in told
    }
    listed = json.dumps(
        {**played, "observation": observation}, sort_keys=True, default=str
    ).encode()
    return hashlib.sha256(listed).hexdigest()[:8]


def _info(
    base: Protocol, used: Protocol, source: EpisodeSource, factory: AgentFactory, rules: PlayConfig
) -> RunInfo:
    foreign = source.observation_version
    return RunInfo(
        id=uuid.uuid4().hex[:12],
        protocol=msgspec.to_builtins(
            msgspec.structs.replace(used, title=_title(base, used, source), observation="")
        ),
        protocol_key=protocol_key(base, used, source),
        domain=used.domain,
        agent=factory.name,
        agent_settings=dict(factory.settings),
        privileged=isinstance(agent_for(factory, rules.seed, 0), PrivilegedAgent),
        observation=_observation_name(source.observation),
        episodes=len(source.keys),
        seed=rules.seed,
        observations=rules.observations,
        seconds=None if rules.seconds == DEFAULT_SECONDS else rules.seconds or 0.0,
        checksum=source.checksum,
        verified=source.verified,
        remarks=(*source.remarks, *_view_remarks(base, source.observation)),
        versions={
            "errands": errands.__version__,
            "python": platform.python_version(),
            **({"observation": foreign} if foreign else {}),
        },
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )


def _with_overlap(
    info: RunInfo, source: EpisodeSource, factory: AgentFactory, is_allowed: bool
) -> RunInfo:
    """The run as it is if its agent has learnt from goals that it is tested on."""
    taught: Sequence[Teaching] = getattr(factory, "taught", ())
    if not taught or not isinstance(source, ShopSource):
        return info
    known = GoalFingerprints.of(())
    remarks = []
    for place, goals in taught:
        if goals is None:
            remarks.append(
                f"{place} was made before fingerprints of goals: whether it learnt from those that"
                " are played is unknown"
            )
        else:
            known |= goals
    count = len(source.indices)
    overlap = known.overlap(source.wanted())
    title, key = str(info.protocol["title"]), info.protocol_key
    if overlap:
        learnt = f"learnt from the products or words of {overlap:,} of the {count:,} goals played"
        if not is_allowed:
            raise SettingError(
                f"The agent {info.agent!r} ({', '.join(one.place for one in taught)}) {learnt}: its"
                " score would say nothing. Play goals that it has not learnt from (the split"
                " disjoint-test, as in shop-learn, shares none with disjoint-train), or add"
                " --allow-overlap: title and key will say it."
            )
        title += f" (the agent {learnt})"
        key += f" overlap={overlap}"
        remarks.append(f"the agent {learnt}")
    return msgspec.structs.replace(
        info,
        protocol={**info.protocol, "title": title},
        protocol_key=key,
        remarks=(*info.remarks, *remarks),
    )


def _title(base: Protocol, used: Protocol, source: EpisodeSource) -> str:
    """What is played; the title of a protocol tells of its own data and goals alone."""
    if used.goals == base.goals:
        return source.title
    on = source.title.removeprefix(other_data_title(base, "")) if source.title != used.title else ""
    goals = f"the goals of {Path(used.goals).name}"
    return other_data_title(base, f"{goals}, {on or Path(used.data).name}")


def _observation_name(observation: Observation) -> str:
    if isinstance(observation, str):
        return observation
    return _named(observation, observation_reference(observation))


def _view_remarks(base: Protocol, observation: Observation) -> Iterator[str]:
    if base.observation and base.observation != observation:
        yield (
            f"the protocol says observation={base.observation}, and the agent is shown"
            f" {_observation_name(observation)}: how pages are seen belongs to the agent"
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

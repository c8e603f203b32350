"""Playing a submission again, on the data of this machine.

What a stranger's file names is never opened or imported: data is found by its checksum among what
the caller gives and what has a name in Errands' home, and rules, observations, drivers and agents
must be ours. The new play is a run like any other, kept in Errands' home under a hash of the
submission, the data and the code, so that it is played once.
"""

import contextlib
import hashlib
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from errands.agents.agent import AgentError, AgentFactory, EndOfRun
from errands.agents.factory import SimpleFactory
from errands.agents.registry import find_kind
from errands.envs.observations import DEFAULT_OBSERVATIONS, SHOP_FORMATS, TURK_FORMATS
from errands.errors import ErrandsError
from errands.home import home, real
from errands.leaderboard.making import is_reproducible
from errands.leaderboard.submission import SubmittedEpisode, SubmittedRun, read_submission
from errands.runs.episode import Summary
from errands.runs.episode_source import EpisodeSource, open_source
from errands.runs.play import episode_seed
from errands.runs.protocol import Protocol, named_protocols
from errands.runs.runner import protocol_key, run
from errands.runs.store.base import Store, StoreError
from errands.runs.store.places import open_run
from errands.shop.rewards.registry import RULES as SHOP_RULES
from errands.turk.drivers import AUTO, DRIVERS
from errands.turk.scoring.metrics import RULES as TURK_RULES

__all__ = [
    "SECONDS",
    "DataPlaces",
    "FoundData",
    "Limits",
    "NotPlayable",
    "code_fingerprint",
    "make_replayer",
    "opened",
    "played_again",
]

SECONDS: Final = 60.0
"""How long one episode may take to replay, which no agent thinks about."""
_MOST_REPEATS: Final = 1000
_MOST_SHUFFLES: Final = 100
_PER_WORKER: Final = 100
"""Episodes that are worth a process of their own."""
_GOALS: Final = ("synthetic", "human")
"""The goals that every catalogue has; others are in a file."""
_MOST_SHOWN: Final = 200_000
"""Steps of a submission whose pages are kept; of more, there are only fingerprints."""
_DEPARTURES: Final = ("episodes", "max_steps", "rules", "goals", "split", "per_task", "repeat")
"""What a key tells apart where it departs from a named protocol; `driver` is one, too."""
_TOLD: Final = ("title", "data", "checksum", "warning", "source", "observation")
"""What can move no score."""
_OWN: Final = "A submitter's own protocol"
_OVERLAP: Final = re.compile(r"(?:^| )(overlap=\d{1,9})(?= |$)")
_CODE: Final = ("agents", "browser", "envs", "runs", "shop", "turk")
"""What decides what a play gives."""

DataPlaces = Mapping[str, str]
"""Where data is: a directory (or a goal file) by the name that protocols have for it."""


class NotPlayable(ErrandsError):
    """A submission cannot be played here: its data is absent, or it needs what is not ours."""


class FoundData(NamedTuple):
    """What a submission is played in."""

    protocol: Protocol
    """With the data of this machine; of a named one title, warning and source are ours."""
    claimed: Protocol
    """As submitted."""
    shown: str
    """What pages are shown as."""
    key: str
    """The key of the table that it belongs to; computed, not believed."""
    title: str
    """What is played; other data than a named protocol means is told in it."""
    keys: Sequence[str]
    checksum: str


class Limits(NamedTuple):
    """How much a replay may take."""

    workers: int = 1
    seconds: float = SECONDS
    """Of one episode."""
    deadline: float | None = None
    """When all must be done, by `time.monotonic`."""


def opened(submitted: SubmittedRun, data: DataPlaces) -> FoundData:
    """The data of a submission, found and compared with its checksum."""
    claimed = _protocol(submitted)
    if claimed.domain == "shop" and claimed.goals not in (*_GOALS, *data):
        raise NotPlayable(
            f"data absent: its goals are of the file {claimed.goals[:100]!r};"
            f" --data {claimed.goals[:100]}=PATH says where it is"
        )
    shown = _shown(submitted, claimed.domain)
    named = _named(claimed)
    reasons = []
    for place in _places(claimed.data, data):
        ours = named or claimed
        used = msgspec.structs.replace(
            claimed,
            title=ours.title,
            warning=ours.warning,
            source=named.source if named else "",
            data=place,
            checksum="",
            goals=data.get(claimed.goals, claimed.goals),
        )
        try:
            with contextlib.closing(_source(used, shown)) as source:
                if source.checksum == submitted.checksum:
                    key = _table_key(submitted, claimed, named, source)
                    title, keys = source.title, list(source.keys)
                    if named is None:  # Anything could be called by a name of ours.
                        title = f"{_OWN}: {title}"
                    return FoundData(used, claimed, shown, key, title, keys, source.checksum)
                reasons.append(f"{place} has the checksum {source.checksum[:12]}")
        except NotPlayable as failure:
            if claimed.data in data:  # Else it is looked for where it need not be.
                reasons.append(str(failure))
    raise NotPlayable(
        f"data absent: {claimed.data[:100]!r} with the checksum {submitted.checksum[:12]} is not"
        f" here{''.join(f'; {reason}' for reason in reasons)}; --data {claimed.data[:100]}=PATH"
        " says where it is"
    )


def _source(protocol: Protocol, shown: str) -> EpisodeSource:
    try:
        return open_source(protocol, observation=shown)
    except ErrandsError as failure:
        raise NotPlayable(str(failure).rstrip(".")) from None
    except Exception as failure:
        # A stranger's protocol may ask for anything: goals that are not there, odd numbers.
        raise NotPlayable(f"its protocol cannot be used ({type(failure).__name__})") from None


def _places(name: str, data: DataPlaces) -> Iterator[str]:
    if name in data:
        yield data[name]
    if "/" not in name and "\\" not in name and name not in ("", ".", "..") and name[0] != "~":
        yield name


def _protocol(submitted: SubmittedRun) -> Protocol:
    """The protocol as submitted, if nothing in it is foreign code, a path, or out of bounds."""
    try:
        claimed = msgspec.convert(submitted.protocol, Protocol)
    except (msgspec.ValidationError, TypeError) as failure:
        raise NotPlayable(f"its protocol makes no sense ({str(failure)[:200]})") from None
    shop = claimed.domain == "shop"
    for what, value, known in (
        ("rules", claimed.rules, tuple(SHOP_RULES.own if shop else TURK_RULES)),
        ("driver", claimed.settings.get("driver", AUTO), (AUTO, *DRIVERS.own)),
    ):
        if value not in known:
            raise NotPlayable(f"its {what}, {str(value)[:100]!r}, is not among those of Errands")
    foreign = set(claimed.settings) - {"driver"}
    if foreign:
        raise NotPlayable(
            f"its protocol has the setting {min(foreign)[:100]!r}, which is not known"
        )
    most = len(submitted.episodes)
    if (
        claimed.repeat > min(most, _MOST_REPEATS)
        or claimed.shuffle_workers > _MOST_SHUFFLES
        or (claimed.shuffle_workers and (claimed.episodes or 500) > most)
    ):
        raise NotPlayable("its protocol asks for more than a leaderboard plays")
    return claimed


def _shown(submitted: SubmittedRun, domain: str) -> str:
    """What pages are shown as. Where the actions are known, what the agent saw matters no more."""
    usual = DEFAULT_OBSERVATIONS[domain]
    wanted = submitted.agent.observation or usual
    if submitted.kind == "actions":
        return usual
    if wanted not in (SHOP_FORMATS if domain == "shop" else TURK_FORMATS).own:
        raise NotPlayable(f"its observation, {wanted[:100]!r}, is not among those of Errands")
    return wanted


def _named(claimed: Protocol) -> Protocol | None:
    """The named protocol that a claimed one is, or departs from in nothing but what keys tell."""
    for named in named_protocols().values():
        if (named.id, named.version) != (claimed.id, claimed.version):
            continue
        shared = {name: getattr(claimed, name) for name in (*_DEPARTURES, *_TOLD)}
        settings = dict(named.settings)
        if "driver" in claimed.settings:
            settings["driver"] = claimed.settings["driver"]
        if msgspec.structs.replace(named, **shared, settings=settings) == claimed:
            return named
    return None


def _table_key(
    submitted: SubmittedRun, claimed: Protocol, named: Protocol | None, source: EpisodeSource
) -> str:
    """The key of what is really played; without a named protocol it has a fingerprint. What no
    replay shows, that an agent learnt from goals that it played, is told as it was admitted."""
    # What an agent is shown is its own affair; older files have it with the protocol.
    used = msgspec.structs.replace(claimed, observation="")
    admitted = _OVERLAP.findall(submitted.protocol_key)
    return " ".join([protocol_key(named or used, used, source), *admitted[:1]])


@cache
def code_fingerprint(*packages: str) -> str:
    """Of the sources of these packages."""
    total = hashlib.sha256()
    with resources.as_file(resources.files("errands")) as folder:
        for package in packages:
            for path in sorted((folder / package).rglob("*")):
                if path.suffix in (".css", ".js", ".json", ".py", ".toml"):
                    total.update(path.relative_to(folder).as_posix().encode())
                    total.update(path.read_bytes())
    return total.hexdigest()


def _kept(digest: str, found: FoundData) -> Path:
    named = hashlib.sha256(f"{digest} {found.checksum} {code_fingerprint(*_CODE)}".encode())
    return home() / "leaderboard" / named.hexdigest()[:24]


def played_again(
    submitted: SubmittedRun,
    file: Path,
    digest: str,
    found: FoundData,
    limits: Limits,
    on_episode: Callable[[Summary], None],
) -> Store:
    """The run of a submission's actions, or of its agent; played where it is not kept yet."""
    place = _kept(digest, found)
    trouble = _trouble(place, submitted)
    if trouble != "":
        if trouble == "damaged":
            shutil.rmtree(place, ignore_errors=True)
        _play(submitted, file, found, place, limits, on_episode, resume=trouble == "unfinished")
    return open_run(place)


def _trouble(place: Path, submitted: SubmittedRun) -> str:
    """Why a kept replay is not all that is needed; empty where it is."""
    if not place.is_dir():
        return "absent"
    try:
        with contextlib.closing(open_run(place)) as store:
            came = {summary.number: summary.status for summary in store.summaries()}
    except StoreError:
        return "damaged"
    whole = len(came) == len(submitted.episodes) and all(
        came.get(number) != "error" or claimed.status == "error"
        for number, claimed in enumerate(submitted.episodes)
    )
    return "" if whole else "unfinished"


def _play(
    submitted: SubmittedRun,
    file: Path,
    found: FoundData,
    place: Path,
    limits: Limits,
    on_episode: Callable[[Summary], None],
    *,
    resume: bool,
) -> None:
    agent: Any = f"{__name__}:make_replayer"
    settings: dict[str, Any] = {"file": str(real(file))}
    if submitted.kind == "reproducible":
        agent, settings = submitted.agent.agent, submitted.agent.settings
        if not is_reproducible(agent, settings):
            raise NotPlayable(f"the agent {agent!r} is not one that can be played once more")
        if unknown := set(settings) - set(find_kind(agent).settings):
            raise NotPlayable(f"the agent {agent!r} has no setting {min(unknown)[:100]!r}")

    steps = sum(episode.steps for episode in submitted.episodes)

    def count(summary: Summary) -> None:
        on_episode(summary)
        if limits.deadline is not None and time.monotonic() > limits.deadline:
            raise EndOfRun("the time is up")

    finished = run(
        found.protocol,
        agent,
        out=place,
        observation=found.shown,
        settings=settings,
        workers=min(limits.workers, 1 + len(submitted.episodes) // _PER_WORKER),
        resume=resume,
        retry_errors=resume,
        observations="full" if steps <= _MOST_SHOWN else "hash",
        seconds=limits.seconds,
        seed=submitted.seed,
        on_episode=count,
        on_remark=lambda remark: None,
    )
    if finished.ended:
        raise NotPlayable(
            f"{finished.ended}: {finished.kept:,} of {len(submitted.episodes):,} episodes are"
            " replayed; the same command goes on"
        )


class _SubmittedActions:
    """Does what was submitted, whatever it sees."""

    def __init__(self, episode: SubmittedEpisode) -> None:
        self._episode = episode
        self._done = 0

    def begin(self, observation: Any, info: Mapping[str, Any]) -> None:
        """Nothing is to be known."""

    def act(self, observation: Any, info: Mapping[str, Any]) -> str:
        if self._done == len(self._episode.actions):
            if self._episode.status == "error":
                raise AgentError(self._episode.error or "It failed, and does not say why.")
            raise AgentError("Its actions are used up, and the episode is not over.")
        self._done += 1
        return self._episode.actions[self._done - 1]


def make_replayer(domain: str, env: Any, settings: Mapping[str, Any]) -> AgentFactory:
    """The agent that replays a submission: each episode is known by the seed of its number."""
    submitted, digest = read_submission(Path(settings["file"]))
    numbers = {
        episode_seed(submitted.seed, number): number for number in range(len(submitted.episodes))
    }
    return SimpleFactory(
        "submitted",
        lambda seed: _SubmittedActions(submitted.episodes[numbers[seed]]),
        {"submission": digest},
    )

"""A submission: one run in one file, with all that is needed to play it again.

The file is JSON, packed by gzip. It comes from strangers: how much may come out of it is limited
before it is unpacked, every value is checked against its type, and nothing in it is a path or the
name of code. Its hash is that of the JSON, so that packing it again changes nothing.

There are two kinds. `actions` has every action of every episode. `reproducible` has only a
fingerprint of each episode's actions, for agents that ship with Errands and use nothing but the
page and a seed: it is checked by playing the agent once more, and holds no text of the data.
"""

import gzip
import hashlib
import io
import json
import math
import re
import zlib
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import numpy as np

from errands.errors import ErrandsError
from errands.native import Array, Size, native
from errands.reports.statistics.estimate import Estimate
from errands.reports.statistics.repeats import RepeatFigures
from errands.runs.episode import Status

__all__ = [
    "FORMAT",
    "MOST_EPISODES",
    "SUFFIX",
    "AgentCard",
    "SubmissionError",
    "SubmittedEpisode",
    "SubmittedFigures",
    "SubmittedRun",
    "actions_digest",
    "pack",
    "read_submission",
    "unpack",
]

FORMAT: Final = 1
"""Raised whenever a field changes its meaning; a file of another format is refused by name."""
SUFFIX: Final = ".errands.json.gz"
MOST_PACKED: Final = 16 << 20
MOST_UNPACKED: Final = 64 << 20
"""Bytes of a file, as it is and unpacked: 12,000 episodes of 100 steps come to 50 million."""
MOST_EPISODES: Final = 100_000
MOST_STEPS: Final = 10_000
MOST_STEPS_IN_ALL: Final = 1_500_000
"""Actions of one episode, and of all of them."""
MOST_VALUES: Final = 4_000_000
"""Values of a file, names among them: three bytes are enough for one that takes seventy in memory.
The actions and episodes above come to 2.7 million."""
MOST_ACTION: Final = 100_000
"""Characters of one action."""
_LONGEST: Final = {"name": 100, "agent": 100, "authors": 500, "url": 300, "note": 2000}
_MOST_SETTINGS: Final = 20_000
"""Characters of an agent's settings, and of a protocol, as JSON."""
_URL: Final = re.compile(r"https?://[^\s<>\"'`\\\x00-\x20]{1,290}")
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\+00:00|Z)?")

Kind = Literal["actions", "reproducible"]
_values = native("json_values", Array(np.uint8), Size, Size, returns=Size)


class SubmissionError(ErrandsError):
    """A submission cannot be made, read or checked; the sentence says why."""


class AgentCard(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who played, as the submitter says."""

    name: str
    """What the row is called."""
    agent: str
    """The agent's name in Errands, or `module:attribute`, which is shown and never imported."""
    settings: dict[str, Any] = {}
    observation: str = ""
    """What it was shown of a page."""
    privileged: bool = False
    """Whether it was shown the answers: its score is a ceiling."""
    authors: str = ""
    url: str = ""
    note: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    """In US dollars; like the tokens, what the run kept of its model's answers."""


class SubmittedFigures(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The figures of a run, errors counted as 0."""

    score: Estimate
    success: Estimate
    """Both in percent."""
    errors: int
    truncated: int
    steps: float
    """Of an episode, on average."""
    parts: dict[str, Estimate] = {}
    """WebShop: the reward's parts over purchases."""
    rules: dict[str, dict[str, Estimate]] = {}
    """TurkingBench: `tasks` and `fields`, the means over each, by the name of the rules."""
    repeats: RepeatFigures | None = None
    """Of a run that played goals more than once."""


class SubmittedEpisode(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """One episode: what came of it, and what was done."""

    key: str
    status: Status
    reward: float | None
    steps: int
    actions: tuple[str, ...] | str
    """All of them; of a reproducible run their fingerprint."""
    error: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0


class SubmittedRun(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole submission."""

    format: int = FORMAT
    kind: Kind
    protocol: dict[str, Any]
    """As data; what it says of data are names, never paths."""
    protocol_key: str
    """As the run had it."""
    checksum: str
    """Of the data."""
    seed: int
    versions: dict[str, str]
    started: str
    agent: AgentCard
    remarks: tuple[str, ...] = ()
    figures: SubmittedFigures
    episodes: tuple[SubmittedEpisode, ...]
    """In order of number, from 0; none may be missing."""


def actions_digest(actions: Sequence[str]) -> str:
    """A fingerprint of an episode's actions."""
    listed = json.dumps(list(actions), ensure_ascii=True, separators=(",", ":")).encode()
    return hashlib.blake2b(listed, digest_size=12).hexdigest()


def pack(run: SubmittedRun) -> bytes:
    """The file of a submission: the same bytes for the same run."""
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=packed, mode="wb", compresslevel=9, mtime=0) as file:
        file.write(_json(run))
    data = packed.getvalue()
    unpack(data, "The submission")  # So that no file is made that a leaderboard would not take.
    return data


def _json(run: SubmittedRun) -> bytes:
    # Escaped to ASCII: models and pages do produce halves of surrogate pairs, which UTF-8 has not.
    text = json.dumps(msgspec.to_builtins(run), ensure_ascii=True, separators=(",", ":"))
    return text.encode("ascii") + b"\n"


def read_submission(path: Path) -> tuple[SubmittedRun, str]:
    """A submission and its hash."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_PACKED + 1)
    except OSError as failure:
        raise SubmissionError(f"{path.name} cannot be read ({failure.strerror}).") from None
    return unpack(data, path.name)


def unpack(data: bytes, name: str) -> tuple[SubmittedRun, str]:
    """The submission in a file's bytes, and its hash; `name` is said in what is wrong with it."""
    if len(data) > MOST_PACKED:
        raise SubmissionError(f"{name} is larger than {MOST_PACKED >> 20} MB.")
    text = _unzipped(data, name)
    if text and _values(np.frombuffer(text, np.uint8), len(text), MOST_VALUES) > MOST_VALUES:
        raise SubmissionError(f"{name} holds more than {MOST_VALUES:,} values.")
    try:
        held = json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError):
        raise SubmissionError(f"{name} does not hold JSON; `errands submit` makes one.") from None
    told = held.get("format") if isinstance(held, dict) else None
    if told != FORMAT or isinstance(told, bool):
        raise SubmissionError(
            f"{name} is no submission of format {FORMAT}; make it anew with `errands submit`."
        )
    try:
        run = msgspec.convert(held, SubmittedRun)
    except (ValueError, RecursionError) as failure:
        # A half of a surrogate pair where a name is expected is no ValidationError.
        raise SubmissionError(f"{name} is no submission: {_bounded(str(failure))}.") from None
    if reason := _fault(run):
        raise SubmissionError(f"{name} is no submission: {reason}.")
    return run, hashlib.sha256(text).hexdigest()


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


def _can_be_stored(value: Any) -> bool:
    try:
        msgspec.msgpack.encode(value)
    except (UnicodeEncodeError, OverflowError):
        return False
    return True


def _is_time(text: str) -> bool:
    try:
        return bool(_DATE.fullmatch(text)) and bool(datetime.fromisoformat(text))
    except ValueError:  # The 40th of a month.
        return False


def _bounded(text: str) -> str:
    return text.rstrip(".")[:300]


def _unzipped(data: bytes, name: str) -> bytes:
    """What gzip packed, as far as the limit; one member, and nothing after it."""
    stream = zlib.decompressobj(wbits=31)
    try:
        text = stream.decompress(data, MOST_UNPACKED + 1)
    except zlib.error:
        raise SubmissionError(f"{name} is not packed by gzip, or damaged.") from None
    if len(text) > MOST_UNPACKED:
        raise SubmissionError(f"{name} unpacks to more than {MOST_UNPACKED >> 20} MB.")
    if not stream.eof or stream.unused_data:
        raise SubmissionError(f"{name} is cut off, or has something behind its end.")
    return text


def _fault(run: SubmittedRun) -> str:
    """What types do not say; empty where all is well."""
    card = run.agent
    for field, most in _LONGEST.items():
        if len(getattr(card, field)) > most:
            return f"the agent's {field} is longer than {most} characters"
    if not card.name.strip() or not card.agent.strip():
        return "the agent has no name"
    # Marks that turn the direction of writing would let one row disturb another.
    if not all(text.isprintable() for text in (card.name, card.agent, card.authors)):
        return "the agent's name or authors have characters that cannot be printed"
    if card.url and not _URL.fullmatch(card.url):
        return "the agent's url is not a web address"
    if min(card.tokens_in, card.tokens_out, card.cost) < 0 or run.seed < 0 or run.seed >= 1 << 63:
        return "a number is out of range"
    for what, value in {"settings": card.settings, "protocol": run.protocol}.items():
        if len(json.dumps(value)) > _MOST_SETTINGS + 12 * len(run.episodes):
            return f"the {what} are longer than {_MOST_SETTINGS} characters"
        if not _can_be_stored(value):
            return f"the {what} have a text that is not Unicode, or a number beyond 64 bits"
    if len(run.protocol_key) > 1000 or len(run.checksum) > 200 or len(run.remarks) > 50:
        return "the protocol key, the checksum or the remarks are too long"
    if any(len(remark) > 5000 for remark in run.remarks):
        return "a remark is longer than 5000 characters"
    if len(run.versions) > 20 or any(len(k) + len(v) > 100 for k, v in run.versions.items()):
        return "the versions are too long"
    if not _is_time(run.started):
        return "`started` is not a time in UTC, as 2026-11-18T06:14:09+00:00"
    if not 0 < len(run.episodes) <= MOST_EPISODES:
        return f"it has {len(run.episodes)} episodes; expected 1 to {MOST_EPISODES:,}"
    if sum(episode.steps for episode in run.episodes) > MOST_STEPS_IN_ALL:
        return f"it has more than {MOST_STEPS_IN_ALL:,} steps"
    for number, episode in enumerate(run.episodes):
        if reason := _episode_fault(run.kind, episode):
            return f"episode {number}: {reason}"
    return ""


def _episode_fault(kind: Kind, episode: SubmittedEpisode) -> str:
    if len(episode.key) > 1000 or len(episode.error) > 1000:
        return "its key or its error is longer than 1000 characters"
    if (episode.reward is None) != (episode.status == "error"):
        return "an error has no reward, and all others have one"
    if episode.reward is not None and not 0 <= episode.reward <= 1:
        return "a reward is from 0 to 1"
    if min(episode.tokens_in, episode.tokens_out, episode.cost, episode.steps) < 0:
        return "a number is out of range"
    if episode.steps > MOST_STEPS:
        return f"it has more than {MOST_STEPS:,} steps"
    if isinstance(episode.actions, str) != (kind == "reproducible"):
        return f"its actions are not those of the kind {kind!r}"
    if isinstance(episode.actions, str):
        return "" if re.fullmatch("[0-9a-f]{24}", episode.actions) else "its actions are no digest"
    if len(episode.actions) != episode.steps:
        return f"it has {len(episode.actions)} actions and says {episode.steps} steps"
    if any(len(action) > MOST_ACTION for action in episode.actions):
        return f"an action is longer than {MOST_ACTION} characters"
    return ""

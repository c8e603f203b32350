"""A protocol: everything two results must share to be compared, as data with an id and a version.

The named ones ship in `protocols.toml`. A user's own are written in the same form: a table for
each, whose name is its id, in any TOML file; `mine.toml#name` picks one of several.
"""

import difflib
import functools
import tomllib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from errands.errors import ErrandsError
from errands.home import expanded

__all__ = [
    "MOST_REPEATS",
    "DataIdentity",
    "Protocol",
    "ProtocolError",
    "find_protocol",
    "named_protocols",
    "read_protocols",
]


MOST_REPEATS: Final = 10_000


class ProtocolError(ErrandsError):
    """There is no such protocol, or its file makes no sense."""


class DataIdentity(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """What tells the data that a protocol means from other data (`runs.identity`)."""

    products: int = 0
    """WebShop: how many, but for one in a hundred that a build may leave out as unusable."""
    goals: int = 0
    """How many the goal set has; 0: any."""
    instructions: str = ""
    """The goals' wording, in order."""
    content: str = ""
    """What the products say of themselves."""
    generated: dict[str, Any] | None = None
    """How a catalogue of our own making was generated: `seed`, `difficulty`."""
    tasks: str = ""
    """TurkingBench: whose tasks; `turkingbench`."""


class Protocol(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"domain": "half"}
):
    """What is played, by which rules, how often."""

    id: str
    version: int
    title: str
    domain: Literal["shop", "turk"]
    data: str
    """The catalogue or the folder of tasks, by name or path."""
    checksum: str = ""
    """What the data must add up to; empty: any, and the sum is kept with the result."""
    identity: DataIdentity | None = None
    """What the data must be for a result to be this protocol's; other data is played under another
    title and key. None: any data."""
    goals: str = "synthetic"
    """WebShop: which goals."""
    split: str = ""
    """A named split; empty for everything."""
    picked: tuple[int, ...] = ()
    """WebShop: these goals alone, in this order; one may come twice. Empty: those of the split."""
    tasks: tuple[str, ...] = ()
    """TurkingBench: these tasks alone; empty for all of the split."""
    episodes: int | None = None
    """How many, from the split's beginning; None for all."""
    per_task: int | None = None
    """TurkingBench: at most so many instances of each task, drawn by the seed."""
    per_product: int | None = None
    """WebShop: at most so many goals of each product, drawn by the seed; the first of each product,
    then the second, and so on."""
    repeat: int = 1
    """How often the list of episodes is played, round by round."""
    weights: Literal["episode", "cluster"] = "episode"
    """What counts alike: every episode, or every cluster of episodes (a product, a task), whose
    score is the mean of its episodes; the run's score is the mean over these."""
    shuffle_workers: int = 0
    """WebShop: the legacy order, in which each of so many workers shuffled the goals by itself."""
    seed: int = 0
    observation: str = ""
    """What agents are shown that read it too; each agent says what it reads (`agents.views`), and
    it is no part of a result's key. Kept for files from before that."""
    rules: str = "released"
    max_steps: int | None = 100
    settings: dict[str, Any] = {}
    """More arguments of the environment."""
    warning: str = ""
    """What is wrong with it, for protocols kept to reproduce old numbers."""
    source: str = ""
    """Whose it is."""

    def __post_init__(self) -> None:
        for name in ("version", "episodes", "per_task", "per_product", "repeat", "max_steps"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be 1 or more, not {value}")
            if value is not None and value >= 1 << 63:
                raise ValueError(f"{name} must be below 2**63")
        if self.repeat > MOST_REPEATS:
            raise ValueError(f"repeat must be {MOST_REPEATS:,} or less, not {self.repeat:,}")
        for name in ("shuffle_workers", "seed"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative")
            if getattr(self, name) >= 1 << 63:
                raise ValueError(f"{name} must be below 2**63")
        of_others = {
            "shop": ("per_task", "tasks"),
            "turk": ("shuffle_workers", "picked", "per_product"),
        }
        for name in of_others[self.domain]:
            if getattr(self, name):
                raise ValueError(f"{name} means nothing for the {self.domain} domain")
        if self.picked and (self.split or self.shuffle_workers or self.per_product):
            raise ValueError(
                "picked goals stand for themselves, without split, shuffle_workers or per_product"
            )
        if self.shuffle_workers and self.per_product:
            raise ValueError("shuffle_workers and per_product do not go together")
        if self.identity is not None and self.identity.tasks not in ("", "turkingbench"):
            raise ValueError("tasks of an identity can only be 'turkingbench'")


@functools.cache
def named_protocols() -> Mapping[str, Protocol]:
    """The protocols that ship with Errands, by id; older versions as `id@version`."""
    source = resources.files("errands.runs").joinpath("protocols.toml")
    return _parse(source.read_text("utf-8"), "protocols.toml")


def read_protocols(path: Path) -> Mapping[str, Protocol]:
    """The protocols of a user's file, by id."""
    try:
        return _parse(path.read_text("utf-8"), str(path))
    except OSError as failure:
        raise ProtocolError(f"{path} cannot be read: {failure.strerror}.") from None
    except UnicodeDecodeError:
        raise ProtocolError(f"{path} is not UTF-8 text; expected a TOML file.") from None


def find_protocol(name: str) -> Protocol:
    """A protocol by id, or one of a file: `FILE.toml`, or `FILE.toml#id` where it has several."""
    if ".toml" in name:
        file, _, wanted = name.partition("#")
        found = read_protocols(expanded(file))
        if not wanted and len(found) == 1:
            return next(iter(found.values()))
        if wanted in found:
            return found[wanted]
        what = f"has no protocol {wanted!r}" if wanted else "has several protocols"
        raise ProtocolError(
            f"{file} {what}; name one of them: "
            + ", ".join(f"{file}#{known}" for known in found)
            + "."
        )
    known = named_protocols()
    if name in known:
        return known[name]
    plain, _, version = name.partition("@")
    if plain in known and version:
        if version == str(known[plain].version):
            return known[plain]
        versions = [
            str(one.version) for one in known.values() if one.id == plain and one.version > 0
        ]
        raise ProtocolError(
            f"There is no version {version!r} of the protocol {plain!r}; expected"
            f" {' or '.join(sorted(versions))}."
        )
    near = difflib.get_close_matches(name, known, 3, 0.4)
    hint = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    raise ProtocolError(
        f"There is no protocol {name!r}.{hint} `errands protocols` lists them; your own come from"
        " a file: errands run mine.toml#name."
    )


def _parse(text: str, place: str) -> dict[str, Protocol]:
    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as failure:
        raise ProtocolError(f"{place} is not TOML: {failure}.") from None
    if not tables:
        raise ProtocolError(
            f"{place} has no protocol; expected a table for each, as [my-protocol]."
        )
    found = {}
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise ProtocolError(
                f"{place}: {name} stands outside of a table; expected [{name}] with its settings"
                " below."
            )
        if "domain" in table and "half" in table:
            raise ProtocolError(f"{place}, protocol {name!r}: half is the old name of domain.")
        if "domain" in table:  # Stored protocols have always said `half`.
            table["half"] = table.pop("domain")
        plain, _, version = name.partition("@")
        if version and version != str(table.get("version", "")):
            raise ProtocolError(
                f"{place}: [{name!r}] says version = {table.get('version', 'nothing')}; expected"
                f" {version}."
            )
        try:
            found[name] = msgspec.convert({"title": plain, **table, "id": plain}, Protocol)
        except msgspec.ValidationError as failure:
            raise ProtocolError(f"{place}, protocol {name!r}: {_plain(str(failure))}.") from None
    return found


def _plain(reason: str) -> str:
    """A validation message, with the nearest name where one is unknown."""
    reason = reason.replace(" - at `$.", ": `").replace("`half`", "`domain`").rstrip(".")
    if "unknown field" in reason:
        wrong = reason.split("`")[1]
        near = difflib.get_close_matches(wrong, Protocol.__struct_fields__, 1)
        reason = f"there is no setting {wrong!r}" + (f"; did you mean {near[0]!r}" if near else "")
    return reason

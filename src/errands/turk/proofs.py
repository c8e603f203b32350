"""Proofs that a page is the same without a browser, kept by the template's hash.

`errands turk verify` makes them, `errands run` where a task is first met, and `driver="auto"`
believes nothing else. Those of the demo tasks and of TurkingBench's templates ship with the package
(`proofs.jsonl`: what was covered and what scripts do, by field name and place; nothing of the
pages' text); others live in Errands' home.
"""

import functools
import re
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Final

import msgspec

from errands.atomic import atomic_write
from errands.errors import SettingError
from errands.home import home
from errands.turk.dom.effects import EffectRule

__all__ = [
    "EDITION", "PROOF_SECONDS", "Proof", "ProofCoverage", "adopt_proofs", "check_proof_seconds",
    "find_proof", "keep_proof", "kept_proof", "own_proofs", "proofs_folder", "write_proofs",
]  # fmt: skip

_SUBJECT = re.compile(
    r"(: (?:presence|type|visible|options|values|attributes|order|text|html|relevant|refused)"
    r"(?: of '[^']*')?): .*",
    re.S,
)
"""Up to what differs, in a proof's reason; behind it stands what was read."""

EDITION = 4
"""Raised whenever a driver changes what it sees, or a proof asks for more: older ones then count
no more."""


PROOF_SECONDS: Final = 60.0
"""What a task's proof may take where it is made on the way."""


def check_proof_seconds(seconds: object) -> None:
    """Refuse what is no time for a proof."""
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not (number and 0 <= seconds <= 86_400):  # type: ignore[operator]
        raise SettingError(
            f"prove={seconds!r}: expected the seconds that a task's proof may take, up to 86400, or"
            " 0 for none."
        )


class ProofCoverage(msgspec.Struct, frozen=True):
    """What a proof went through."""

    rows: int = 0
    loads: int = 0
    """Rows whose pages were compared as they were loaded, those of `rows` among them."""
    kinds: int = 0
    """Of rows that a script could tell apart: those that were among them."""
    kinds_of_all: int = 0
    """And in the whole table."""
    rows_of_all: int = 0
    """Rows of the whole table; 0 in those that ship, which are of all there are."""
    actions: int = 0
    values: int = 0
    pairs: int = 0
    """Ordered pairs of values that were tried, of two fields or of one."""
    pairs_left: int = 0
    """Pairs that the page never let anybody try."""
    walks: int = 0


class Proof(msgspec.Struct, frozen=True):
    """What a comparison of both drivers showed for one template."""

    template: str
    """The template's hash."""
    equal: bool
    edition: int
    instances: int
    fields: int
    reason: str = ""
    """The first difference, where there is one."""
    pointer: bool = False
    """Whether the task's answers need a pointer, which only a browser has."""

    effect_rules: tuple[EffectRule, ...] = msgspec.field(default=(), name="reactions")
    """What the page does at load and in reply to actions; the comparison was made with them."""
    method: str = "coverage"
    """`construction` where nothing on the page could act by itself, else `coverage`."""
    scripts: tuple[str, ...] = ()
    """What could act."""
    coverage: ProofCoverage | None = None
    undecided: float = 0.0
    """The seconds that were not enough to find out; 0 where it was decided."""

    @property
    def allows_dom(self) -> bool:
        return self.equal and not self.pointer

    def covers(self, rows: int) -> bool:
        """Whether it was made with a table of at least so many rows: a longer one may have rows of
        kinds that were not there."""
        known = self.coverage.rows_of_all if self.coverage is not None else 0
        return known == 0 or rows <= known


def proofs_folder() -> Path:
    return home() / "turk" / "proofs"


_of_process: dict[str, Proof] = {}
"""Proofs that could not be written: they hold as long as this process."""


def keep_proof(proof: Proof) -> None:
    """Save a proof; a later one for the same template replaces it. Where Errands' home cannot be
    written to, it is kept for this process alone."""
    encoded = msgspec.json.encode(proof)
    try:
        folder = proofs_folder()
        folder.mkdir(parents=True, exist_ok=True)
        atomic_write(folder / f"{proof.template}.json", lambda path: path.write_bytes(encoded))
    except OSError:
        _of_process[proof.template] = proof


def find_proof(template_hash: str) -> Proof | None:
    """The proof for a template, if one of this edition is kept or ships: the first that decides."""
    kept, ships = _of_process.get(template_hash), _shipped().get(template_hash)
    places = (kept_proof(template_hash), kept, ships)
    known = [proof for proof in places if proof is not None and proof.edition == EDITION]
    return min(known, key=lambda proof: proof.undecided > 0, default=None)


def kept_proof(template_hash: str) -> Proof | None:
    """The proof of this edition that is kept in Errands' home, if there is one."""
    path = proofs_folder() / f"{template_hash}.json"
    try:
        file = path.stat()
        proof = _read(path, file.st_mtime_ns, file.st_ino)
    except (OSError, msgspec.DecodeError, RecursionError):
        return None
    return proof if proof.edition == EDITION else None


def own_proofs(template_hashes: Iterable[str]) -> tuple[Proof, ...]:
    """The proofs of these templates that do not ship: what another machine may not have."""
    found = [find_proof(name) for name in dict.fromkeys(template_hashes)]
    shipped = _shipped()
    return tuple(p for p in found if p is not None and p != shipped.get(p.template))


def adopt_proofs(proofs: Iterable[Proof]) -> None:
    """Keep proofs that another machine has made, where there are none."""
    for proof in proofs:
        if find_proof(proof.template) is None:
            keep_proof(proof)


@functools.lru_cache(maxsize=512)
def _read(path: Path, changed: int, number: int) -> Proof:
    """Read once for each time that the file was written: every page that is opened asks."""
    return msgspec.json.decode(path.read_bytes(), type=Proof)


def write_proofs(path: Path, proofs: Iterable[Proof]) -> None:
    """Proofs in one file, to ship with tasks: a line each, without what was read on the pages."""
    lines = [
        msgspec.json.encode(
            msgspec.structs.replace(proof, reason=_SUBJECT.sub(r"\1", proof.reason))
        )
        for proof in sorted(proofs, key=lambda proof: proof.template)
    ]
    atomic_write(path, lambda part: part.write_bytes(b"".join(line + b"\n" for line in lines)))


@functools.cache
def _shipped() -> dict[str, Proof]:
    file = resources.files("errands.turk") / "proofs.jsonl"
    if not file.is_file():
        return {}
    proofs = (msgspec.json.decode(line, type=Proof) for line in file.read_bytes().splitlines())
    return {proof.template: proof for proof in proofs}

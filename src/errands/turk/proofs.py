"""Proofs that a page is the same without a browser, kept by the template's hash.

`errands turk verify` makes them, and `driver="auto"` believes nothing else. Those of the demo
tasks ship with the package; others live in Errands' home.
"""

import functools
from importlib import resources
from pathlib import Path

import msgspec

from errands.atomic import atomic_write
from errands.home import home
from errands.turk.dom.effects import EffectRule

__all__ = ["EDITION", "Proof", "find_proof", "keep_proof", "proofs_folder"]

EDITION = 3
"""Raised whenever a driver changes what it sees, or a proof asks for more: older ones then count
no more."""


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
    """What the page does in reply to actions; the comparison was made with them."""

    @property
    def allows_dom(self) -> bool:
        return self.equal and not self.pointer


def proofs_folder() -> Path:
    return home() / "turk" / "proofs"


def keep_proof(proof: Proof) -> None:
    """Save a proof; a later one for the same template replaces it."""
    folder = proofs_folder()
    folder.mkdir(parents=True, exist_ok=True)
    encoded = msgspec.json.encode(proof)
    atomic_write(folder / f"{proof.template}.json", lambda path: path.write_bytes(encoded))


def find_proof(template_hash: str) -> Proof | None:
    """The proof for a template, if one of this edition is kept or ships."""
    path = proofs_folder() / f"{template_hash}.json"
    proof: Proof | None
    try:
        file = path.stat()
        proof = _read(path, file.st_mtime_ns, file.st_ino)
    except (OSError, msgspec.DecodeError):
        proof = _shipped().get(template_hash)
    return proof if proof is not None and proof.edition == EDITION else None


@functools.lru_cache(maxsize=512)
def _read(path: Path, changed: int, number: int) -> Proof:
    """Read once for each time that the file was written: every page that is opened asks."""
    return msgspec.json.decode(path.read_bytes(), type=Proof)


@functools.cache
def _shipped() -> dict[str, Proof]:
    file = resources.files("errands.turk") / "demo" / "proofs.json"
    if not file.is_file():
        return {}
    proofs = msgspec.json.decode(file.read_bytes(), type=list[Proof])
    return {proof.template: proof for proof in proofs}

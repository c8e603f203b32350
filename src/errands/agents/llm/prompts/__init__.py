"""Prompts: plain Markdown files beside this one, to be copied and changed.

A file's parts begin with a line `## name`; what stands before the first part is for the reader
and never sent; a line `version: N` there is kept with a run, and raised with every change.
`{{name}}` in a part is replaced by a value, once. `names()` lists the files,
`source(name)` gives a file's text, and the setting `prompt=PATH` takes another.
"""

import hashlib
import re
from collections.abc import Mapping
from importlib import resources
from typing import Final

import msgspec

from errands.errors import SettingError
from errands.home import expanded
from errands.plugins import nearest

__all__ = ["PLACEHOLDERS", "Prompt", "load", "names", "source"]

PLACEHOLDERS: Final[Mapping[str, Mapping[str, frozenset[str]]]] = {
    "shop": {
        "system": frozenset(),
        "example": frozenset(),
        "start": frozenset({"instruction"}),
        "repair": frozenset({"problem"}),
    },
    "shop-published": {
        "example": frozenset(),
        "repair": frozenset({"problem"}),
    },
    "turk-field": {
        "system": frozenset({"actions"}),
        "page": frozenset({"name", "type", "options", "html", "note", "message"}),
        "repair": frozenset({"problem"}),
    },
    "turk-whole": {
        "system": frozenset({"actions"}),
        "page": frozenset({"fields", "html", "note", "message"}),
        "repair": frozenset({"problem"}),
    },
    "turk-conversation": {
        "system": frozenset(),
        "pointer": frozenset(),
        "start": frozenset({"fields", "page", "note"}),
    },
}
"""For each kind of prompt its parts, and the placeholders that each may hold."""

_NEEDED: Final = {
    "shop": {"instruction"},
    "shop-published": set(),
    "turk-field": {"name", "html"},
    "turk-whole": {"html"},
    "turk-conversation": {"page"},
}
_HEADING: Final = re.compile(r"^## +([a-z]+) *$", re.MULTILINE)
_VERSION: Final = re.compile(r"^version: *(\d{1,6}) *$", re.MULTILINE)
_PLACE: Final = re.compile(r"\{\{(\w+)\}\}")


class Prompt(msgspec.Struct, frozen=True):
    """A prompt's parts, and a fingerprint of the file they are from."""

    parts: dict[str, str]
    sha256: str
    version: int = 0
    """What the file says of itself; 0 where it says nothing."""

    def fill(self, part: str, **values: str) -> str:
        """A part with its values, which are not looked at again; a line of an empty value alone
        is left out."""
        lines: list[str] = []
        for line in self.parts[part].split("\n"):
            places = _PLACE.findall(line)
            alone = places and not _PLACE.sub("", line).strip()
            if alone and not any(values.get(place) for place in places):
                continue
            if line.strip() or (lines and lines[-1].strip()):
                lines.append(line)
        return _PLACE.sub(lambda place: values.get(place[1], ""), "\n".join(lines).strip())


def names() -> list[str]:
    """The prompts that come with Errands."""
    files = resources.files(__name__).iterdir()
    return sorted(file.name.removesuffix(".md") for file in files if file.name.endswith(".md"))


def source(name: str) -> str:
    """The text of a prompt's file."""
    if name not in names():
        hint = nearest(name, names(), 1) or f" there are {', '.join(names())}."
        raise SettingError(f"There is no prompt {name!r}:{hint}")
    return resources.files(__name__).joinpath(f"{name}.md").read_text("utf-8")


def load(name: str, kind: str, path: str | None = None) -> Prompt:
    """A prompt of a kind (a key of `PLACEHOLDERS`): a user's file, or the one of this name."""
    if path is None:
        return _parse(source(name), kind, f"The prompt {name!r}")
    try:
        text = expanded(path).read_text("utf-8")
    except (OSError, ValueError) as failure:
        reason = getattr(failure, "strerror", None) or failure
        raise SettingError(
            f"prompt={path!r} cannot be read ({reason}): expected a Markdown file such as"
            f" {name}.md in errands/agents/llm/prompts."
        ) from None
    return _parse(text, kind, f"The prompt {path}")


def _parse(text: str, kind: str, which: str) -> Prompt:
    allowed = PLACEHOLDERS[kind]
    before, *pieces = _HEADING.split(text)
    parts = {name: body.strip() for name, body in zip(pieces[::2], pieces[1::2], strict=True)}
    for name in allowed:
        if name not in parts:
            raise SettingError(
                f"{which} has no part `## {name}`: expected the parts {', '.join(allowed)}."
            )
    for name in parts:
        if name not in allowed:
            raise SettingError(
                f"{which} has a part `## {name}`: expected the parts {', '.join(allowed)}."
            )
        for place in _PLACE.findall(parts[name]):
            if place not in allowed[name]:
                listed = ", ".join(sorted(allowed[name])) or "none"
                raise SettingError(
                    f"{which} has {{{{{place}}}}} in its part {name!r}: the placeholders there"
                    f" are {listed}."
                )
    held = {place for body in parts.values() for place in _PLACE.findall(body)}
    for place in sorted(_NEEDED[kind] - held):
        raise SettingError(f"{which} lacks {{{{{place}}}}}: the model would be asked blindly.")
    version = _VERSION.search(before)
    return Prompt(
        parts,
        hashlib.sha256(text.encode()).hexdigest(),
        int(version[1]) if version is not None else 0,
    )

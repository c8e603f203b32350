"""A form field as an agent meets it on a page, and the lines of HTML around one."""

import re
from typing import Final

import msgspec

__all__ = [
    "CHOICES", "EXCLUDED", "FREE_TEXTS", "INPUT_TYPES", "MARK", "TEXTS", "UNSENT", "Field",
    "SubmittedField", "excerpt", "well_formed",
]  # fmt: skip

TEXTS: Final = frozenset(
    {"text", "textarea", "password", "email", "number", "tel", "url", "search", "date", "time",
     "month", "week", "datetime-local", "color"}
)  # fmt: skip
"""Types that hold one text."""
FREE_TEXTS: Final = frozenset("text textarea search url tel email password".split())
"""Those of them that take any text."""
INPUT_TYPES: Final = (TEXTS - {"textarea"}) | frozenset(
    "button checkbox file hidden image radio range reset submit".split()
)
"""Types of `input` that browsers know; any other is `text`."""
CHOICES: Final = frozenset({"radio", "checkbox", "select"})
EXCLUDED: Final = frozenset({"csrfmiddlewaretoken", "worker_ip", "ee", "submit"})
"""Names that never count as fields."""
UNSENT: Final = frozenset("button file image reset submit".split())
"""Types that are never part of a submission: buttons, and files, which are no texts."""

MARK: Final = "errands-here"
"""Attribute that the field's element carries in the HTML given to `excerpt`, with no value."""
_BEFORE: Final = 5
_AFTER: Final = 9
_ATTRIBUTE = re.compile(rf'\s{MARK}(?:="")?')


class Field(msgspec.Struct, frozen=True):
    """All elements of one name; its type is that of the first of them in the document."""

    name: str
    type: str
    """The browser's effective type of an input, or `select` or `textarea`."""
    visible: bool
    """Whether the first element is displayed now."""
    options: tuple[str, ...] = ()
    """Values to choose from: of radio buttons, check boxes or a drop-down's options."""


class SubmittedField(msgspec.Struct, frozen=True):
    """All that a page sends under one name when it is submitted."""

    name: str
    type: str
    """Of the first control of this name that the form sends; `hidden` where a script adds it to
    what is sent without a control."""
    values: tuple[str, ...]
    """Empty where there is something to tick or choose, and nothing was."""


def excerpt(html: str, *, end_tag: str | None = None) -> str:
    """The `relevant` observation: five lines before the marked element's and nine after.

    A line ends at every `>`. The element is found by its mark, so that the window is always on
    target (the original's was for one field in three). With `end_tag`, everything up to that tag
    counts as the field's own lines: the options of a drop-down are never cut.
    """
    match = _ATTRIBUTE.search(html)
    if match is None:
        return ""
    start = match.start()
    end = start
    if end_tag is not None:
        close = html.find(end_tag, start)
        end = max(start, close - len(match[0]) + len(end_tag) - 1) if close >= 0 else start
    html = html[:start] + html[match.end() :]
    lines: list[str] = []
    first = last = 0
    position = 0
    for piece in re.findall(r"[^>]+>?|>", html):
        line = " ".join(piece.split())
        if position <= start < position + len(piece):
            first = last = len(lines)
        if position <= end < position + len(piece):
            last = max(first, len(lines))
        position += len(piece)
        if line:
            lines.append(line)
    return "\n".join(lines[max(0, first - _BEFORE) : last + _AFTER + 1])


def well_formed(text: str) -> str:
    """The text without lone surrogates, which no page can hold."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

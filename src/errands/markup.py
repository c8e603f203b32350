"""Markup with a type: what is `Markup` is safe to show, any other text is escaped when it enters.

Pages are made with `html`, whose first argument is the program's own text:

    html("<p>{}</p>", title)                    # the title is escaped
    html("<ul>{}</ul>", join(items))            # items are Markup already

Functions that make or take pieces of a page say so in their types, and mypy refuses a plain text
where `Markup` is expected; ruff (S704) refuses `Markup(...)` and `html(...)` of a text that is not
written out in the program.
"""

import re
from collections.abc import Iterable
from html import escape
from typing import Final, LiteralString, Self

import markupsafe

__all__ = ["EMPTY", "Markup", "html", "join"]

_UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")


class Markup(markupsafe.Markup):
    """Markup that can be shown as it is; texts joined or added to it are escaped.

    Other than markupsafe's, it writes a mark for characters that no HTML or UTF-8 file can hold.
    """

    __slots__ = ()

    @classmethod
    def escape(cls, text: object, /) -> Self:
        """A text that is shown as it is and never acts. Markup stays what it is."""
        return cls(_escape(text))


EMPTY: Final = Markup()


def html(template: LiteralString, *values: object, **named: object) -> Markup:
    """A piece of markup: `template` as it is, every value that goes into it escaped.

    Fields are those of `str.format`; a number may have a format (`{:.2f}`).
    """
    # `Markup.format` does the same with a formatter written in Python, four times slower.
    texts = template.format(
        *map(_field, values), **{name: _field(value) for name, value in named.items()}
    )
    return str.__new__(Markup, texts)


def join(pieces: Iterable[object], between: LiteralString = "") -> Markup:
    """Pieces one after the other; those that are not `Markup` are escaped."""
    return str.__new__(Markup, between.join(map(_escape, pieces)))


def _field(value: object) -> object:
    return value if isinstance(value, int | float) else _escape(value)


def _escape(text: object) -> str:
    if hasattr(text, "__html__"):
        return str(text.__html__())
    return escape(_UNPRINTABLE.sub("\ufffd", str(text)), quote=True)

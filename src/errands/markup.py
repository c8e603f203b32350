"""Markup with a type: what is `Markup` is safe to show, any other text is escaped when it enters.

Pages are made with `html`, whose first argument is the program's own text:

    html("<p>{}</p>", title)                    # the title is escaped
    html("<ul>{}</ul>", join(items))            # items are Markup already
"""

from collections.abc import Iterable
from typing import Any

from markupsafe import Markup, escape

__all__ = ["Markup", "escape", "html", "join"]


def html(template: str, *values: Any, **named: Any) -> Markup:
    """A piece of markup: `template` as it is, every value that goes into it escaped."""
    return Markup(template).format(*values, **named)


def join(pieces: Iterable[Any], between: str = "") -> Markup:
    """Pieces one after the other; those that are not `Markup` are escaped."""
    return Markup(between).join(pieces)

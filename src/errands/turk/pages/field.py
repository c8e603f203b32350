"""A form field as an agent meets it on a page."""

from typing import Final

import msgspec

__all__ = ["CHOICES", "EXCLUDED", "TEXTS", "Field"]

TEXTS: Final = frozenset(
    {"text", "textarea", "password", "email", "number", "tel", "url", "search", "date", "time",
     "month", "week", "datetime-local", "color"}
)  # fmt: skip
"""Types that hold one text."""
CHOICES: Final = frozenset({"radio", "checkbox", "select"})
EXCLUDED: Final = frozenset({"csrfmiddlewaretoken", "worker_ip", "ee", "submit"})
"""Names that never count as fields."""


class Field(msgspec.Struct, frozen=True):
    """All elements of one name; its type is that of the first of them in the document."""

    name: str
    type: str
    """The browser's effective type of an input, or `select` or `textarea`."""
    visible: bool
    """Whether the first element is displayed now."""
    options: tuple[str, ...] = ()
    """Values to choose from: of radio buttons, check boxes or a drop-down's options."""

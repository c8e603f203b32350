"""What a model is shown of a form page, and the question that is put to it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from errands.agents.llm.prompts import Prompt
from errands.agents.llm.transport.images import data_address
from errands.agents.llm.transport.messages import picture_tokens
from errands.agents.llm.turk.excerpts import (
    Fitted,
    field_names,
    fit,
    fit_all,
    original_window,
    window,
)
from errands.turk.pages.field import CHOICES, TEXTS

__all__ = ["BlankField", "FormView", "Question", "ask", "see", "with_picture"]

_ASKED: Final = TEXTS | CHOICES | {"range", ""}
_MOST_OPTIONS: Final = 60
_WINDOWS: Final = {"relevant": window, "original-relevant": original_window}
"""Encodings that show the lines around a field alone."""


class BlankField(NamedTuple):
    """A field to fill in; its type is empty where the agent is not told."""

    name: str
    type: str = ""
    options: tuple[str, ...] = ()

    def line(self) -> str:
        kind = f" ({self.type})" if self.type else ""
        return f"{self.name}{kind}{': ' + self.choices() if self.options else ''}"

    def choices(self) -> str:
        named = [option for option in self.options if option]
        more = len(named) - _MOST_OPTIONS
        listed = " | ".join(named[:_MOST_OPTIONS])
        return f"{listed} | and {more} more" if more > 0 else listed


class FormView(NamedTuple):
    """One look at a page."""

    html: str
    """The page, or its text, or nothing where only a picture is given."""
    blanks: tuple[BlankField, ...]
    """Fields that can be seen, in order of solving."""
    windows: Mapping[str, str] | None = None
    """Lines around each field, where the environment shows no more than these."""
    picture: str | None = None
    picture_tokens: int = 0


class Question(NamedTuple):
    """What is asked, and what to say of a page that did not fit."""

    text: str
    note: str


def see(observation: Any, info: Mapping[str, Any], *, relevant: bool, shrink: float) -> FormView:
    """A page as the environment shows it; `relevant`: as the lines around its fields."""
    html, pixels = "", None
    if isinstance(observation, str):
        html = observation
    elif isinstance(observation, np.ndarray):
        pixels = observation
    else:
        html, pixels = observation["html"], observation["screenshot"]
    blanks = tuple(_blanks(info, html))
    windows = None
    if relevant:
        # One window a field that can be seen, whether it is one to fill in or not.
        seen = [field["name"] for field in info.get("fields", ()) if field["visible"]]
        windows = dict(zip(seen, html.split("\n\n"), strict=False))
    form = FormView(html, blanks, windows)
    return form if pixels is None else with_picture(form, pixels, shrink)


def with_picture(form: FormView, pixels: NDArray[np.uint8], shrink: float) -> FormView:
    """The same page, with a picture that is made smaller."""
    picture, size = data_address(pixels, shrink)
    return form._replace(picture=picture, picture_tokens=picture_tokens(*size))


def _blanks(info: Mapping[str, Any], html: str) -> list[BlankField]:
    if "fields" not in info:
        return [BlankField(name) for name in field_names(html)]
    return [
        BlankField(field["name"], field["type"], tuple(field["options"]))
        for field in info["fields"]
        if field["visible"] and field["type"] in _ASKED
    ]


def ask(
    prompt: Prompt,
    form: FormView,
    blanks: Sequence[BlankField],
    *,
    whole: bool,
    encoding: str,
    room: int,
    message: str = "",
) -> Question:
    """The question for the first of these fields, or with `whole` for all of them at once; it has
    at most `room` characters of HTML."""
    names = [blank.name for blank in (blanks if whole else blanks[:1])]
    if form.windows is not None:
        fitted = _cut(form.html if whole else form.windows.get(names[0], form.html), room)
    elif encoding in _WINDOWS:
        cut_out = _WINDOWS[encoding]
        fitted = _cut("\n\n".join(cut_out(form.html, name) for name in names), room)
    else:
        fitted = fit_all(form.html, room, names) if whole else fit(form.html, room, names[0])
    if whole:
        about = {"fields": "\n".join(blank.line() for blank in blanks)}
    else:
        blank = blanks[0]
        options = f"Options: {blank.choices()}" if blank.options else ""
        about = {"name": blank.name, "type": blank.type or "not told", "options": options}
    text = prompt.fill(
        "page",
        html=fitted.html or "(only a picture is given)",
        note=fitted.note,
        message=f"The last action failed: {message[:1_000]}" if message else "",
        **about,
    )
    return Question(text, fitted.note)


def _cut(lines: str, room: int) -> Fitted:
    if len(lines) <= room:
        return Fitted(lines)
    lost = len(lines) - room
    return Fitted(
        f"{lines[:room]}\n[...]",
        f"(The page was too long. Left out: its last {lost:,} characters.)",
    )

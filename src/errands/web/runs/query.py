"""What the address of a page about runs asks for, and errors for what is not there."""

import math
from typing import Any, Final, NamedTuple

from starlette.requests import Request

from errands.runs.store.view import ORDERS, EpisodeFilter
from errands.web.core.http_errors import HttpError, bad_request

__all__ = ["MOST_ROWS", "PAGE", "Rows", "RunQuery", "unknown_episode", "unknown_run"]

PAGE: Final = 50
"""Rows of a list, unless somebody asks for others."""
MOST_ROWS: Final = 500
_LONGEST: Final = 200
_MOST: Final = 2**53


class Rows(NamedTuple):
    """Which rows of a list are shown."""

    total: int
    """How many there are."""
    offset: int
    limit: int


class RunQuery:
    """The query of a request, read with care: every value has a form and a bound."""

    def __init__(self, request: Request) -> None:
        self._params = request.query_params

    def text(self, name: str) -> str:
        text = self._params.get(name, "")
        if len(text) > _LONGEST:
            raise bad_request(f"{name} is longer than {_LONGEST} characters.")
        return text

    def _integer(self, name: str, default: int, least: int, most: int) -> int:
        text = self.text(name)
        if not text:
            return default
        if not (text.isascii() and text.isdigit()) or not least <= int(text) <= most:
            raise bad_request(f"{name} is no whole number from {least} to {most}.")
        return int(text)

    def rows(self) -> tuple[int, int]:
        """Which rows of a list: from where, and how many."""
        return self._integer("offset", 0, 0, _MOST), self._integer("limit", PAGE, 1, MOST_ROWS)

    def _reward(self, name: str) -> float | None:
        text = self.text(name)
        if not text:
            return None
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not 0 <= number <= 1:
            raise bad_request(f"{name} is no reward; expected a number from 0 to 1.")
        return number

    def _one_of(self, name: str, choices: tuple[str, ...], default: str) -> Any:
        text = self.text(name) or default
        if text not in choices:
            raise bad_request(f"{name} is none of {', '.join(choices)}.")
        return text

    def chosen(self) -> EpisodeFilter:
        """Which episodes."""
        status = self._one_of("status", ("all", "done", "truncated", "error"), "all")
        return EpisodeFilter(
            status=None if status == "all" else status,
            least=self._reward("least"),
            most=self._reward("most"),
            order=self._one_of("order", ORDERS, "number"),
            descending=self._one_of("way", ("up", "down"), "up") == "down",
        )


def unknown_run() -> HttpError:
    return HttpError(404, "unknown_run", "There is no such run here; the list has all of them.")


def unknown_episode(number: int) -> HttpError:
    shown = number if number < 2**63 else "of that number"
    return HttpError(404, "unknown_episode", f"The run has no episode {shown} (yet).")

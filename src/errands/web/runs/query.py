"""What an address asks for, read with care: every value has a form and a bound."""

import math
from typing import Any, Final

from starlette.requests import Request

from errands.runs.store.view import ORDERS, EpisodeFilter
from errands.web.core.http_errors import HttpError, bad_request

__all__ = ["Query", "unknown_episode", "unknown_run"]

_LONGEST: Final = 200
_MOST: Final = 2**53


class Query:
    """The questions of one request."""

    def __init__(self, request: Request) -> None:
        self._given = request.query_params

    def text(self, name: str) -> str:
        held = self._given.get(name, "")
        if len(held) > _LONGEST:
            raise bad_request(f"{name} is longer than {_LONGEST} characters.")
        return held

    def whole(self, name: str, usual: int, least: int, most: int) -> int:
        """A number that counts something."""
        held = self.text(name)
        if not held:
            return usual
        if not (held.isascii() and held.isdigit()) or not least <= int(held) <= most:
            raise bad_request(f"{name} is no whole number from {least} to {most}.")
        return int(held)

    def stretch(self, usual: int, most: int) -> tuple[int, int]:
        """Which rows of a list: from where, and how many."""
        return self.whole("offset", 0, 0, _MOST), self.whole("limit", usual, 1, most)

    def _share(self, name: str) -> float | None:
        held = self.text(name)
        if not held:
            return None
        try:
            found = float(held)
        except ValueError:
            found = math.nan
        if not 0 <= found <= 1:
            raise bad_request(f"{name} is no reward; expected a number from 0 to 1.")
        return found

    def _one_of(self, name: str, known: tuple[str, ...], usual: str) -> Any:
        held = self.text(name) or usual
        if held not in known:
            raise bad_request(f"{name} is none of {', '.join(known)}.")
        return held

    def chosen(self) -> EpisodeFilter:
        """Which episodes."""
        status = self._one_of("status", ("all", "done", "truncated", "error"), "all")
        return EpisodeFilter(
            status=None if status == "all" else status,
            least=self._share("least"),
            most=self._share("most"),
            order=self._one_of("order", ORDERS, "number"),
            descending=self._one_of("way", ("up", "down"), "up") == "down",
        )


def unknown_run() -> HttpError:
    return HttpError(404, "unknown_run", "There is no such run here; the list has all of them.")


def unknown_episode(number: int) -> HttpError:
    said = number if number < 2**63 else "of that number"
    return HttpError(404, "unknown_episode", f"The run has no episode {said} (yet).")

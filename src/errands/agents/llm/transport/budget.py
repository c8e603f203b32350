"""Money: what tokens cost, what a run has spent, and where it stops."""

import logging
import math
import tomllib
from importlib import resources
from typing import Final

import msgspec

from errands.agents.agent import EndOfRun
from errands.errors import SettingError

__all__ = ["Budget", "Price", "known_prices", "price_of"]

_MILLION: Final = 1_000_000
_log = logging.getLogger("errands.llm")


class Price(msgspec.Struct, frozen=True):
    """US dollars for a million tokens."""

    tokens_in: float
    tokens_out: float


def known_prices() -> tuple[str, dict[str, Price]]:
    """The date of the shipped list, and the prices in it."""
    text = resources.files(__package__).joinpath("prices.toml").read_text("utf-8")
    table = tomllib.loads(text)
    prices = {name: Price(*pair) for name, pair in table["models"].items()}
    return str(table["date"]), prices


def price_of(model: str, price_in: float | None, price_out: float | None) -> Price | None:
    """The price that holds: the user's, else the list's; None where nobody knows."""
    listed = known_prices()[1].get(model)
    if price_in is None and price_out is None:
        return listed
    if price_in is None or price_out is None:
        if listed is None:
            raise SettingError(
                f"The price of {model!r} is half known: give both price_in and price_out."
            )
        return Price(
            listed.tokens_in if price_in is None else price_in,
            listed.tokens_out if price_out is None else price_out,
        )
    return Price(price_in, price_out)


class Budget:
    """What was spent; asked before every call, told after it."""

    def __init__(self, model: str, price: Price | None, max_cost: float | None) -> None:
        if max_cost is not None and price is None:
            raise SettingError(
                f"max_cost={max_cost:g} cannot be kept, as the price of {model!r} is not known:"
                " give price_in and price_out, in US dollars for a million tokens."
            )
        self.price = price
        self.max_cost = math.inf if max_cost is None else max_cost
        self.spent = 0.0
        self._model = model
        self._said = False

    def check(self) -> None:
        """Refuse the next call once the cap is reached."""
        if self.spent >= self.max_cost:
            raise EndOfRun(
                f"The spending cap of ${self.max_cost:g} is reached (${self.spent:.4f} spent):"
                " raise max_cost and resume the run."
            )

    def charge(self, tokens_in: int, tokens_out: int) -> float:
        """Book a call; what it cost."""
        if self.price is None:
            if not self._said:
                self._said = True
                _log.warning(
                    "The price of %r is not known, so its cost counts as 0: give price_in and"
                    " price_out, in US dollars for a million tokens.",
                    self._model,
                )
            return 0.0
        cost = (tokens_in * self.price.tokens_in + tokens_out * self.price.tokens_out) / _MILLION
        self.spent += cost
        return cost

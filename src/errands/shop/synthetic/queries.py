"""What people search for who were given a generated instruction, as in the original's query files.

A query is what the instruction asks for without the talk around it, and here and there in the
words of listings: those who search know something of what shops call things, and a query model has
learned it from them. A person's first query leaves some wishes out; by the last one more words
have been put right, by looking at what was found.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from errands.shop.synthetic.difficulty import Difficulty
from errands.shop.synthetic.generator import human_goals, make_product
from errands.shop.synthetic.rng import Rng
from errands.shop.synthetic.wordbank import Attribute
from errands.shop.synthetic.wording import Wish

__all__ = ["Searches", "search_queries"]

_LEFT_OUT = 0.05
"""Share of the wishes that a person's first query does not mention."""


class Searches(NamedTuple):
    """The queries for one instruction."""

    instruction: str
    people: list[str]
    """In order; the last one is what led to a purchase."""
    predicted: list[str]


def search_queries(seed: int, products: int, knobs: Difficulty) -> Iterator[Searches]:
    """The queries for each human instruction of a generated catalogue, in load order."""
    human = human_goals(products)
    # The products with an instruction: where number * human // products grows.
    for goal in range(1, human + 1):
        number = -(-goal * products // human) - 1
        made = make_product(number, seed=seed, products=products, difficulty=knobs)
        wish, instruction = made.wish, made.human[0]["instruction"]
        assert wish is not None
        if wish.brand.lower() not in instruction:
            wish = replace(wish, brand="")
        rng = Rng(f"{seed}/{number}/queries")
        yield Searches(instruction, *_queries(rng, wish, knobs))


def _queries(rng: Rng, wish: Wish, knobs: Difficulty) -> tuple[list[str], list[str]]:
    said, listed = _parts(wish), _parts(wish.listed) if wish.listed else ()

    def corrected(share: float) -> list[_Part]:
        known = {part.of: part for part in listed if rng.bernoulli(share)}
        return [known.get(part.of, part) for part in said]

    share = knobs.corrected
    first, *wishes = corrected(share / 2)
    first_query = [first, *(wish for wish in wishes if not rng.bernoulli(_LEFT_OUT))]
    queries = [_text(first_query), _text(corrected(share))]
    return list(dict.fromkeys(queries)), [_text(corrected(share / 2))]


class _Part(NamedTuple):
    of: str
    """What it says: the thing, an attribute or an option."""
    text: str


def _parts(wish: Wish) -> Sequence[_Part]:
    """The thing, then what is wished of it."""
    brand = f"{wish.brand.lower()} " if wish.brand else ""
    return (
        _Part("thing", f"{brand}{wish.name.text}"),
        *(_Part(attribute.name, _plain(attribute)) for attribute in wish.attributes),
        *(_Part(f"{name}:", value) for name, value in wish.options.items()),
    )


def _plain(attribute: Attribute) -> str:
    return attribute.shows[-1].lower()


def _text(parts: Sequence[_Part]) -> str:
    return " ".join(part.text for part in parts)

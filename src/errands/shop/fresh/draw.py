"""New goals, written from products' own attributes and options, that share nothing with old ones.

A goal's product is drawn without repeats; its words depend on seed and product alone. What is
asked for can be bought: a goal is kept only if buying its target with its options, through the
pages, is worth 1 under the released rules. `difficulty` says how special the wishes are and how far
the wording departs from the listing.
"""

import os
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec

from errands.errors import GoalError
from errands.progress import Progress, silent
from errands.shop.build.statistics import spoken_words
from errands.shop.catalog.catalog import Catalog
from errands.shop.fresh.words import LONGEST_SAID, ProductWords, name_of, words_for
from errands.shop.goals import (
    Goal,
    GoalSet,
    ListedGoals,
    ListedPrices,
    frozen_entries,
    price_cap,
    price_phrase,
)
from errands.shop.navigation import ITEM, Page, Shop, State, parse_action
from errands.shop.product import UNMINED, Product
from errands.shop.rewards.rules import Purchase, matches, normalize_color, released
from errands.shop.synthetic.difficulty import Difficulty
from errands.shop.synthetic.difficulty import difficulty as known_difficulty
from errands.shop.synthetic.phrasing import human_instruction
from errands.shop.synthetic.rng import Rng
from errands.shop.synthetic.wordbank import Attribute, wordbank
from errands.shop.synthetic.wording import Shares, worded

__all__ = ["WISHES", "Wishes", "fresh_goals", "wording_key"]

SAMPLE: Final = 2000
"""Products by which it is judged how special an attribute or a value is."""
ATTEMPTS: Final = 8
"""Ways to ask for one product that are tried before another one is taken."""
PUT_OFF: Final = 0.75
"""Share of products without options that have to wait until there are no others: where people wrote
goals, three in four ask for an option."""


class Wishes(msgspec.Struct, frozen=True):
    """What goals of one difficulty ask for."""

    attributes: tuple[int, ...]
    """How many attributes: one of these numbers is drawn."""
    special: float
    """Share of goals that ask for the attributes and values that the fewest products have."""
    unasked: float
    """Share of options that are left open."""


WISHES: Final[Mapping[str, Wishes]] = {
    "easy": Wishes(attributes=(1, 1, 1, 1, 1, 2, 2, 2, 3), special=0.0, unasked=0.3),
    "paper": Wishes(attributes=(1, 1, 1, 1, 1, 2, 2, 2, 3), special=0.25, unasked=0.2),
    "hard": Wishes(attributes=(1, 2, 2, 2, 3), special=1.0, unasked=0.0),
}
"""For each difficulty of the generator, by whose knobs the wording departs from the listing."""


GoalSource = str | os.PathLike[str] | GoalSet
"""Goals by name, by file, or as they are."""


def fresh_goals(
    catalog: str | os.PathLike[str] | Catalog,
    count: int,
    *,
    seed: int = 0,
    difficulty: str = "paper",
    disjoint_from: GoalSource | Iterable[GoalSource] = (),
    progress: Progress = silent,
) -> ListedGoals:
    """Write `count` new goals, each for another product; the same arguments give the same goals.

    None is about a product, or says the words, of a goal in `disjoint_from`: the name of a goal set
    (`human`, `synthetic`), a goal file, a set that is made already, or several of these.
    """
    opened = Catalog.open(catalog)
    if count < 1:
        raise GoalError(f"{count} goals were asked for; expected 1 or more.")
    knobs = known_difficulty(difficulty)
    products, said = _taken(opened, _several(disjoint_from))
    writer = _GoalWriter(opened, seed, knobs)
    goals: list[Goal] = []
    for number, product in _drawn(opened, random.Random(f"fresh goals {seed}")):
        if product.asin in products:
            continue
        for goal in writer.goals(number):
            key = wording_key(goal.instruction_text, goal.price_upper)
            if key not in said:
                said.add(key)
                goals.append(goal)
                progress("writing goals", len(goals), count)
                break
        if len(goals) == count:
            return ListedGoals(f"fresh-{difficulty}-{seed}", goals, ListedPrices({}))
    apart = f", beside the {len(products):,} of goals to stay apart from" if products else ""
    raise GoalError(
        f"{count:,} goals were asked for, each for another product, but only {len(goals):,} of the"
        f" {len(opened):,} in {opened.path} can have one{apart}: it takes an attribute to ask for."
        " Ask for fewer at a time; another seed writes other goals for the same products."
    )


def wording_key(instruction: str, cap: float) -> str:
    """The words of an instruction without its price: what two goals may not share."""
    return _key(instruction.removesuffix(price_phrase(cap)))


def _key(words: str) -> str:
    return " ".join(spoken_words(words.replace("'", "").replace("’", "")))


def _several(given: Any) -> Iterable[GoalSource]:
    is_one = isinstance(given, str | os.PathLike) or hasattr(given, "entries")
    return [given] if is_one else given


def _taken(catalog: Catalog, sets: Iterable[GoalSource]) -> tuple[set[str], set[str]]:
    """The products and the words of goals that are there already."""
    products: set[str] = set()
    said: set[str] = set()
    for one in sets:
        entries: Sequence[tuple[str, str]]
        if isinstance(one, str | os.PathLike) and _is_file(one, catalog):
            # Its goals may be another catalogue's: their words still count.
            entries = frozen_entries(Path(one))
        else:
            entries = catalog.goals(one).entries()[0]
        products.update(asin for asin, _ in entries)
        said.update(_key(words) for _, words in entries)
    return products, said


def _is_file(named: str | os.PathLike[str], catalog: Catalog) -> bool:
    return str(named) not in catalog.manifest.goals and Path(named).is_file()


def _drawn(catalog: Catalog, rng: random.Random) -> Iterator[tuple[int, Product]]:
    """All products, with their numbers, in a random order, made as far as it is asked for."""
    moved: dict[int, int] = {}
    waiting: list[int] = []
    for place in range(len(catalog)):
        other = rng.randrange(place, len(catalog))
        number = moved.get(other, other)
        moved[other] = moved.pop(place, place)
        product = catalog.product(number)
        if product.options or rng.random() >= PUT_OFF:
            yield number, product
        else:
            waiting.append(number)
    for number in waiting:
        yield number, catalog.product(number)


class _GoalWriter:
    """Writes goals for products of one catalogue."""

    def __init__(self, catalog: Catalog, seed: int, knobs: Difficulty) -> None:
        self._seed = seed
        self._knobs = knobs
        self._wishes = WISHES[knobs.name]
        self._shares = Shares.of(knobs, len(catalog))
        self._shop = Shop(catalog)
        numbers = random.Random(0).sample(range(len(catalog)), min(SAMPLE, len(catalog)))
        self._having: Counter[str] = Counter()
        for product in map(catalog.product, numbers):
            values = {value for offered in product.options.values() for value in offered}
            self._having.update({*product.attributes, *values})

    def goals(self, number: int) -> Iterator[Goal]:
        """Goals for a product, in other words each; none where nothing can be asked for."""
        page = self._shop.look(State(ITEM, product=number))
        product = page.product
        if product is None or product.attributes == UNMINED or not _can_be_said(product.asin):
            return
        words = words_for(product)
        if not words.attributes:
            return
        for attempt in range(ATTEMPTS):
            rng = Rng(f"{self._seed}/{product.asin}/{attempt}/goal")
            special = rng.bernoulli(self._wishes.special)
            options = self._options(rng, page, special)
            goal = self._write(rng, product, words, options, special)
            if released(Purchase(product, options, product.price), goal).total >= 1.0:
                yield goal

    def _write(
        self,
        rng: Rng,
        product: Product,
        words: ProductWords,
        options: Mapping[str, str],
        special: bool,
    ) -> Goal:
        # What it is, its name says: that is asked for only where there is nothing else.
        others = [one for one in words.attributes if one.name not in words.kinds]
        count = rng.pick(self._wishes.attributes)
        asked = self._chosen(rng, others or words.attributes, special)[:count]
        if not others:
            words = words._replace(names=(name_of(asked[0].name),))
        text = self._said(rng, product, words, asked if others else asked[1:], _spoken(options))
        cap = price_cap(product.price, random.Random(f"{self._seed}/{product.asin}/cap"))
        return Goal(
            asin=product.asin,
            category=product.category,
            query=product.query,
            name=product.title,
            product_category=product.product_category,
            instruction_text=text.strip(".") + price_phrase(cap),
            attributes=tuple(one.name for one in asked),
            price_upper=cap,
            goal_options=tuple(options.values()),
            weight=1.0,
            nouns=product.nouns,
        )

    def _said(
        self,
        rng: Rng,
        product: Product,
        words: ProductWords,
        attributes: Sequence[Attribute],
        options: Mapping[str, str],
    ) -> str:
        """A person's words for these attributes and options."""
        bank, knobs, title = wordbank(), self._knobs, product.title.lower()
        listed = rng.pick([name for name in words.names if name.text in title] or words.names)
        shares = self._shares
        if words.category not in bank.vague:
            shares = replace(shares, vague=0.0)
        wish = worded(
            rng, bank, words, knobs, shares, listed, title, attributes, options, words.brand
        )
        return human_instruction(
            rng,
            bank,
            wish.name,
            wish.attributes,
            wish.options,
            wish.brand,
            brand_share=1.0,
            chatter=knobs.chatter,
            typos=knobs.typos,
        )

    def _chosen(self, rng: Rng, attributes: Sequence[Attribute], special: bool) -> list[Attribute]:
        """Attributes in the order in which they are asked for."""
        order = rng.shuffled(attributes)
        return sorted(order, key=lambda one: self._having[one.name]) if special else order

    def _options(self, rng: Rng, page: Page, special: bool) -> dict[str, str]:
        """Which options are wanted, name to value."""
        wanted: dict[str, str] = {}
        offered: Mapping[str, Sequence[str]] = page.product.options if page.product else {}
        for name, values in offered.items():
            if rng.bernoulli(self._wishes.unasked):
                continue
            order = rng.shuffled(values)
            if special:
                order.sort(key=self._having.__getitem__)
            found = next((one for one in order if self._can_be_chosen(page, name, one)), None)
            if found is not None:
                wanted[name] = found
        return wanted

    def _can_be_chosen(self, page: Page, name: str, value: str) -> bool:
        """Whether a click on a value chooses it, which may be the name of a button or of a value of
        another option, and whether the rules know it again."""
        if not _can_be_said(value) or len(value) > LONGEST_SAID:
            return False
        kept = normalize_color(value)
        chosen = self._shop.turn(page, f"click[{value}]").state.options
        return chosen == ((name, value),) and matches(kept, kept)


def _can_be_said(name: str) -> bool:
    return bool(name.strip()) and parse_action(f"click[{name}]") == ("click", name)


def _spoken(options: Mapping[str, str]) -> dict[str, str]:
    """The options under the names that people have for them."""
    known = wordbank().option_phrases
    said: dict[str, str] = {}
    for name, value in options.items():
        plain = name.removesuffix(" name").removesuffix(" type")
        spoken = next((one for one in (name, f"{plain} name", plain) if one in known), plain)
        said[name if spoken in said else spoken] = value
    return said

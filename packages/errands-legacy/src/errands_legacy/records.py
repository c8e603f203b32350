"""Products and goals as the original's dictionaries, and back.

The collections are views of a mapped catalogue: a dictionary is made when it is asked for, so a
server with a million products holds none of them.
"""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Self, overload

from errands.shop.build.export import item_record
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import Goal, GoalSet
from errands.shop.product import Product
from errands.shop.rewards.nouns import NounTagger, tagger

__all__ = [
    "GoalList",
    "GoalRecord",
    "ProductItems",
    "ProductList",
    "ProductPrices",
    "ProductRecord",
    "goal_of",
    "goal_record",
    "product_of",
    "product_record",
]


class ProductRecord(dict[str, Any]):
    """A product with the original's keys."""

    nouns: tuple[str, ...] | None = None
    """Of the title, as tagged when the catalogue was built; the original tags at the purchase."""


class GoalRecord(dict[str, Any]):
    """A goal with the original's keys."""

    nouns: tuple[str, ...] | None = None
    """Of the target's title."""


def product_record(product: Product) -> ProductRecord:
    """The dictionary of a product."""
    record = ProductRecord(item_record(product))
    record.nouns = product.nouns
    record.update(
        small_description=list(product.bullets),
        images=[product.image],
        pricing=list(product.prices),
        Title=product.title,
        Description=product.description,
        Reviews=[],
        Rating="N.A.",
        BulletPoints=list(product.bullets),
        Price=product.price_tag,
        options={name: list(values) for name, values in product.options.items()},
        option_to_image=dict(product.option_images),
        Attributes=list(product.attributes),
        MainImage=product.image,
    )
    return record


def product_of(record: Mapping[str, Any]) -> Product:
    """What a reward needs of a product's dictionary, which may be written by hand."""
    title = record.get("Title", record.get("name", ""))
    return Product(
        asin=record.get("asin", ""),
        title=title,
        description=record.get("Description", ""),
        # Of a text the characters, as in the original.
        bullets=tuple(record.get("BulletPoints", ())),
        prices=(),
        options={},
        option_images={},
        image="",
        category=record.get("category", ""),
        query=record.get("query", ""),
        product_category=record.get("product_category", ""),
        attributes=tuple(record.get("Attributes", ())),
        price=0.0,
        nouns=_nouns(record, record.get("name", title)),
    )


def goal_record(goal: Goal) -> GoalRecord:
    """The dictionary of a goal."""
    options = goal.goal_options
    record = GoalRecord(
        asin=goal.asin,
        category=goal.category,
        query=goal.query,
        name=goal.name,
        product_category=goal.product_category,
        instruction_text=goal.instruction_text,
        attributes=list(goal.attributes),
        price_upper=goal.price_upper,
        goal_options=dict(options) if isinstance(options, dict) else list(options),
        weight=goal.weight,
    )
    record.nouns = goal.nouns
    return record


def goal_of(record: Mapping[str, Any]) -> Goal:
    """The goal that a dictionary describes, which may be written by hand."""
    options = record.get("goal_options", ())
    return Goal(
        asin=record.get("asin", ""),
        category=record.get("category", ""),
        query=record.get("query", ""),
        name=record.get("name", ""),
        product_category=record.get("product_category", ""),
        instruction_text=record.get("instruction_text", ""),
        attributes=tuple(record.get("attributes", ())),
        price_upper=record.get("price_upper", 0.0),
        goal_options=dict(options) if isinstance(options, Mapping) else tuple(options),
        weight=record.get("weight", 1.0),
        nouns=_nouns(record, record.get("name", "")),
    )


def _nouns(record: Mapping[str, Any], title: str) -> tuple[str, ...]:
    known: tuple[str, ...] | None = getattr(record, "nouns", None)
    return _tagged(title) if known is None else known


@cache
def _tagger() -> NounTagger:
    return tagger()


@lru_cache(1 << 12)
def _tagged(title: str) -> tuple[str, ...]:
    return tuple(_tagger().nouns(title)) if title else ()


class ProductList(Sequence[ProductRecord]):
    """All products, in load order: the original's `all_products`."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog

    def __len__(self) -> int:
        return len(self.catalog)

    @overload
    def __getitem__(self, index: int) -> ProductRecord: ...
    @overload
    def __getitem__(self, index: slice) -> list[ProductRecord]: ...
    def __getitem__(self, index: int | slice) -> ProductRecord | list[ProductRecord]:
        rows = range(len(self))[index]
        if isinstance(rows, range):
            return [product_record(self.catalog.product_at(row)) for row in rows]
        return product_record(self.catalog.product_at(rows))


class ProductItems(Mapping[str, ProductRecord]):
    """Products by asin: the original's `product_item_dict`."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog

    def __len__(self) -> int:
        return len(self.catalog)

    def __iter__(self) -> Iterator[str]:
        return (product.asin for product in self.catalog)

    def __contains__(self, asin: object) -> bool:
        return asin in self.catalog

    def __getitem__(self, asin: str) -> ProductRecord:
        return product_record(self.catalog[asin])


class ProductPrices(Mapping[str, float]):
    """What products cost when a reward is computed: the original's `product_prices`.

    A product can be given another price, which is then this mapping's own.
    """

    def __init__(self, catalog: Catalog, price: Callable[[Product], float]) -> None:
        self.catalog = catalog
        self.price = price
        self._own: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self.catalog)

    def __iter__(self) -> Iterator[str]:
        return (product.asin for product in self.catalog)

    def __contains__(self, asin: object) -> bool:
        return asin in self.catalog

    def __getitem__(self, asin: str) -> float:
        own = self._own.get(asin)
        return self.price(self.catalog[asin]) if own is None else own

    def __setitem__(self, asin: str, price: float) -> None:
        if asin not in self.catalog:
            raise KeyError(asin)
        self._own[asin] = price

    def __deepcopy__(self, memo: Any) -> Self:
        twin = copy.copy(self)
        twin._own = self._own.copy()
        return twin


class GoalList(Sequence[Mapping[str, Any]]):
    """Goals in order: the original's `server.goals`.

    A place can be given another goal (`random.shuffle` does), which is then this list's own.
    """

    def __init__(self, goals: GoalSet) -> None:
        self._goals = goals
        self._own: dict[int, Mapping[str, Any]] = {}

    def __len__(self) -> int:
        return len(self._goals)

    @overload
    def __getitem__(self, index: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[Mapping[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> Mapping[str, Any] | list[Mapping[str, Any]]:
        places = range(len(self))[index]
        if isinstance(places, range):
            return [self._at(place) for place in places]
        return self._at(places)

    def __setitem__(self, index: int, goal: Mapping[str, Any]) -> None:
        self._own[range(len(self))[index]] = goal

    def __deepcopy__(self, memo: Any) -> Self:
        twin = copy.copy(self)
        twin._own = copy.deepcopy(self._own, memo)
        return twin

    def __add__(self, more: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        return [*self, *more]

    def __radd__(self, more: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        return [*more, *self]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Iterable):
            return NotImplemented
        return list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{len(self)} goals>"

    def _at(self, place: int) -> Mapping[str, Any]:
        own = self._own.get(place)
        return goal_record(self._goals[place]) if own is None else own

"""What kind of thing is sold, and for whom: read from a title, a query and a path of categories.

The rules `synonym` may count a product as the kind that was wanted only where both agree. The kind
is the head noun of the title: `sneakers` of `Canvas Low Top Sneakers for Men`, `tank top` and not
`top`, `loafer` of `Loafer Shoes`, since every loafer is a shoe. A head alone misleads (a wall light
and a ceiling light are both lights), so the query under which a product was found, or the last of
its categories, must agree as well, where any is known.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from errands.shop.rewards.thesaurus import thesaurus

__all__ = ["ProductKind", "head_words", "kind_of", "same_audience", "same_kind"]

Same = Callable[[str, str], bool]
"""Whether two words, or two phrases, mean the same thing."""

_SEGMENT: Final = re.compile(r"[,;:!?()\[\]{}|/&+•【】]|\s[-–—]+\s|\.\s")
_WORD: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_APOSTROPHES: Final = re.compile(r"['’`]")
_LINKS: Final = frozenset("for with without from by w fits compatible featuring suitable".split())
"""What follows one of these in a title is what the thing is for, or comes with."""
_ASIDE: Final = re.compile(
    r"\([^()]{0,200}\)|\[[^\[\]]{0,200}\]|[0-9][0-9a-z]{0,9} ?/ ?[a-z]{1,12}"
)
_SETS: Final = frozenset("set sets pack packs piece pieces pcs pair pairs kit kits".split())
_MEASURES: Final = frozenset(
    "oz ounce ounces fl lb lbs pound pounds g kg gram grams ml l liter liters inch inches"
    " in ft feet cm mm count ct x size sizes color colors colour colours style styles finish free"
    " usa us uk xs s m xl xxl small medium large".split()
)
_COLORS: Final = frozenset(
    "black white red blue green grey gray brown beige pink purple yellow orange gold silver navy"
    " burgundy ivory khaki".split()
)
_GENERAL: Final = frozenset(
    "thing things item items product products tool tools accessory accessories supply supplies"
    " equipment gear device devices material materials system systems collection collections"
    " variety assortment bundle bundles gift gifts component components".split()
)
_NO_HEADS: Final = _SETS | _MEASURES | _GENERAL | _COLORS
"""How many or how big they are is not what they are; nor is what anything may be called."""
_ONE_WORD: Final = {"t": ("shirt", "shirts", "tee", "tees")}
"""`t shirt` is a thing of its own, and no kind of shirt among others."""

_MEN, _WOMEN, _BOYS, _GIRLS, _BABIES, _PETS = "men", "women", "boys", "girls", "babies", "pets"
_ADULTS: Final = frozenset({_MEN, _WOMEN})
_CHILDREN: Final = frozenset({_BOYS, _GIRLS})
_PLAIN: Final = {
    **dict.fromkeys("men mens gents gentlemen males".split(), frozenset({_MEN})),
    **dict.fromkeys("women womens woman womans ladies ladys".split(), frozenset({_WOMEN})),
    "maternity": frozenset({_WOMEN}),
    "boys": frozenset({_BOYS}),
    "girls": frozenset({_GIRLS}),
    **dict.fromkeys("kids childrens children youth kid".split(), _CHILDREN),
    **dict.fromkeys("toddler toddlers".split(), _CHILDREN | {_BABIES}),
    **dict.fromkeys("baby babys babies infant infants newborn newborns".split(),
                    frozenset({_BABIES})),
    **dict.fromkeys("unisex adult adults".split(), _ADULTS),
    **dict.fromkeys("pet pets".split(), frozenset({_PETS})),
}  # fmt: skip
_AFTER_FOR: Final = {
    **_PLAIN,
    **dict.fromkeys("man him male".split(), frozenset({_MEN})),
    **dict.fromkeys("lady her female".split(), frozenset({_WOMEN})),
    "boy": frozenset({_BOYS}),
    "girl": frozenset({_GIRLS}),
    "child": _CHILDREN,
    **dict.fromkeys("dog dogs puppy puppies cat cats kitten kittens horse horses bird".split(),
                    frozenset({_PETS})),
}  # fmt: skip
"""Words that elsewhere in a title may be what is printed on the thing."""
_PATH_ONLY: Final = {word: whom for word, whom in _AFTER_FOR.items() if word not in ("him", "her")}


class ProductKind(NamedTuple):
    """A kind of thing."""

    heads: frozenset[str]
    """Of the title's segments."""
    query: frozenset[str]
    """The phrases of the query, without those for whom it is."""
    category: frozenset[str]
    """The phrases of the last category."""
    audience: frozenset[str]
    """Empty where nothing says it."""


@lru_cache(1 << 14)
def kind_of(title: str, nouns: frozenset[str], query: str, product_category: str) -> ProductKind:
    """What a product's texts say; `nouns` are those of its title."""
    path = [entry.strip() for entry in product_category.split("›") if entry.strip()]
    audience = _title_audience(title)
    if not audience:
        audience = frozenset().union(
            *(_PATH_ONLY.get(word, frozenset()) for text in (query, *path) for word in _words(text))
        )
    return ProductKind(
        frozenset(_heads(title, nouns)),
        _phrases(query),
        _phrases(path[-1] if path else ""),
        audience,
    )


def same_kind(one: ProductKind, other: ProductKind, same: Same) -> bool:
    """Whether the head nouns agree, and so does something else where it is known of both."""

    def agree(ones: frozenset[str], others: frozenset[str]) -> bool:
        return any(same(a, b) for a in sorted(ones) for b in sorted(others))

    if not agree(one.heads, other.heads):
        return False
    pairs = ((one.query, other.query), (one.category, other.category))
    known = [pair for pair in pairs if all(pair)]
    return not known or any(agree(*pair) for pair in known)


def head_words(kind: ProductKind) -> frozenset[str]:
    """The nouns of a title that are its heads: of `tank top` the last."""
    words = {head.rpartition(" ")[2] for head in kind.heads}
    return frozenset(words | ({*_ONE_WORD["t"], "tshirts"} if "tshirt" in words else set()))


def same_audience(one: ProductKind, other: ProductKind) -> bool:
    """Whether they are for the same people (or animals); who is not named is grown up."""
    return not (one.audience or _ADULTS).isdisjoint(other.audience or _ADULTS)


def _words(text: str) -> list[str]:
    return _WORD.findall(_APOSTROPHES.sub("", text.lower()))


def _heads(title: str, nouns: frozenset[str]) -> Iterator[str]:
    """The last noun of each segment, up to the first word that tells of its use."""
    for place, segment in enumerate(_SEGMENT.split(_ASIDE.sub(" ", title.lower()))):
        words = list(_joined(_words(segment)))
        link = next((at for at, word in enumerate(words) if word in _LINKS), len(words))
        if not place or link > 1:  # A word alone between commas is one of a list.
            head = _head(words[:link], nouns)
            if head:
                yield head
        if link < len(words):
            return


def _head(words: list[str], nouns: frozenset[str]) -> str:
    named = [word for word in words if word.isalpha() and word not in _PLAIN]
    while named and (named[-1] not in nouns or named[-1] in _NO_HEADS) and named[-1] != "tshirt":
        named.pop()
    if not named:
        return ""
    head = named.pop()
    if named and named[-1] in nouns and thesaurus().is_kind(named[-1], head):
        head = named.pop()
    return (thesaurus().compound(named[-1], head) if named else "") or head


def _joined(words: list[str]) -> Iterator[str]:
    """Words with `t shirt` and its like as one, and the last part of others with hyphens."""
    before = ""
    for word in (part for chunk in words for part in chunk.split("-")):
        if before:
            yield from ("tshirt",) if word in _ONE_WORD[before] else (before, word)
            before = ""
        elif word in _ONE_WORD:
            before = word
        else:
            yield "tshirt" if word in ("tee", "tees", "tshirts") else word
    if before:
        yield before


def _phrases(text: str) -> frozenset[str]:
    """`Tops, Tees & Blouses`: three things; for whom they are does not matter."""
    phrases = (
        " ".join(word for word in _joined(_words(part)) if word not in _PLAIN)
        for part in _SEGMENT.split(text)
    )
    return frozenset(phrase for phrase in phrases if phrase)


def _title_audience(title: str) -> frozenset[str]:
    audience: set[str] = set()
    before = ""
    for word in _words(title):
        audience |= (_AFTER_FOR if before == "for" else _PLAIN).get(word, frozenset())
        before = word
    return frozenset(audience)

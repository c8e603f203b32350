"""What an item's page shows to people as its price, whatever shop it is of.

The data in a page is written for machines, and nobody looks at it; the price beside the title is
what people pay. So what is shown settles what data leaves open, and contradicts what it has wrong.
Nothing here knows a shop: places are told by their names (`price`, `old-price`, `related`), which
shops choose alike.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Final, Literal, NamedTuple
from urllib.parse import urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

from errands.currencies import NO_HABITS, Habits, habits_of
from errands.prices import Money, money
from errands.transfer.sites.markup import (
    HIGHEST,
    MOST_PARTS,
    attribute,
    first_attribute,
    hyphenated,
    meta,
    plain,
    upwards,
)

__all__ = [
    "ShownPrices",
    "contradiction",
    "host_habits",
    "is_struck",
    "page_habits",
    "settled",
    "shown_prices",
]

_COUNTRY: Final = re.compile(r"\.([a-z]{2})$")
_NO_COUNTRY: Final = frozenset("co io ai me tv fm ly to cc ws gg sh st eu".split())
"""Endings of hosts everywhere, although they are countries'."""
_LONGEST: Final = 80
_LONGEST_MARKUP: Final = 10_000
"""Characters of a place, with all that is between its words."""
_MOST_INSIDE: Final = 25
"""Places in a place that is a price."""
_MOST_TOLD: Final = 5
_CLOSE_BY: Final = 3
_A_CENT: Final = 0.011
_INSTALMENTS: Final = (3, 4, 6, 8, 10, 12, 18, 24, 36, 48)
_PLACE: Final = (
    '[class*="price" i], [id*="price" i], [itemprop="price"], [data-price], [class*="amount" i]'
)
_STRUCK: Final = re.compile(
    r"(?:^|[^a-z])(?:old|was|rrp|msrp|uvp|strike[ds]?|striked|struck|strikethrough|crossed|before"
    r"|compare|previous|prev|save|savings?|discount|shipping|delivery|instal+ments?|monthly|history"
    r"|points|omnibus|tradein)(?:[^a-z]|$)"
)
_STRUCK_PRICE: Final = re.compile(
    r"(?:^|[^a-z])(?:list|regular|reg|original|unit|per|month|rate|base|retail|normal|full|lowest"
    r"|filter|slider|min|max|tax|excl(?:uding)?|bundle|protection|warranty)(?:[^a-z]|$)"
)
"""What only says so of a price: `list-price` is one, `list-unstyled` is not."""
_REGULAR: Final = re.compile(r"regular|normal|full")
_OTHERS: Final = re.compile(
    r"related|recommend|similar|carousel|upsell|crosssell|cross-sell|cross_sell|also|recently|viewed"
    r"|sponsored|advert|suggest|accessor|minicart|mini-cart|basket|footer|compare|bundle|slick"
    r"|swiper|product-list|products-grid|product-card|product-item|product-tile|teaser"
)
_STRIKING: Final = frozenset("del s strike".split())


class ShownPrices(NamedTuple):
    """Prices in places that are about prices."""

    main: Money
    """The first one behind the title; nothing where the page shows none there."""
    asked: frozenset[float]
    """Every amount that is asked for the product, as far as its places tell."""
    others: frozenset[float]
    """The amounts that were asked before, or for other products."""


def page_habits(tree: LexborHTMLParser, url: str = "", currency: str = "") -> Habits:
    """How prices are written on a page, by its language and its shop's country."""
    told = meta(tree, "og:locale")
    language = first_attribute(tree, "lang", "html") or told
    region = _COUNTRY.search(_host(url))
    if not re.search(r"[-_]", language) and told.lower().startswith(language.lower()[:2]):
        language = told
    country = region[1].upper() if region and region[1] not in _NO_COUNTRY else ""
    if country and not re.search(r"[-_][A-Za-z]{2}\b", language):
        language = f"{language or 'und'}-{country}"
    habits = habits_of(language) if language else NO_HABITS
    return habits._replace(currency=currency) if currency else habits


def host_habits(host: str) -> Habits:
    """How prices are written in a shop, by the country its host says.

    >>> host_habits("www.shop.co.uk"), host_habits("www.shop.com")
    (Habits(currency='GBP', decimal='.'), Habits(currency='USD', decimal='.'))
    """
    region = _COUNTRY.search(host.lower())
    if region is None or region[1] in _NO_COUNTRY:
        return Habits("USD", ".")
    code = habits_of(f"und-{region[1].upper()}")
    return code if code.currency else Habits("USD", ".")


def _host(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""


def shown_prices(tree: LexborHTMLParser | LexborNode, habits: Habits) -> ShownPrices:
    """What a page shows as prices; scripts must be out of it."""
    is_behind = tree.css_first("h1") is None
    main = Money()
    asked: set[float] = set()
    others: set[float] = set()
    regular: set[Money] = set()
    places = tree.css(f"h1, {_PLACE}")[: 4 * MOST_PARTS]
    read = _read_all(places, habits)
    outer = _outer(node for node, found in zip(places, read, strict=True) if found.prices)
    for node, found in zip(places, read, strict=True):
        is_behind = is_behind or node.tag == "h1"
        if not found.prices or node.mem_id in outer:
            continue
        role = _role(node)
        (asked if role == "asked" else others).update(found.prices)
        if role == "asked" and is_behind and not main.prices:
            main = found
        elif role == "old" and is_behind and _REGULAR.search(attribute(node, "class").lower()):
            regular.add(found)
    if not asked and len(regular) == 1:
        main = regular.pop()  # A `regular-price` without another one is the price.
        asked = set(main.prices)
    return ShownPrices(main, frozenset(asked), frozenset(others))


def settled(
    told: Iterable[Money], shown: ShownPrices, *, rises: bool = False
) -> tuple[Money, tuple[str, ...]]:
    """The price of a page whose data tells some, best first, and the page shows others.

    What is told and shown is right. What is told and not shown is doubted if another price is
    shown beside the title. Then the lower one is taken, as old prices are the higher ones: unless
    they differ by places of the decimal mark, which data has wrong, and people see; or the price
    `rises`, as at an auction.
    """
    given = [one for one in told if one.prices and one.prices[-1] > 0]
    if not given:
        if shown.asked <= set(shown.main.prices):
            return shown.main, ()
        # An old price may have no name that tells it from the new one.
        amounts = ", ".join(f"{amount:g}" for amount in sorted(shown.asked)[:_MOST_TOLD])
        return Money(), (f"price: {amounts} are shown, and nothing tells which one is asked",)
    first = given[0]
    if _agree(first, shown.asked) or _same(first, shown.main):
        return first, ()
    if shown.main.prices and _is_instalment(shown.main, first):
        return first, ()
    against = [
        one for one in given[1:] if not _same(one, first) and one.currency in ("", first.currency)
    ]
    if not shown.main.prices:
        if against:
            return first, (_doubt(first, against[0], "in another part of its data"),)
        return first, ()
    doubts = (_doubt(first, shown.main, "where it is shown"),)
    is_old = shown.main.prices[0] > first.prices[-1] and not _is_shifted(shown.main, first)
    return first if is_old and not rises else shown.main, doubts


def _is_shifted(one: Money, other: Money) -> bool:
    """Whether two prices have the same digits."""
    low, high = sorted((one.prices[0], other.prices[0]))
    return any(abs(low * shift - high) < _A_CENT * shift for shift in (10, 100, 1000))


def contradiction(told: Money, shown: Money) -> tuple[str, ...]:
    """What to say where the data of a page and what it shows are different prices."""
    if not told.prices or _same(told, shown):
        return ()
    return (_doubt(told, shown, "where it is shown"),)


def _agree(price: Money, amounts: frozenset[float]) -> bool:
    """Whether one of the price's ends is shown, or something between them."""
    low, high = price.prices[0], price.prices[-1]
    return any(
        _close(amount, low) or _close(amount, high) or low < amount < high for amount in amounts
    )


def _same(one: Money, other: Money) -> bool:
    return bool(other.prices) and (
        _agree(one, frozenset(other.prices)) or _agree(other, frozenset(one.prices))
    )


def _close(one: float, other: float) -> bool:
    """The same price, but for a fraction of a cent, or for cents that stand elsewhere."""
    whole, exact = sorted((one, other))
    return exact - whole < _A_CENT or (whole >= 1 and whole == int(exact))


def _is_instalment(shown: Money, told: Money) -> bool:
    """Whether what is shown first is only a part of what is to be paid, as `3 x 33.30`."""
    return any(
        abs(shown.prices[0] * count - told.prices[0]) < _A_CENT * count for count in _INSTALMENTS
    )


def _doubt(told: Money, other: Money, where: str) -> str:
    return f"price: {_spelt(told)} in its data, {_spelt(other)} {where}"


def _spelt(price: Money) -> str:
    ends = (f"{end:g}" if end < 1e6 else f"{end:.2f}" for end in price.prices)
    return f"{' to '.join(ends)} {price.currency}".strip()


def _outer(nodes: Iterable[LexborNode]) -> set[int]:
    """What these are inside of: an old and a new price in one box are told apart in their own."""
    outer: set[int] = set()
    for node in nodes:
        above = node.parent
        for _ in range(HIGHEST):
            if above is None or above.mem_id in outer:
                break
            outer.add(above.mem_id)
            above = above.parent
    return outer


def _read_all(places: Sequence[LexborNode], habits: Habits) -> list[Money]:
    """What each place says. Those inside come first: where one has too much in it to be a price,
    all around it have, and are not read again each with everything that is in it."""
    read: list[Money] = []
    inside = dict.fromkeys((node.mem_id for node in places), 0)
    """How many places there are in each."""
    large: set[int] = set()
    for node in reversed(places):
        found = Money()
        if node.tag != "h1" and node.mem_id not in large:
            text = node.text(separator=" ") if inside[node.mem_id] <= _MOST_INSIDE else None
            said = plain(text)
            if text is None or len(text) > _LONGEST_MARKUP or len(said) > _LONGEST:
                large.update(list(_around(node, large)))
            else:
                found = _read(node, said, habits)
                for above in itertools.islice(_around(node, large), HIGHEST):
                    if above in inside:
                        inside[above] += inside[node.mem_id] + 1
                        break
        read.append(found)
    return read[::-1]


def _around(node: LexborNode, known: Set[int]) -> Iterator[int]:
    """What a node is in, as far as it is not known."""
    above = node.parent
    while above is not None and above.mem_id not in known:
        yield above.mem_id
        above = above.parent


def _read(node: LexborNode, said: str, habits: Habits) -> Money:
    """What a place is a price of; `<b>12</b><sup>99</sup>` is one number."""
    if not any(letter.isdigit() for letter in said):
        return Money()
    found = money(said, habits)
    if not found.prices:
        found = money(plain(node.text(separator="")), habits)
    return found if found.prices and found.prices[-1] else Money()


def _role(node: LexborNode) -> Literal["asked", "old", "other"]:
    """What a place's price is: what is asked, an old one or a part, another product's."""
    is_old = False
    for height, above in enumerate(upwards(node)):
        if above.tag in ("header", "footer", "nav", "select", "option"):
            return "other"
        if above.tag in _STRIKING or (height < _CLOSE_BY and is_struck(above)):
            is_old = True
        if _OTHERS.search(_names_of(above)) or (above.tag == "a" and height):
            return "other"
    return "old" if is_old else "asked"


def is_struck(node: LexborNode) -> bool:
    """Whether an element's kind or names say that a price in it is not the one that is asked."""
    names = _names_of(node)
    return (
        node.tag in _STRIKING
        or bool(_STRUCK.search(names))
        or any(
            _STRUCK_PRICE.search(name)
            for name in names.split()
            if "price" in name and "incl" not in name
        )
    )


def _names_of(node: LexborNode) -> str:
    return hyphenated(f"{attribute(node, 'class')} {attribute(node, 'id')}")

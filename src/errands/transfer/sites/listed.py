"""What a page of results shows to people: boxes that are alike, each with a link, a title and a
price, whatever shop it is of.

Most shops list products without any data for machines, or with data of some of them only. What
makes a list is that links of one shape lead to each product, that a box around each of them has no
other such link, and that most of these boxes show a price. Prices in a box are told apart as those
of an item's page are; where several are left of which none is told to be asked, there is none.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

from errands.currencies import NO_HABITS, UNKNOWN, Habits, code_of
from errands.prices import Money, money, usual_decimal
from errands.transfer.sites.address import looks_only
from errands.transfer.sites.markup import (
    MOST_BOXES,
    MOST_PARTS,
    absolute,
    attribute,
    first_attribute,
    plain,
    text_of,
)
from errands.transfer.sites.shown import is_struck

__all__ = ["ShownCard", "ShownList", "link_key", "shown_cards"]

_MOST_LINKS: Final = 16 * MOST_PARTS
_MOST_TEXTS: Final = 60 * MOST_PARTS
_HIGHEST: Final = 60
_CLOSE_BY: Final = 8
_MOST_AROUND: Final = 3
"""Elements around a text that may be a price together with what is beside it."""
_MOST_SAID: Final = 20
"""Texts of links to one product, and parts of a page around them."""
_FEWEST: Final = 3
_SHARE: Final = 0.25
"""Of the largest group of boxes, for another one to be in the list."""
_LEAST_SHARE: Final = 0.1
"""Of the links of the commonest shape, for those of another one to be products, too."""
_LONGEST_PRICE: Final = 40
_LONGEST_TITLE: Final = 300
_LONGEST_BOX: Final = 1_500
_OWN: Final = re.compile(r"\d|^[^=]*[_-]|^[^=]{16}")
"""What in a path is of one product, or of few."""
_SAME: Final = 0.01
_ALMOST: Final = 0.012
"""Of a price: by so much a rounded percentage may be off."""
_MOST_OFF: Final = 5
"""Times the new price that an old one may be."""
_INSTALMENTS: Final = range(2, 49)
_EDGE: Final = frozenset("body html main".split())
_NOT_A_LIST: Final = frozenset("header footer nav select".split())
_ELSEWHERE: Final = re.compile(
    r"related|recommend|recently|viewed|also-|upsell|cross-?sell|mini-?cart|footer|breadcrumb"
    r"|mega-?menu|slick-track|swiper-wrapper|owl-|carousel"
)
_ASKED: Final = re.compile(r"sale|special|current|final|now|offer|promo|best|discounted|por\b")
_BEFORE: Final = re.compile(
    r"(?:\b(?:was|were|regular|original|previous|old|list|typical|normal|retail|unit|rrp|msrp|mrp|m\.r\.p|uvp"
    r"|statt|vorher|antes|avant|precio regular|de|ahorr[aá]|save|you save|desconto|économisez"
    r"|ex\.?|excl\.?|month|monthly|emi|cuotas|x)\b[ .:]{0,3}(?:price\b)?[ .:]{0,3})$",
    re.IGNORECASE,
)
_BEHIND: Final = re.compile(
    r"^\W{0,3}(?:off\b|mo(?:nth)?\b|per month|x\b|cuotas|sin inter|em até|excl|ex\.? ?vat"
    r"|\+ ?vat)",
    re.IGNORECASE,
)
_ASKED_BEFORE: Final = re.compile(
    r"\b(?:(?:sale|special|current|final|our|your|promo) price|now|por|only|nur|jetzt|ahora)"
    r"[ .:]{0,3}$",
    re.IGNORECASE,
)
_IN_PARTS: Final = re.compile(
    r"\b\d{1,2} ?(?:x\b|×|cuotas|meses|mois\b|raten|months?\b|instal)", re.IGNORECASE
)
_LONGEST_SIGN: Final = 4
_AMOUNT: Final = re.compile(r"[^\w\s.:(-]|\d")
_PER_CENT: Final = re.compile(r"(?<!\d)(\d{1,2}) ?%")
_TITLES: Final = (
    "h2, h3, h4, h5, [itemprop=name], [class*=title i], [class*=name i], [class*=description i]"
)
_LETTERS: Final = re.compile(r"[^\W\d_]{2}")
_BUTTON: Final = re.compile(
    r"\W*(?:add to|buy|quick|view|more|details|wish ?list|compare|kaufen|ajouter|voir|comprar|see"
    r"|choose|select|shop now|sale|new|from|show|read|learn)\b.{0,15}$",
    re.IGNORECASE,
)


_PICTURE_OF: Final = re.compile(r",? (?:product )?(?:image|photo)$", re.IGNORECASE)
_WORDS: Final = re.compile(r"[\W_]+")
_RATING: Final = re.compile(
    r"out of 5|\d (?:star|rating|review)|\bvon 5|de 5 |bewertung|opinion|sur 5", re.IGNORECASE
)


class ShownCard(NamedTuple):
    """A product as a page of results shows it."""

    link: str
    title: str
    price: Money
    image: str
    group: str
    """What the part of the page is called that it stands in."""


_NOTHING: Final = ShownCard("", "", Money(), "", "")


class ShownList:
    """What a page lists, to be looked up by addresses that its data names."""

    def __init__(self, cards: list[ShownCard]) -> None:
        self._by_key: dict[str, list[ShownCard]] = {}
        for card in cards:
            same = self._by_key.setdefault(link_key(card.link), [])
            if not any(_is_again(card, one) for one in same):
                same.append(card)
        kept = {id(card) for same in self._by_key.values() for card in same}
        self.cards = [card for card in cards if id(card) in kept]

    def of(self, link: str) -> ShownCard:
        """The card of an address; one without anything where none or several may be it."""
        cards = self._by_key.get(link_key(link), [])
        exact = [card for card in cards if card.link == link]
        if len(cards) > 1 and not exact:
            asked = _query(link)
            cards = [card for card in cards if asked and asked <= _query(card.link)]
        is_clear = len({(card.title, card.price) for card in exact or cards}) == 1
        return (exact or cards)[0] if is_clear else _NOTHING


def _is_again(card: ShownCard, other: ShownCard) -> bool:
    """Whether a card is of the same product as another one before it."""
    one, two = _query(card.link), _query(other.link)
    return card.link == other.link or (card.title == other.title and (one <= two or two <= one))


def _query(link: str) -> set[str]:
    return set(link.partition("?")[2].partition("#")[0].split("&")) - {""}


class _PricePlace(NamedTuple):
    """Where a box says an amount of money."""

    node: LexborNode
    price: Money
    before: str
    after: str


def link_key(link: str) -> str:
    """What two links to one product have in common: all but how somebody came to it.

    >>> link_key("https://shop.example/a-lamp/p/1?from=list#reviews")
    'shop.example/a-lamp/p/1'
    >>> link_key("https://shop.example/item.php?id=7")
    'shop.example/item.php?id=7'
    """
    try:
        parts = urlsplit(link)
    except ValueError:
        return ""
    path = parts.path.rstrip("/")
    is_program = "." in path.rsplit("/", 1)[-1] and not path.endswith((".html", ".htm"))
    query = f"?{parts.query}" if parts.query and (is_program or not path) else ""
    return f"{parts.netloc}{path}{query}".lower()


def shown_cards(tree: LexborHTMLParser, base: str, habits: Habits) -> list[ShownCard]:
    """The products that a page lists, in its order; scripts must be out of it."""
    boxes = _of_the_list(_boxes(_product_links(tree, base)))
    usual = usual_decimal(text for box in boxes for text in box.texts)
    if not habits.decimal and usual:
        # A `$` of which the points are no cents is none of those that come to mind first.
        habits = Habits(habits.currency or (UNKNOWN if usual == "," else ""), usual)
    said = Counter(text for box in boxes for text in {*box.said, *box.headings})
    often = {text for text, count in said.items() if count > max(3, len(boxes) // 3)}
    looks = {box.link: (box.node.tag, attribute(box.node, "class")) for box in boxes}
    cards: list[ShownCard] = []
    for box in boxes:
        places = list(_places(box.node, habits))
        if title := _title(box, often, {text_of(place.node) for place in places}):
            price = _price(box.node, places)
            image, group = _image(box.node, base), attribute(box.node.parent, "class")
            cards.append(ShownCard(box.link, title, price, image, group))
    priced = {link_key(card.link) for card in cards if card.price.prices}
    alike = {looks[card.link] for card in cards if card.price.prices}
    # What looks like the others is a product, too, though it has no price.
    listed = [
        card
        for card in cards
        if card.price.prices
        or (link_key(card.link) not in priced and looks[card.link] in alike and card.image)
    ]
    return listed if _FEWEST <= len(priced) >= len(listed) / 2 else []


def _of_the_list(boxes: list["_Box"]) -> list["_Box"]:
    """Boxes that stand where most of them do: others are of what was bought or seen before."""
    around = [attribute(box.node.parent, "class") for box in boxes]
    counts = Counter(around)
    most = max(counts.values(), default=0)
    return [box for box, names in zip(boxes, around, strict=True) if counts[names] >= most * _SHARE]


# Links and boxes.


class _Link(NamedTuple):
    """A link that may lead to a product."""

    url: str
    key: str
    node: LexborNode


class _Box(NamedTuple):
    """The part of a page that is about one product."""

    link: str
    node: LexborNode
    said: list[str]
    """What its links say."""
    headings: list[str]
    pictures: list[str]
    texts: list[str]


def _product_links(tree: LexborHTMLParser, base: str) -> list[_Link]:
    """Links of those shapes that most links beside sums of money have."""
    own = link_key(base)
    elsewhere: dict[int, bool] = {}
    found: list[_Link] = []
    for node in tree.css("a[href]")[:_MOST_LINKS]:
        url = absolute(attribute(node, "href"), base).partition("#")[0]
        key = link_key(url)
        if key and key != own and looks_only(url) and not _is_elsewhere(node.parent, elsewhere):
            found.append(_Link(url, key, node))
    near = _near_prices(tree, found)
    counts = Counter(one for key in near for one in enumerate(_parts(key)))
    words = {one for one, count in counts.items() if 1 < count >= _LEAST_SHARE * len(near)}
    places: dict[tuple[str, ...], list[frozenset[int]]] = {}
    for key, around in near.items():
        places.setdefault(_shape(key, words), []).append(around)
    usual = max(places, key=lambda shape: len(places[shape]), default=())
    if len(places.get(usual, ())) < _FEWEST:
        return []
    taken = frozenset[int]().union(*places[usual])
    # Of other shapes are products that stand elsewhere; what stands beside one is its brand.
    also = {
        shape
        for shape, some in places.items()
        if (1 < len(some) >= _LEAST_SHARE * len(places[usual]) or shape[0] == usual[0] != "*")
        and sum(not taken.isdisjoint(around) for around in some) < _SHARE * len(some)
    }
    return [one for one in found if _shape(one.key, words) in {usual, *also}]


def _near_prices(tree: LexborHTMLParser, links: list[_Link]) -> dict[str, frozenset[int]]:
    """What leads from small parts of the page in which there is a sum of money, and those."""
    texts = _texts(tree.body, _MOST_TEXTS)
    lengths = _lengths(texts, _HIGHEST)
    priced: set[int] = set()
    for node, said in texts:
        if _money_at(node, said, NO_HABITS, lengths)[0] is not None:
            around_it = itertools.islice(_upwards(node), 2 * _CLOSE_BY)
            priced.update(one.mem_id for one in around_it)
    near: dict[str, frozenset[int]] = {}
    for _, key, node in links:
        around: list[int] = []
        for above in itertools.islice(_upwards(node), _CLOSE_BY):
            if above.tag in _EDGE or lengths[above.mem_id] > _LONGEST_BOX:
                break
            around.append(above.mem_id)
        if not priced.isdisjoint(around):
            near.setdefault(key, frozenset(around))
    return near


def _parts(key: str) -> list[str]:
    path, _, query = key.partition("/")[2].partition("?")
    return [*path.split("/"), *(query.split("&") if query else ())]


def _shape(key: str, words: set[tuple[int, str]]) -> tuple[str, ...]:
    """How an address is built: words that many have stay, names and numbers do not."""
    return tuple(
        part if (at, part) in words and not _OWN.search(part) else "*"
        for at, part in enumerate(_parts(key))
    )


def _boxes(links: list[_Link]) -> list[_Box]:
    """The largest part around each product's link that has no other product's."""
    owner: dict[int, str | None] = {}
    for one in links:
        for above in _upwards(one.node):
            if owner.setdefault(above.mem_id, one.key) != one.key:
                owner[above.mem_id] = None
    boxes: dict[int, _Box] = {}
    counts: Counter[str] = Counter()
    for url, key, node in links:
        top = node
        for above in _upwards(node):
            if above.tag in _EDGE or owner.get(above.mem_id) != key:
                break
            top = above
        if top.mem_id not in boxes:
            counts[key] += 1
            if counts[key] > _MOST_SAID or len(boxes) == MOST_PARTS:
                continue
            boxes[top.mem_id] = _Box(
                link=url,
                node=top,
                said=[],
                headings=[text_of(one) for one in top.css(_TITLES)[:MOST_BOXES]],
                pictures=[attribute(one, "alt") for one in top.css("img[alt]")[:3]],
                texts=[said for _, said in _texts(top)],
            )
        said = boxes[top.mem_id].said
        if len(said) < _MOST_SAID:
            texts = (text_of(node), attribute(node, "title"))
            said.extend(_PICTURE_OF.sub("", text[:_LONGEST_BOX]) for text in texts)
    return list(boxes.values())


def _upwards(node: LexborNode | None) -> Iterator[LexborNode]:
    above = node
    for _ in range(_HIGHEST):
        if above is None:
            break
        yield above
        above = above.parent


def _is_elsewhere(node: LexborNode | None, known: dict[int, bool]) -> bool:
    """Whether a part of a page is beside its list: its head, its foot, what others bought."""
    passed: list[int] = []
    verdict = False
    for above in _upwards(node):
        if above.mem_id in known:
            verdict = known[above.mem_id]
            break
        passed.append(above.mem_id)
        if above.tag in ("body", "html"):
            break
        names = f"{attribute(above, 'class')} {attribute(above, 'id')}".lower()
        if above.tag in _NOT_A_LIST or _ELSEWHERE.search(names):
            verdict = True
            break
    known.update(dict.fromkeys(passed, verdict))
    return verdict


# What a box says.


def _title(box: _Box, often: set[str], amounts: set[str]) -> str:
    """What a product is called: what its links say, its heading, its picture, or its box.

    Of several texts the one that is most like the link's address, which shops make of the title.
    """
    words = {word for word in _WORDS.split(link_key(box.link).lower()) if len(word) > 1}

    def likeness(text: str) -> tuple[int, int]:
        return len(words & set(_WORDS.split(text.lower()))), len(text)

    def parted(text: str) -> str:
        """A link's text; where the link is around all of a box, one of the texts in that."""
        parts = [part for part in box.texts if part in text]
        titles = [part for part in parts if _is_title(part, amounts)]
        is_whole = len(parts) > _FEWEST and text not in parts
        return max(titles, key=likeness) if is_whole and titles else text

    sources = [
        [text for text in texts if _is_title(text, amounts) and text not in often]
        for texts in (map(parted, box.said), box.headings, box.pictures, box.texts)
    ]
    title = next((max(texts, key=likeness) for texts in sources if texts), "")
    if title.endswith(("...", "…")):  # Somewhere it may be whole.
        begins = title.rstrip(".… ")
        whole = (text for texts in sources for text in texts if text.startswith(begins))
        title = max(whole, key=len, default=title)
    return title


def _is_title(text: str, amounts: set[str]) -> bool:
    return (
        len(text) < _LONGEST_TITLE
        and bool(_LETTERS.search(text))
        and not _BUTTON.match(text)
        and not _RATING.search(text)
        and not any(amount in text for amount in amounts)
    )


def _texts(box: LexborNode | None, most: int = MOST_PARTS) -> list[tuple[LexborNode, str]]:
    """The texts of a part of a page, each with its node."""
    texts: list[tuple[LexborNode, str]] = []
    for node in box.traverse(include_text=True) if box is not None else ():
        if node.tag == "-text" and (said := plain(node.text(deep=False))):
            texts.append((node, said))
            if len(texts) == most:
                break
    return texts


def _lengths(texts: list[tuple[LexborNode, str]], highest: int) -> Counter[int]:
    """How much is said in each part around some texts."""
    lengths: Counter[int] = Counter()
    for node, said in texts:
        for above in itertools.islice(_upwards(node), highest):
            lengths[above.mem_id] += len(said)
    return lengths


def _money_at(
    node: LexborNode, said: str, habits: Habits, lengths: Counter[int]
) -> tuple[LexborNode | None, Money]:
    """The smallest part around a text that is a sum of money; sign and cents may be in others."""
    if not any(map(str.isdigit, said)) and not code_of(said, habits):
        return None, Money()
    place = node.parent
    for _ in range(_MOST_AROUND):
        if place is None or lengths[place.mem_id] > _LONGEST_PRICE:
            break
        whole = text_of(place)
        if len(whole) > _LONGEST_PRICE:
            break
        found = money(whole, habits)
        if found.prices and found.prices[-1]:
            return place, found
        place = place.parent
    return None, Money()


def _image(box: LexborNode, base: str) -> str:
    for name in ("src", "data-src", "data-original", "data-lazy-src"):
        for node in box.css("img")[:3]:
            if (link := absolute(attribute(node, name), base)).startswith("http"):
                return link
    first = first_attribute(box, "srcset", "img[srcset]", "source[srcset]").split()
    return absolute(first[0], base) if first else ""


def _price(box: LexborNode, places: list[_PricePlace]) -> Money:
    """The price that is asked in a box; none where several may be."""
    asked = [one for one in places if not _is_other(one, box)] or places
    told = [
        one for one in asked
        if any(_ASKED.search(_names(above)) for above in _within(one.node, box))
    ]  # fmt: skip
    for some in (asked, told):
        prices = list(dict.fromkeys(one.price for one in some))
        prices = _without_instalments(prices)
        if len(prices) == 1:
            return prices[0]
    prices = _without_instalments(list(dict.fromkeys(one.price for one in asked)))
    return _newer(prices, text_of(box))


def _newer(prices: list[Money], text: str) -> Money:
    """Of an old price and a new one the new one, as far as they are told to be that."""
    amounts = sorted({one.prices[-1] for one in prices})
    by_amount = {one.prices[-1]: one for one in prices}
    shares = [int(share) for share in _PER_CENT.findall(text)]
    for low in amounts:
        for high in amounts:
            if low < high and any(
                abs(high * (100 - share) / 100 - low) < _ALMOST * high for share in shares
            ):
                return by_amount[low]
    if len(amounts) == 2 and amounts[1] <= _MOST_OFF * amounts[0]:
        return by_amount[amounts[0]]
    return Money()


def _without_instalments(prices: list[Money]) -> list[Money]:
    """Prices of which no other one is a multiple, as of a month's share of it."""
    ends = [one.prices[-1] for one in prices]
    return [
        one
        for one in prices
        if len(one.prices) > 1
        or not any(
            abs(one.prices[0] * count - end) <= max(_SAME * count, 1.0 * (one.prices[0] > 100))
            for end in ends
            for count in _INSTALMENTS
        )
    ]


def _places(box: LexborNode, habits: Habits) -> Iterator[_PricePlace]:
    """The smallest parts of a box that are sums of money, and what is said around them."""
    seen: set[int] = set()
    texts = _texts(box)
    lengths = _lengths(texts, _MOST_AROUND + 1)
    left = MOST_BOXES
    for at, (node, said) in enumerate(texts):
        place, found = _money_at(node, said, habits, lengths)
        if place is None or place.mem_id in seen:
            continue
        seen.update(above.mem_id for above in _within(place, box))
        end = at + 1
        while end < len(texts) and any(
            above.mem_id == place.mem_id for above in itertools.islice(_upwards(texts[end][0]), 5)
        ):
            end += 1
        before = " ".join(text for _, text in texts[max(0, at - 2) : at])
        after = " ".join(text for _, text in texts[end : end + 2])
        yield _PricePlace(place, found, before[-_LONGEST_PRICE:], after)
        left -= 1
        if not left:
            break


def _is_other(place: _PricePlace, box: LexborNode) -> bool:
    """Whether an amount is an old price, a part of one, or none."""
    whole = text_of(place.node)
    said = _AMOUNT.split(whole, maxsplit=1)[0]
    before = f"{place.before} {said if len(said) > _LONGEST_SIGN else ''}".rstrip()
    if _BEFORE.search(before) or _BEHIND.search(place.after) or _IN_PARTS.search(whole):
        return True
    if _ASKED_BEFORE.search(before):
        return False
    return any(is_struck(above) for above in _within(place.node, box))


def _within(node: LexborNode, box: LexborNode) -> Iterator[LexborNode]:
    for above in _upwards(node):
        if above.mem_id == box.mem_id:
            break
        yield above


def _names(node: LexborNode) -> str:
    return f"{attribute(node, 'class')} {attribute(node, 'id')} {node.tag}".lower()

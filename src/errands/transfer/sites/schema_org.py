"""Any shop whose pages carry product data: schema.org's, as JSON-LD or as microdata, its forerunner
data-vocabulary.org, Open Graph's product, or Shopify's JSON.

The proof that a third site is easy: no selector of any shop is in here. Where results are must be
told (`search`, an address with `{query}` and `{page}`); a page of results is an `ItemList`, or
just several products, each with its address. What data leaves open, the page itself may show
(`shown`, `shown_options`); where both contradict one another, the record says so.
"""

import re
from collections import Counter
from typing import Any, Final
from urllib.parse import parse_qsl, quote_plus, unquote, urlsplit

import msgspec
from selectolax.lexbor import LexborHTMLParser, LexborNode

from errands.currencies import NO_HABITS, Habits, code_of
from errands.errors import SettingError
from errands.prices import Money, money, number_money
from errands.transfer.sites.address import host_of, is_within, looks_only, path_of
from errands.transfer.sites.choices import shown_choices
from errands.transfer.sites.claims import says_nothing
from errands.transfer.sites.listed import ShownList, shown_cards
from errands.transfer.sites.markup import (
    MOST_PARTS,
    absolute,
    all_texts,
    attribute,
    canonical,
    drop_scripts,
    first_attribute,
    first_text,
    meta,
    parse,
    steps_of,
    text_of,
    without_tags,
)
from errands.transfer.sites.record import (
    SiteCard,
    SiteProduct,
    SiteResults,
    site_results,
    with_missing,
)
from errands.transfer.sites.schema_data import Thing, inside, kinds_of, things, value_text, values
from errands.transfer.sites.shopify import shopify_product
from errands.transfer.sites.shown import page_habits, settled, shown_prices
from errands.transfer.sites.shown_options import shown_options
from errands.transfer.sites.site import PageKind, RequestKind, SiteReader

__all__ = ["SAVED", "SchemaOrg"]

SAVED: Final = "https://saved.invalid/?q={query}&page={page}"
"""Where results are that somebody saved: nowhere, so that an item may be anywhere."""

_PRODUCT: Final = {"Product", "ProductGroup", "ProductModel", "IndividualProduct", "SomeProducts",
                   "Vehicle", "Book", "Car"}  # fmt: skip
_OPTIONS: Final = ("color", "size", "material", "pattern")
_SAID: Final = ("brand", "model", "color", "size", "material", "pattern", "width", "height",
                "depth", "weight")  # fmt: skip
_UNFILLED: Final = re.compile(r"[$#%]\w{2,40}$|\{\{|%\w{1,40}%|\[\[")
"""What a template left of itself: `$metabrand`."""
_NOT_IN_ID: Final = re.compile(r"[^A-Za-z0-9._~-]+")
_LONGEST_ID: Final = 40

_PICTURE: Final = re.compile(r"\.(?:jpe?g|png|webp|gif|avif|svg|bmp)\b", re.IGNORECASE)
_BIDS: Final = re.compile(r"\b(?:starting bid|current bid|your maximum bid|place bid)\b", re.I)
_LEAST_TITLE: Final = 15
_SHORT: Final = 5
_HEADINGS: Final = "h1, h2, h3, h4, [class*=title i]"
_MARK: Final = re.compile(r" ?[-|–:•—｜_]")
_FEW: Final = 3
_MORE: Final = 1.15


class SchemaOrg(SiteReader):
    """A shop that describes itself."""

    name = "schema.org"
    hosts: tuple[str, ...] = ()

    def __init__(self, search: str = "") -> None:
        host = host_of(search).removeprefix("www.")
        if search and (
            "{query}" not in search or not search.startswith(("http://", "https://")) or not host
        ):
            raise SettingError(
                f"--search-url {search!r}: expected an address with {{query}} in it, as"
                " 'https://shop.example/search?q={query}&page={page}'."
            )
        self.search = search
        self.hosts = (host,) if search not in ("", SAVED) else ()
        parts = [re.escape(part) for part in re.split(r"\{query\}|\{page\}", path_of(search))]
        self._search_path = re.compile("[^/]*".join(parts).rstrip("/") + "/?")

    def admits(self, kind: RequestKind, url: str) -> bool:
        if self.search == SAVED:
            return bool(absolute(url, ""))  # Nobody is asked.
        if not is_within(url, self.hosts):
            return False
        if kind == "search":
            return bool(self._search_path.fullmatch(path_of(url)))
        return looks_only(url)

    def search_url(self, query: str, page: int) -> str:
        if not self.search:
            raise SettingError(
                "The site schema.org must be told where results are: --search-url"
                " 'https://shop.example/search?q={query}&page={page}'."
            )
        return self.search.replace("{page}", str(page)).replace(
            "{query}", quote_plus(query, errors="replace")
        )

    def item_url(self, id: str) -> str:
        return ""

    def kind(self, html: str) -> PageKind:
        tree = parse(html, keep_scripts=True)
        data = things(tree)
        kind = meta(tree, "og:type").lower()
        if len(_offered(data)) == 1 or kind in ("product", "og:product", "product.item"):
            return "item"
        if len(_entries(data)) > 1 or any("ItemList" in kinds_of(each) for each in data):
            return "search"
        is_priced = bool(meta(tree, "product:price:amount"))
        return "item" if _main(data) is not None or is_priced or shopify_product(tree) else ""

    def read_results(self, html: str, url: str = "") -> SiteResults:
        tree = parse(html, keep_scripts=True)
        cards: list[SiteCard] = []
        left_out = no_id = 0
        data = things(tree)
        habits = page_habits(tree, url)
        drop_scripts(tree)
        linked = _Links(tree, url)
        shown = ShownList([] if says_nothing(tree) else shown_cards(tree, url, habits))
        for entry in _with_shown(_entries(data), shown, url):
            link = absolute(_link(entry), url)
            beside = shown.of(link)
            id = _id(entry, link)
            if not link or not id:
                no_id += 1
                continue
            if self.hosts and not self.admits("item", link):
                left_out += 1
                continue
            price = _listed_price(_price(entry, habits), beside.price)
            image = value_text(entry, "image", "photo") or beside.image or linked.image(link)
            cards.append(
                SiteCard(
                    id=id,
                    url=link,
                    title=value_text(entry, "name") or beside.title or linked.title(link),
                    **(price if price.prices else linked.price(link, habits))._asdict(),
                    image=absolute(image, url),
                )
            )
        following = first_attribute(tree, "href", 'link[rel="next"]', 'a[rel="next"]')
        claims = [
            value_text(each, "numberOfItems") for each in data if "ItemList" in kinds_of(each)
        ]
        total = next((int(said) for said in claims if said.isdecimal() and len(said) < 13), None)
        if total is not None and total < len(cards):
            total = None
        return site_results(
            _distinct(cards), has_next=bool(following), left_out=left_out, no_id=no_id, total=total
        )

    def read_item(self, html: str, url: str = "") -> SiteProduct:
        tree = parse(html, keep_scripts=True)
        data = things(tree)
        product = _main(data) or {}
        theme = shopify_product(tree)
        drop_scripts(tree)
        link = value_text(product, "url") or meta(tree, "og:url") or canonical(tree)
        link = absolute(link, url) or url
        letters = meta(tree, "product:price:currency") or meta(tree, "og:price:currency")
        habits = page_habits(tree, url or link)
        price = _price(product, habits)
        habits = page_habits(tree, url or link, price.currency or letters)
        told = meta(tree, "product:price:amount") or meta(tree, "og:price:amount")
        shown = shown_prices(tree, habits)
        is_auction = bool(_BIDS.search(text_of(tree.body)))
        price, doubts = settled(
            [
                price,
                theme.money(habits.currency) if theme else Money(),
                number_money(told, letters, habits),
                _lone_price(tree, habits) if not product else Money(),
            ],
            shown,
            rises=is_auction,
        )
        options, images = _options(product)
        if theme and not options:
            options, images = theme.options, theme.images
        options = options or shown_options(tree) or shown_choices(tree)
        if len(price.prices) > 1 and not options:
            # One price is asked; the range is over sellers, or over time.
            said = money(meta(tree, "description"), habits)
            for one in (shown.main, number_money(told, letters, habits), said):
                if len(one.prices) == 1 and price.prices[0] <= one.prices[0] <= price.prices[1]:
                    price = one
                    break
        named = _without_shop(meta(tree, "og:title"), meta(tree, "og:site_name"))
        title = value_text(product, "name") or (theme.title if theme else "")
        if not title or (len(named) > _LEAST_TITLE and named in title):
            title = named or title or first_text(tree, "h1") or _page_title(tree)
        headings = all_texts(tree, "h1")[:_FEW]
        title = _without_search_words(title, headings)
        return with_missing(
            SiteProduct(
                id=_id(product, link),
                url=link,
                title=title,
                **price._asdict(),
                price_note="bid" if is_auction else "",
                rating=_rating(product),
                bullets=_bullets(product),
                description=without_tags(value_text(product, "description"))
                or (theme.description if theme else "")
                or without_tags(meta(tree, "og:description"))
                or without_tags(meta(tree, "description")),
                image=_picture(value_text(product, "image", "thumbnailUrl", "photo"), url)
                or _picture(meta(tree, "og:image"), url)
                or (theme.image if theme else ""),
                options=options,
                option_images=images,
                category=_category(data, product, tree, [title, *headings], host_of(url or link)),
                doubts=doubts,
            )
        )


def _picture(link: str, base: str) -> str:
    """A picture's address; what a template left in place of one is none."""
    is_link = "/" in link or bool(_PICTURE.search(link))
    return absolute(link, base) if is_link else ""


def _lone_price(tree: LexborHTMLParser, habits: Habits) -> Money:
    """A price that is marked as one, though it is no product's."""
    for node in tree.css('[itemprop="price"]')[:1]:
        said = attribute(node, "content") or text_of(node)
        letters = first_attribute(tree, "content", '[itemprop="priceCurrency"]')
        return _amount(said, letters or habits.currency, habits)
    return Money()


_CLIMBED: Final = 6
_NOT_A_TITLE: Final = re.compile(
    r"^\W*(?:add to|buy|quick|view|more|details|wishlist|compare|kaufen|ajouter|voir|comprar|\d*$)",
    re.I,
)


class _Links:
    """What a page of results shows around its links, for lists that name nothing but addresses."""

    def __init__(self, tree: LexborHTMLParser, base: str) -> None:
        self._nodes: dict[str, list[LexborNode]] = {}
        for node in tree.css("a[href]")[: 4 * MOST_PARTS]:
            link = absolute(attribute(node, "href"), base).partition("#")[0]
            if link:
                self._nodes.setdefault(link, []).append(node)

    def _of(self, link: str) -> list[LexborNode]:
        return self._nodes.get(link.partition("#")[0], [])[:_CLIMBED]

    def title(self, link: str) -> str:
        """The longest that its links say: others are buttons."""
        said = [text for node in self._of(link) for text in _says(node)]
        said = [text for text in said if not _NOT_A_TITLE.match(text) and len(text) < 300]
        return max(said, key=len, default="")

    def price(self, link: str, habits: Habits) -> Money:
        box = self._box(link)
        if box is None:
            return Money()
        return shown_prices(box, habits).main

    def image(self, link: str) -> str:
        box = self._box(link)
        return "" if box is None else first_attribute(box, "src", "img[src]")

    def _box(self, link: str) -> LexborNode | None:
        """The largest part of the page that has no other link with a picture or a title."""
        nodes = self._of(link)
        box = nodes[0] if nodes else None
        for _ in range(_CLIMBED):
            above = box.parent if box is not None else None
            if above is None or above.tag in ("body", "ul", "ol", "html"):
                break
            hrefs = {attribute(one, "href").partition("#")[0] for one in above.css("a[href]")[:30]}
            own = {attribute(one, "href").partition("#")[0] for one in nodes}
            if any(
                absolute(href, link) in self._nodes and href not in own for href in hrefs if href
            ):
                break
            box = above
        return box


def _says(node: LexborNode) -> list[str]:
    texts = [text_of(node), attribute(node, "title")]
    texts += [attribute(image, "alt") for image in node.css("img[alt]")[:1]]
    return [text for text in texts if text and not money(text).prices]


def _main(data: list[Thing]) -> Thing | None:
    """The product a page is about: one that stands for itself and can be bought, or the first."""
    products = [each for each in data if kinds_of(each) & _PRODUCT]
    return next(iter([*_offered(data), *products]), None)


def _offered(data: list[Thing]) -> list[Thing]:
    """Products with an offer or variants, but for those in a list and those like another one."""
    within: set[int] = set()
    for each in data:
        # What is inside of a thing inside another is inside that, too: once is enough.
        if id(each) not in within and ("ItemList" in (kinds := kinds_of(each)) or kinds & _PRODUCT):
            within.update(id(part) for part in inside(each))
    return [
        each
        for each in data
        if kinds_of(each) & _PRODUCT
        and id(each) not in within
        and (each.get("offers") or each.get("offerDetails") or each.get("hasVariant"))
    ]


def _entries(data: list[Thing]) -> list[Thing]:
    """What a page of results lists: the parts of its lists, or its products."""
    listed: list[Thing] = []
    for each in data:
        if "ItemList" not in kinds_of(each) or "BreadcrumbList" in kinds_of(each):
            continue
        for element in values(each, "itemListElement")[: MOST_PARTS - len(listed)]:
            if isinstance(element, str):
                listed.append({"url": element})
            elif isinstance(element, dict):
                inner = next((one for one in values(element, "item") if isinstance(one, dict)), {})
                told = {name: element[name] for name in ("url", "name", "image") if name in element}
                if isinstance(element.get("item"), str):
                    told["url"] = element["item"]
                listed.append({**told, **inner})
    products = [each for each in data if kinds_of(each) & _PRODUCT and _link(each)]
    # A list that names few of the products beside it is another one: of banners, of shops.
    return listed if listed and 2 * len(listed) > len(products) else products[:MOST_PARTS]


def _with_shown(entries: list[Thing], shown: ShownList, base: str) -> list[Thing]:
    """What data lists; or what is shown, where that is clearly more."""
    told = {shown.of(absolute(_link(entry), base)).link: entry for entry in entries}
    groups = {card.group for card in shown.cards if card.link in told}
    cards = [card for card in shown.cards if card.group in groups or not groups]
    if len(cards) <= _MORE * len(entries):
        return entries
    return [{"url": card.link, **told.get(card.link, {})} for card in cards]


def _listed_price(told: Money, shown: Money) -> Money:
    """The price of a list's data, unless people see a lower one: old prices are higher."""
    if not told.prices or (shown.prices and shown.currency == told.currency
                           and shown.prices[-1] + 1 < told.prices[0]):  # fmt: skip
        return shown
    return told


_SCRIPT: Final = re.compile(
    r"\.(?:aspx?|php\d?|jsp|jhtml|cgi|pl|do|cfm|dll|exe|mvc)$", re.IGNORECASE
)
_NAMES_ID: Final = re.compile(
    r"(?:item|product|prod|article|artikel|goods|offer|listing|sku|asin|variant|art|p)?"
    r"_?(?:id|no|nr|num|number|code|sku|key)?",
    re.IGNORECASE,
)
_TRACKS: Final = re.compile(
    r"utm_|ref|session|sid$|campaign|click|track|source|lang|page|route", re.I
)


def _id(thing: Thing, link: str) -> str:
    """A short name for a product: its number, or what its address has of its own.

    That is the last part of the path, unless it is a program's name or the shop's front page, as in
    `Product.aspx?Item=N82E168`: then the value of the query that is one.
    """
    said = value_text(
        thing, "sku", "productID", "productGroupID", "mpn", "gtin13", "gtin", "identifier"
    )
    if not said and link:
        try:
            parts = urlsplit(link)
        except ValueError:
            return ""
        last = parts.path.rstrip("/").rsplit("/", 1)[-1]
        said = unquote(last).removesuffix(".html").removesuffix(".htm")
        if not last or _SCRIPT.search(last):
            said = _id_in_query(parts.query) or said
    return _NOT_IN_ID.sub("-", said).strip("-")[:_LONGEST_ID]


def _link(entry: Thing) -> str:
    """Where an entry leads, by itself, its offer, or the first link in it."""
    if said := value_text(entry, "url"):
        return said
    for offer in values(entry, "offers"):
        if said := value_text(offer, "url") if isinstance(offer, dict) else "":
            return said
    return value_text(entry, "@id", "@link")


def _id_in_query(query: str) -> str:
    """The value of a query that names a product; else all of them, but for those that track."""
    try:
        pairs = [
            pair for pair in parse_qsl(query, max_num_fields=50) if not _TRACKS.search(pair[0])
        ]
    except ValueError:
        return ""
    named = [value for name, value in pairs if _NAMES_ID.fullmatch(name)]
    return named[0] if named else "-".join(value for _, value in pairs)


def _distinct(cards: list[SiteCard]) -> list[SiteCard]:
    """Two products of one name are told apart by their addresses."""
    by_id: dict[str, str] = {}
    told_apart: dict[tuple[str, str], str] = {}
    numbers: Counter[str] = Counter()
    distinct: list[SiteCard] = []
    for card in cards:
        name = card.id.lower()
        id = told_apart.get((name, card.url), card.id)
        while by_id.setdefault(id.lower(), card.url) != card.url:
            numbers[name] += 1
            id = f"{card.id}-{numbers[name] + 1}"
        told_apart[name, card.url] = id
        distinct.append(msgspec.structs.replace(card, id=id))
    return distinct


_GONE: Final = re.compile(r"(?:OutOfStock|SoldOut|Discontinued)$", re.IGNORECASE)
"""What nobody can buy has no price while there is something that people can."""


def _price(product: Thing, habits: Habits = NO_HABITS) -> Money:
    """The price of a product, or the range over its offers and variants."""
    offers: list[Thing] = []
    for place in (product, *values(product, "hasVariant")):
        for name in ("offers", "offerDetails"):
            offers += [one for one in values(place, name) if isinstance(one, dict)]
    # An offer of offers: the price is in one of them.
    offers += [
        one for offer in list(offers) for one in values(offer, "offers") if isinstance(one, dict)
    ]
    there = [offer for offer in offers if not _GONE.search(value_text(offer, "availability"))]
    found: list[float] = []
    currency = ""
    for offer in there or offers:
        inner = [one for one in values(offer, "priceSpecification") if isinstance(one, dict)]
        for place in (offer, *inner):
            letters = next(
                (
                    said
                    for each in (place, offer)
                    if (said := value_text(each, "priceCurrency", "pricecurrency", "currency"))
                ),
                habits.currency,
            )
            low, high = value_text(place, "lowPrice"), value_text(place, "highPrice")
            single = value_text(place, "price")
            is_range = low and ("AggregateOffer" in kinds_of(place) or not single)
            told = [low, high] if is_range else [single]
            amounts = [_amount(said, letters, habits) for said in told if said]
            for amount in amounts:
                currency = currency or amount.currency
                if amount.currency in ("", currency):  # A range has one currency: the first.
                    found += amount.prices
            if amounts:
                break
    if not found:
        return Money()
    least, most = min(found), max(found)
    return Money((least,) if least == most else (least, most), currency)


def _amount(said: str, letters: str, habits: Habits = NO_HABITS) -> Money:
    known = habits._replace(currency=code_of(letters, habits)) if letters else habits
    marked = money(said, known)
    return marked if marked.prices else number_money(said, letters, known)


def _rating(product: Thing) -> str:
    for rating in values(product, "aggregateRating"):
        if said := value_text(rating, "ratingValue"):
            best = value_text(rating, "bestRating") or "5"
            return f"{said} out of {best} stars"
    return ""


def _bullets(product: Thing) -> tuple[str, ...]:
    """What is said in single properties, `name: value` each."""
    told = [(name, value_text(product, name)) for name in _SAID]
    lines = [f"{name}: {said}" for name, said in told if said and not _UNFILLED.match(said)]
    for each in values(product, "additionalProperty"):
        name, said = value_text(each, "name"), value_text(each, "value")
        if said:
            lines.append(f"{name}: {said}" if name else said)
    for notes in values(product, "positiveNotes"):
        named = [{"name": note} if isinstance(note, str) else note
                 for note in values(notes, "itemListElement")]  # fmt: skip
        lines += [said for note in named if (said := value_text(note, "name"))]
    return tuple(dict.fromkeys(lines))


def _property(thing: Thing, name: str) -> str:
    """One of the further properties of a thing, by its name."""
    for each in values(thing, "additionalProperty"):
        if value_text(each, "name") == name:
            return value_text(each, "value")
    return ""


def _options(product: Thing) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """How the variants of a product differ, and the pictures of those values."""
    groups: dict[str, dict[str, None]] = {}
    images: dict[str, str] = {}
    variants: list[Any] = [one for one in values(product, "hasVariant") if isinstance(one, dict)]
    named = [value_text({"by": by}, "by").rsplit("/", 1)[-1] for by in values(product, "variesBy")]
    for variant in variants:
        for name in dict.fromkeys([*(by for by in named if by), *_OPTIONS]):
            if said := value_text(variant, name) or _property(variant, name):
                groups.setdefault(name, {})[said] = None
                if name == "color" and (picture := value_text(variant, "image")):
                    images.setdefault(said, absolute(picture, "https://"))
    varying = {name: tuple(said) for name, said in groups.items() if len(said) > 1 or name in named}
    return varying, {value: image for value, image in images.items() if image}


_HOME: Final = re.compile(
    r"(?:home ?page|home|start|startseite|accueil|inicio|página inicial|início|strona główna|hjem"
    r"|hem|etusivu|domov|domů|главная(?: страница)?|ana ?sayfa|trang chủ|top|shop|store|all|acasă"
    r"|úvod|úvodní stránka|avaleht|sākums|pradžia|startsida|forside|naslovnica|kezdőlap"
    r"|начало|početna|головна|עמוד הבית|الرئيسية|首頁|首页|ホーム|홈|all categories"
    r"|todas las categorías|alle kategorien|toutes les catégories|beranda|naslovna|hauptseite"
    r"|página principal|pagina principală|prima pagină|pagina iniziale|主頁|主页|หน้าแรก)$"
    r"|(?:back|return|zurück|retour|volver|voltar|indietro|terug|more (?:by|from)|mehr von)\b",
    re.IGNORECASE,
)
"""Steps that are no category: the shop's front page, and ways back."""
_CRUMBS: Final = '[class*="breadcrumb" i], [id*="breadcrumb" i], [aria-label*="breadcrumb" i]'


def _category(
    data: list[Thing], product: Thing, tree: LexborHTMLParser, titles: list[str], host: str
) -> str:
    """From what the product says, else the page's way to it, in its data or as it is shown."""
    steps: list[str] = []
    for each in data:
        if "BreadcrumbList" in kinds_of(each):
            named = [one for one in values(each, "itemListElement") if isinstance(one, dict)]
            steps = [value_text(step, "name") or value_text(step, "item") for step in named]
            break
    said = value_text(product, "category")
    if said and "/" not in said.strip("/") and len(_steps(steps, titles, host)) > 1:
        said = ""  # The way says more than one word does.
    if said and not said.startswith("http"):
        return re.sub(r"(?:(?<!\s)\s+)?[>/|›»]\s*", " › ", without_tags(said))
    if not steps:
        older = [each for each in data if "Breadcrumb" in kinds_of(each)]
        steps = [value_text(each, "title") for each in older]
    if not steps:
        for box in tree.css(_CRUMBS)[:3]:
            steps = steps_of(box) or all_texts(box, "a")
            if steps:
                break
    return " › ".join(_steps(steps, titles, host, value_text(product, "brand", "manufacturer")))


def _steps(steps: list[str], titles: list[str], host: str, brand: str = "") -> list[str]:
    """The steps that are categories: the last may be the product itself, the first the shop."""
    cleaned = [step.strip(" ‹›«»<>/|•→-").strip() for step in steps]
    named = [step for step in cleaned if step and not step.startswith("http") and len(step) < 100]
    before = [step for step in named[:-1] if not _HOME.match(step)]
    if named and (before or named[-1] != brand):
        # A brand alone is a category, though the title begins with it.
        named = named[:-1] if any(_alike(named[-1], title) for title in titles) else named
    if named and _NO_STEP.fullmatch(named[-1]):
        named.pop()
    if named and _is_shop(named[0], host):
        del named[0]
    return list(dict.fromkeys(step for step in named if not _HOME.match(step)))


_NO_STEP: Final = re.compile(
    r"(?:product )?details?|produktdetails?|détails?|sku\b.*"
    r"|(?:item|style|model|art(?:icle|ikel)?|ref)\.? ?(?:#|no|nr|number).*"
    r"|(?:cod(?:e|ul|ice|igo)?|código|kod|kód|réf(?:érence)?|артикул|код)\b[^:]{0,20}:.*",
    re.IGNORECASE,
)


def _is_shop(step: str, host: str) -> bool:
    """Whether a step is only the shop's name: its host, or a part of that."""
    parts = host.split(".")
    names = {".".join(parts[at:]) for at in range(len(parts))} | set(parts[:-1])
    plain_step = step.partition(" (")[0]  # As `Shop (Austria)`.
    squeezed = re.sub(r"[\W_]+", "", plain_step.casefold())
    plain_names = {re.sub(r"[\W_]+", "", name) for name in names if len(name) > 2}
    return squeezed in plain_names


def _without_shop(title: str, shop: str) -> str:
    """A page's title without the name of the shop before or behind it."""
    for mark in ("-", "|", "–", ":", "•", "—", "｜"):
        if shop and title.startswith(f"{shop} {mark} "):
            return title[len(shop) + 3 :].strip()
        if shop and title.endswith(f" {mark} {shop}"):
            return title[: -len(shop) - 3].strip()
    return title


def _page_title(tree: LexborHTMLParser) -> str:
    """What a page's window is called, without what no heading of the page says."""
    title = first_text(tree, "title")
    said = (text for text in all_texts(tree, _HEADINGS) if len(text) > _SHORT)
    heads = [one for one in said if title.startswith(one) and _MARK.match(title[len(one) :])]
    return max(heads, key=len, default=title)


def _without_search_words(title: str, headings: list[str]) -> str:
    """A title without what is said behind it to search engines, and not to people."""
    for heading in headings[:3]:
        is_begin = title.casefold().startswith(heading.casefold())
        if (
            is_begin
            and len(heading) > _LEAST_TITLE
            and len(title) - len(heading) > 2 * _LEAST_TITLE
        ):
            return heading
    return title


def _alike(step: str, title: str) -> bool:
    step, title = step.casefold().rstrip(".… "), title.casefold()
    step = step.partition("…")[0]
    if not step or not title:
        return False
    return title.startswith(step) or step.startswith(title) or (len(step) > 15 and step in title)

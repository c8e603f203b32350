"""HTML pages: what scrapers rely on, the text mode's nodes, no leak, no way to break out."""

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.shop.navigation import DETAILS, DONE, ITEM, RESULTS, SEARCH, Page, State
from errands.shop.product import Card, Product
from errands.shop.render.html import html, style_sheet
from errands.shop.render.text import text, text_rich
from errands.shop.urls import Address, parse

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
UNREAD = {"style", "script", "head", "title", "meta", "[document]"}
SPACES = " \n\t\f\r"


class Element:
    def __init__(self, tag: str, attributes: dict[str, str | None], parent: "Element | None"):
        self.tag, self.attributes, self.parent = tag, attributes, parent
        self.children: list[Element | str] = []

    def __getitem__(self, name: str) -> str:
        return self.attributes[name] or ""

    @property
    def text(self) -> str:
        return "".join(c if isinstance(c, str) else c.text for c in self.children)

    @property
    def classes(self) -> list[str]:
        return (self.attributes.get("class") or "").split()

    def all(self) -> "Iterator[Element]":
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.all()

    def select(self, tag: str = "", class_: str = "", **attributes: str) -> "list[Element]":
        return [
            element
            for element in self.all()
            if tag in ("", element.tag)
            and (not class_ or class_ in element.classes)
            and all(element.attributes.get(name) == value for name, value in attributes.items())
        ]

    def one(self, tag: str = "", class_: str = "", **attributes: str) -> "Element":
        (found,) = self.select(tag, class_, **attributes)
        return found


class Document(HTMLParser):
    """A tree of a document in which every element is closed where it should be."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root = self.here = Element("[document]", {}, None)
        self.feed(source)
        self.close()
        assert self.here is self.root, f"<{self.here.tag}> is not closed"

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"<{tag}> repeats an attribute"
        element = Element(tag, dict(attrs), self.here)
        self.here.children.append(element)
        if tag not in VOID:
            self.here = element

    def handle_endtag(self, tag: str) -> None:
        assert tag == self.here.tag, f"</{tag}> closes <{self.here.tag}>"
        assert self.here.parent is not None
        self.here = self.here.parent

    def handle_data(self, data: str) -> None:
        if self.here.children and isinstance(self.here.children[-1], str):
            data = self.here.children.pop() + data  # type: ignore[operator]
        self.here.children.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def nodes(self) -> list[tuple[Element, str]]:
        """Text nodes as the original collects them."""
        return [
            (element, node if node.strip(SPACES) else " ")
            for element, node in _in_order(self.root)
            if element.tag not in UNREAD and (node.strip(SPACES) or "\n" not in node)
        ]

    @property
    def text(self) -> str:
        return " [SEP] ".join(node.strip() for _, node in self.nodes())


def _in_order(element: Element) -> list[tuple[Element, str]]:
    found: list[tuple[Element, str]] = []
    for child in element.children:
        found += [(element, child)] if isinstance(child, str) else _in_order(child)
    return found


def without_empty(joined: str) -> str:
    return " [SEP] ".join(part for part in joined.split(" [SEP] ") if part.strip())


PRODUCT = Product(
    asin="B09P87V3LZ",
    title='Men\'s "Trail" Shoes <light> & dry',
    description="Made for\nrough ground.",
    bullets=("Mesh upper ", "", "5 mm lugs"),
    prices=(39.99, 64.5),
    options={"color": ("black | white", "navy"), "size": ("7", "7.5", '8"')},
    option_images={"navy": "https://example.org/navy.jpg", "7": None},
    image="https://example.org/shoe.jpg?a=1&b=2",
    category="hidden-category",
    query="hidden-query",
    product_category="hidden › path",
    attributes=("hidden-attribute",),
    price=51.5,
    nouns=("hidden-noun",),
)
CARDS = [Card(f"B0{number}", f"Thing {number} & <more>", "$5.0") for number in range(10)]
QUERY = 'trail 5/8" <shoes>'
INSTRUCTION = 'i need shoes, size 7.5 & "navy", price < 70.00 dollars'
CHOSEN = (("size", "7.5"), ("color", "navy"))


def page_of(
    kind: str,
    product: Product = PRODUCT,
    cards: list[Card] = CARDS,
    *,
    number: int = 2,
    options: tuple[tuple[str, str], ...] = CHOSEN,
    show_attrs: bool = False,
    query: str = QUERY,
) -> Page:
    if kind == SEARCH:
        return Page(State(), [], None, {"search": None})
    if kind == RESULTS:
        state = State(RESULTS, query, number, tuple(range(37)), visited=("B03",))
        return Page(state, cards, None, {})
    return Page(State(kind, query, number, (), 1, options), [], product, {}, show_attrs)


KINDS = (SEARCH, RESULTS, ITEM, *DETAILS, DONE)
SHOPPING = KINDS[:-1]


@pytest.mark.parametrize("kind", KINDS)
def test_documents_are_whole_and_usable(kind: str) -> None:
    source = html(page_of(kind), INSTRUCTION, 0.5, image_of=lambda asin: f"/pictures/{asin}.svg")
    assert source.startswith("<!DOCTYPE html>\n")
    root = Document(source).root
    assert root.one("html")["lang"] == "en"
    assert len(root.select("header")) == len(root.select("main")) == len(root.select("h1")) == 1
    assert not root.select("script")
    ids = [element["id"] for element in root.all() if "id" in element.attributes]
    assert len(ids) == len(set(ids))
    for element in root.all():
        assert not any(name.startswith("on") for name in element.attributes)
        for name in ("aria-labelledby", "for"):
            assert set((element.attributes.get(name) or "").split()) <= set(ids)
        if element.tag == "img":
            assert "alt" in element.attributes
        if element.tag == "button":
            assert element.classes[0] == "btn"
        if element.tag == "a":
            assert element.text or element["aria-label"]
        for name in ("href", "action", "data-url"):
            if element.attributes.get(name) and element.tag != "link":
                assert parse(element[name]) is not None


def test_nothing_is_loaded_from_elsewhere() -> None:
    for address in re.findall(r"url\(.*?\)|@import", style_sheet()):
        assert address.startswith('url("data:image/svg+xml,')


@pytest.mark.parametrize("kind", SHOPPING)
@pytest.mark.parametrize("number", [1, 2])
def test_the_text_is_the_text_modes(kind: str, number: int) -> None:
    page = page_of(kind, number=number, show_attrs=kind == "attributes")
    assert Document(html(page, INSTRUCTION)).text == text(page, INSTRUCTION)


@pytest.mark.parametrize("kind", SHOPPING)
def test_what_marks_nodes_in_the_rich_text_is_there(kind: str) -> None:
    page = page_of(kind, show_attrs=True)
    lines = []
    clicked: list[str] = []
    for element, node in Document(html(page, INSTRUCTION)).nodes():
        if element.tag == "button":
            node = f"[button] {node} [button_]"
        elif element.attributes.get("class") == "product-link":
            mark = "clicked button" if node == "B03" else "button"
            node = f"\n[{mark}] {node} [{mark}_]"
        elif element.tag == "label":
            chosen = node in dict(CHOSEN).values()
            if chosen:
                clicked.insert(0, f"You have clicked {node}.")
            mark = "clicked button" if chosen else "button"
            node = f"  [{mark}] {node} [{mark}_]"
        lines.append(node)
    expected = text_rich(page, INSTRUCTION, true_marks=True)
    assert "".join(f"{line}\n" for line in clicked + lines) == expected


def test_the_search_page() -> None:
    root = Document(html(page_of(SEARCH), INSTRUCTION, session="fixed_3")).root
    field = root.one(id="search_input")
    assert (field.tag, field["name"]) == ("input", "search_query")
    form = root.one("form")
    assert field in form.all()
    assert (form["method"], form["action"]) == ("post", "/fixed_3")
    assert root.one(id="instruction-text").one("h4").text == f"Instruction: {INSTRUCTION}"
    assert [button.text for button in root.select(class_="btn")] == ["Search"]


@pytest.mark.parametrize(("number", "back"), [(1, []), (3, ["< Prev"])])
def test_a_results_page(number: int, back: list[str]) -> None:
    root = Document(html(page_of(RESULTS, number=number), INSTRUCTION)).root
    assert root.one(id="instruction-text").one("h4").text == f"Instruction:{INSTRUCTION}"
    buttons = root.select(class_="btn")
    assert [button.text for button in buttons] == ["Back to Search", *back, "Next >"]
    forms = [button.parent for button in buttons]
    addresses = [parse(form["action"]) for form in forms if form is not None]
    assert addresses[0] == Address(SEARCH, "abc")
    assert addresses[-1] == Address(RESULTS, "abc", QUERY, number + 1)
    if back:
        assert addresses[1] == Address(RESULTS, "abc", QUERY, number - 1)
    items = root.select(class_="list-group-item")
    for item, card in zip(items, CARDS, strict=True):
        link = item.one("a")
        assert (link["class"], link.text) == ("product-link", card.asin)
        assert parse(link["href"]) == Address(ITEM, "abc", QUERY, number, card.asin)
        assert item.one("h4", "product-title").text == card.title
        assert item.one("h5", "product-price").text == card.price_tag
        assert ("data-seen" in item.attributes) == (card.asin == "B03")


def test_a_results_page_without_results() -> None:
    root = Document(html(page_of(RESULTS, cards=[]), INSTRUCTION)).root
    assert not root.select(role="list")
    assert root.one(class_="none").text.strip() == ""


def test_an_item_page() -> None:
    root = Document(html(page_of(ITEM, show_attrs=True), INSTRUCTION)).root
    here = Address(ITEM, "abc", QUERY, 2, PRODUCT.asin, CHOSEN)
    leads = {
        button.text: (parse(button.parent["action"]), button.parent["method"])
        for button in root.select(class_="btn")
        if button.parent is not None
    }
    assert leads == {
        "Back to Search": (Address(SEARCH, "abc"), "get"),
        "< Prev": (Address(RESULTS, "abc", QUERY, 2), "get"),
        "Description": (here._replace(page="description"), "get"),
        "Features": (here._replace(page="features"), "get"),
        "Reviews": (here._replace(page="reviews"), "get"),
        "Attributes": (here._replace(page="attributes"), "get"),
        "Buy Now": (Address(DONE, "abc", asin=PRODUCT.asin, options=CHOSEN), "post"),
    }
    assert root.one("h1").text == PRODUCT.title
    toolbars = root.select(class_="radio-toolbar")
    for toolbar, (name, values) in zip(toolbars, PRODUCT.options.items(), strict=True):
        radios = toolbar.select("input", type="radio")
        assert [(radio["name"], radio["value"]) for radio in radios] == [
            (name, value) for value in values
        ]
        for radio in radios:
            assert toolbar.one("label", **{"for": radio["id"]}).children == [radio["value"]]
            chosen = tuple({**dict(CHOSEN), name: radio["value"]}.items())
            assert parse(radio["data-url"]) == here._replace(options=chosen)
            link = toolbar.one("a", href=radio["data-url"])
            assert link["aria-label"] == radio["value"]
            is_chosen = (name, radio["value"]) in CHOSEN
            assert ("checked" in radio.attributes) == is_chosen
            assert ("aria-current" in link.attributes) == is_chosen


@pytest.mark.parametrize(
    ("options", "image"),
    [
        ((), PRODUCT.image),
        (CHOSEN, "https://example.org/navy.jpg"),
        ((("size", "7"),), PRODUCT.image),
        ((("size", "navy"),), PRODUCT.image),
    ],
)
def test_a_chosen_option_shows_its_picture(
    options: tuple[tuple[str, str], ...], image: str
) -> None:
    for kind in (ITEM, "description", DONE):
        root = Document(html(page_of(kind, options=options), INSTRUCTION)).root
        picture = root.one("img")
        assert (picture["src"], picture["alt"]) == (image, PRODUCT.title)
        assert (picture.attributes.get("id") == "product-image") == (kind == ITEM)


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("https://a.org/x.png", True),
        ("HTTP://a.org/x.png", True),
        ("data:image/svg+xml,<svg/>", True),
        ("/pictures/1.svg", True),
        ("", False),
        ("//a.org/x.png", False),
        ("/\\a.org", False),
        ("/\t/a.org", False),
        ("javascript:alert(1)", False),
        ("data:text/html,<script>", False),
        ("file:///etc/passwd", False),
        ("picture.png", False),
        (" https://a.org", False),
    ],
)
def test_which_sources_a_picture_may_have(source: str, shown: bool) -> None:
    asked = []

    def picture(reference: str) -> str:
        asked.append(reference)
        return source

    root = Document(html(page_of(ITEM, options=()), INSTRUCTION, picture=picture)).root
    assert asked == [PRODUCT.image]
    assert root.one(id="product-image").attributes.get("src") == (source if shown else None)
    page = page_of(RESULTS, cards=CARDS[:1])
    root = Document(html(page, "", picture=picture, image_of=lambda asin: asin)).root
    assert asked[1:] == ["B00"]
    assert [image["src"] for image in root.select("img")] == ([source] if shown else [])


def test_the_details() -> None:
    def lines(kind: str) -> list[str]:
        root = Document(html(page_of(kind), INSTRUCTION)).root
        assert root.one("h1")["aria-label"].lower() == kind
        assert [button.text for button in root.select(class_="btn")] == ["Back to Search", "< Prev"]
        return [line.text for line in root.select("p", "product-info")]

    assert lines("description") == [PRODUCT.description]
    assert lines("features") == [" Mesh upper ", " ", " 5 mm lugs"]
    assert lines("reviews") == []
    assert lines("attributes") == [
        " hidden-attribute",
        "hidden-category",
        "hidden-query",
        "hidden › path",
    ]


def test_the_last_page() -> None:
    explanation = {"r_<type>": "1.0", "price": "within 70.00"}
    root = Document(html(page_of(DONE), INSTRUCTION, 2 / 3, explanation=explanation)).root
    assert root.one(id="reward").one("pre").text == repr(2 / 3)
    assert root.one("meter")["value"] == "0.666667"
    assert root.one(id="asin").text == PRODUCT.asin
    assert json.loads(root.one(id="options").text) == dict(CHOSEN)
    info = root.one(id="reward_info")
    rows = zip(info.select("dt"), info.select("dd"), strict=True)
    assert {name.text: value.text for name, value in rows} == explanation
    assert not root.select(class_="btn")
    assert INSTRUCTION not in root.text


def test_a_score_that_is_not_told() -> None:
    root = Document(html(page_of(DONE, options=()), INSTRUCTION)).root
    assert root.one(id="reward").one("pre").text == "None"
    assert not root.select("meter")
    assert not root.one(id="reward_info").text
    assert not root.select(class_="chosen")


hostile = st.sampled_from(
    [
        "<script>alert(1)</script>",
        '"',
        "'",
        "-->",
        "<!--",
        "&amp;",
        "&",
        "</title>",
        "]]>",
        "<",
        "</style>",
        "' onload='x",
        '" autofocus onfocus="x',
        "\n",
        "\t",
        " ",
        "</h4>",
        "%2F",
        "\u2028",
    ]
)
letters = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=8)
texts = st.lists(hostile | letters, max_size=4).map("".join)
values = texts.map(str.strip)
secrets = st.uuids().map(lambda secret: f"secret{secret.hex}")


@st.composite
def products(draw: st.DrawFn) -> Product:
    return Product(
        asin=draw(st.text("B0123456789<&\"'/", min_size=1, max_size=10)),
        title=draw(texts),
        description=draw(texts),
        bullets=tuple(draw(st.lists(texts, max_size=3))),
        prices=draw(st.sampled_from([(5.0,), (5.0, 20.5)])),
        options={
            name: tuple(some)
            for name, some in draw(
                st.dictionaries(texts, st.lists(values, max_size=3), max_size=3)
            ).items()
        },
        option_images=draw(st.dictionaries(texts, texts | st.none(), max_size=2)),
        image=draw(texts),
        category=draw(secrets),
        query=draw(secrets),
        product_category=draw(secrets),
        attributes=(draw(secrets),),
        price=1234567.875,
        nouns=(draw(secrets),),
    )


@st.composite
def pages(draw: st.DrawFn, kinds: tuple[str, ...] = KINDS) -> Page:
    product = draw(products())
    options = tuple((name, some[-1]) for name, some in product.options.items() if some)
    return page_of(
        draw(st.sampled_from(kinds)),
        product,
        draw(st.lists(st.builds(Card, values.filter(bool), texts, st.just("$5.0")), max_size=3)),
        number=draw(st.integers(1, 7)),
        options=options,
        show_attrs=draw(st.booleans()),
        query=draw(texts),
    )


@given(pages(SHOPPING), texts)
def test_any_text_stays_text(page: Page, instruction: str) -> None:
    document = Document(html(page, instruction))
    assert without_empty(document.text) == without_empty(text(page, instruction))


@given(pages(), texts, st.floats(0, 1))
def test_nothing_hidden_is_told(page: Page, instruction: str, score: float) -> None:
    source = html(page, instruction, score)
    Document(source)
    assert ("secret" in source) == (page.state.page == "attributes")
    assert "1234567.875" not in source


@given(st.text(st.characters(codec=None, exclude_categories=())), st.sampled_from(KINDS))
def test_no_character_breaks_a_document(any_text: str, kind: str) -> None:
    product = Product(
        any_text,
        any_text,
        any_text,
        (any_text,),
        (1.0,),
        {any_text: (any_text,)},
        {any_text: any_text},
        any_text,
        any_text,
        any_text,
        any_text,
        (any_text,),
        1.0,
    )
    page = page_of(
        kind,
        product,
        [Card(any_text, any_text, any_text)],
        options=((any_text, any_text),),
        query=any_text,
    )
    source = html(page, any_text, session=any_text, explanation={any_text: any_text})
    Document(source.encode().decode())
    assert not re.search("[\x00-\x08\x0b\x0e-\x1f\x7f]", source)


def test_control_characters_are_replaced() -> None:
    root = Document(html(page_of(SEARCH), "a\x00b\x1bc\ud800\n")).root
    assert root.one(id="instruction-text").text == "Instruction: a\ufffdb\ufffdc\ufffd\n"

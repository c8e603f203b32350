"""Pages as HTML: documents for people and for scrapers, made from the same page as the text.

The markup and the look are our own. The ids and classes are the original's, so that code which
reads its pages can read these: a `button.btn` a button, an `a.product-link` a product, a radio
and a `label` an option value. The text nodes of a document are those of the text mode, in its
order; whatever else a person should see or hear (names of places, empty lists) is in
`aria-label` attributes and in the style sheet. Nothing hidden is ever written, the page of
hidden attributes aside.

A document has no script. A radio cannot lead anywhere by itself, so each option value is three
things on one spot: the radio and its label, for those who read the document, and above both a
link to the page with that value chosen, for those who click. Assistive technology is given the
link alone. A website (`SiteFrame`) may bring a script that lets radio and label lead there, too.

Escaped by hand (`_safe`), not by `errands.markup`: f-strings make a page four times as fast.
"""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import Final, NamedTuple

from errands.shop.navigation import DETAILS, DONE, ITEM, RESULTS, SEARCH, Page
from errands.shop.product import Product, price_label
from errands.shop.urls import Address, build

__all__ = ["SiteFrame", "document", "html", "style_sheet"]

_SHOP: Final = "WebShop"
_UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f\ud800-\udfff]")
_SOURCE: Final = re.compile(r"https?://|data:image/|/(?![/\\\t\r\n])", re.IGNORECASE)
_COMMENT: Final = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)

_CURRENT: Final = ' aria-current="true"'

Picture = Callable[[str], str]
ImageOf = Callable[[str], str | None]


class SiteFrame(NamedTuple):
    """What a website puts around the shop's documents. Their text nodes stay as they are."""

    sheet: str
    """Address of the style sheet, which is not in every document then."""
    icon: str
    script: str = ""
    """Address of a script."""
    bar: str = ""
    """Markup above everything else: the way to the other parts of the website."""


def _as_given(reference: str) -> str:
    return reference


def html(
    page: Page,
    instruction: str,
    score: float | None = None,
    *,
    session: str = "abc",
    picture: Picture = _as_given,
    image_of: ImageOf | None = None,
    explanation: Mapping[str, str] | None = None,
    extra: str = "",
    site: SiteFrame | None = None,
) -> str:
    """The page as a complete HTML document.

    `session` is the shopper's part of every address. `picture` turns an image reference of the
    catalogue into what a browser can load: http(s), `data:image/` or a path on the same host;
    anything else is left out. A results page knows its products by asin only: `image_of` gives
    their image references, and without it there are no pictures.

    `score` is for the last page (None hides it), and `explanation` is what stands below it, as
    names and values.

    `extra` is markup at the end of the last page, as it is. On a `site` there are people: who
    chooses an option finds the page where it was left, and prices are shown with two decimals.
    """
    state = page.state
    if state.page == SEARCH:
        title, body = _SHOP, _search(instruction, session)
    elif state.page == RESULTS:
        title = f"{state.query}, page {state.number}"
        body = _results(page, instruction, session, picture, image_of, site is not None)
    else:
        assert page.product is not None
        title = page.product.title
        if state.page == ITEM:
            body = _item(page, page.product, instruction, session, picture, site is not None)
        elif state.page == DONE:
            title = f"Bought: {title}"
            parts = explanation or {}
            body = _done(page, page.product, score, picture, parts, extra, site is not None)
        else:
            title = f"{state.page.capitalize()}: {title}"
            body = _detail(page, page.product, instruction, session, picture)
    return document(title, f"{state.page}-page", body, site)


def document(title: str, kind: str, body: str, site: SiteFrame | None = None) -> str:
    """A whole document around markup that is safe already; `kind` is the body's class."""
    icon, style = "data:,", f"<style>{style_sheet()}</style>"
    if site is not None:
        icon, style = site.icon, f'<link rel="stylesheet" href="{_safe(site.sheet)}">'
        if site.script:
            style += f'\n<script src="{_safe(site.script)}" defer></script>'
        body = f"{site.bar}\n{body}" if site.bar else body
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        # Forms need their origin, which a browser that tells nobody hides from us, too.
        '<meta name="referrer" content="same-origin">\n'
        f'<title>{_safe(title)}</title>\n<link rel="icon" href="{_safe(icon)}">\n'
        f'{style}\n</head>\n<body class="{kind}">\n{body}\n</body>\n</html>\n'
    )


@cache
def style_sheet() -> str:
    """The style sheet inside every document, character for character."""
    source = Path(__file__).with_name("shop.css").read_text(encoding="utf-8")
    lines = (line.strip() for line in _COMMENT.sub("", source).splitlines())
    return "\n".join(line for line in lines if line)


def _search(instruction: str, session: str) -> str:
    return (
        f'<header class="bar"><h1 class="brand">{_SHOP}</h1></header>\n<main>\n'
        f"{_instruction(instruction, ' ')}\n"
        '<form class="search" role="search" method="post"'
        f' action="{build(Address(SEARCH, session))}">'
        '<input id="search_input" type="text" name="search_query" aria-label="Search the shop"'
        ' placeholder="Search for products" enterkeyhint="search" autocomplete="off"'
        ' maxlength="1000" required autofocus>'
        '<button class="btn primary" type="submit">Search</button></form>\n</main>'
    )


def _results(
    page: Page,
    instruction: str,
    session: str,
    picture: Picture,
    image_of: ImageOf | None,
    is_site: bool,
) -> str:
    state = page.state
    here = Address(RESULTS, session, state.query, state.number)
    total = len(state.hits) if page.total is None else page.total
    previous = ""
    if state.number > 1:
        previous = _button("< Prev", build(here._replace(number=state.number - 1)))
    parts = [
        _top(page, session, instruction),
        f"<h1>Page {state.number} (Total results: {total})</h1>",
        previous,
        _button("Next >", build(here._replace(number=state.number + 1))),
        "</div>\n",
        '<div class="results" role="list">' if page.cards else '<div class="none">',
    ]
    for number, (asin, title, tag) in enumerate(page.cards, 1):
        reference = image_of(asin) if image_of is not None else None
        address = build(Address(ITEM, session, state.query, state.number, asin))
        seen = " data-seen" if asin in state.visited else ""
        parts.append(
            f'\n<div class="list-group-item" role="listitem"{seen}>'
            f"{_picture(reference, '', picture)}"
            f'<a class="product-link" id="link-{number}" href="{address}"'
            f' aria-labelledby="link-{number} title-{number}">{_safe(asin)}</a>'
            f'<h4 class="product-title" id="title-{number}" aria-level="2">{_safe(title)}</h4>'
            f'<h5 class="product-price" role="none"{_label(tag, is_site)}>{_safe(tag)}</h5></div>'
        )
    parts.append("\n</div>\n</main>")
    return "".join(parts)


def _item(
    page: Page,
    product: Product,
    instruction: str,
    session: str,
    picture: Picture,
    is_site: bool,
) -> str:
    state = page.state
    here = Address(ITEM, session, state.query, state.number, product.asin, state.options)
    details = DETAILS if page.show_attrs else DETAILS[:-1]
    source = _picture(_chosen_image(page, product), product.title, picture, "product-image")
    price = f"Price: {product.price_tag}"
    return "".join(
        [
            _top(page, session, instruction),
            _button("< Prev", build(here._replace(page=RESULTS))),
            f'</div>\n<article class="item">\n{source}\n<div class="offer">',
            *(
                _option(number, name, values, page.options, here, is_site)
                for number, (name, values) in enumerate(product.options.items(), 1)
            ),
            f'\n<div class="heading"><h1>{_safe(product.title)}</h1>',
            f'<p class="price"{_label(price, is_site)}>{_safe(price)}</p>',
            '<p class="rating">Rating: N.A.</p></div>\n<div class="details">',
            *(_button(name.capitalize(), build(here._replace(page=name))) for name in details),
            "</div>\n",
            _button("Buy Now", build(here._replace(page=DONE)), "post", "buy"),
            "\n</div>\n</article>\n</main>",
        ]
    )


def _option(
    number: int,
    name: str,
    values: tuple[str, ...],
    chosen: dict[str, str],
    here: Address,
    is_site: bool,
) -> str:
    """One group of values; see the module's description for what makes up a value."""
    safe_name = _safe(name)
    anchor = f"#option-{number}" if is_site else ""
    parts = [
        f'\n<div class="radio-toolbar" role="group" aria-labelledby="option-{number}">'
        f'<h2 id="option-{number}">{safe_name}</h2>'
    ]
    for position, value in enumerate(values, 1):
        is_chosen = chosen.get(name) == value
        address = build(here._replace(options=tuple({**chosen, name: value}.items())))
        key, safe_value = f"option-{number}-{position}", _safe(value)
        parts.append(
            f'<span class="pill"><input type="radio" id="{key}" name="{safe_name}"'
            f' value="{safe_value}" data-url="{address}"{" checked" if is_chosen else ""}'
            ' autocomplete="off" tabindex="-1" aria-hidden="true">'
            f'<label for="{key}" aria-hidden="true">{safe_value}</label>'
            f'<a href="{address}{anchor}" aria-label="{safe_value}"'
            f"{_CURRENT if is_chosen else ''}></a></span>"
        )
    parts.append("</div>")
    return "".join(parts)


def _detail(page: Page, product: Product, instruction: str, session: str, picture: Picture) -> str:
    state = page.state
    here = Address(ITEM, session, state.query, state.number, product.asin, state.options)
    lines: list[str] = []
    if state.page == "description":
        lines = [product.description] if product.description else []
    elif state.page == "features":
        lines = [f" {bullet}" for bullet in product.bullets]
    elif state.page == "attributes":
        lines = [f" {attribute}" for attribute in product.attributes]
        lines += [product.category, product.query, product.product_category]
    content = "".join(f'<p class="product-info">{_safe(line)}</p>' for line in lines)
    content = content or '<div class="none"></div>'
    return (
        f"{_top(page, session, instruction)}{_button('< Prev', build(here))}"
        f'</div>\n<article class="detail">'
        f"{_picture(_chosen_image(page, product), product.title, picture)}"
        f'<div class="content"><h1 aria-label="{state.page.capitalize()}"></h1>'
        f"{content}</div></article>\n</main>"
    )


def _done(
    page: Page,
    product: Product,
    score: float | None,
    picture: Picture,
    explanation: Mapping[str, str],
    extra: str,
    is_site: bool,
) -> str:
    chosen = "".join(
        f"<li>{_safe(name)}: {_safe(value)}</li>" for name, value in page.state.options
    )
    if chosen:
        chosen = f'<ul class="chosen">{chosen}</ul>'
    rows = "".join(
        f"<dt>{_safe(name)}</dt><dd>{_safe(value)}</dd>" for name, value in explanation.items()
    )
    if rows:
        rows = f"<dl>{rows}</dl>"
    meter = ""
    if score is not None:
        meter = f'<meter min="0" max="1" value="{float(score):.6g}" aria-label="Score"></meter>'
    options = json.dumps(page.options, sort_keys=True, ensure_ascii=False)
    return (
        '<header class="bar"><div class="brand"></div></header>\n<main>\n'
        '<div class="thanks"><h1>Thank you for shopping with us!</h1></div>\n'
        '<section class="receipt" aria-labelledby="purchased">'
        f"{_picture(_chosen_image(page, product), product.title, picture)}"
        f'<div><h2 id="purchased">Purchased</h2><p class="bought">{_safe(product.title)}</p>'
        f'<p class="price"{_label(product.price_tag, is_site)}>{_safe(product.price_tag)}</p>'
        f"{chosen}"
        f'<dl><dt>asin</dt><dd id="asin">{_safe(product.asin)}</dd>'
        f'<dt>options</dt><dd id="options">{_safe(options)}</dd></dl></div></section>\n'
        '<section id="reward" class="score" aria-labelledby="your-score">'
        '<h2 id="your-score">Your score (min 0.0, max 1.0)</h2>'
        f"<pre>{score!r}</pre>{meter}"
        f'<div id="reward_info">{rows}</div></section>\n{extra}</main>'
    )


def _top(page: Page, session: str, instruction: str) -> str:
    """What all pages but the first and the last begin with, up to the first button."""
    state, product = page.state, page.product
    here = Address(RESULTS, session, state.query, state.number)
    places = [("Search", here._replace(page=SEARCH)), (f"“{state.query}”", here)]
    if product is not None:
        here = here._replace(page=ITEM, asin=product.asin, options=state.options)
        places.append((product.title, here))
    if state.page in DETAILS:
        places.append((state.page.capitalize(), here._replace(page=state.page)))
    last = len(places) - 1
    crumbs = "".join(
        f'<li><a href="{build(address)}" aria-label="{_safe(name) or "Item"}"'
        f"{_CURRENT if place == last else ''}></a></li>"
        for place, (name, address) in enumerate(places)
    )
    return (
        '<header class="bar"><div class="brand"></div>'
        f'<nav aria-label="Breadcrumb"><ol>{crumbs}</ol></nav></header>\n<main>\n'
        f"{_instruction(instruction)}\n"
        f'<div class="toolbar">{_button("Back to Search", build(Address(SEARCH, session)))}'
    )


def _instruction(instruction: str, space: str = "") -> str:
    return (
        '<div id="instruction-text" role="region" aria-label="Your errand">'
        f'<h4 aria-level="2">Instruction:{space}<br>{_safe(instruction)}</h4></div>'
    )


def _button(label: str, address: str, method: str = "get", kind: str = "") -> str:
    """A form of one button: it works without a script, and its address is in plain sight."""
    classes = f"btn {kind}" if kind else "btn"
    return (
        f'<form method="{method}" action="{address}">'
        f'<button class="{classes}" type="submit">{escape(label)}</button></form>'
    )


def _label(tag: str, is_site: bool) -> str:
    """What people see on a site instead of a price tag."""
    return f' data-label="{_safe(price_label(tag))}"' if is_site else ""


def _picture(reference: str | None, title: str, picture: Picture, key: str = "") -> str:
    """A picture in its frame; the frame alone where there is nothing that can be shown."""
    source = picture(reference) if reference else ""
    if key:
        key = f' id="{key}"'
    elif not _SOURCE.match(source):
        return '<div class="picture"></div>'
    shown = f' src="{_safe(source)}"' if _SOURCE.match(source) else ""
    return f'<div class="picture"><img{key}{shown} alt="{_safe(title)}"></div>'


def _chosen_image(page: Page, product: Product) -> str:
    """The picture of the last chosen value that has one, or else the product's."""
    for name, value in reversed(page.state.options):
        image = product.option_images.get(value)
        if image and value in product.options.get(name, ()):
            return image
    return product.image


def _safe(text: str) -> str:
    """Text for an element or an attribute; what no document may hold becomes U+FFFD."""
    if not text.isprintable():
        text = _UNPRINTABLE.sub("\ufffd", text)
    return escape(text)

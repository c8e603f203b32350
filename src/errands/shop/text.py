"""Pages as text, character for character as the original's two text modes print them.

The original renders HTML and takes the text nodes out again; here the nodes are listed straight
from the page. What the detour did to white space is kept: a node of nothing but spaces is one
space, with a line break in it it vanishes, and an empty one never was.
"""

import json
from collections.abc import Iterator
from typing import Final

from errands.shop.page import DONE, ITEM, RESULTS, SEARCH, Page
from errands.shop.url import page_url

__all__ = ["SEPARATOR", "text", "text_rich"]

SEPARATOR: Final = " [SEP] "

_SPACES: Final = " \n\t\f\r"
_TEXT, _BUTTON, _OPTION, _LINK = range(4)

_Node = tuple[int, str]

_ITEM_BUTTONS: Final = ("Description", "Features", "Reviews")
_UNTIL_OPTIONS: Final = (
    "Thank you for shopping with us!",
    "Your code: ",
    "None",
    " (Paste it in your MTurk interface.)",
    "Purchased",
    "asin",
)
_UNTIL_SCORE: Final = (
    "attrs",
    "None",
    "category",
    "None",
    "query",
    "None",
    "product category",
    "None",
    "Target",
    "asin",
    "options",
    "attrs",
    "price upper",
    "instuction text",
    "category",
    "product category",
    "query",
    "Goal ",
    "None",
    "Reward",
    "Your score (min 0.0, max 1.0)",
)


def text(page: Page, instruction: str, score: float | None = None) -> str:
    """The `text` mode: nodes stripped and joined by ` [SEP] `; `score` is for the last page."""
    state = page.state
    if state.page == RESULTS:
        # The commonest page, and the longest list: written out for speed.
        parts = ["Instruction:", instruction.strip(), "Back to Search", _results_heading(page)]
        if state.number > 1:
            parts.append("< Prev")
        parts.append("Next >")
        for asin, title, tag in page.cards:
            parts.append(asin)
            if title.strip(_SPACES):
                parts.append(title.strip())
            else:
                parts.extend(node.strip() for node in _shown(title))
            parts.append(tag)
        return SEPARATOR.join(parts)
    return SEPARATOR.join([node.strip() for _, node in _nodes(page, instruction, score)])


def text_rich(
    page: Page,
    instruction: str,
    score: float | None = None,
    *,
    session: str = "",
    true_marks: bool = False,
) -> str:
    """The `text_rich` mode: a line a node, with buttons, links and chosen options marked.

    The original takes a value for chosen if it stands in double quotes in the page's address.
    So do we, unless `true_marks` asks for what is really chosen.
    """
    address = page_url(page, session) if page.state.page == ITEM else ""
    chosen = page.state.options
    name = ""
    lines: list[str] = []
    clicked: list[str] = []
    options = iter(page.product.options.items()) if page.product is not None else iter(())
    left = 0
    for kind, node in _nodes(page, instruction, score):
        if kind == _TEXT:
            lines.append(node)
        elif kind == _BUTTON:
            lines.append(f"[button] {node} [button_]")
        elif kind == _LINK:
            mark = "clicked button" if node in page.state.visited else "button"
            lines.append(f"\n[{mark}] {node} [{mark}_]")
        else:
            while true_marks and not left:
                name, values = next(options)
                left = len(values)
            left -= 1
            is_chosen = (name, node) in chosen if true_marks else f'"{node}"' in address
            mark = "clicked button" if is_chosen else "button"
            lines.append(f"  [{mark}] {node} [{mark}_]")
            if is_chosen:
                clicked.append(f"You have clicked {node}.")
    return "".join(f"{line}\n" for line in [*reversed(clicked), *lines])


def _results_heading(page: Page) -> str:
    return f"Page {page.state.number} (Total results: {len(page.state.hits)})"


def _shown(node: str) -> tuple[str, ...]:
    """A text as the original's HTML parser hands it on: once, or not at all."""
    if node.strip(_SPACES):
        return (node,)
    if not node or "\n" in node:
        return ()
    return (" ",)


def _nodes(page: Page, instruction: str, score: float | None) -> Iterator[_Node]:
    state, product = page.state, page.product
    if state.page == DONE:
        yield from _done_nodes(page, score)
        return
    if state.page == SEARCH:
        yield _TEXT, "WebShop"
        yield _TEXT, "Instruction: "
    else:
        yield _TEXT, "Instruction:"
    for node in _shown(instruction):
        yield _TEXT, node
    if state.page == SEARCH:
        yield _BUTTON, "Search"
        return
    yield _BUTTON, "Back to Search"
    if state.page == RESULTS:
        yield _TEXT, _results_heading(page)
        if state.number > 1:
            yield _BUTTON, "< Prev"
        yield _BUTTON, "Next >"
        for asin, title, tag in page.cards:
            yield _LINK, asin
            for node in _shown(title):
                yield _TEXT, node
            yield _TEXT, tag
        return
    yield _BUTTON, "< Prev"
    assert product is not None
    if state.page == ITEM:
        for name, values in product.options.items():
            for node in _shown(name):
                yield _TEXT, node
            for value in values:
                for node in _shown(value):
                    yield _OPTION, node
        for node in _shown(product.title):
            yield _TEXT, node
        yield _TEXT, f"Price: {product.price_tag}"
        yield _TEXT, "Rating: N.A."
        for label in _ITEM_BUTTONS:
            yield _BUTTON, label
        if page.show_attrs:
            yield _BUTTON, "Attributes"
        yield _BUTTON, "Buy Now"
    elif state.page == "description":
        for node in _shown(product.description):
            yield _TEXT, node
    elif state.page == "features":
        for bullet in product.bullets:
            for node in _shown(f" {bullet}"):
                yield _TEXT, node
    elif state.page == "attributes":
        for attribute in product.attributes:
            for node in _shown(f" {attribute}"):
                yield _TEXT, node
        for value in (product.category, product.query, product.product_category):
            for node in _shown(value):
                yield _TEXT, node


def _done_nodes(page: Page, score: float | None) -> Iterator[_Node]:
    assert page.product is not None
    for node in _UNTIL_OPTIONS:
        yield _TEXT, node
    yield _TEXT, page.product.asin
    yield _TEXT, "options"
    yield _TEXT, script_json(page.options)
    for node in _UNTIL_SCORE:
        yield _TEXT, node
    yield _TEXT, repr(score)
    yield _TEXT, "Reward Details "
    yield _TEXT, "None"


def script_json(value: object) -> str:
    """JSON that is safe inside HTML, with sorted keys, as the original's last page prints it."""
    dumped = json.dumps(value, sort_keys=True)
    for character in "<>&'":
        dumped = dumped.replace(character, f"\\u{ord(character):04x}")
    return dumped

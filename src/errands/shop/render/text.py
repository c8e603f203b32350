"""Pages as text, character for character as the original's two text modes print them.

The original renders HTML and takes the text nodes out again; here the nodes are listed straight
from the page. What the detour did to white space is kept: a node of nothing but spaces is one
space, with a line break in it it vanishes, and an empty one never was.
"""

import json
from collections.abc import Iterator
from typing import Final

from errands.shop.navigation import DONE, ITEM, RESULTS, SEARCH, Page
from errands.shop.product import Product
from errands.shop.urls import page_url

__all__ = ["SEPARATOR", "TEXT", "page_nodes", "text", "text_rich"]

SEPARATOR: Final = " [SEP] "

_SPACES: Final = " \n\t\f\r"
TEXT, _BUTTON, _OPTION, _LINK = range(4)

_Node = tuple[int, str]

_ITEM_END: Final[list[_Node]] = [
    (TEXT, "Rating: N.A."),
    (_BUTTON, "Description"),
    (_BUTTON, "Features"),
    (_BUTTON, "Reviews"),
    (_BUTTON, "Buy Now"),
]
_ITEM_END_WITH_ATTRS: Final[list[_Node]] = [
    *_ITEM_END[:-1],
    (_BUTTON, "Attributes"),
    _ITEM_END[-1],
]
_UNTIL_ASIN: Final = (
    "Thank you for shopping with us!|Your code: |None| (Paste it in your MTurk interface.)"
    "|Purchased|asin"
).split("|")
_UNTIL_SCORE: Final = (
    "attrs|None|category|None|query|None|product category|None|Target|asin|options|attrs"
    "|price upper|instuction text|category|product category|query|Goal |None|Reward"
    "|Your score (min 0.0, max 1.0)"
).split("|")


def text(page: Page, instruction: str, score: float | None = None) -> str:
    """The `text` mode: nodes stripped and joined by ` [SEP] `; `score` is for the last page."""
    return SEPARATOR.join([node.strip() for _, node in page_nodes(page, instruction, score)])


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
    address = page_url(page, session) if page.state.page == ITEM and not true_marks else ""
    chosen = _chosen_marks(page) if true_marks else iter(())
    lines: list[str] = []
    clicked: list[str] = []
    for kind, node in page_nodes(page, instruction, score):
        if kind == TEXT:
            lines.append(node)
        elif kind == _BUTTON:
            lines.append(f"[button] {node} [button_]")
        elif kind == _LINK:
            mark = "clicked button" if node in page.state.visited else "button"
            lines.append(f"\n[{mark}] {node} [{mark}_]")
        else:
            is_chosen = next(chosen) if true_marks else f'"{node}"' in address
            mark = "clicked button" if is_chosen else "button"
            lines.append(f"  [{mark}] {node} [{mark}_]")
            if is_chosen:
                clicked.append(f"You have clicked {node}.")
    return "".join(f"{line}\n" for line in [*reversed(clicked), *lines])


def _chosen_marks(page: Page) -> Iterator[bool]:
    """For each option value shown, whether it is really chosen."""
    options = page.product.options if page.product is not None else {}
    for name, values in options.items():
        for value in values:
            if value:
                yield (name, value) in page.state.options


def _shown(kind: int, node: str) -> list[_Node]:
    """A text as the original's HTML parser hands it on: once, or not at all."""
    if node.strip(_SPACES):
        return [(kind, node)]
    if not node or "\n" in node:
        return []
    return [(kind, " ")]


def page_nodes(page: Page, instruction: str, score: float | None = None) -> list[_Node]:
    """What a page shows, in order: (kind, text), where the kind `TEXT` cannot be clicked."""
    kind = page.state.page
    if kind == DONE:
        return _done_nodes(page, score)
    if kind == SEARCH:
        nodes = [(TEXT, "WebShop"), (TEXT, "Instruction: "), *_shown(TEXT, instruction)]
        nodes.append((_BUTTON, "Search"))
        return nodes
    nodes = [(TEXT, "Instruction:"), *_shown(TEXT, instruction), (_BUTTON, "Back to Search")]
    if kind == RESULTS:
        _add_results(nodes, page)
        return nodes
    nodes.append((_BUTTON, "< Prev"))
    product = page.product
    assert product is not None
    if kind == ITEM:
        _add_item(nodes, product, page.show_attrs)
    elif kind == "description":
        nodes += _shown(TEXT, product.description)
    elif kind == "features":
        for bullet in product.bullets:
            nodes += _shown(TEXT, f" {bullet}")
    elif kind == "attributes":
        for attribute in product.attributes:
            nodes += _shown(TEXT, f" {attribute}")
        for value in (product.category, product.query, product.product_category):
            nodes += _shown(TEXT, value)
    return nodes


def _add_results(nodes: list[_Node], page: Page) -> None:
    state = page.state
    total = len(state.hits) if page.total is None else page.total
    nodes.append((TEXT, f"Page {state.number} (Total results: {total})"))
    if state.number > 1:
        nodes.append((_BUTTON, "< Prev"))
    nodes.append((_BUTTON, "Next >"))
    for asin, title, tag in page.cards:
        nodes.append((_LINK, asin))
        nodes += _shown(TEXT, title)
        nodes.append((TEXT, tag))


def _add_item(nodes: list[_Node], product: Product, show_attrs: bool) -> None:
    for name, values in product.options.items():
        nodes += _shown(TEXT, name)
        # Values are never of spaces alone, but may be empty.
        nodes += [(_OPTION, value) for value in values if value]
    nodes += _shown(TEXT, product.title)
    nodes.append((TEXT, f"Price: {product.price_tag}"))
    nodes += _ITEM_END_WITH_ATTRS if show_attrs else _ITEM_END


def _done_nodes(page: Page, score: float | None) -> list[_Node]:
    assert page.product is not None
    lines = (
        *_UNTIL_ASIN,
        page.product.asin,
        "options",
        script_json(page.options),
        *_UNTIL_SCORE,
        repr(score),
        "Reward Details ",
        "None",
    )
    return [(TEXT, line) for line in lines]


def script_json(value: object) -> str:
    """JSON that is safe inside HTML, with sorted keys, as the original's last page prints it."""
    dumped = json.dumps(value, sort_keys=True)
    for character in "<>&'":
        dumped = dumped.replace(character, f"\\u{ord(character):04x}")
    return dumped

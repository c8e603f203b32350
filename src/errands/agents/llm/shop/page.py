"""The shop's page as a model reads it: a line a node, what can be clicked in [brackets].

Made from what the environment shows, in any of its formats; the instruction, which opens the
prompt anyway, is not repeated. With `top`, results pages show so many products and no way to turn
the page, as in the published prompting runs.
"""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, NamedTuple

from errands.shop.navigation import DETAILS, Page
from errands.shop.render.text import SEPARATOR, TEXT, page_nodes

__all__ = ["ShopView", "look", "look_at", "look_published"]

_RICH: Final = re.compile(r"\s*\[(?:clicked )?button\] (.*) \[(?:clicked )?button_\]\s*")
_COUNT: Final = re.compile(r"Page \d+ \(Total results: \d+\)")
_TURNS: Final = ("next >", "< prev")
_BACK: Final = "back to search"
_BUY: Final = "buy now"
_BUTTONS: Final = frozenset({*_TURNS, _BACK, *DETAILS, _BUY})


class ShopView(NamedTuple):
    """A page's text, and what can be done on it."""

    text: str
    clickables: frozenset[str]
    """In lower case, as the environment compares them."""
    hidden: frozenset[str]
    """What could be clicked if it were shown."""
    has_search_bar: bool
    choices: Mapping[str, int]
    """On an item's page: each option's value, with the number of the option it belongs to."""


class _Node(NamedTuple):
    text: str
    button: bool = False
    chosen: bool = False


def look(
    observation: str, info: Mapping[str, Any], *, chosen: Collection[str] = (), top: int = 0
) -> ShopView:
    """The page now; `chosen` are options clicked on it, which `text` pages do not mark."""
    return _view(observation, info, chosen, top, layout=_lines)


def look_published(
    observation: str, info: Mapping[str, Any], *, chosen: Collection[str] = (), top: int = 0
) -> ShopView:
    """The page now, laid out as in the runs published with ReAct: the values of an option behind
    its name, the instruction on the front page, and Next and Prev in sight where they do not
    work."""

    def layout(nodes: list[_Node], choices: Mapping[str, int]) -> str:
        lines = "".join(_published(node, choices) for node in nodes)
        if "search" in info["available_actions"]["clickables"]:
            front, button, rest = lines.rpartition("\n[Search] ")
            lines = f"{front}\nInstruction:  \n{info['instruction'].strip()} {button}{rest}"
        return lines

    return _view(observation, info, chosen, top, layout=layout, shows=_TURNS)


_Layout = Callable[[list[_Node], Mapping[str, int]], str]


def _view(
    observation: str,
    info: Mapping[str, Any],
    chosen: Collection[str],
    top: int,
    *,
    layout: _Layout,
    shows: Collection[str] = (),
) -> ShopView:
    """The page; of what cannot be clicked with `top`, `shows` stays in its text."""
    available = info["available_actions"]
    names = [name for name in available["clickables"] if name != "search"]
    nodes = _nodes(observation, {*names, "search"}, chosen)
    nodes = _without_instruction(nodes, info["instruction"])
    hidden: frozenset[str] = frozenset()
    if top and any(_COUNT.fullmatch(node.text) for node in nodes):
        products = [name for name in names if name not in (*_TURNS, _BACK)]
        hidden = frozenset(products[top:]).union(_TURNS)
        nodes = _only_top(nodes, set(products), hidden.difference(shows))
    choices = _choices(nodes) if _BUY in names else {}
    return ShopView(
        layout(nodes, choices),
        frozenset(names) - hidden,
        hidden,
        bool(available["has_search_bar"]),
        choices,
    )


def _lines(nodes: list[_Node], choices: Mapping[str, int]) -> str:
    return "\n".join(_line(node) for node in nodes)


def _published(node: _Node, choices: Mapping[str, int]) -> str:
    if node.button and node.text.lower() in choices:
        return _line(node)
    return f"\n{_line(node)} "


def look_at(page: Page, instruction: str, chosen: Collection[str]) -> str | None:
    """The text that `look` gives of a page's `text_rich`, without writing that and reading it
    again; None where a text of the page could be taken for something else in it."""
    unsaid = ("Instruction:", instruction.strip())
    lines = []
    for kind, node in page_nodes(page, instruction):
        if "\n" in node or "button" in node or node.startswith("You have clicked "):
            return None
        is_text = kind == TEXT
        shown = node.strip() if is_text else node
        if not shown or shown in unsaid:
            continue
        lines.append(shown if is_text else _line(_Node(shown, True, shown.lower() in chosen)))
    return "\n".join(lines)


def _choices(nodes: list[_Node]) -> dict[str, int]:
    """Values stand after their option's name, and before the product's title."""
    choices: dict[str, int] = {}
    group = -1
    for number, node in enumerate(nodes):
        if not node.button:
            group = number
        elif (name := node.text.lower()) not in _BUTTONS:
            choices[name] = group
    return choices


def _nodes(observation: str, names: Collection[str], chosen: Collection[str]) -> list[_Node]:
    if "[button]" in observation:
        nodes = []
        for line in observation.split("\n"):
            if found := _RICH.fullmatch(line):
                nodes.append(_Node(found[1], True, found[1].lower() in chosen))
            elif line.strip() and not line.startswith("You have clicked "):
                nodes.append(_Node(line.strip()))
        return nodes
    if observation.lstrip()[:1] == "<":
        return [_Node(observation)]
    return [
        _Node(text, text.lower() in names, text.lower() in chosen)
        for text in (part.strip() for part in observation.split(SEPARATOR))
        if text
    ]


def _without_instruction(nodes: list[_Node], instruction: str) -> list[_Node]:
    wanted = instruction.strip()
    return [node for node in nodes if node.text not in ("Instruction:", wanted)]


def _only_top(
    nodes: list[_Node], products: Collection[str], hidden: Collection[str]
) -> list[_Node]:
    """A product's lines go from its code to the next one's."""
    kept = []
    showing = True
    for node in nodes:
        name = node.text.lower()
        if node.button and name in products:
            showing = name not in hidden
        if showing and not (node.button and name in hidden):
            kept.append(node)
    return kept


def _line(node: _Node) -> str:
    if not node.button:
        return node.text
    return f"[[{node.text}]]" if node.chosen else f"[{node.text}]"

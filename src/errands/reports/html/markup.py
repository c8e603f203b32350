"""Writing HTML by hand: everything that comes from outside goes through `esc`.

On its way out: `errands.markup` and `errands.reports.html.elements` do the same by type.
"""

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from errands.reports.formatting import DASH, fixed, interval
from errands.reports.statistics.estimate import Estimate

__all__ = ["badge", "cut", "esc", "figure", "grid", "table", "value"]

_UNSEEN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff]")


def esc(text: object) -> str:
    """Text that is shown as it is and never acts; what no file can hold becomes a mark."""
    return escape(_UNSEEN.sub("\ufffd", str(text)), quote=True)


def cut(text: str, most: int) -> str:
    """A text of at most so many characters, with a mark where it goes on."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def value(estimate: Estimate, digits: int = 1) -> str:
    """A figure with its interval in small print."""
    if estimate.mean is None:
        return DASH
    return f"{fixed(estimate.mean, digits)} <small>{interval(estimate, digits)}</small>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """A table that scrolls by itself where it is too wide. Cells are markup already."""
    top = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{row[0]}</th>{"".join(f"<td>{cell}</td>" for cell in row[1:])}</tr>'
        for row in rows
    )
    said = f'<p class="caption">{caption}</p>' if caption else ""
    return (
        f'<div class="wide">{said}<div class="scroll" tabindex="0" role="region"'
        f' aria-label="{_plain(caption or head[0])}"><table><thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table></div></div>"
    )


def _plain(markup: str) -> str:
    return re.sub("<[^>]*>", "", markup).replace('"', "&quot;")


def figure(picture: str, caption: str, note: str = "") -> str:
    """A picture in a card."""
    below = f'<p class="note">{note}</p>' if note else ""
    return f'<figure class="card"><figcaption>{caption}</figcaption>{picture}{below}</figure>'


def grid(cards: Iterable[str], kind: str = "grid") -> str:
    """Cards beside each other, as many as there is room for: in rows, or in `columns`."""
    held = "".join(cards)
    return f'<div class="{kind}">{held}</div>' if held else ""


def badge(text: str, kind: str = "") -> str:
    return f'<span class="badge {kind}">{text}</span>'

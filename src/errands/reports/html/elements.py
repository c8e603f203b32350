"""Elements that pages share: tables, cards, badges. What is not markup is escaped."""

from collections.abc import Iterable, Sequence

from errands.markup import EMPTY, Markup, html, join
from errands.reports.formatting import DASH, fixed, interval
from errands.reports.statistics.estimate import Estimate

__all__ = ["badge", "cut", "definitions", "figure", "grid", "table", "value"]


def cut(text: str, most: int) -> str:
    """A text of at most so many characters, with a mark where it goes on."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def value(estimate: Estimate, digits: int = 1) -> Markup:
    """A figure with its interval in small print."""
    if estimate.mean is None:
        return Markup.escape(DASH)
    return html("{} <small>{}</small>", fixed(estimate.mean, digits), interval(estimate, digits))


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "", note: str = ""
) -> Markup:
    """A table that scrolls by itself where it is too wide; the first cell of a row names it."""
    top = join(html('<th scope="col">{}</th>', cell) for cell in head)
    body = join(
        html(
            '<tr><th scope="row">{}</th>{}</tr>',
            row[0],
            join(html("<td>{}</td>", cell) for cell in row[1:]),
        )
        for row in rows
    )
    return html(
        '<div class="wide">{}<div class="scroll" tabindex="0" role="region" aria-label="{}">'
        "<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>{}</div>",
        html('<p class="caption">{}</p>', caption) if caption else EMPTY,
        Markup.escape(caption or head[0]).striptags(),
        top,
        body,
        html('<p class="note below">{}</p>', note) if note else EMPTY,
    )


def definitions(pairs: Iterable[tuple[str, str]]) -> Markup:
    """A list of names and what they stand for."""
    return html("<dl>{}</dl>", join(html("<dt>{}</dt><dd>{}</dd>", *pair) for pair in pairs))


def figure(picture: Markup, caption: str, note: str = "") -> Markup:
    """A picture in a card."""
    return html(
        '<figure class="card"><figcaption>{}</figcaption>{}{}</figure>',
        caption,
        picture,
        html('<p class="note">{}</p>', note) if note else EMPTY,
    )


def grid(cards: Iterable[Markup], kind: str = "grid") -> Markup:
    """Cards beside each other, as many as there is room for: in rows, or in `columns`."""
    content = join(cards)
    return html('<div class="{}">{}</div>', kind, content) if content else EMPTY


def badge(text: str, kind: str = "") -> Markup:
    """A word on a coloured ground."""
    return html('<span class="badge {}">{}</span>', kind, text)

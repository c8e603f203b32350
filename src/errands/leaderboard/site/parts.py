"""Parts that several pages share: figures, badges, and the facts of an agent."""

from collections.abc import Iterable, Sequence
from typing import Final

from errands.leaderboard.board import BoardRow
from errands.leaderboard.submission import AgentCard
from errands.markup import EMPTY, Markup, html, join
from errands.reports.formatting import DASH, dollars, fixed, interval, p_value
from errands.reports.statistics.estimate import Estimate

__all__ = ["figure_cell", "link", "plain_table", "significance", "usage", "whiskers"]

_LEFT: Final = frozenset({"some of them", "what was asked", "why"})
"""Columns of words."""


def whiskers(score: Estimate) -> Markup:
    """A mean with its interval on a line from 0 to 100; the figures beside it say the same."""
    if score.mean is None or score.low is None or score.high is None:
        return EMPTY
    return html(
        '<svg class="whiskers" viewBox="-4 0 108 18" aria-hidden="true">'
        '<line class="rail" x1="0" x2="100" y1="9" y2="9"/>'
        '<line class="reach" x1="{:.2f}" x2="{:.2f}" y1="9" y2="9"/>'
        '<circle class="mean" cx="{:.2f}" cy="9" r="3.2"/></svg>',
        score.low,
        score.high,
        score.mean,
    )


def figure_cell(estimate: Estimate) -> Markup:
    """A table's cell with a figure and its interval."""
    if estimate.mean is None:
        return html("<td>{}</td>", DASH)
    return html(
        '<td data-value="{:.6f}">{}<small>{}</small></td>',
        estimate.mean,
        fixed(estimate.mean),
        interval(estimate),
    )


def significance(row: BoardRow) -> tuple[Markup, Markup]:
    """Cells: against the best, and against the row above."""
    cells = []
    for one, none in ((row.against_best, "the best"), (row.against_above, DASH)):
        if one is None:
            cells.append(html("<td>{}</td>", none))
        elif one.refused or one.difference.mean is None:
            cells.append(html("<td><small>{}</small></td>", one.refused))
        else:
            cells.append(
                html(
                    '<td data-value="{:.6f}">{:+.1f} <small>{}, {}</small></td>',
                    one.difference.mean,
                    one.difference.mean,
                    one.verdict,
                    p_value(one.p_holm),
                )
            )
    return cells[0], cells[1]


def usage(card: AgentCard) -> str:
    """What a model took, as the run kept it."""
    tokens = card.tokens_in + card.tokens_out
    if not tokens and not card.cost:
        return DASH
    return f"{tokens:,} tokens, {dollars(card.cost)}"


def link(address: str) -> Markup:
    """A submitter's address; it was checked to be one of the web."""
    return html('<a href="{0}" rel="nofollow noopener noreferrer">{0}</a>', address)


def plain_table(
    caption: str, head: Sequence[str], rows: Iterable[Markup], kind: str = "", note: str = ""
) -> Markup:
    """A table that scrolls by itself where it is too wide; rows are whole."""
    return html(
        '<div class="wide"><p class="caption">{0}</p><div class="scroll" tabindex="0"'
        ' role="region" aria-label="{0}"><table class="{1}"><thead><tr>{2}</tr></thead>'
        "<tbody>{3}</tbody></table></div></div>{4}",
        caption,
        kind,
        join(
            html('<th scope="col" class="{}">{}</th>', "left" if cell in _LEFT else "", cell)
            for cell in head
        ),
        join(rows),
        html('<p class="note">{}</p>', note) if note else EMPTY,
    )

"""How things show themselves in a notebook: small tables, with everything in them escaped.

A class gets a `_repr_html_` of one line, with which Jupyter shows what a cell ends with. Tables are
cut to a few rows and cells to a few words, so that a million of anything can be looked at.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Final

from errands.markup import Markup, html, join

__all__ = ["MOST_ROWS", "notebook_facts", "notebook_table"]

MOST_ROWS: Final = 10
LONGEST: Final = 300
"""Characters of a cell."""


def notebook_table(
    caption: str, head: Sequence[str], rows: Iterable[Sequence[object]], total: int | None = None
) -> str:
    """The first rows of a table; `total` says of how many, where that is known."""
    shown = list(islice(rows, MOST_ROWS))
    left = 0 if total is None else total - len(shown)
    return html(
        "<table><caption>{}</caption><thead><tr>{}</tr></thead><tbody>{}</tbody></table>{}",
        _short(caption),
        join(html('<th style="text-align: left">{}</th>', name) for name in head),
        join(html("<tr>{}</tr>", join(map(_cell, row))) for row in shown),
        html("<p>and {:,} more</p>", left) if left > 0 else "",
    )


def notebook_facts(caption: str, known: Mapping[str, object]) -> str:
    """Names and values, one below the other; what is empty is left out."""
    told = ((name, value) for name, value in known.items() if value not in ("", None, (), {}))
    return html(
        "<table><caption>{}</caption><tbody>{}</tbody></table>",
        _short(caption),
        join(html("<tr><th>{}</th>{}</tr>", name, _cell(value)) for name, value in told),
    )


def _cell(value: object) -> Markup:
    if isinstance(value, int) and not isinstance(value, bool):
        return html("<td>{:,}</td>", value)
    if isinstance(value, Mapping):
        value = "; ".join(f"{name}: {_listed(one)}" for name, one in value.items())
    # Notebooks set tables to the right, which suits numbers only.
    return html('<td style="text-align: left">{}</td>', _short(_listed(value)))


def _listed(value: object) -> str:
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ", ".join(map(str, islice(value, 2 * MOST_ROWS)))
    return str(value)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"

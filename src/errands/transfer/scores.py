"""Scores by hand: equation 1 of the paper, over what a person says of a purchase.

A person says how many of the wanted attributes and options a purchase has (`2/3`; `-` where none
were wanted), whether it is the right type of product (0, 0.1, 0.5 or 1) and whether the price is
within the limit (0 or 1). The rest is arithmetic.
"""

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from errands.errors import DataError
from errands.transfer.journal import EpisodeRecord, ScoreLine, TransferRun

__all__ = [
    "COLUMNS",
    "TYPES",
    "MatchCount",
    "match_count",
    "read_scores",
    "score",
    "unscored",
    "write_form",
]

COLUMNS: Final = ("episode", "attribute", "option", "type", "price")
TYPES: Final = (0.0, 0.1, 0.5, 1.0)
_SHARE: Final = re.compile(r"\s*(\d{1,3})\s*/\s*(\d{1,3})\s*")


class MatchCount(NamedTuple):
    """So many of so many."""

    right: int
    wanted: int


def match_count(text: str) -> MatchCount:
    """What a person writes for attributes or options.

    >>> match_count("2/3"), match_count("-")
    (MatchCount(right=2, wanted=3), MatchCount(right=0, wanted=0))
    """
    if text.strip() in ("-", ""):
        return MatchCount(0, 0)
    found = _SHARE.fullmatch(text)
    if found is None or int(found[1]) > int(found[2]):
        raise ValueError(f"{text!r}: expected RIGHT/WANTED, as 2/3, or - where none was wanted")
    return MatchCount(int(found[1]), int(found[2]))


def score(
    number: int, attribute: MatchCount, option: MatchCount, type_: float, price: float, by: str
) -> ScoreLine:
    """Equation 1: the share of what was wanted, times the type."""
    if type_ not in TYPES:
        raise ValueError(f"type {type_:g}: expected 0, 0.1, 0.5 or 1")
    if price not in (0.0, 1.0):
        raise ValueError(f"price {price:g}: expected 0 or 1")
    if not attribute.wanted:
        raise ValueError("attribute: every instruction wants at least one; expected as 1/2")
    wanted = attribute.wanted + option.wanted + 1
    return ScoreLine(
        episode=number,
        attribute=attribute.right / attribute.wanted,
        option=option.right / option.wanted if option.wanted else None,
        type=type_,
        price=price,
        total=type_ * ((attribute.right + option.right + price) / wanted),
        by=by,
    )


def unscored(run: TransferRun) -> list[EpisodeRecord]:
    """Purchases that nobody has scored yet."""
    return [
        played for played in run.finished if played.purchase is not None and played.score is None
    ]


def write_form(run: TransferRun) -> str:
    """A CSV to be filled in: one line a purchase without a score, with what helps to judge it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*COLUMNS, "instruction", "title", "chosen", "cost", "url"])
    for played in unscored(run):
        assert played.purchase is not None
        product = played.purchase.product
        chosen = "; ".join(f"{name}: {value}" for name, value in played.purchase.options.items())
        cost = " to ".join(f"{price:.2f}" for price in product.prices) or "N/A"
        texts = (played.instruction, product.title, chosen, cost, played.purchase.url)
        writer.writerow([played.number, "", "", "", "", *map(_harmless, texts)])
    return out.getvalue()


def _harmless(text: str) -> str:
    """A text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def read_scores(path: Path, run: TransferRun, by: str) -> Iterator[ScoreLine]:
    """The lines of a filled-in CSV; those left empty are skipped."""
    try:
        text = path.read_text("utf-8-sig")
        rows = list(csv.DictReader(io.StringIO(text)))
    except OSError as failure:
        raise DataError(f"{path} cannot be read ({failure.strerror}).") from None
    except (UnicodeDecodeError, csv.Error) as failure:
        raise DataError(f"{path} is not a CSV file in UTF-8 ({failure}).") from None
    absent = [name for name in COLUMNS if not rows or name not in rows[0]]
    if absent:
        raise DataError(f"{path} has no column {absent[0]!r}; expected {', '.join(COLUMNS)}.")
    known = {played.number for played in run.finished if played.purchase is not None}
    for number, row in enumerate(rows, 2):
        cells = {name: (row[name] or "").strip() for name in COLUMNS}
        if not any(cells[name] for name in COLUMNS[1:]):
            continue
        try:
            episode = int(cells["episode"])
            if episode not in known:
                raise ValueError(f"episode {episode} is no purchase of this run")
            yield score(
                episode,
                match_count(cells["attribute"]),
                match_count(cells["option"]),
                float(cells["type"]),
                float(cells["price"]),
                by,
            )
        except ValueError as failure:
            raise DataError(f"{path}, line {number}: {failure}.") from None

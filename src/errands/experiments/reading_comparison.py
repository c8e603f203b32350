"""What the original reads from saved pages, beside what we read: the table of docs/transfer.md."""

from pathlib import Path
from typing import Any, Final, NamedTuple

from errands.errors import DataError
from errands.experiments import original_readings as original_reading
from errands.reports.markdown import table, text
from errands.transfer.fetch.saved_pages import read_page
from errands.transfer.live_catalog import price_tag
from errands.transfer.sites.record import SiteProduct, SiteResults
from errands.transfer.sites.site import SiteReader, site_named

__all__ = ["Fact", "compared", "to_markdown"]

_SITES: Final = ("amazon", "ebay", "webshop")
_LONGEST: Final = 48


class Fact(NamedTuple):
    """One thing on one page."""

    page: str
    part: str
    original: str
    ours: str


def compared(folder: Path) -> list[Fact]:
    """Every page of a folder that one of the three sites knows, part by part."""
    if not folder.is_dir():
        raise DataError(f"{folder} is not a folder; expected one with saved pages.")
    facts: list[Fact] = []
    for path in sorted(folder.glob("*.html")):
        html = read_page(path)
        for name in _SITES:
            site = site_named(name)
            kind = site.kind(html)
            if kind == "item":
                facts += _item(path.name, site, html)
            elif kind == "search":
                facts += _results(path.name, site, html)
            if kind:
                break
    if not facts:
        raise DataError(f"{folder} has no page of {', '.join(_SITES)}.")
    return facts


def _results(page: str, site: SiteReader, html: str) -> list[Fact]:
    theirs = original_reading.read_results(site.name, html)
    ours: SiteResults = site.read_results(html)
    priced = sum(bool(card.prices) for card in ours.cards)
    ranges = sum(len(card.prices) == 2 for card in ours.cards)
    return [
        Fact(page, "products", str(len(theirs)), str(len(ours.cards))),
        Fact(
            page, "with a price", str(sum(each["price"] not in ("", "N/A") for each in theirs)),
            str(priced),
        ),
        Fact(
            page, "with a price range",
            str(sum(isinstance(each["price"], list) for each in theirs)), str(ranges),
        ),
        Fact(page, "results in all", "not read", _short(ours.total)),
        Fact(page, "a next page", "never looked for", "yes" if ours.has_next else "no"),
        Fact(page, "left out", "adverts unnoticed in the ten", str(ours.left_out)),
    ]  # fmt: skip


def _item(page: str, site: SiteReader, html: str) -> list[Fact]:
    theirs = original_reading.read_item(site.name, html)
    found: SiteProduct = site.read_item(html)
    note = f" ({found.price_note})" if found.price_note else ""
    ours: dict[str, Any] = {
        "title": found.title,
        "price": price_tag(found.prices, found.currency) + note,
        "rating": found.rating,
        "options": {name: list(values) for name, values in found.options.items()},
        "bullets": found.bullets,
        "description": found.description,
        "image": found.image,
    }
    ours |= dict.fromkeys(found.details, "on a page of its own (--details)")
    facts = [Fact(page, part, _short(theirs[part]), _short(ours[part])) for part in ours]
    facts.append(Fact(page, "category", "not read", _short(found.category)))
    facts.append(Fact(page, "missing", "not told", ", ".join(found.missing) or "nothing"))
    return facts


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{name}: {', '.join(held)}" for name, held in value.items()) or "none"
    if isinstance(value, tuple):
        return f"{len(value)} lines" if value else "none"
    said = str(value) if value else "none"
    return said if len(said) <= _LONGEST else f"{said[:_LONGEST]}… ({len(said)} characters)"


def to_markdown(facts: list[Fact]) -> str:
    """The facts as one table."""
    rows = [[text(cell) for cell in fact] for fact in facts]
    return (
        "\n".join(table(["page", "part", "the original", "errands"], rows))
        .replace("|---|---:|---:|---:|", "|---|---|---|---|")
        .rstrip()
        + "\n"
    )

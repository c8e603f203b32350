"""Real pages of shops, what is true of each, and how much of it is read.

`shop_pages.jsonl` has a line a page: where it is public (repository, commit, path), where it was
(`url`), its SHA-256, and the facts, judged by hand. The pages themselves are not ours to share:
they are read from the folder that ERRANDS_SHOP_PAGES names, as SHA256.html each.

    python tests/helpers/shop_pages.py collect CLONES FOLDER    # clones are CLONES/OWNER+NAME
    ERRANDS_SHOP_PAGES=FOLDER python tests/helpers/shop_pages.py table
"""

import gzip
import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from errands.currencies import UNKNOWN
from errands.transfer.fetch.saved_pages import read_page
from errands.transfer.sites.claims import unread_item, unread_results
from errands.transfer.sites.record import SiteProduct, SiteResults
from errands.transfer.sites.schema_org import SAVED
from errands.transfer.sites.site import SiteReader, site_named

__all__ = [
    "FIELDS", "FOLDER", "INDEX", "ROUNDS", "Judgement", "ShopPage", "Verdict", "facts_of", "judged",
    "pages", "read", "table",
]  # fmt: skip

INDEX = Path(__file__).with_name("shop_pages.jsonl")
FOLDER = "ERRANDS_SHOP_PAGES"
FIELDS = (
    "title", "price", "currency", "category", "options", "bullets", "description", "image",
    "cards", "titles", "prices", "links",
)  # fmt: skip
ROUNDS = ("built on", "kept aside", "kept aside, later", "a third round")
Verdict = Literal["right", "missing", "wrong", "marked"]
"""`marked` is wrong, and the record says that the page contradicts itself."""


class ShopPage(NamedTuple):
    """A page and what is true of it. A fact of None says that the page does not tell it."""

    repository: str
    commit: str
    path: str
    sha256: str
    url: str
    shop: str
    kind: Literal["item", "search"]
    kept: int
    """0 for pages that the readers were built on; 1, 2 and 3 for those of later rounds, which were
    judged before anything was changed for them."""
    facts: dict[str, Any]

    @property
    def site(self) -> SiteReader:
        """The reader that a user would choose."""
        host = urlsplit(self.url).hostname or ""
        if self.shop in ("amazon", "ebay"):
            return site_named(self.shop, host=host if host.startswith("www.") else "")
        return site_named("schema.org", search=SAVED)


class Judgement(NamedTuple):
    """How one field of one page was read."""

    page: ShopPage
    field: str
    verdict: Verdict


def pages() -> list[ShopPage]:
    """All pages of the index."""
    return [ShopPage(**json.loads(line)) for line in INDEX.read_text("utf-8").splitlines()]


def read(page: ShopPage, folder: Path) -> tuple[SiteProduct | SiteResults, str]:
    """What is read from a page, and why it is an error if it is one."""
    path = folder / f"{page.sha256}.html"
    if hashlib.sha256(path.read_bytes()).hexdigest() != page.sha256:
        raise ValueError(f"{path.name} is another page")
    html = read_page(path)
    if page.kind == "search":
        results = page.site.read_results(html, page.url)
        return results, unread_results(html, results)
    product = page.site.read_item(html, page.url)
    return product, unread_item(html, product)


def facts_of(found: SiteProduct | SiteResults) -> dict[str, Any]:
    """A record as facts: long texts, which are the shop's, by their digests alone."""
    if isinstance(found, SiteResults):
        return {
            "cards": len(found.cards),
            "titles": _digest(card.title for card in found.cards),
            "prices": _digest(f"{card.prices} {card.currency}" for card in found.cards),
            "links": _digest(card.url for card in found.cards),
        }
    return {
        "title": found.title,
        "price": list(found.prices),
        "currency": found.currency if found.prices and found.currency != UNKNOWN else "",
        "category": found.category,
        "options": {name: list(values) for name, values in found.options.items()},
        "bullets": _digest(found.bullets),
        "description": _digest([found.description]),
        "image": _digest([found.image]),
    }


def _digest(texts: Iterable[str]) -> str:
    said = "\n".join(texts)
    return hashlib.sha256(said.encode()).hexdigest()[:12] if said else ""


def judged(page: ShopPage, folder: Path) -> list[Judgement]:
    """Every field of a page that it tells, and how it was read; nothing of an error was."""
    found, reason = read(page, folder)
    told = {} if reason else facts_of(found)
    doubts = getattr(found, "doubts", ())
    verdicts = []
    for field, fact in page.facts.items():
        value = told.get(field) or None
        if value is None and fact is not None:
            verdicts.append(Judgement(page, field, "missing"))
        elif value != fact:
            is_marked = field in ("price", "currency") and bool(doubts)
            verdicts.append(Judgement(page, field, "marked" if is_marked else "wrong"))
        elif fact is not None:
            verdicts.append(Judgement(page, field, "right"))
    return verdicts


def table(judgements: list[Judgement]) -> str:
    """Right, missing and wrong by field and part, as Markdown."""
    lines = ["| pages | field | right | missing | wrong, marked | wrong, in silence |"]
    lines.append("|---|---|---:|---:|---:|---:|")
    for kept, name in enumerate(ROUNDS):
        rows = [one for one in judgements if one.page.kept == kept]
        for field in FIELDS:
            counts = Counter(one.verdict for one in rows if one.field == field)
            if counts:
                lines.append(_row(name, field, counts))
        lines.append(_row(f"**{name}**", "**all**", Counter(one.verdict for one in rows)))
    return "\n".join(lines) + "\n"


def _row(name: str, field: str, counts: Counter[Verdict]) -> str:
    figures = (counts["right"], counts["missing"], counts["marked"], counts["wrong"])
    return f"| {name} | {field} | {' | '.join(map(str, figures))} |"


def _collect(clones: Path, folder: Path) -> Iterator[str]:
    """Copy the pages out of clones of their repositories."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in pages():
        clone = clones / page.repository.replace("/", "+")
        clone = clone if not (clone / "repo").is_dir() else clone / "repo"
        shown = subprocess.run(
            ["git", "-C", str(clone), "show", f"{page.commit}:{page.path}"],
            capture_output=True,
            check=False,
        )
        data = gzip.decompress(shown.stdout) if page.path.endswith(".gz") else shown.stdout
        if hashlib.sha256(data).hexdigest() == page.sha256:
            (folder / f"{page.sha256}.html").write_bytes(data)
        else:
            yield f"{page.repository} {page.path}: not the page of the index"


def _main() -> None:
    if sys.argv[1:2] == ["collect"]:
        for problem in _collect(Path(sys.argv[2]), Path(sys.argv[3])):
            print(problem)
        return
    folder = Path(os.environ[FOLDER])
    judgements = [one for page in pages() for one in judged(page, folder)]
    if sys.argv[1:2] == ["all"]:
        for one in judgements:
            if one.verdict != "right":
                print(one.page.sha256[:8], one.page.shop, one.field, one.verdict)
    print(table(judgements))


if __name__ == "__main__":
    _main()

"""Real pages of 128 shops, judged by hand: what is read of them stays read, and little is wrong.

The pages are not ours to share, so this needs a folder of them (tests/helpers/shop_pages.py).
"""

import os
from pathlib import Path

import pytest
from shop_pages import FOLDER, ROUNDS, Judgement, ShopPage, judged, pages, table

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "real-shops.md"
MOST_WRONG = 0.02


@pytest.fixture(scope="module")
def store() -> Path:
    """The folder of the pages."""
    folder = Path(os.environ.get(FOLDER, ""))
    if not os.environ.get(FOLDER) or not folder.is_dir():
        pytest.skip(
            f"needs the pages of tests/helpers/shop_pages.jsonl in the folder {FOLDER} names"
        )
    return folder


@pytest.fixture(scope="module")
def judgements(store: Path) -> list[Judgement]:
    return [one for page in pages() for one in judged(page, store)]


def test_little_is_wrong(judgements: list[Judgement]) -> None:
    for kept in range(len(ROUNDS)):
        rows = [one.verdict for one in judgements if one.page.kept == kept]
        assert rows.count("wrong") + rows.count("marked") <= MOST_WRONG * len(rows)


def test_the_guides_table_is_what_is_read(judgements: list[Judgement]) -> None:
    assert table(judgements) in GUIDE.read_text("utf-8")


def test_the_index_is_of_many_shops_and_says_where_its_pages_are() -> None:
    index = pages()
    assert len(index) >= 290
    assert len({page.shop for page in index}) >= 128
    assert len({page.sha256 for page in index}) == len(index)
    assert {page.kind for page in index} == {"item", "search"}
    kept = [page for page in index if page.kept]
    assert len(kept) > len(index) / 4
    for page in index:
        assert len(page.commit) == 40
        assert len(page.sha256) == 64
        assert page.url.startswith(("http://", "https://"))
        assert page.facts


def test_a_page_has_its_reader() -> None:
    page = ShopPage(
        "a/b", "0" * 40, "x", "0" * 64, "https://www.ebay.de/itm/1", "ebay", "item", False, {}
    )
    assert page.site.name == "ebay"
    assert page._replace(shop="lamp.example").site.name == "schema.org"

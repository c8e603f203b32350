"""The saved real pages: what the specification says the original reads, and what it misses."""

from pathlib import Path

import pytest

from errands.experiments.reading_comparison import (
    compared,
    original_item,
    original_results,
    to_markdown,
)
from errands.transfer.environment import preview
from errands.transfer.sites.record import SiteProduct, SiteResults
from errands.transfer.sites.site import site_named

pytestmark = pytest.mark.shared


def _item(saved: Path, site: str, name: str) -> SiteProduct:
    return site_named(site).read_item((saved / name).read_text("utf-8"))


def _results(saved: Path, site: str, name: str) -> SiteResults:
    return site_named(site).read_results((saved / name).read_text("utf-8"))


def test_the_originals_facts_by_the_originals_own_rules(saved: Path) -> None:
    def read(name: str) -> str:
        return (saved / name).read_text("utf-8")

    amazon = original_item("amazon", read("item_page_amz.html"))
    assert amazon["price"] == "N/A"
    assert amazon["rating"] == "4.8 out of 5 stars"
    assert "," not in amazon["title"]
    assert amazon["options"] == {
        "size": ["Twin", "Full", "Queen", "King"], "style": ["14-Inch", "18-Inch"],
    }  # fmt: skip
    ebay = original_item("ebay", read("item_page_ebay.html"))
    assert (ebay["price"], ebay["rating"], ebay["options"]) == ("N/A", None, {})
    assert ebay["description"] == "N/A"
    assert ebay["bullets"].startswith("Item specifics")
    shop = original_item("webshop", read("item_page_ws.html"))
    assert (shop["price"], shop["rating"]) == ("100.0", "N.A.")
    found = original_results("amazon", read("results_amz.html"))
    assert len(found) == 10
    assert all(float(each["price"]) > 0 for each in found)
    found = original_results("ebay", read("results_ebay.html"))
    assert len(found) == 9
    assert found[0]["price"] == ["100.00", "150.00"]
    assert found[1]["price"] == "$119.90"
    found = original_results("webshop", read("results_ws.html"))
    assert [each["price"] for each in found[:3]] == [[24.49, 39.99], [1.89, 7.58], 100.0]


def test_amazons_item(saved: Path) -> None:
    found = _item(saved, "amazon", "item_page_amz.html")
    assert found.id == "B073WRF565"
    assert found.title.startswith('Amazon Basics Foldable, 14" Black Metal')
    assert (found.prices, found.currency) == ((112.94,), "USD"), "the original says N/A"
    assert found.rating == "4.8 out of 5 stars"
    assert found.options == {
        "size": ("Twin", "Full", "Queen", "King"), "style": ("14-Inch", "18-Inch"),
    }  # fmt: skip
    assert found.option_images == {}
    assert len(found.bullets) == 5
    assert found.category.split(" › ")[-1] == "Bed Frames"
    assert found.missing == ()


def test_ebays_item(saved: Path) -> None:
    found = _item(saved, "ebay", "item_page_ebay.html")
    assert found.id == "403760625150"
    assert found.title.startswith("Puma RS-Dreamer")
    assert (found.prices, found.price_note) == ((0.01,), "bid"), "the original says N/A"
    assert found.options == {}
    assert "Closure: Lace Up" in found.bullets
    assert len(found.bullets) == 30
    assert found.details["description"].startswith("https://vi.vipr.ebaydesc.com/")
    assert found.missing == ("rating", "description", "options")


def test_ebays_item_by_its_schema_org_data_alone(saved: Path) -> None:
    found = _item(saved, "schema.org", "item_page_ebay.html")
    assert found.title.startswith("Puma RS-Dreamer")
    assert (found.prices, found.currency) == ((0.01,), "USD")
    assert "color: Red" in found.bullets


def test_webshops_item_and_its_pages(saved: Path) -> None:
    site = site_named("webshop", host="http://webshop.example:3000")
    found = site.read_item((saved / "item_page_ws.html").read_text("utf-8"))
    assert (found.id, found.prices, found.rating) == ("B09P87V3LZ", (100.0,), "N.A.")
    assert found.options == {
        "color": ("black", "purple", "red"), "size": ("6.5", "7.5", "8", "8.5", "9"),
    }  # fmt: skip
    assert found.option_links["red"].startswith(
        "http://webshop.example:3000/item_page/abc/B09P87V3LZ/"
    )
    assert set(found.option_images) == {"black", "purple", "red"}
    assert set(found.details) == {"description", "bullets"}
    features = (saved / "item_page_ws_feat.html").read_text("utf-8")
    described = (saved / "item_page_ws_desc.html").read_text("utf-8")
    whole = site.read_detail(site.read_detail(found, "bullets", features), "description", described)
    assert whole.bullets[:2] == ("Pure Running Shoe", "Comfort Flat Sneakers")
    assert whole.description.startswith("Here Are The Things")
    assert whole.missing == ("category",)


def test_results(saved: Path) -> None:
    amazon = _results(saved, "amazon", "results_amz.html")
    assert len(amazon.cards) == 59
    assert sum("price" in card.missing for card in amazon.cards) == 4
    assert amazon.cards[0].prices == (59.49,)
    assert amazon.has_next
    assert amazon.total == 2000
    ebay = _results(saved, "ebay", "results_ebay.html")
    assert (len(ebay.cards), ebay.left_out) == (60, 1)
    assert ebay.cards[0].prices == (100.0, 150.0)
    assert ebay.cards[4].id == "403760625150"
    shop = _results(saved, "webshop", "results_ws.html")
    assert [card.prices for card in shop.cards[:3]] == [(24.49, 39.99), (1.89, 7.58), (100.0,)]
    assert len(shop.cards) == 10
    assert (ebay.total, shop.total) == (45000, 50)
    # Each of the original's products is among ours, at its place and price.
    for site, name, ours in (
        ("amazon", "results_amz.html", amazon), ("ebay", "results_ebay.html", ebay),
    ):  # fmt: skip
        theirs = original_results(site, (saved / name).read_text("utf-8"))
        assert [each["id"] for each in theirs] == [card.id for card in ours.cards[: len(theirs)]]
        for each, card in zip(theirs, ours.cards, strict=False):
            ends = each["price"] if isinstance(each["price"], list) else [each["price"]]
            assert tuple(float(end.strip("$")) for end in ends) == card.prices


def test_a_page_becomes_our_page(saved: Path) -> None:
    site = site_named("amazon")
    html = (saved / "item_page_amz.html").read_text("utf-8")
    page = preview(site, html, "item", "a bed")
    assert page.clickables == [
        "back to search", "< prev", "description", "features", "reviews", "buy now",
        "twin", "full", "queen", "king", "14-inch", "18-inch",
    ]  # fmt: skip
    assert "Price: $112.94" in page.text
    assert "  [button] queen [button_]" in page.text
    results = preview(site_named("ebay"), (saved / "results_ebay.html").read_text(), "search", "x")
    assert results.clickables[:3] == ["back to search", "next >", "175065123030"]
    assert len(results.clickables) == 12


def test_the_table_of_the_docs_is_what_the_command_prints(saved: Path) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "guides" / "real-shops.md"
    assert to_markdown(compared(saved)) in page.read_text("utf-8")

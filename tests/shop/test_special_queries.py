"""The original's hidden queries."""

from errands.shop.catalog.catalog import Catalog
from errands.shop.special_queries import special_hits


def test_lists_are_in_load_order(little: Catalog) -> None:
    product = little.product_at(7)
    by_query = special_hits(little, f"<q> {product.query}")
    expected = [p.asin for p in little if p.query == product.query]
    assert by_query is not None
    assert [little.product(number).asin for number in by_query] == expected
    by_category = special_hits(little, f"<c> {product.category} more")
    assert by_category is not None
    assert len(by_category) == sum(p.category == product.category for p in little)
    attribute = next(p.attributes[0] for p in little if p.attributes)
    by_attribute = special_hits(little, f"<a> {attribute}")
    assert by_attribute is not None
    assert len(by_attribute) == sum(attribute in p.attributes for p in little)


def test_random_products_are_repeatable(little: Catalog) -> None:
    drawn = special_hits(little, "<r>")
    assert drawn == special_hits(little, "<r>")
    assert drawn is not None
    assert len(set(drawn)) == 50
    assert special_hits(little, "<r> again") != drawn


def test_edges(little: Catalog) -> None:
    assert special_hits(little, "<c>") == ()
    assert special_hits(little, "<a> no such attribute") == ()
    assert special_hits(little, "<x> lamp") is None
    assert special_hits(little, "lamp <r>") is None

"""A shop without goals on the website: it can be searched, and nothing can be bought."""

import json
from pathlib import Path

import pytest
from shop_served import shop_served

from errands.errors import GoalError
from errands.shop.build.builder import build_catalog
from errands.shop.catalog.catalog import Catalog
from errands.web.shop.browsing import BROWSING, goals_to_serve


@pytest.fixture(scope="module")
def goalless(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    folder = tmp_path_factory.mktemp("goalless")
    record: dict[str, object] = {
        "asin": "A2",
        "name": "Red boot",
        "pricing": "$30",
        "category": "shoes",
    }
    record |= {"query": "boot", "product_category": "shoes", "images": ["picture:box/8a93a3/1"]}
    record |= {"full_description": "", "small_description": [], "customization_options": ""}
    (folder / "items.json").write_text(json.dumps([record]))
    (folder / "attributes.json").write_text(json.dumps({"A2": {"attributes": []}}))
    shop = folder / "shop"
    build_catalog(shop, items=folder / "items.json", attributes=folder / "attributes.json")
    return Catalog.open(shop)


def test_visitors_search_and_look_around(goalless: Catalog, tmp_path: Path) -> None:
    with shop_served(goalless, tmp_path / "log.sqlite") as shop:
        door = shop.ask("/shop/new", follow=False).headers["location"]
        assert BROWSING.instruction_text in shop.ask(door).text
        [item] = shop.ask(door, {"search_query": "boot"}).links("/item_page/")
        assert "Red boot" in shop.ask(item).text
        refused = shop.ask(f"/done{door}/A2/%7B%7D")
        assert refused.status == 409
        assert "no goals yet" in refused.text


def test_only_a_shop_without_any_goals_is_browsed(goalless: Catalog, little: Catalog) -> None:
    assert goals_to_serve(goalless, "human")[0] is BROWSING
    assert goals_to_serve(little, "synthetic") is little.goals("synthetic")
    with pytest.raises(GoalError, match="no goal set 'mine'"):
        goals_to_serve(goalless, "mine")

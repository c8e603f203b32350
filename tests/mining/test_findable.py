"""Kinds that goals ask for are searched for."""

import json
from pathlib import Path

from errands.mining.findable import FoundKinds, found_kinds
from errands.shop.build.builder import build_catalog
from errands.shop.catalog.catalog import Catalog


def test_kinds_that_no_search_finds_are_told(tmp_path: Path) -> None:
    records = [
        {
            "asin": f"A{n}",
            "name": name,
            "full_description": "",
            "small_description": [],
            "pricing": "$5.00",
            "customization_options": "",
            "category": "x",
            "query": kind,
            "product_category": "x",
            "images": ["picture:box/8a93a3/1"],
        }
        for n, (name, kind) in enumerate(
            [("Tin mug", "mugs"), ("Clay mug", "mugs"), ("Noa bottom", "swimwear")]
        )
    ]
    (tmp_path / "items.json").write_text(json.dumps(records))
    entries = {
        one["asin"]: {"attributes": ["tin"], "instruction": "x", "instruction_attributes": ["tin"]}
        for one in records
    }
    (tmp_path / "attributes.json").write_text(json.dumps(entries))
    build_catalog(
        tmp_path / "shop",
        items=tmp_path / "items.json",
        attributes=tmp_path / "attributes.json",
    )
    found = found_kinds(Catalog.open(tmp_path / "shop"), records)
    assert found == FoundKinds(kinds=2, lost=("swimwear",), targets=3, targets_found=2)

"""Somebody who writes instructions without a browser, and a catalogue that means harm."""

import html
import json
import re
from pathlib import Path
from typing import Any

from crowd_site import Visitor, call
from shop_served import Answer, Shop

from errands.shop.build.builder import build_catalog
from errands.shop.catalog.catalog import Catalog

EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


class WriterVisitor(Visitor):
    """A worker on their own pages."""

    def __init__(self, shop: Shop, token: str) -> None:
        super().__init__(shop)
        self.home = f"/work/{token}/instructions"

    def take(self) -> Answer:
        return self.post(self.home)

    def action(self) -> str:
        """Where the form that is shown is sent."""
        assert self.page is not None
        found = re.search(rf'action="({self.home}/\d+)"', self.page.text)
        assert found, self.page.text
        return html.unescape(found[1])

    def filled(self, text: str = "Find me a nice one") -> dict[str, str]:
        """The form, filled in as it should be."""
        assert self.page is not None
        groups = set(re.findall(r'name="(option-\d+)"', self.page.text))
        return {"attribute": "0", "instruction": text, **dict.fromkeys(groups, "0")}

    def write(self, text: str = "Find me a nice one") -> Answer:
        self.take()
        return self.post(self.action(), self.filled(text))


def qualify(shop: Shop, token: str) -> None:
    """Let somebody pass their trials."""
    trials = call(shop, "GET", "/v1/office/instructions/settings").body
    for _ in range(json.loads(trials)["trials"]):
        piece = json.loads(call(shop, "POST", "/v1/work/instructions/next", {}, token=token).body)
        handed = call(
            shop, "POST", f"/v1/work/instructions/{piece['id']}", submission(piece), token=token
        )
        assert handed.status == 201, handed.text
        verdict = {"verdict": "accepted"}
        done = call(shop, "POST", f"/v1/office/instructions/{piece['id']}/review", verdict)
        assert done.status == 200, done.text
    person = json.loads(done.body)["person"]
    granted = {"status": "granted"}
    assert call(shop, "POST", f"/v1/office/instructions/people/{person}", granted).status == 200


def submission(piece: dict[str, Any], text: str = "Find me a nice one") -> dict[str, Any]:
    product = piece["product"]
    options = {name: values[0] for name, values in product["options"].items()}
    return {"instruction": text, "attributes": product["attributes"][:1], "options": options}


def evil_catalog(folder: Path, products: int = 12) -> Catalog:
    """Products whose every text is markup."""
    items = [
        {
            "asin": f"B0000000{number:02}",
            "name": f"{EVIL} lamp {number} of many words",
            "full_description": EVIL,
            "small_description": [EVIL],
            "pricing": "$5.00",
            "customization_options": {EVIL: [{"value": f"{EVIL} red"}, {"value": "blue"}]},
            "category": "garden",
            "query": "lamp",
            "product_category": f"Home › {EVIL}",
            "images": [f'https://example.com/"onerror="alert(3)" {EVIL}'],
        }
        for number in range(products)
    ]
    mined = {
        item["asin"]: {
            "attributes": [f"{EVIL} bright", "small"],
            "instruction": f"Find me {EVIL}",
            "instruction_attributes": ["small"],
        }
        for item in items
    }
    (folder / "items.json").write_text(json.dumps(items))
    (folder / "mined.json").write_text(json.dumps(mined))
    out = folder / "evil"
    build_catalog(out, items=folder / "items.json", attributes=folder / "mined.json")
    return Catalog.open(out)

"""The description of crowd work's addresses is whole, and true."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from crowd_served import put_up
from crowd_site import call, invited
from shop_served import Shop, shop_served

from errands.shop.catalog.catalog import Catalog
from errands.web.crowd.application import ROUTES

OURS = ("TaskRoutes", "ProjectRoutes", "FrameRoutes")


@pytest.fixture(scope="module")
def shop(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with shop_served(little, tmp_path_factory.mktemp("crowd") / "site.sqlite") as running:
        yield running


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, held in value.items():
            if key == "$ref":
                yield held
            else:
                yield from references(held)
    elif isinstance(value, list):
        for held in value:
            yield from references(held)


def test_everything_that_is_named_is_there(shop: Shop) -> None:
    assert {seat.__name__ for seat in ROUTES} >= set(OURS)
    described = json.loads(shop.ask("/openapi.json").body)
    for reference in references(described["paths"]):
        name = reference.removeprefix("#/components/schemas/")
        assert name in described["components"]["schemas"], name
    paths = described["paths"]
    for path in (
        "/office/projects",
        "/office/projects/{id}/results.csv",
        "/v1/office/projects/{id}/agreement",
        "/v1/work/tasks/{id}/accept",
        "/v1/work/assignments/{id}/submit",
        "/work/{token}/tasks/{id}",
        "/frame/{key}/",
        "/mturk/externalSubmit",
    ):
        assert path in paths


def test_no_address_fails_whatever_is_sent(shop: Shop) -> None:
    """Every described operation, with numbers that exist and bodies that make no sense."""
    project = put_up(shop)
    worker = invited(shop, "Ann")
    boss = invited(shop, "Rob", "requester")
    paths = json.loads(shop.ask("/openapi.json").body)["paths"]
    mine = ("/office/projects", "/v1/office/projects", "/v1/work/", "/work/", "/frame", "/mturk")
    seen = 0
    for path, methods in paths.items():
        if not path.startswith(mine):
            continue
        for method in methods.keys() & {"get", "post", "patch"}:
            for id in (str(project), "0", "x", "999999999999999999999999"):
                full = path.replace("{token}", worker).replace("{id}", id)
                full = re.sub(r"\{\w+\}", id, full)
                for body in (None, [], {"item": "x"}, {"csv": 5}, {"answers": {"a": None}}):
                    for token in (worker, boss):
                        answer = call(shop, method.upper(), full, body, token=token)
                        said = (method, full, body, answer.text)
                        assert str(answer.status) in methods[method]["responses"], said
                        assert answer.status < 500, said
                        seen += 1
    assert seen > 500

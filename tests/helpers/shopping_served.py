"""Workers who go shopping: they begin an errand, find something and buy it."""

import json
import re
from typing import Any

from crowd_site import call
from shop_served import Shop

from errands.crowd.shopping.assignments import completion_code
from errands.shop.catalog.catalog import Catalog
from errands.shop.navigation import DONE, ITEM, RESULTS
from errands.shop.urls import Address, build

OWN = "/v1/work/shopping"
ADMIN = "/v1/office/demonstrations"


def read(answer: Any) -> Any:
    assert answer.status in (200, 201), answer.text
    return json.loads(answer.body)


def begin(shop: Shop, token: str) -> str:
    """Begin an errand; the name of its session."""
    told = read(call(shop, "POST", OWN, token=token))
    assert told["errands"][-1]["state"] == "open"
    name: str = told["errands"][-1]["address"].removeprefix("/")
    return name


def goal_of(shop: Shop, name: str) -> int:
    assert shop.log is not None
    session = shop.log.find(name)
    assert session is not None
    return session.goal


def buy(shop: Shop, little: Catalog, name: str, *, well: bool = True) -> float:
    """Search, open, choose and buy as a person would: what is wanted, or anything else."""
    goal = little.goals("synthetic")[goal_of(shop, name)]
    product = little[goal.asin] if well else _other(little, goal.asin)
    query = " ".join(re.sub("[^a-z ]", "", product.title.lower()).split())
    here = Address(RESULTS, name, query)
    shop.ask(f"/{name}")
    shop.ask(f"/{name}", {"search_query": query})
    here = here._replace(page=ITEM, asin=product.asin)
    shop.ask(build(here))
    options: tuple[tuple[str, str], ...] = ()
    if well:
        assert isinstance(goal.goal_options, dict)
        for pair in goal.goal_options.items():
            options = (*options, pair)
            shop.ask(build(here._replace(options=options)))
    answer = shop.ask(build(Address(DONE, name, asin=product.asin, options=options)))
    assert answer.status == 200
    assert completion_code(name) in answer.text
    assert shop.log is not None
    session = shop.log.find(name)
    assert session is not None
    assert session.bought is not None
    return session.bought.reward


def _other(little: Catalog, asin: str) -> Any:
    return next(product for product in little if product.asin != asin)

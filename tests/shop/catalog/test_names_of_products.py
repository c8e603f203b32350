"""Ids in small letters, or in both: pages write all of them small, and everybody finds them."""

import json

import gymnasium
import pytest

from errands.agents.careful import CarefulShopper
from errands.envs.shop_vector import ShopVectorEnv
from errands.learn.data.view import SeenProduct
from errands.learn.teacher import LookingTeacher
from errands.shop.build.builder import build_catalog
from errands.shop.build.export import export_catalog
from errands.shop.catalog.catalog import Catalog


@pytest.fixture(scope="module")
def small(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """The little shop with ids as `b0…`, and a few as `B0x…`."""
    folder = tmp_path_factory.mktemp("small")
    items, attributes = folder / "items.json", folder / "attributes.json"
    export_catalog(little, items=items, attributes=attributes)
    names = {one.asin: one.asin.lower() for one in little}
    for asin in list(names)[::9]:
        names[asin] = f"{asin[:2]}x{asin[3:]}"
    rows = json.loads(items.read_text())
    for row in rows:
        row["asin"] = names[row["asin"]]
    items.write_text(json.dumps(rows))
    mined = json.loads(attributes.read_text())
    attributes.write_text(json.dumps({names[asin]: one for asin, one in mined.items()}))
    build_catalog(folder / "shop", items=items, attributes=attributes, workers=1)
    return Catalog.open(folder / "shop")


def test_every_product_is_found_by_its_name_on_pages(little: Catalog, small: Catalog) -> None:
    for shop in (little, small):
        assert [shop.number_of_name(one.asin.lower()) for one in shop] == [
            shop.number(one.asin) for one in shop
        ]
    assert small.number_of_name("b000000000") == -1


def test_the_careful_shopper_sees_offers(small: Catalog) -> None:
    env = gymnasium.make("errands/Shop-v0", catalog=small, goals="synthetic", max_steps=30)
    agent = CarefulShopper()
    total = 0.0
    for goal in range(20):
        seen, info = env.reset(options={"goal": goal})
        agent.begin(seen, info)
        over = False
        while not over:
            seen, reward, terminated, truncated, info = env.step(agent.act(seen, info))
            over = terminated or truncated
        total += float(reward)
    assert total / 20 > 0.5


def test_the_teacher_knows_what_each_is_worth(small: Catalog) -> None:
    env = ShopVectorEnv(
        1, autoreset="disabled", catalog=small, goals="synthetic", observation="text_rich"
    )
    env.reset(options={"goal": [0]})
    teacher = LookingTeacher(env.context)
    [episode] = env.episodes
    worths = {teacher._worth_of(episode, SeenProduct(one.asin.lower(), "", 0.0)) for one in small}
    assert len(worths) > 2
    assert teacher._worth_of(episode, SeenProduct(episode.goal.asin.lower(), "", 0.0)) == 1.0

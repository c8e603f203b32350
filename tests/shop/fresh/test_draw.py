"""Fresh goals: new ones for any catalogue, that share nothing with old ones and can be reached."""

import json
from pathlib import Path

import pytest

from errands.envs.shop import ShopEnv
from errands.errors import ErrandsError, GoalError
from errands.shop import Catalog, build_catalog, fresh_goals
from errands.shop.build.statistics import spoken_words
from errands.shop.fresh.draw import WISHES
from errands.shop.goals import NO_CAP, GoalSet, price_phrase, write_goals
from errands.shop.navigation import ITEM, Shop, State
from errands.shop.rewards.rules import Purchase, released
from errands.shop.synthetic.difficulty import DIFFICULTIES


def _products(goals: GoalSet) -> set[str]:
    return {goals[index].asin for index in range(len(goals))}


def _wordings(goals: GoalSet) -> set[str]:
    said = (goals[index] for index in range(len(goals)))
    return {
        " ".join(spoken_words(goal.instruction_text.removesuffix(price_phrase(goal.price_upper))))
        for goal in said
    }


@pytest.mark.parametrize("difficulty", DIFFICULTIES)
@pytest.mark.parametrize("kind", ["little", "catalog_1k"])
def test_every_goal_can_be_reached(
    kind: str, difficulty: str, request: pytest.FixtureRequest
) -> None:
    catalog: Catalog = request.getfixturevalue(kind)
    goals = fresh_goals(catalog, 150, seed=3, difficulty=difficulty)
    shop = Shop(catalog)
    assert len(goals) == len(_products(goals)) == len(_wordings(goals)) == 150
    for goal in goals:
        page = shop.look(State(ITEM, product=catalog.number(goal.asin)))
        for value in goal.goal_options:
            page = shop.turn(page, f"click[{value}]")
        assert page.product is not None
        bought = Purchase(page.product, page.options, goals.price(page.product))
        assert released(bought, goal).total == 1.0
        assert set(goal.attributes) <= set(page.product.attributes)
        assert goal.attributes
        assert goal.price_upper > page.product.price or goal.price_upper == NO_CAP
        assert goal.instruction_text.endswith(price_phrase(goal.price_upper))
        assert goal.instruction_text == goal.instruction_text.lower()
        assert "  " not in goal.instruction_text
        assert 2 <= len(spoken_words(goal.instruction_text)) <= 60


@pytest.mark.parametrize("kind", ["demo", "catalog_1k"])
def test_all_goals_a_catalogue_can_have(kind: str, request: pytest.FixtureRequest) -> None:
    catalog = Catalog.open("demo") if kind == "demo" else request.getfixturevalue(kind)
    with pytest.raises(GoalError, match=r"but only [\d,]+ of") as told:
        fresh_goals(catalog, len(catalog) + 1)
    most = int(str(told.value).partition("but only ")[2].split()[0].replace(",", ""))
    assert len(fresh_goals(catalog, most)) == most > 0.7 * len(catalog)


def test_every_difficulty_has_its_wishes() -> None:
    assert list(WISHES) == list(DIFFICULTIES)


def test_the_seed_decides(little: Catalog, tmp_path: Path) -> None:
    first, again, other = (fresh_goals(little, 60, seed=seed) for seed in (1, 1, 2))
    for goals, name in ((first, "first"), (again, "again")):
        write_goals(tmp_path / name, goals, little)
    assert (tmp_path / "first").read_bytes() == (tmp_path / "again").read_bytes()
    assert not _wordings(first) & _wordings(other)
    assert list(fresh_goals(little, 20, seed=1)) == list(first)[:20], "more goals change none"


@pytest.mark.parametrize("form", ["set", "file", "name", "several"])
def test_apart_from_what_is_there(form: str, little: Catalog, tmp_path: Path) -> None:
    old: GoalSet = little.goals("human") if form == "name" else fresh_goals(little, 80, seed=1)
    if form in ("file", "several"):
        write_goals(tmp_path / "old.json", old, little)
    file = tmp_path / "old.json"
    given = {"set": old, "file": file, "name": "human", "several": [file, "human"]}[form]
    new = fresh_goals(little, 80, seed=2, disjoint_from=given)
    assert not _products(new) & _products(old)
    assert not _wordings(new) & _wordings(old)
    assert _products(fresh_goals(little, 80, seed=2)) & _products(old), "left alone they meet"


def test_words_alone_keep_goals_apart(little: Catalog, tmp_path: Path) -> None:
    """A file of another catalogue shares no product, but what it says is not said again."""
    before = fresh_goals(little, 1, seed=5)[0]
    frozen = {"goals": [_record(before, asin="ELSEWHERE")], "prices": {}}
    (tmp_path / "other.json").write_text(json.dumps(frozen))
    after = fresh_goals(little, 1, seed=5, disjoint_from=[tmp_path / "other.json"])[0]
    assert after.asin == before.asin
    assert after.instruction_text != before.instruction_text


def _record(goal: object, **changes: object) -> dict[str, object]:
    import msgspec

    return {**msgspec.to_builtins(goal), **changes}


def test_special_wishes_are_rarer(little: Catalog) -> None:
    def commonness(difficulty: str) -> float:
        goals = fresh_goals(little, 150, seed=1, difficulty=difficulty)
        held = [product.attributes for product in little]
        wanted = [goal.attributes[0] for goal in goals]
        return sum(sum(name in one for one in held) for name in wanted) / len(wanted)

    assert commonness("hard") < commonness("easy")


@pytest.mark.parametrize("kind", ["little", "catalog_1k"])
def test_harder_goals_are_in_other_words(kind: str, request: pytest.FixtureRequest) -> None:
    catalog: Catalog = request.getfixturevalue(kind)

    def said_as_listed(difficulty: str) -> float:
        goals = fresh_goals(catalog, 150, seed=1, difficulty=difficulty)
        asked = [(goal, part) for goal in goals for part in (*goal.attributes, *goal.goal_options)]
        return sum(part in goal.instruction_text for goal, part in asked) / len(asked)

    easy, paper, hard = map(said_as_listed, ("easy", "paper", "hard"))
    assert easy > 0.8
    assert easy - 0.1 > paper > hard


def test_they_can_be_played(little: Catalog, tmp_path: Path) -> None:
    goals = fresh_goals(little, 10, seed=4)
    write_goals(tmp_path / "new.json", goals, little, {"by": "a test"})
    for given in (goals, tmp_path / "new.json"):
        env = ShopEnv(catalog=little, goals=given)
        _, info = env.reset(seed=0, options={"goal": 7})
        assert info["instruction"] == goals[7].instruction_text
        env.step(f"search[{goals[7].name}]")
        env.step(f"click[{goals[7].asin.lower()}]")
        for value in goals[7].goal_options:
            env.step(f"click[{value}]")
        _, reward, done, _, _ = env.step("click[buy now]")
        assert (reward, done) == (1.0, True)
        env.close()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"count": 0}, "0 goals were asked for; expected 1 or more"),
        ({"count": 1, "difficulty": "nightmare"}, "no difficulty 'nightmare'"),
        ({"count": 301}, "of the 300 in"),
        ({"count": 300, "disjoint_from": ["human"]}, "beside the 150 of goals to stay apart from"),
        ({"count": 1, "disjoint_from": ["nobody"]}, "no goal set 'nobody'"),
        ({"count": 1, "disjoint_from": [__file__]}, "is not JSON"),
    ],
)
def test_mistakes_are_told(little: Catalog, arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ErrandsError, match=message):
        fresh_goals(little, **arguments)  # type: ignore[arg-type]


def test_a_file_of_something_else_is_no_goal_file(little: Catalog, tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text('["i want a hat"]')
    with pytest.raises(GoalError, match=r'expected form \{"goals"'):
        fresh_goals(little, 1, disjoint_from=[tmp_path / "list.json"])


def test_products_of_strangers(tmp_path: Path) -> None:
    """Options that cannot be chosen are not asked for; products without words are left out."""
    record = {
        "name": "Nameless", "full_description": "", "small_description": [], "category": "c",
        "query": "things", "product_category": "", "images": ["x"], "pricing": "$12",
        "customization_options": "",
    }  # fmt: skip

    def options(**groups: list[str]) -> dict[str, object]:
        return {name: [{"value": one, "image": None} for one in v] for name, v in groups.items()}

    odd: dict[str, dict[str, object]] = {
        "BUTTON": {"customization_options": options(color=["buy now", "back to search"])},
        "BRACKET": {"customization_options": options(size=["a[b", "c]"])},
        "TWICE": {"customization_options": options(color=["m", "m"], size=["m"])},
        "SIGNS": {"customization_options": options(color=["***", "é"], size=["{v}", "%s {item}"])},
        "LONG": {
            "name": "Lamp " + "x" * 40_000,
            "customization_options": options(size=["x" * 5000]),
        },
        "EMPTY": {"name": "", "query": ""},
        "BLANK": {"name": "Lamp"},
        "NONE": {"name": "Lamp"},
        "UNKNOWN": {"name": "Lamp"},
    }
    mined = {asin: {"attributes": ["very soft", "{rest} %s"]} for asin in odd}
    mined["BLANK"] = {"attributes": [" ", ""]}
    mined["NONE"] = {"attributes": []}
    del mined["UNKNOWN"]
    items = [{**record, "asin": asin, **changes} for asin, changes in odd.items()]
    (tmp_path / "items.json").write_text(json.dumps(items))
    (tmp_path / "mined.json").write_text(json.dumps(mined))
    build_catalog(
        tmp_path / "odd", items=tmp_path / "items.json", attributes=tmp_path / "mined.json"
    )
    for difficulty in DIFFICULTIES:
        for seed in range(5):
            goals = fresh_goals(tmp_path / "odd", 6, seed=seed, difficulty=difficulty)
            assert _products(goals) == {"BUTTON", "BRACKET", "TWICE", "SIGNS", "LONG", "EMPTY"}
            assert all(len(goal.instruction_text) < 500 for goal in goals)
    with pytest.raises(GoalError, match="only 6 of the 9"):
        fresh_goals(tmp_path / "odd", 7)

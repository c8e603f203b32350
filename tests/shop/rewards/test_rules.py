"""The reward: spec vectors of the released rules, and the paper's equations."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.errors import ErrandsError
from errands.shop.goals import Goal
from errands.shop.product import Product
from errands.shop.rewards.nouns import tagger
from errands.shop.rewards.registry import RULES, rules_named
from errands.shop.rewards.rules import (
    COLORS,
    Purchase,
    Reward,
    fuzzy_score,
    matches,
    normalize_color,
)

SNEAKERS = "Mens D.O.N. Issue 2 Gca Basketball Sneakers Shoes Casual - Off White"
CORD = "Saireed UL Listed 2 Prong Power Cord for JBL Bar 3.1 Bar 2.1 Channel 4K Ultra HD Soundbar"
OTHER_CORD = (
    "BRST AC Power Cord Outlet Socket Cable Plug Lead for Panasonic SC-HT830V DVD/VCR Combo Home"
    " Theater System"
)


def nouns(title: str) -> tuple[str, ...]:
    return tuple(tagger("lexicon").nouns(title))


def product(**changes: Any) -> Product:
    base: dict[str, Any] = {
        "asin": "B1",
        "title": SNEAKERS,
        "description": "",
        "bullets": (),
        "prices": (35.0,),
        "options": {},
        "option_images": {},
        "image": "",
        "category": "fashion",
        "query": "query 1",
        "product_category": "a › b › c",
        "attributes": (),
        "price": 35.0,
    }
    held = {**base, **changes}
    return Product(**{**held, "nouns": nouns(held["title"])})


def goal(**changes: Any) -> Goal:
    base: dict[str, Any] = {
        "asin": "B1",
        "category": "fashion",
        "query": "query 1",
        "name": SNEAKERS,
        "product_category": "a › b › c",
        "instruction_text": "",
        "attributes": ("tea tree", "essential oils", "natural ingredients"),
        "price_upper": 40.0,
        "goal_options": {"color": "grey", "size": "XL"},
        "weight": 1.0,
    }
    held = {**base, **changes}
    return Goal(**{**held, "nouns": nouns(held["name"])})


def judge(
    bought: Product, wanted: Goal, options: dict[str, str] | None = None, rules: str = "released"
) -> Reward:
    return rules_named(rules)(Purchase(bought, options or {}, bought.price), wanted)


FUZZY = """large~x-large 100; small~x-small 100; x-large~xx-large 93; 3x-large~4x-large 88;
medium~medium-large 100; 9~9 wide 100; 9~9.5 100; 8.5~9.5 67; 10.5~9.5 57; 7~8 0;
size 7~size 8 83; 6 us~7 us 75; pack of 1~pack of 12 95; pack of 2~pack of 3 89;
12 ounce (pack of 1)~12 ounce (pack of 2) 94; 12 ounce (pack of 1)~16 ounce (pack of 1) 94;
28" x 28"~16" x 16" 50; 28" x 28"~28" x 16" 100; king~california king 100;
powder snow~cool powder snow 100; 40~42 50; 60x40x40cm~60x40x50cm 90; 120ml~100ml 80;
30 oz~32 oz 80; essential oil~essential oils 96; machine wash~machine washable 86;
rubber sole~rubber outsole 88; easy clean~easy use 67; non slip~anti slip 71;
living room~dining room 82; long sleeve~short sleeve 71; gluten free~dairy free 57;
sugar free~gluten free 57; hair~dry hair 100; xl~('size','XL') 100"""


@pytest.mark.parametrize("case", [case.strip() for case in FUZZY.split(";")])
def test_fuzzy_pairs_of_the_original(case: str) -> None:
    pair, expected = case.rsplit(" ", 1)
    one, other = pair.split("~")
    # The original's matcher and ours may differ by a few points, never about the threshold.
    assert (fuzzy_score(one, other) > 85) == (int(expected) > 85)
    assert fuzzy_score(one, other) == pytest.approx(int(expected), abs=8)
    assert fuzzy_score(one, other) == fuzzy_score(other, one)


def test_fuzzy_edges() -> None:
    assert fuzzy_score("", "x") == 0
    assert fuzzy_score("!!!", "!!!") == 0
    assert fuzzy_score("café", "caf") == 100
    assert fuzzy_score("a_b", "a") < 85
    assert matches("a-b", "a")


@given(st.text(), st.text())
def test_fuzzy_is_symmetric_and_bounded(one: str, other: str) -> None:
    assert 0 <= fuzzy_score(one, other) <= 100
    assert fuzzy_score(one, other) == fuzzy_score(other, one)


COLOR_CASES = """light blue→blue; navy blue→blue; royal blue→blue; dark green→dark; rose gold→gold;
black | white→black; off white→white; heather grey→grey; charcoal heather→charcoal; red wine→red;
redwood→red; standard→tan; titan→tan; instant→tan; tangerine→tan; shredded→red; infrared→red;
bluetooth→blue; washed denim→ash; flash→ash; cash→ash; ashley→ash; seashell→ash; stonewash→ash;
sandstone→sand; limestone→lime; stainless steel→steel; aquamarine→aqua; gray→gray; grey→grey;
large→large; medium→medium; full→full; king→king; wide→wide; Black→Black; black forest→black;
violet lavender→lavender; steelivy fuchsia→fuchsia; 123alabaster→alabaster; webshop→webshop"""


@pytest.mark.parametrize("case", [case.strip() for case in COLOR_CASES.split(";")])
def test_colours(case: str) -> None:
    value, color = case.split("→")
    assert normalize_color(value) == color


def test_colour_list() -> None:
    assert len(COLORS) == 102
    assert list(COLORS) == sorted(COLORS)
    assert normalize_color("") == ""


@pytest.mark.parametrize(
    ("path", "match"),
    [
        ("a › b › c", True),
        ("b › c › a", True),
        ("d › e › f", False),
        ("a › d › b", True),
        ("a › a › b", True),
        ("a › a › d", False),
        ("", False),
    ],
)
def test_category_match(path: str, match: bool) -> None:
    parts = judge(product(product_category=path), goal()).parts
    assert parts["category_match"] is match
    assert parts["query_match"] is True
    assert parts["title_score"] == 1.0


def test_two_empty_paths_do_not_match() -> None:
    parts = judge(product(product_category=""), goal(product_category="")).parts
    assert parts["category_match"] is False


@pytest.mark.parametrize(
    ("score", "related", "expected"),
    [
        (0.0, True, 0.0),
        (0.05, True, 0.1),
        (0.05, False, 0.1),
        (0.1, True, 1.0),
        (0.2, True, 1.0),
        (0.1, False, 0.5),
        (0.2, False, 0.5),
        (0.25, False, 1.0),
    ],
)
def test_type_reward_table(score: float, related: bool, expected: float) -> None:
    target = tuple(f"noun{i}" for i in range(20))
    bought = product(query="query 1" if related else "query 2", product_category="x › y")
    import msgspec

    bought = msgspec.structs.replace(bought, nouns=target[: round(score * 20)])
    wanted = msgspec.structs.replace(goal(), nouns=target)
    assert judge(bought, wanted).parts["r_type"] == expected


def test_a_goal_without_nouns_scores_a_fifth() -> None:
    import msgspec

    wanted = msgspec.structs.replace(goal(), nouns=())
    assert judge(product(), wanted).parts["title_score"] == 0.2


@pytest.mark.parametrize(
    ("changes", "matched"),
    [
        ({"attributes": ("tea tree", "essential oil", "natural ingredients")}, 3),
        ({"attributes": ("essential oil", "natural ingredients")}, 2),
        (
            {
                "bullets": ("This shampoo has essential oils and smells like lemons",),
                "description": "Best shampoo on the market, made with natural ingredients",
            },
            2,
        ),
        (
            {
                "attributes": ("tea bag", "earl gray", "lipton"),
                "title": "English tea for breakfast",
                "bullets": ("Soothing aroma", "Calming, great feeling"),
                "description": "Best tea made by Lipton, great to pair with breakfast",
            },
            0,
        ),
        ({"title": "TEA TREE Oil"}, 1),
        ({"bullets": ("pure tea", "tree")}, 1),
    ],
)
def test_attributes(changes: dict[str, Any], matched: int) -> None:
    assert judge(product(**changes), goal()).parts["r_att"] == matched / 3


@pytest.mark.parametrize(
    ("wanted", "chosen", "matched"),
    [
        (("grey", "XL", "pack of 12"), ("pack of 12", "grey", "XL"), 3),
        (("grey", "XL", "pack of 12"), ("pack of 12", "blue", "XL"), 2),
        (("cool powder snow", "XL", "pack of 12"), ("pack of 12", "powder snow", "XL"), 3),
        (("grey", "XL"), (), 0),
        (("dark red",), ("dark green",), 1),
        (("large",), ("x-large",), 1),
    ],
)
def test_options(wanted: tuple[str, ...], chosen: tuple[str, ...], matched: int) -> None:
    options = {f"name {i}": value for i, value in enumerate(chosen)}
    parts = judge(product(), goal(goal_options=wanted), options).parts
    assert parts["r_option"] == matched / len(wanted)


def test_without_wanted_options_there_is_no_such_part() -> None:
    parts = judge(product(), goal(goal_options=()), {"size": "XL", "color": "red"}).parts
    assert "r_option" not in parts
    assert "w_option" not in parts
    assert parts["w_att"] == 3 / 4


def test_synthetic_options_are_pairs() -> None:
    def matched(wanted: dict[str, str], value: str) -> float:
        return judge(product(), goal(goal_options=wanted), {"any": value}).parts["r_option"]

    # The whole value is a colour: compared as the bare colour.
    assert matched({"color": "grey"}, "heather grey") == 1
    # A colour inside a value is seen on the bought side only.
    assert matched({"color": "light blue"}, "light blue") == 1
    assert matched({"color": "light blue"}, "navy blue") == 1
    # The pair's text has the name's words too: a value that is a subset of both matches.
    assert matched({"fit type": "men"}, "fit") == 1
    assert matched({"size": "7"}, "8") == 0


def test_totals_of_the_originals_tests() -> None:
    everything = ("tea tree", "essential oils", "natural ingredients")
    chosen = {"color": "grey", "size": "XL"}
    full = judge(product(attributes=everything), goal(), chosen)
    assert full.total == 1.0
    some = product(description="natural ingredients")
    assert judge(some, goal(), chosen).total == pytest.approx(2 / 3, abs=0.01)
    three = goal(goal_options={"color": "grey", "size": "XL", "amount": "pack of 12"})
    assert judge(some, three, chosen).total == pytest.approx(4 / 7, abs=0.01)
    apart = product(
        title=OTHER_CORD,
        query="query 2",
        product_category="a › d › e",
        description="natural ingredients",
    )
    far = goal(name=CORD, goal_options=three.goal_options)
    assert judge(apart, far, chosen).total == pytest.approx(0.2857, abs=0.01)


def test_the_cap_itself_is_affordable() -> None:
    assert judge(product(price=40.0), goal()).parts["r_price"] is True
    assert judge(product(price=40.01), goal()).parts["r_price"] is False


def test_paper_rules_match_exactly() -> None:
    bought = product(attributes=("tea tree", "essential oil"), description="natural ingredients")
    parts = judge(bought, goal(), {"color": "grey", "size": "x-large"}, "paper").parts
    assert parts["r_att"] == 1 / 3
    assert parts["r_option"] == 1 / 2
    swapped = judge(bought, goal(), {"size": "grey", "color": "XL"}, "paper").parts
    assert swapped["r_option"] == 0
    values = goal(goal_options=("grey", "XL"))
    assert judge(bought, values, {"any": "grey"}, "paper").parts["r_option"] == 1 / 2


def test_paper_rules_know_five_categories_and_whole_chains() -> None:
    parts = judge(product(query="other"), goal(), rules="paper").parts
    assert (parts["query_match"], parts["category_match"]) == (True, True)
    parts = judge(product(category="beauty"), goal(product_category="a › b"), rules="paper").parts
    assert (parts["query_match"], parts["category_match"]) == (False, False)


@given(
    attributes=st.lists(st.sampled_from(["tea tree", "essential oils", "soft", "red"]), max_size=4),
    options=st.dictionaries(st.sampled_from("abc"), st.text(max_size=8), max_size=3),
    title=st.text(max_size=40),
    price=st.floats(0, 1e6),
)
def test_rewards_are_between_0_and_1_and_agree_with_their_parts(
    attributes: list[str], options: dict[str, str], title: str, price: float
) -> None:
    bought = product(attributes=tuple(attributes), title=title, price=price)
    for rules in RULES.names():
        reward = judge(bought, goal(), options, rules)
        parts = reward.parts
        assert 0 <= reward.total <= 1
        assert reward.total == pytest.approx(
            parts["r_type"]
            * (
                parts["r_att"] * parts["w_att"]
                + parts["r_option"] * parts["w_option"]
                + parts["r_price"] * parts["w_price"]
            )
        )


def test_unknown_rules_are_one_sentence() -> None:
    with pytest.raises(ErrandsError, match="no reward rule 'strict'; expected released, paper"):
        rules_named("strict")

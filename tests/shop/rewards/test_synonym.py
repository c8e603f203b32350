"""The rules `synonym`: what a person would count, and never below the released rules."""

import random
from typing import Any

import gymnasium
import msgspec
import pytest
from effort import effort
from hypothesis import given, settings
from hypothesis import strategies as st

import errands.envs  # noqa: F401
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import Goal
from errands.shop.product import Product
from errands.shop.rewards.registry import rules_named
from errands.shop.rewards.rules import Purchase, Reward, paper, released
from errands.shop.rewards.synonym import Credit, second_look, synonym


def product(**changes: Any) -> Product:
    base: dict[str, Any] = {
        "asin": "B1",
        "title": "A thing",
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
        "nouns": ("thing",),
    }
    return Product(**{**base, **changes})


def goal(**changes: Any) -> Goal:
    base: dict[str, Any] = {
        "asin": "B1",
        "category": "fashion",
        "query": "query 1",
        "name": "A thing",
        "product_category": "a › b › c",
        "instruction_text": "",
        "attributes": ("lightweight",),
        "price_upper": 40.0,
        "goal_options": (),
        "weight": 1.0,
        "nouns": ("thing",),
    }
    return Goal(**{**base, **changes})


def look(
    bought: Product, wanted: Goal, options: dict[str, str] | None = None
) -> tuple[Reward, tuple[Credit, ...]]:
    return second_look(Purchase(bought, options or {}, bought.price), wanted)


class TestAttributes:
    def test_the_papers_example(self) -> None:
        reward, credits = look(product(description="Small, easy to carry and red."), goal())
        assert reward.total == 1.0
        assert credits == (Credit("attribute", "lightweight", "easy to carry", "description"),)

    @pytest.mark.parametrize("place", ["title", "bullets", "description", "attributes"])
    def test_everywhere_in_the_product(self, place: str) -> None:
        text: Any = "so easily carried"
        bought = product(**{place: (text,) if place in ("bullets", "attributes") else text})
        assert [credit.place for credit in look(bought, goal())[1]] == [place]

    def test_what_is_verbatim_is_no_synonym(self) -> None:
        assert look(product(title="A lightweight thing"), goal())[1] == ()

    @pytest.mark.parametrize(
        ("text", "counts"),
        [
            ("carries easily", True),
            ("featherweight", True),
            ("not featherweight", False),
            ("non-featherweight", False),
            ("cannot carry easily", False),
            ("not really featherweight", False),
            ("doesn't carry easily", False),
            ("won't be featherweight", False),
            ("no frills featherweight", True),
            ("easy. carry it", False),
            ("easy and carry", False),
            ("uneasy to carry", False),
        ],
    )
    def test_denied_or_divided_it_does_not_count(self, text: str, counts: bool) -> None:
        reward, _ = look(product(description=text), goal())
        assert (reward.parts["r_att"] == 1.0) == counts

    @pytest.mark.parametrize(
        ("wanted", "text", "counts"),
        [
            ("vitamin a", "Rich in Vitamin C", False),
            ("built in", "built to last", False),
            ("on ear", "over-ear", False),
            ("waterproof", "Not fully water-proofed", False),
            ("super soft", "Soft", False),
            ("super soft", "a very soft rug", True),
            ("easy apply", "it glides on the skin", True),
        ],
    )
    def test_small_words_that_say_something(self, wanted: str, text: str, counts: bool) -> None:
        reward, _ = look(product(description=text), goal(attributes=(wanted,)))
        assert (reward.parts["r_att"] == 1.0) == counts

    @pytest.mark.parametrize(
        ("wanted", "text", "counts"),
        [
            ("machine wash", "use a bag in the washing machine", False),
            ("hand wash", "wash your hands", False),
            ("space saving", "made to save your space", True),
            ("storage space", "ample space for storing things", True),
            ("height adjustable", "with adjustable height", True),
            ("elastic waist", "high waisted stretch jeans", False),
            ("classic fit", "it fits standard outlets", False),
            ("comfortable fit", "a comforter fit for a king", False),
            ("power amplifier", "a powerful amplifier", False),
            ("sugar free", "no sugar added", False),
            ("sugar free", "with no sugar at all", True),
            ("long lasting", "a durable zipper", False),
            ("long lasting", "a durable fabric", True),
            ("long lasting", "sturdy and durable", True),
        ],
    )
    def test_order_and_what_it_is_said_of(self, wanted: str, text: str, counts: bool) -> None:
        reward, _ = look(product(description=text), goal(attributes=(wanted,)))
        assert (reward.parts["r_att"] == 1.0) == counts

    @pytest.mark.parametrize(
        ("text", "counts"),
        [
            ("mens dress shirt slim fit men suits regular fit men suits wedding suits tall", False),
            ("plain shirts,striped shirts,regular fit shirts,cool shirts for men,polo shirts,"
             "work shirts,denim shirts", False),
            ("Fit type: regular fit / Neckline: round neck / Sleeve length: long sleeve / Season:"
             " spring", True),
            ("It has a regular fit and is made for all the days on which you are out of the house"
             " or at work with your friends.", True),
        ],
    )  # fmt: skip
    def test_search_words_say_nothing(self, text: str, counts: bool) -> None:
        reward, _ = look(product(description=text), goal(attributes=("classic fit",)))
        assert (reward.parts["r_att"] == 1.0) == counts

    def test_free_of_what_was_wanted(self) -> None:
        wanted = goal(attributes=("perfume",))
        assert look(product(description="fragrance-free"), wanted)[0].parts["r_att"] == 0.0
        assert look(product(description="with a fragrance"), wanted)[0].parts["r_att"] == 1.0
        wanted = goal(attributes=("alcohol free",))
        assert look(product(description="without alcohol"), wanted)[0].parts["r_att"] == 1.0
        assert look(product(description="alcohol without water"), wanted)[0].parts["r_att"] == 0.0


class TestOptions:
    WANTED = goal(attributes=("thing",), goal_options={"color": "crimson"})

    def given(self, offered: tuple[str, ...], chosen: str) -> Reward:
        bought = product(options={"color": offered}, title="thing")
        return look(bought, self.WANTED, {"color": chosen})[0]

    def test_a_shade_counts_where_the_right_one_is_not_offered(self) -> None:
        assert self.given(("red", "pearl"), "red").parts["r_option"] == 1.0
        assert self.given(("red", "pearl"), "pearl").parts["r_option"] == 0.0

    def test_whoever_had_the_right_one_beside_it_gains_nothing(self) -> None:
        assert self.given(("red", "crimson"), "red").parts["r_option"] == 0.0
        assert self.given(("red", "Crimson "), "red").parts["r_option"] == 0.0
        cyan = goal(attributes=("thing",), goal_options=("cyan",))
        bought = product(options={"color": ("teal", "cyan")}, title="thing")
        assert look(bought, cyan, {"color": "teal"})[0].parts["r_option"] == 0.0
        alone = product(options={"color": ("teal", "pearl")}, title="thing")
        assert look(alone, cyan, {"color": "teal"})[0].parts["r_option"] == 1.0

    @pytest.mark.parametrize(
        ("wanted", "chosen"),
        [
            ("in ear", "on ear"),
            ("12 in", "12 on"),
            ("glass", "glasses"),
            ("for kids", "by kid"),
            ("cup a", "cup b"),
            ("-1.50", "+1.50"),
        ],
    )
    def test_however_near_the_other_is(self, wanted: str, chosen: str) -> None:
        bought = product(options={"kind": (wanted.upper(), chosen)}, title="thing")
        asked = goal(attributes=("thing",), goal_options={"kind": wanted})
        purchase = Purchase(bought, {"kind": chosen}, 35.0)
        before, after = released(purchase, asked), synonym(purchase, asked)
        assert after.parts["r_option"] == before.parts["r_option"]

    @pytest.mark.parametrize(
        ("wanted", "chosen"), [("in ear", "on ear"), ("cup a", "cup b"), ("12 in", "12 oz")]
    )
    def test_small_words_tell_values_apart(self, wanted: str, chosen: str) -> None:
        bought = product(options={"kind": (chosen,)}, title="thing")
        asked = goal(attributes=("thing",), goal_options=(wanted,))
        assert look(bought, asked, {"kind": chosen})[1] == ()

    def test_the_wanted_one_spelled_otherwise_counts(self) -> None:
        wanted = goal(attributes=("thing",), goal_options=("12 ounce (pack of 2)",))
        bought = product(options={"size": ("pack of 2, 12 ounces", "x")}, title="thing")
        assert look(bought, wanted, {"size": "pack of 2, 12 ounces"})[0].parts["r_option"] == 1.0

    def test_the_very_value_counts_though_the_released_code_misses_it(self) -> None:
        wanted = goal(attributes=("thing",), goal_options={"shape": "rectangular"})
        bought = product(options={"shape": ("round", "rectangular")}, title="thing")
        purchase = Purchase(bought, {"shape": "rectangular"}, 35.0)
        assert released(purchase, wanted).parts["r_option"] == 0.0
        assert synonym(purchase, wanted).parts["r_option"] == 1.0

    @pytest.mark.parametrize(
        ("wanted", "chosen", "counts"),
        [
            ("extra large", "xl", True),
            ("6 feet", "6 ft", True),
            ("6 feet", "8 ft", False),
            ("large", "l", True),
            ("l", "x-large", False),
            ("l", "large blue", True),
            ("huge lamp", "l", False),
            ("12 count", "pack of 12", True),
            ("12 count", "pack of 13", False),
            ("12 in", "12 inch", True),
            ("12 inches", "12 in", True),
        ],
    )
    def test_sizes_and_numbers(self, wanted: str, chosen: str, counts: bool) -> None:
        bought = product(options={"size": (chosen,)}, title="thing")
        asked = goal(attributes=("thing",), goal_options=(wanted,))
        assert (look(bought, asked, {"size": chosen})[0].parts["r_option"] == 1.0) == counts


class TestType:
    def test_nouns_that_mean_the_same(self) -> None:
        bought = product(title="Red couch", nouns=("red", "couch"), product_category="")
        wanted = goal(name="Sofa", nouns=("sofa",), attributes=("red",), product_category="x")
        assert released(Purchase(bought, {}, 35.0), wanted).total == 0.0
        reward, credits = look(bought, wanted)
        assert (reward.total, reward.parts["title_score"]) == (1.0, 1.0)
        assert credits == (Credit("type", "sofa", "couch", "title"),)

    def test_queries_and_categories_that_mean_the_same(self) -> None:
        nouns = ("gadget", *(f"n{number}" for number in range(7)))
        bought = product(
            title="A gadget", nouns=("gadget",), query="mens trousers",
            product_category="Home › Couches",
        )  # fmt: skip
        base = {"name": "The gadget", "nouns": nouns, "attributes": ("thing",)}
        other = goal(query="men's pants", product_category="x", **base)
        reward, credits = look(bought, other)
        assert (reward.parts["query_match"], reward.parts["r_type"]) == (True, 1.0)
        assert credits[0].place == "query"
        reward, credits = look(bought, goal(query="z", product_category="Homes › Sofas", **base))
        assert (reward.parts["category_match"], reward.parts["r_type"]) == (True, 1.0)
        assert (
            look(bought, goal(query="z", product_category=" › ", **base))[0].parts["r_type"] == 0.5
        )

    @pytest.mark.parametrize(
        ("wanted", "bought", "counts"),
        [
            ("Mens Casual Sneaker Shoe", "Canvas Low Top Sneakers for Men", True),
            ("Mens Casual Sneaker Shoe", "Canvas Low Top Sneakers for Women", False),
            ("Mens Casual Sneaker", "Sneakers Unisex", True),
            ("Girls Sneaker", "Sneakers for Kids", True),
            ("Girls Sneaker", "Boys Sneakers", False),
            ("Girls Sneaker", "Sneakers", False),  # who is not named is grown up
            ("Baby Wipe", "Wipes for dogs", False),
            ("Graphic Tee", "Funny T-Shirt", True),
            ("Graphic Tee", "Dress Shirt", False),
            ("Summer Tops", "Red Tank Top", False),  # a kind of top, not any
            ("Face Blush Stick", "Natural Look Eyelashes", False),
            ("Storage Bags for Wigs", "Hair Bow Wig", False),
            ("Lamps", "Light", True),
            ("Trousers", "Shorts with Pants Pockets", False),
        ],
    )
    def test_head_noun_and_audience_must_agree(
        self, wanted: str, bought: str, counts: bool
    ) -> None:
        def nouns(title: str) -> tuple[str, ...]:
            return tuple(title.lower().replace("t-", "").split())

        thing = product(title=bought, nouns=nouns(bought))
        asked = goal(name=wanted, nouns=nouns(wanted), attributes=("thing",))
        told = [credit for credit in look(thing, asked)[1] if credit.part == "type"]
        assert bool(told) == counts

    def test_a_head_alone_is_not_enough_where_more_is_known(self) -> None:
        lamp = product(title="LED Lamp", nouns=("lamp",), query="kitchen islands",
                       product_category="Lighting › Pendant Lights")  # fmt: skip
        asked = goal(name="Wall Lights", nouns=("lights",), query="sconces",
                     product_category="Lighting › Wall Lamps & Sconces")  # fmt: skip
        assert look(lamp, asked)[1] == ()
        same = msgspec.structs.replace(asked, query="kitchen islands")
        assert look(lamp, same)[1] == (Credit("type", "lights", "lamp", "title"),)

    def test_what_does_not_help_is_not_told(self) -> None:
        bought = product(nouns=("thing", "couch"))
        assert look(bought, goal(nouns=("thing", "sofa"), attributes=("thing",)))[1] == ()


WORDS = (
    "sofa couch lounge red crimson blue navy large xl x-large small easy clean wipe non slip anti"
    " machine wash washable not free paraben without cotton living room sitting 12 ounce oz pack of"
    " 2 lamp light tan rectangular standard thing gray grey in on for by a b the to"
    " very glass glasses ear kid kids"
).split()
TEXT = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
NEAR = st.lists(
    st.sampled_from("in on for by a b the glass glasses ear kid kids".split()),
    min_size=1,
    max_size=3,
).map(" ".join)
"""Values that differ in little else than small words."""
TEXTS = st.lists(TEXT, max_size=4).map(tuple)
CHOICES = st.dictionaries(st.sampled_from(["color", "size", "style"]), TEXT, max_size=3)


@settings(max_examples=effort(40, 400))
@given(
    title=TEXT, bullets=TEXTS, description=TEXT, attributes=TEXTS, nouns=TEXTS, query=TEXT,
    path=TEXTS, chosen=CHOICES, more=TEXTS, wanted=TEXTS.filter(bool),
    asked=st.one_of(TEXTS, CHOICES), goal_nouns=TEXTS, goal_query=TEXT, goal_path=TEXTS,
    price=st.floats(1, 100),
)  # fmt: skip
def test_never_below_released(
    title: str, bullets: tuple[str, ...], description: str, attributes: tuple[str, ...],
    nouns: tuple[str, ...], query: str, path: tuple[str, ...], chosen: dict[str, str],
    more: tuple[str, ...], wanted: tuple[str, ...], asked: Any, goal_nouns: tuple[str, ...],
    goal_query: str, goal_path: tuple[str, ...], price: float,
) -> None:  # fmt: skip
    bought = product(
        title=title, bullets=bullets, description=description, attributes=attributes, nouns=nouns,
        query=query, product_category=" › ".join(path),
        options={name: (value, *more) for name, value in chosen.items()},
    )  # fmt: skip
    aim = goal(
        attributes=wanted, goal_options=asked, nouns=goal_nouns, query=goal_query,
        product_category=" › ".join(goal_path),
    )  # fmt: skip
    purchase = Purchase(bought, chosen, price)
    before, (after, credits) = released(purchase, aim), second_look(purchase, aim)
    assert before.total <= after.total <= 1.0
    assert list(after.parts) == list(before.parts)
    for name, value in before.parts.items():
        assert after.parts[name] >= value, name
    if not credits:
        assert after.total == before.total
    values = list(asked.values()) if isinstance(asked, dict) else list(asked)
    for credit in credits:
        if credit.part == "option":
            offered = {value for held in bought.options.values() for value in held}
            assert credit.wanted in values
            assert credit.wanted not in offered or credit.found == credit.wanted


@settings(max_examples=effort(40, 400))
@given(wanted=NEAR, other=NEAR, more=TEXTS)
def test_another_than_the_wanted_value_gains_nothing_where_that_is_offered(
    wanted: str, other: str, more: tuple[str, ...]
) -> None:
    bought = product(options={"kind": (wanted, other, *more)})
    for chosen in {other, *more} - {wanted}:
        purchase = Purchase(bought, {"kind": chosen}, 35.0)
        asked = goal(goal_options=(wanted,))
        before, after = released(purchase, asked), synonym(purchase, asked)
        assert after.parts["r_option"] == before.parts["r_option"]


def test_never_below_on_purchases_of_the_real_shop(catalog_1k: Catalog) -> None:
    rng = random.Random(7)
    goals = catalog_1k.goals("synthetic")
    products = list(catalog_1k)
    grew = 0
    for _ in range(1500):
        aim = goals[rng.randrange(len(goals))]
        bought = rng.choice(products) if rng.random() < 0.5 else catalog_1k[aim.asin]
        options = {name: rng.choice(values) for name, values in bought.options.items()}
        purchase = Purchase(bought, options, goals.price(bought))
        before, after = released(purchase, aim), synonym(purchase, aim)
        assert after.total >= before.total
        assert all(after.parts[name] >= value for name, value in before.parts.items())
        grew += after.total > before.total
    assert 10 < grew < 600


def test_an_environment_gives_it(little: Catalog) -> None:
    env = gymnasium.make("errands/Shop-v0", catalog=little, goals="human", rules="synonym")
    assert env.unwrapped.context.rules is rules_named("synonym") is synonym  # type: ignore[attr-defined]
    _, info = env.reset(options={"goal": 0})
    env.step(f"search[{info['instruction'][:60]}]")
    held = env.unwrapped.episode.page.clicks  # type: ignore[attr-defined]
    asin = next(name for name, target in held.items() if isinstance(target, int))
    env.step(f"click[{asin}]")
    _, reward, terminated, _, info = env.step("click[buy now]")
    assert terminated
    assert info["reward_parts"]["r_type"] >= 0
    assert 0 <= float(reward) <= 1
    assert paper is not synonym

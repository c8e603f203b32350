"""What cost an episode: every rule, one name for all below 1, and what is told in play."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.agents.oracles.choice_oracle import best_plan, is_perfect
from errands.runs.episode import Summary
from errands.runs.episode_source import ShopSource, TurkSource
from errands.runs.failures import (
    FAILURES,
    FieldLoss,
    ShopTrace,
    failure_of,
    shop_failure,
    turk_failure,
)
from errands.runs.play import PlayConfig, play
from errands.runs.protocol import Protocol
from errands.shop.catalog.catalog import Catalog


def bought(r_type: float = 1.0, r_att: float = 1.0, r_option: float = 1.0, r_price: bool = True):
    parts = {"r_type": r_type, "r_att": r_att, "w_att": 0.4, "r_option": r_option,
             "w_option": 0.4, "r_price": r_price, "w_price": 0.2}  # fmt: skip
    total = r_type * (0.4 * r_att + 0.4 * r_option + 0.2 * r_price)
    return total, parts


FOUND = ShopTrace(found=True, steps=9, invalid=0, last="click[buy now]")
LOST = FOUND._replace(found=False)


@pytest.mark.parametrize(
    ("purchase", "trace", "name"),
    [
        (bought(), FOUND, ""),
        (bought(), LOST, ""),
        (bought(r_type=0.5), FOUND, "wrong product"),
        (bought(r_type=0.0, r_att=0.0), FOUND, "wrong product"),
        (bought(r_type=0.5), LOST, "never found"),
        (bought(r_option=0.0), LOST, "never found"),
        (bought(r_att=0.5), FOUND, "missing attribute"),
        (bought(r_option=0.5), FOUND, "wrong option"),
        (bought(r_price=False), FOUND, "over price"),
        (bought(r_att=0.5, r_option=0.0), FOUND, "wrong option"),
        (bought(r_att=0.0, r_option=0.5), FOUND, "missing attribute"),
        (bought(r_att=0.5, r_option=0.5), FOUND, "missing attribute"),
        (bought(r_att=0.75, r_price=False), FOUND, "over price"),
        ((0.5, {"mine": 0.5}), FOUND, "unknown"),
        ((0.5, {"r_type": 1.0, "r_att": 1.0, "w_att": 1.0}), FOUND, "unknown"),
        ((0.0, {}), FOUND, "out of steps"),
        ((0.0, {}), LOST, "never found"),
        ((0.0, {}), LOST._replace(invalid=5), "invalid actions"),
        ((0.0, {}), LOST._replace(invalid=4), "never found"),
        ((0.0, {}), FOUND._replace(invalid=9, last="wait"), "gave up"),
        ((0.0, {}), FOUND._replace(last="click[x]", idle=3), "gave up"),
        ((0.0, {}), FOUND._replace(last="click[x]", idle=2), "out of steps"),
        ((0.0, {}), ShopTrace(found=False, steps=0, invalid=0), "never found"),
    ],
)
def test_the_shops_rules(
    purchase: tuple[float, dict[str, Any]], trace: ShopTrace, name: str
) -> None:
    reward, parts = purchase
    assert shop_failure(reward, parts, trace) == name


@pytest.mark.parametrize(
    ("reward", "fields", "is_submitted", "invalid", "name"),
    [
        (1.0, [FieldLoss("text", False, 1.0)], True, 0, ""),
        (1.0, [], False, 9, ""),
        (0.0, [FieldLoss("text", True, 0.0)], False, 0, "not submitted"),
        (0.0, [], False, 5, "invalid actions"),
        (0.0, [], True, 9, "nothing counted"),
        (0.5, [FieldLoss("text", True, 0.0), FieldLoss("radio", False, 1.0)], True, 0,
         "left empty"),
        (0.5, [FieldLoss("text", True, 0.0), FieldLoss("radio", False, 0.0)], True, 0,
         "left empty"),
        (0.2, [FieldLoss("select", False, 0.0), FieldLoss("text", False, 0.4)], True, 0,
         "wrong choice"),
        (0.2, [FieldLoss("checkbox", False, 0.5), FieldLoss("textarea", False, 0.1)], True, 0,
         "wrong text"),
        (0.2, [FieldLoss("range", False, -0.5), FieldLoss("text", False, 0.0)], True, 0,
         "wrong number"),
    ],
)  # fmt: skip
def test_the_rules_of_form_pages(
    reward: float, fields: Sequence[FieldLoss], is_submitted: bool, invalid: int, name: str
) -> None:
    found = turk_failure(reward, fields, is_submitted=is_submitted, steps=9, invalid=invalid)
    assert found == name


SHARES = st.floats(0, 1, allow_subnormal=False)
PARTS = st.one_of(
    st.just({}),
    st.builds(lambda *each: bought(*each)[1], SHARES, SHARES, SHARES, st.booleans()),
    st.dictionaries(st.sampled_from(["r_type", "r_att", "w_att", "mine"]), SHARES),
)
TRACES = st.builds(
    ShopTrace, st.booleans(), st.integers(0, 20), st.integers(0, 20), st.text(max_size=5),
    st.integers(0, 20),
)  # fmt: skip
FIELDS = st.builds(
    FieldLoss, st.sampled_from(["text", "radio", "range", "date", "odd"]), st.booleans(), SHARES
)


@given(SHARES, PARTS, TRACES, st.lists(FIELDS), st.booleans())
def test_every_episode_below_1_has_one_name_and_none_at_1(
    reward: float,
    parts: Mapping[str, Any],
    trace: ShopTrace,
    fields: list[FieldLoss],
    is_submitted: bool,
) -> None:
    form = turk_failure(
        reward, fields, is_submitted=is_submitted, steps=trace.steps, invalid=trace.invalid
    )
    for domain, name in (("shop", shop_failure(reward, parts, trace)), ("turk", form)):
        assert (name in FAILURES[domain]) is (reward < 1)
        assert (name == "") is (reward >= 1)
        kept = failure_of(domain, reward, {**parts, "failure": name})
        assert kept == name
        older = failure_of(domain, reward, parts)
        assert (older in FAILURES[domain]) is (reward < 1)


def test_errors_have_no_name_and_older_runs_what_their_parts_tell() -> None:
    reward, parts = bought(r_option=0.0)
    assert failure_of("shop", None, {"failure": "gave up"}) == ""
    assert failure_of("shop", float("nan"), {}) == ""
    assert failure_of("shop", reward, parts) == "wrong option"
    assert failure_of("shop", reward, {**parts, "failure": "over price"}) == "over price"
    assert failure_of("shop", reward, {**parts, "failure": ["odd"]}) == "wrong option"
    assert failure_of("shop", reward, {"r_type": "odd"}) == "unknown"
    assert failure_of("shop", 0.0, {}) == "unknown"
    assert failure_of("turk", 0.5, {"fields": [["f", "text", 0.5, 0.5, None]]}) == "unknown"


class Player:
    """Does what it is told, and then the last of it again."""

    def __init__(self, *script: str) -> None:
        self._script = list(script)

    def begin(self, observation: Any, info: Mapping[str, Any]) -> None: ...

    def act(self, observation: Any, info: Mapping[str, Any]) -> str:
        assert "failure" not in str(info)
        return self._script.pop(0) if len(self._script) > 1 else self._script[0]


@pytest.fixture(scope="module")
def shop(little: Catalog) -> ShopSource:
    return ShopSource(
        Protocol(
            id="t", version=1, title="t", domain="shop", data=str(little.path), goals="human",
            episodes=30, max_steps=8,
        )
    )  # fmt: skip


def played(source: ShopSource | TurkSource, number: int, *script: str) -> Summary:
    return play(source, source.env(), Player(*script), number, PlayConfig()).summary


def test_what_is_played_in_the_shop_is_named(shop: ShopSource) -> None:
    env = shop.env()
    names = set()
    for number in range(len(shop.keys)):
        goal = shop.goals[shop.indices[number]]
        query = f"search[{goal.instruction_text}]"
        env.reset(options=shop.options(number))
        plan = best_plan(env.episode, goal.instruction_text)
        assert plan is not None
        won = played(shop, number, *plan.actions)
        assert ("failure" in won.parts) is (won.reward < 1)
        if plan.best.reward.total >= 1 and plan.best.options:
            unchosen = [
                each for each in plan.actions if each != f"click[{plan.best.options[0][1]}]"
            ]
            careless = played(shop, number, *unchosen)
            assert careless.parts["failure"] == "wrong option"
            names.add("wrong option")
        turns = ["click[next >]", "click[< prev]"] * 3
        looked = played(shop, number, query, *turns, "click[next >]")
        wanted = shop.catalog.number(goal.asin)
        on_pages = shop.catalog.find(goal.instruction_text, 50)[:20]
        expected = "out of steps" if wanted in on_pages else "never found"
        assert looked.parts["failure"] == expected
        names.add(expected)
    assert "wrong option" in names
    assert "out of steps" in names


def test_giving_up_and_nonsense_are_told_apart(shop: ShopSource) -> None:
    waited = played(shop, 0, "wait")
    assert (waited.parts["failure"], waited.parts["invalid"]) == ("gave up", 8)
    stuck = played(shop, 0, "search[lamp]", "click[no such thing]")
    assert (stuck.parts["failure"], stuck.parts["invalid"]) == ("gave up", 7)
    babble = played(shop, 0, *(f"nonsense {n}" for n in range(8)))
    assert (babble.parts["failure"], babble.parts["invalid"]) == ("invalid actions", 8)
    assert played(shop, 0, "").parts["invalid"] == 8
    nothing = played(shop, 0, "search[zzzzqq]", "click[back to search]", "search[qqqzz]",
                     "click[back to search]", "search[zzq]", "click[back to search]",
                     "search[qqzq]", "click[back to search]")  # fmt: skip
    assert nothing.parts["failure"] == "never found"


def test_a_perfect_product_that_was_opened_is_found(shop: ShopSource) -> None:
    env = shop.env()
    told = 0
    for number in range(len(shop.keys)):
        env.reset(options=shop.options(number))
        wanted = shop.catalog.number(env.episode.goal.asin)
        for other in range(len(shop.catalog)):
            product = shop.catalog.product(other)
            if other == wanted or not is_perfect(env.episode, other, product):
                continue
            page = shop.catalog.find(product.title, 50)[:10]
            if other in page and wanted not in page:
                told += 1
                search, click = f"search[{product.title}]", f"click[{product.asin}]"
                seen = played(shop, number, search, "click[next >]", "click[< prev]",
                              *["click[next >]", "click[< prev]"] * 3)  # fmt: skip
                if wanted not in shop.catalog.find(product.title, 50)[:20]:
                    assert seen.parts["failure"] == "never found"
                opened = played(shop, number, search, click, "click[description]",
                                *["click[< prev]", "click[description]"] * 3)  # fmt: skip
                assert opened.parts["failure"] == "out of steps"
                break
    assert told > 0


def test_what_is_played_on_forms_is_named() -> None:
    source = TurkSource(
        Protocol(
            id="t", version=1, title="t", domain="turk", data="demo", tasks=("Receipt Reading",),
            episodes=1, max_steps=4, rules="paper", observation="html",
            settings={"driver": "dom"},
        )
    )  # fmt: skip
    try:
        empty = played(source, 0, "submit()")
        assert (empty.parts["failure"], empty.parts["invalid"]) == ("left empty", 0)
        env = source.env()
        env.reset(options=source.options(0))
        name = next(field.name for field in env.page.fields(list(env.instance.labels)))
        late = played(source, 0, f"modify_text({name!r}, 'x')")
        assert late.status == "truncated"
        assert late.parts["failure"] == "not submitted"
        babble = played(source, 0, "no such call")
        assert (babble.parts["failure"], babble.parts["invalid"]) == ("invalid actions", 4)
    finally:
        source.close()

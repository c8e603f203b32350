"""Trying out a page: seeded, and of everything enough."""

import random
from collections import Counter
from itertools import islice

from errands.turk.actions.action import Action
from errands.turk.dom.driver import DomDriver
from errands.turk.effects.explore import Attempt, explore

HTML = """<input type="radio" name="r" value="1"><input type="radio" name="r" value="2">
<input type="checkbox" name="c" value="x"><textarea name="t"></textarea>
<input name="hidden" style="display:none"><input type="date" name="d"><input type="color" name="k">
<select name="s"><option value="">Choose<option>A</select><input type="range" name="n">"""
NAMES = ["r", "c", "t", "hidden", "d", "k", "s", "n", "absent"]


def walk(seed: int, steps: int) -> list[Action]:
    page = DomDriver().open(HTML)
    done = []
    for _, action in islice(explore(page, NAMES, random.Random(seed)), steps):
        page.perform(action)
        done.append(action)
    return done


def test_the_same_seed_goes_the_same_way() -> None:
    assert walk(1, 30) == walk(1, 30)
    assert walk(1, 30) != walk(2, 30)


def test_all_that_is_displayed_is_tried() -> None:
    actions = walk(1, 100)
    assert {str(each.arguments["name"]) for each in actions} == {"r", "c", "t", "d", "s", "n"}
    assert "" not in {each.arguments["value"] for each in actions}
    texts = [each.arguments["value"] for each in actions if each.arguments["name"] == "t"]
    assert len(texts) == len(set(texts)) > 3


def test_what_cost_least_comes_until_it_is_enough() -> None:
    page = DomDriver().open(HTML)
    cost: Counter[Attempt] = Counter()
    for way, action in explore(page, NAMES, random.Random(0), cost, 3):
        page.perform(action)
        cost[way] += 1
        assert cost.total() < 500
    assert {name for name, _ in cost} == {"r", "c", "t", "d", "s", "n"}
    # Both ways of every choice: what is ticked, and what is not.
    assert {way for way in cost if way[0] == "c"} == {("c", "x True"), ("c", "x False")}
    assert all(tries >= 3 for way, tries in cost.items() if way[0] in ("t", "d", "n"))


def test_a_page_without_fields_ends_it() -> None:
    assert list(explore(DomDriver().open("<p>Nothing"), NAMES, random.Random(0))) == []

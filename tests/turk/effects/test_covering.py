"""Covering everything a user could do: every value, every pair in both orders."""

import random
from itertools import permutations

from errands.turk.effects.covering import Choice, PairCoverage, choices_of, keys_of
from errands.turk.pages.comparison import PageState
from errands.turk.pages.field import Field


def state_of(*fields: Field, **values: tuple[str, ...]) -> PageState:
    held = {field.name: values.get(field.name, ()) for field in fields}
    return PageState(fields, held, held, "")


def keys(state: PageState, literals: frozenset[str] = frozenset()) -> set[tuple[str, str]]:
    parts = choices_of(state, literals, 7)
    return {choice.key for choices in parts.values() for choice in choices}


def test_choices_of_every_kind_of_field() -> None:
    state = state_of(
        Field("r", "radio", True, ("a", "", "b")),
        Field("c", "checkbox", True, ("on", "x|y", "off")),
        Field("s", "select", True, ("", "1")),
        Field("t", "text", False),
        Field("n", "number", True),
        Field("h", "hidden", False),
        c=("on",),
    )
    assert keys(state) == {
        *(("r", "a"), ("r", "b")),
        *(("c: on", "off"), ("c: off", "on")),
        *(("s", ""), ("s", "1")),
        *(("t", "words"), ("t", "number"), ("t", "paragraph")),
        *(("n", "3"), ("n", "0"), ("n", "250"), ("n", "2.5")),
    }


def test_texts_are_new_ones_each_time() -> None:
    state = state_of(Field("t", "textarea", True))
    first, second = (choices_of(state, (), turn)["t"][0].action for turn in (1, 2))
    assert first != second


def test_long_drop_downs_are_covered_by_classes() -> None:
    state = state_of(Field("s", "select", True, tuple(str(n) for n in range(100))))
    values = {value for _, value in keys(state, frozenset({"77"}))}
    assert values == {"0", "1", "33", "50", "66", "77", "99"}


def test_passes_cover_all_pairs_in_both_orders() -> None:
    fields = [Field(name, "radio", True, tuple("abcd")) for name in "pqrstu"]
    parts = choices_of(state_of(*fields), (), 0)
    rng = random.Random(1)
    coverage = PairCoverage()
    coverage.know(frozenset(each.key for part in parts.values() for each in part))
    actions = 0
    seen: set[tuple[tuple[str, str], tuple[str, str]]] = set()
    while coverage.left() or not actions:
        taken: dict[str, Choice] = {}
        for _ in range(3):
            for part in rng.sample(sorted(parts), len(parts)):
                choice = coverage.best(parts[part], list(taken.values()), rng)
                before = [each for each in taken.values() if each.key != choice.key]
                coverage.note(choice, list(taken.values()), taken=True)
                seen |= {(each.key, choice.key) for each in before}
                taken[part] = choice
                actions += 1
    every = [(name, value) for name in "pqrstu" for value in "abcd"]
    assert set(permutations(every, 2)) == seen, "of the same field, too"
    assert (coverage.values, coverage.pairs) == (24, len(seen))
    assert actions < len(seen), "fewer actions than pairs"


def test_what_a_page_refuses_has_nothing_after_it() -> None:
    parts = choices_of(
        state_of(Field("a", "radio", True, ("1",)), Field("b", "radio", False, ("2",))), (), 0
    )
    coverage = PairCoverage()
    coverage.know(frozenset(each.key for part in parts.values() for each in part))
    (a,), (b,) = parts["a"], parts["b"]
    coverage.note(a, [], taken=True)
    assert coverage.left() == {(a.key, b.key)}
    coverage.note(b, [a], taken=False)
    assert (coverage.values, coverage.pairs, coverage.left()) == (1, 1, set())


def test_values_of_different_rows_make_no_pair() -> None:
    coverage = PairCoverage()
    for value in "xy":
        fields = Field("a", "radio", True, (value,)), Field("b", "radio", True, (value,))
        parts = choices_of(state_of(*fields), (), 0)
        coverage.know(frozenset(each.key for part in parts.values() for each in part))
        (a,), (b,) = parts["a"], parts["b"]
        coverage.note(a, [], taken=True)
        coverage.note(b, [a], taken=True)
    assert coverage.left() == {(("b", value), ("a", value)) for value in "xy"}


def test_boxes_are_known_on_and_off() -> None:
    state = state_of(Field("c", "checkbox", True, ("x",)), c=("x",))
    assert keys_of(state, ()) == {("c: x", "on"), ("c: x", "off")}

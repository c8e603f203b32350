"""Reactions, learnt from steps written here and from pages in a browser."""

from collections.abc import Mapping

import pytest

from errands.turk.actions.action import Action
from errands.turk.browser.driver import BrowserDriver
from errands.turk.dom.driver import DomDriver
from errands.turk.dom.effects import (
    CHECKED,
    EMPTY,
    UNCHECKED,
    Effect,
    EffectRule,
    Fact,
    Target,
    Trigger,
)
from errands.turk.effects.infer import (
    EffectInference,
    NotInferable,
    PageTransition,
    Place,
    infer,
)

YES, NO = Trigger("q", 0, CHECKED), Trigger("q", 1, CHECKED)
MORE = Target("", 0, '[id="more"]')
SHOWN: Place = (MORE, "shown")


def step(
    trigger: Trigger | None, changes: Mapping[Place, tuple[Fact, Fact]] | None = None
) -> PageTransition:
    return PageTransition(trigger, changes or {})


def test_what_is_always_so_afterwards_is_an_effect() -> None:
    stretches = [
        [step(NO), step(YES, {SHOWN: (False, True)}), step(YES), step(NO, {SHOWN: (True, False)})]
    ]
    assert infer(stretches) == (
        EffectRule(NO, (Effect(*SHOWN, False),)),
        EffectRule(YES, (Effect(*SHOWN, True),)),
    )


def test_what_is_not_always_so_is_none() -> None:
    flips = [step(YES, {SHOWN: (False, True)}), step(YES, {SHOWN: (True, False)})]
    assert infer([flips, flips]) == ()


def test_what_the_action_itself_does_is_none() -> None:
    ticked: dict[Place, tuple[Fact, Fact]] = {(Target("q", 0), "checked"): (False, True)}
    other: dict[Place, tuple[Fact, Fact]] = {
        (Target("q", 0), "checked"): (True, False),
        (Target("q", 1), "checked"): (False, True),
    }
    assert infer([[step(YES, ticked), step(NO, other)]]) == ()


def test_a_page_may_take_a_tick_back() -> None:
    # The change is not seen, for nothing is different afterwards; another time it stays.
    own: Place = (Target("q", 0), "checked")
    assert infer([[step(YES)], [step(None, {own: (False, True)})]]) == (
        EffectRule(YES, (Effect(*own, False),)),
    )


def test_clearing_one_box_tells_of_all() -> None:
    none = Trigger("none", 0, CHECKED)
    box: Place = (Target("b", 4), "checked")
    stretch = [
        step(Trigger("b", 4, CHECKED), {box: (False, True)}),
        step(none, {box: (True, False)}),
    ]
    (reaction,) = infer([stretch])
    assert Effect(Target("b", 0), EMPTY, True) in reaction.effects


def test_an_effect_may_depend_on_one_other_choice() -> None:
    box = Trigger("c", 0, CHECKED)
    ticked: Place = (Target("c", 0), "checked")
    with_box = [step(box, {ticked: (False, True)}), step(YES, {SHOWN: (False, True)})]
    unticked = step(Trigger("c", 0, UNCHECKED), {ticked: (True, False)})
    stretches = [with_box, with_box, [step(YES)], [step(YES), unticked._replace(changes={})]]
    assert set(infer(stretches)) == {
        EffectRule(YES, (Effect(*SHOWN, True),), Trigger("c", 0, CHECKED)),
        EffectRule(YES, (Effect(*SHOWN, False),), Trigger("c", 0, UNCHECKED)),
    }


FOLD = """<!DOCTYPE html><style>.collapsed { display: none }</style>
<input type="radio" name="q" value="yes" onclick="fold(false)">
<input type="radio" name="q" value="no" onclick="fold(true)">
<div><div id="more"><input name="why"></div></div><input type="hidden" name="copy">
<script>function fold(away) {
  document.getElementById('more').classList.toggle('collapsed', away);
  document.querySelector('[name=copy]').value = away ? 'away' : 'here';
}</script>"""


def test_a_page_in_a_browser_teaches_what_it_does(browser_driver: BrowserDriver) -> None:
    lessons = EffectInference(browser_driver)
    lessons.explore([(FOLD, ["q", "why"])])
    effect_rules = lessons.rules()
    page = DomDriver(effect_rules=effect_rules).open(FOLD)
    for answer, shown, copy in (
        ("no", False, "away"),
        ("yes", True, "here"),
        ("no", False, "away"),
    ):
        page.perform(Action("modify_radio", {"name": "q", "value": answer}))
        assert page.fields(["why"])[0].visible is shown
        assert page.values("copy") == [copy]
        assert ('class="collapsed"' in page.html()) is not shown
    again = EffectInference(browser_driver)
    again.explore([(FOLD, ["q", "why"])])
    assert again.rules() == effect_rules


def test_fields_that_come_and_go_cannot_be_learnt(browser_driver: BrowserDriver) -> None:
    grows = """<input type="checkbox" name="c" value="1" onclick="document.body.append(
        Object.assign(document.createElement('input'), {name: 'new'}))">"""
    with pytest.raises(NotInferable, match="come and go by modify_checkbox"):
        EffectInference(browser_driver).explore([(grows, ["c"])])


def test_words_that_come_and_go_do_no_harm(browser_driver: BrowserDriver) -> None:
    says = """<input type="checkbox" name="c" value="1" onclick="
        document.getElementById('said').innerHTML = '<b>Thanks</b> <i>a lot</i>';
        document.querySelector('[name=t]').disabled = this.checked">
        <div id="said"></div><input name="t">"""
    lessons = EffectInference(browser_driver)
    lessons.explore([(says, ["c", "t"])])
    assert set(lessons.rules()) == {
        EffectRule(Trigger("c", 0, CHECKED), (Effect(Target("t", 0), "@disabled", ""),)),
        EffectRule(Trigger("c", 0, UNCHECKED), (Effect(Target("t", 0), "@disabled", None),)),
    }


def test_a_driver_that_cannot_tell_teaches_nothing() -> None:
    with pytest.raises(NotInferable, match="cannot tell"):
        EffectInference(DomDriver()).explore([(FOLD, ["q"])])

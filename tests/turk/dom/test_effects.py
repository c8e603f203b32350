"""Learned reactions on pages without a browser."""

import pytest

from errands.turk.actions.action import Action
from errands.turk.dom.driver import DomDriver
from errands.turk.dom.effects import (
    AGAIN,
    CHECKED,
    EMPTY,
    INPUT,
    UNCHECKED,
    Effect,
    EffectRule,
    Target,
    Trigger,
    chosen,
)
from errands.turk.pages.driver import ActionError, OpenPage

HTML = """<style>.off { display: none }</style>
<label><input type="radio" name="q" value="yes">Yes</label>
<label><input type="radio" name="q" value="no">No</label>
<input type="checkbox" name="none" value="on">
<div id="more" class="off"><p><input name="why"></p></div>
<input type="checkbox" name="b" value="1"><input type="checkbox" name="b" value="2">
<select name="s"><option value="a">A<option value="b">B</select>
<input type="hidden" name="copy"><textarea name="t"></textarea>"""
MORE = Target("", 0, '[id="more"]')


def opened(*effect_rules: EffectRule) -> OpenPage:
    return DomDriver(effect_rules=effect_rules).open(HTML)


def on(name: str, index: int, state: str, *effects: Effect) -> EffectRule:
    return EffectRule(Trigger(name, index, state), effects)


def act(page: OpenPage, call: str, name: str, value: str) -> None:
    page.perform(Action(f"modify_{call}", {"name": name, "value": value}))


def visible(page: OpenPage, name: str) -> bool:
    return page.fields([name])[0].visible


def test_a_part_is_shown_and_hidden() -> None:
    page = opened(
        on("q", 0, CHECKED, Effect(MORE, "shown", True), Effect(MORE, "@class", "on")),
        on("q", 1, CHECKED, Effect(MORE, "shown", False)),
    )
    assert not visible(page, "why")
    act(page, "radio", "q", "yes")
    assert visible(page, "why")
    assert 'class="on"' in page.html()
    act(page, "text", "why", "because")
    act(page, "radio", "q", "no")
    assert not visible(page, "why")
    assert page.values("why") == ["because"]


def test_the_style_of_a_class_follows() -> None:
    page = opened(on("q", 0, CHECKED, Effect(MORE, "@class", None)))
    act(page, "radio", "q", "yes")
    assert visible(page, "why")


def test_texts_boxes_and_options_are_overwritten() -> None:
    page = opened(
        on(
            "none",
            0,
            CHECKED,
            Effect(Target("t", 0), "value", "--NONE--"),
            Effect(Target("t", 0), "@disabled", ""),
            Effect(Target("b", 0), EMPTY, True),
            Effect(Target("s", 0), "chosen", "1"),
            Effect(Target("copy", 0), "@value", "none"),
        ),
        on("none", 0, UNCHECKED, Effect(Target("t", 0), "@disabled", None)),
    )
    act(page, "text", "t", "words")
    act(page, "checkbox", "b", "1|2")
    act(page, "checkbox", "none", "on")
    names = ["t", "b", "s", "copy"]
    assert page.values_of(names) == {"t": ["--NONE--"], "b": [], "s": ["b"], "copy": ["none"]}
    with pytest.raises(ActionError, match="disabled"):
        act(page, "text", "t", "again")
    act(page, "checkbox", "none", "on")
    act(page, "text", "t", "again")
    assert page.values("t") == ["again"]


def test_what_is_disabled_is_no_option_and_is_not_ticked() -> None:
    page = opened(on("b", 0, CHECKED, Effect(Target("b", 1), "@disabled", "")))
    act(page, "checkbox", "b", "1|2")
    assert page.values("b") == ["1"]
    assert page.fields(["b"])[0].options == ("1",)


def test_triggers_are_told_apart() -> None:
    def said(word: str) -> Effect:
        return Effect(Target("copy", 0), "@value", word)

    page = opened(
        on("q", 1, CHECKED, said("no")),
        on("q", 1, AGAIN, said("no again")),
        on("s", 0, chosen(1), said("b")),
        on("t", 0, INPUT, said("text")),
    )
    for call, name, value, word in (
        ("radio", "q", "yes", ""),
        ("radio", "q", "no", "no"),
        ("radio", "q", "no", "no again"),
        ("select", "s", "a", "no again"),
        ("select", "s", "b", "b"),
        ("text", "t", "x", "text"),
    ):
        act(page, call, name, value)
        assert page.values("copy") == [word]


def test_an_effect_may_hang_on_another_choice() -> None:
    shown = (Effect(MORE, "shown", True),)
    trigger = Trigger("none", 0, CHECKED)
    for given, wanted in (
        (Trigger("q", 0, EMPTY), [True, False, False]),
        (Trigger("q", 1, CHECKED), [False, False, True]),
        (Trigger("q", 1, UNCHECKED), [True, True, False]),
    ):
        found = []
        for answer in ("", "yes", "no"):
            page = opened(EffectRule(trigger, shown, given))
            act(page, "radio", "q", answer)
            act(page, "checkbox", "none", "on")
            found.append(visible(page, "why"))
        assert found == wanted


def test_elements_that_are_not_there_are_passed_over() -> None:
    page = opened(
        on(
            "q",
            0,
            CHECKED,
            Effect(Target("", 0, '[id="gone"]'), "shown", False),
            Effect(Target("", 0, "]not a selector["), "shown", False),
            Effect(Target("b", 9), "checked", True),
            Effect(Target("b", 1), "checked", True),
        )
    )
    act(page, "radio", "q", "yes")
    assert page.values("b") == ["2"]

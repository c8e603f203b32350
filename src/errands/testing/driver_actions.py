"""The conformance suite's half about actions, and what both halves use."""

from errands.turk.actions.action import Action, Value
from errands.turk.pages.driver import ActionError, Driver, OpenPage, Unsupported

__all__ = ["ActionConformance", "both", "do", "message_of", "page_of", "quiet", "refused", "shown"]


def page_of(driver: Driver, body: str, style: str = "") -> OpenPage:
    return driver.open(
        "<!DOCTYPE html><html><head><title>A page</title>"
        f"<style>{style}</style></head><body><form>{body}</form></body></html>"
    )


def do(page: OpenPage, action: str, name: str, value: Value) -> None:
    page.perform(Action(action, {"name": name, "value": value}))


def shown(page: OpenPage) -> dict[str, bool]:
    return {field.name: field.visible for field in page.fields()}


def both(page: OpenPage, name: str) -> tuple[list[str], list[str]]:
    return page.values(name), page.values(name, attributes=True)


def message_of(page: OpenPage, action: Action, error: type[ActionError] = ActionError) -> str:
    """What the driver says when it refuses an action, which it must."""
    caught: ActionError | None = None
    try:
        page.perform(action)
    except error as refusal:
        caught = refusal
    assert caught is not None, f"{action} should be refused"
    message = str(caught)
    assert message, f"the refusal of {action} should say what was wrong"
    unsupported = isinstance(caught, Unsupported) and error is ActionError
    assert not unsupported, f"{action.name} is an action every driver has"
    return message


def refused(page: OpenPage, action: str, name: str, value: Value, *words: str) -> None:
    """The action raises `ActionError`, says why, and changes nothing."""
    names = [field.name for field in page.fields()]
    before = page.html(), [both(page, each) for each in names]
    message = message_of(page, Action(action, {"name": name, "value": value}))
    for word in words:
        assert word in message, f"the refusal {message!r} should mention {word!r}"
    after = page.html(), [both(page, each) for each in names]
    assert before == after, f"a refused {action} must change nothing"


def quiet(page: OpenPage, action: str, name: str, *values: Value) -> None:
    """The action does nothing, and does not complain."""
    before = page.html(), both(page, name)
    for value in values:
        do(page, action, name, value)
        after = page.html(), both(page, name)
        assert before == after, f"{action}({name!r}, {value!r}) must do nothing"


class ActionConformance:
    """Every text action on every type of field, before and after."""

    def test_modify_text(self, driver: Driver) -> None:
        page = page_of(
            driver,
            "<input name=a value=old><input name=a value=second><textarea name=t>old</textarea>",
        )
        do(page, "modify_text", "a", 'new & "quoted" <b>')
        assert both(page, "a") == (['new & "quoted" <b>', "second"],) * 2
        do(page, "modify_text", "t", "one\ntwo & <three>")
        assert page.values("t") == ["one\ntwo & <three>"]
        assert page.values("t", attributes=True) == ["one\ntwo &amp; &lt;three&gt;"]
        do(page, "modify_text", "a", 12)
        assert page.values("a")[0] == "12", "text replaces text"
        assert 'value="12"' in page.html()

    def test_modify_text_does_nothing_for_nothing(self, driver: Driver) -> None:
        page = page_of(driver, "<input name=a value=old><textarea name=t>old</textarea>")
        for name in "at":
            quiet(page, "modify_text", name, "", "nan", float("nan"), 0, None)

    def test_modify_text_of_typed_inputs(self, driver: Driver) -> None:
        good = {
            "number": ("12.50", "12.50"), "date": ("2024-02-29", "2024-02-29"),
            "time": ("23:59", "23:59"), "month": ("2024-02", "2024-02"),
            "week": ("2020-W53", "2020-W53"), "color": ("#A0b0C0", "#a0b0c0"),
            "datetime-local": ("2024-02-29T10:00", "2024-02-29T10:00"),
            "email": ("a@b.c", "a@b.c"), "url": ("http://a", "http://a"), "tel": ("+1 2", "+1 2"),
            "search": ("x", "x"), "password": ("x", "x"),
        }  # fmt: skip
        page = page_of(driver, "".join(f"<input type={t} name={t}>" for t in good))
        for name, (typed, kept) in good.items():
            do(page, "modify_text", name, typed)
            assert page.values(name) == [kept], f"{name} should keep {kept!r}"
            assert page.values(name, attributes=True) == [typed]
        for name in ("number", "date", "time", "month", "week", "color", "datetime-local"):
            refused(page, "modify_text", name, "some words", name)

    def test_modify_text_keeps_to_one_line_and_maxlength(self, driver: Driver) -> None:
        page = page_of(driver, "<input name=a maxlength=3><textarea name=t maxlength=3></textarea>")
        for name in "at":
            do(page, "modify_text", name, "abcdef")
            assert page.values(name) == ["abc"]
        page = page_of(driver, "<input name=a>")
        do(page, "modify_text", "a", "one\ntwo")
        assert page.values("a") == ["onetwo"]

    def test_modify_text_refused(self, driver: Driver) -> None:
        page = page_of(
            driver,
            "<input name=off disabled><input name=read readonly><input name=gone hidden>"
            "<input type=hidden name=hidden><textarea name=area readonly></textarea>"
            "<fieldset disabled><legend><input name=fine></legend><input name=set></fieldset>"
            "<input type=radio name=radio value=1><input type=checkbox name=box value=1>"
            "<input type=range name=range><select name=list><option value=1></select>"
            "<input type=file name=file><input type=button name=button><div name=div></div>",
        )
        for name in "off read gone hidden area set radio box range list file button div".split():
            refused(page, "modify_text", name, "x", name)
        refused(page, "modify_text", "absent", "x", "absent")
        do(page, "modify_text", "fine", "x")
        assert page.values("fine") == ["x"]

    def test_modify_checkbox_toggles_what_is_listed(self, driver: Driver) -> None:
        boxes = "".join(f"<input type=checkbox name=c value={v}>" for v in "abcd")
        page = page_of(driver, boxes + "<input type=checkbox name=one>")
        do(page, "modify_checkbox", "c", "a|c|missing")
        assert both(page, "c") == (["a", "c"],) * 2
        assert page.html().count("checked") == 2
        do(page, "modify_checkbox", "c", "c|d|nan")
        assert both(page, "c") == (["a", "d"],) * 2, "a listed box is clicked; others stay"
        do(page, "modify_checkbox", "one", "on")
        assert page.values("one") == ["on"]

    def test_modify_checkbox_by_number(self, driver: Driver) -> None:
        page = page_of(
            driver, "<input type=checkbox name=c value=1><input type=checkbox name=c value=2>"
        )
        do(page, "modify_checkbox", "c", "1.0|2.0")
        assert page.values("c") == ["1", "2"]
        do(page, "modify_checkbox", "c", 2)
        do(page, "modify_checkbox", "c", 1.0)
        assert page.values("c") == []

    def test_modify_checkbox_refused_or_quiet(self, driver: Driver) -> None:
        page = page_of(
            driver,
            "<input type=checkbox name=c value=a><input type=checkbox name=c value=b>"
            "<input type=checkbox name=off value=a disabled><input name=t>"
            "<input type=checkbox name=d value=a><input type=checkbox name=d value=b hidden>",
        )
        quiet(page, "modify_checkbox", "c", "", "nan", "nan|nan", float("nan"))
        refused(page, "modify_checkbox", "c", "x", "c", "a", "b")
        refused(page, "modify_checkbox", "off", "a", "off")
        refused(page, "modify_checkbox", "d", "a|b", "d")
        refused(page, "modify_checkbox", "t", "a", "t")
        refused(page, "modify_checkbox", "absent", "a", "absent")

    def test_modify_radio(self, driver: Driver) -> None:
        page = page_of(
            driver,
            "<input type=radio name=r value=1 checked><input type=radio name=r value=2>"
            "<input type=radio name=r value=yes><input type=radio name=e value=''>",
        )
        values: list[tuple[Value, str]] = [
            ("2", "2"), (1, "1"), (2.9, "2"), ("1.0", "1"), ("yes", "yes"), ("yes", "yes"),
        ]  # fmt: skip
        for value, chosen in values:
            do(page, "modify_radio", "r", value)
            assert both(page, "r") == ([chosen], [chosen]), f"after {value!r}"
        do(page, "modify_radio", "e", "")
        assert page.values("e") == [""]

    def test_modify_radio_refused_or_quiet(self, driver: Driver) -> None:
        page = page_of(
            driver,
            "<input type=radio name=r value=1 checked><input type=radio name=r value=2 disabled>"
            "<input type=radio name=r value=3 hidden><input type=checkbox name=c value=1>",
        )
        quiet(page, "modify_radio", "r", "", "nan", "None", float("nan"))
        refused(page, "modify_radio", "r", "4", "r", "1")
        for value in ("2", "3"):
            refused(page, "modify_radio", "r", value, "r")
        refused(page, "modify_radio", "c", "1", "c")
        refused(page, "modify_radio", "absent", "1", "absent")

    def test_modify_select(self, driver: Driver) -> None:
        options = "<option value=''>-<option value=1>a<optgroup><option>b c</optgroup></select>"
        page = page_of(driver, f"<select name=s>{options}<select name=m multiple>{options}")
        values: list[tuple[Value, str]] = [("1", "1"), ("", ""), (1.0, "1"), ("1.7", "1")]
        for value, chosen in values:
            do(page, "modify_select", "s", value)
            assert both(page, "s") == ([chosen], [chosen]), f"after {value!r}"
        assert 'selected=""' in page.html()
        do(page, "modify_select", "s", "b c")
        assert both(page, "s") == (["b c"], [])
        do(page, "modify_select", "m", "1")
        do(page, "modify_select", "m", "b c")
        assert page.values("m") == ["1", "b c"], "a list of many choices keeps the others"

    def test_modify_select_refused(self, driver: Driver) -> None:
        page = page_of(
            driver,
            "<select name=s><option value=1>one<option value=2 disabled>two</select>"
            "<select name=off disabled><option value=1>a</select><select name=empty></select>"
            "<select name=gone hidden><option value=1>a</select><input name=t>",
        )
        for value in ("3", "one", "nan", ""):
            refused(page, "modify_select", "s", value, "s", "1")
        refused(page, "modify_select", "s", "2", "s")
        for name in ("off", "empty", "gone", "t", "absent"):
            refused(page, "modify_select", name, "1", name)

    def test_modify_range(self, driver: Driver) -> None:
        page = page_of(
            driver, "<input type=range name=r min=0 max=10><input type=range name=s step=.5>"
        )
        values: list[tuple[Value, str, str]] = [
            (3, "3", "3"), ("4.0", "4", "4"), (3.3333333333333335, "3", "3.3333333333333335"),
            ("99", "10", "99"), (-1, "0", "-1"),
        ]  # fmt: skip
        for value, live, markup in values:
            do(page, "modify_range", "r", value)
            assert both(page, "r") == ([live], [markup]), f"after {value!r}"
        do(page, "modify_range", "s", 2.5)
        assert page.values("s") == ["2.5"]

    def test_modify_range_refused_or_quiet(self, driver: Driver) -> None:
        page = page_of(
            driver,
            "<input type=range name=r><input type=range name=off disabled><input name=t>"
            "<input type=range name=gone hidden>",
        )
        quiet(page, "modify_range", "r", "nan", "None", float("nan"))
        for value in ("high", "1;alert(1)", "", "inf"):
            refused(page, "modify_range", "r", value, "r")
        for name in ("off", "t", "gone", "absent"):
            refused(page, "modify_range", name, 1, name)

    def test_waiting_scrolling_and_submitting(self, driver: Driver) -> None:
        page = page_of(driver, "<input name=a value=1><div name=d></div><input type=submit>")
        for name in ("a", "d"):
            for action in ("wait_for_element", "scroll_to_element"):
                page.perform(Action(action, {"name": name}))
        for action in ("wait_for_element", "scroll_to_element"):
            assert "absent" in message_of(page, Action(action, {"name": "absent"}))
        page.perform(Action("maximize"))
        page.perform(Action("submit"))
        assert page.values("a") == ["1"], "a submitted page can still be read"

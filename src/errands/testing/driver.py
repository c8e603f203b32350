"""Is a page driver right? What an agent meets on a page, as tests for anybody's driver.

Small pages written by hand, with what a browser shows and does on them; every text action on
every type of field, before and after. `compare` sets two drivers against each other.
"""

from typing import Final, Protocol

import pytest

from errands.turk.actions.action import Action, Value
from errands.turk.pages.comparison import Difference, compare
from errands.turk.pages.driver import ActionError, Driver, OpenPage, Unsupported

__all__ = ["TEXT_ACTIONS", "Difference", "DriverConformance", "compare"]

TEXT_ACTIONS: Final = frozenset(
    {"modify_text", "modify_checkbox", "modify_radio", "modify_select", "modify_range", "get_html",
     "wait_for_element", "scroll_to_element", "maximize", "submit"}
)  # fmt: skip
"""Actions that every driver has."""

_INPUTS: Final = (
    "text password email number tel url search date time month week datetime-local color "
    "range radio checkbox hidden file submit button"
).split()


class OpenForm(Protocol):
    """Opens a page with a form of this body, under these styles."""

    def __call__(self, body: str, style: str = "") -> OpenPage: ...


def do(page: OpenPage, action: str, name: str, value: Value) -> None:
    page.perform(Action(action, {"name": name, "value": value}))


def shown(page: OpenPage) -> dict[str, bool]:
    return {field.name: field.visible for field in page.fields()}


def both(page: OpenPage, name: str) -> tuple[list[str], list[str]]:
    return page.values(name), page.values(name, attributes=True)


def message_of(page: OpenPage, action: Action, error: type[ActionError] = ActionError) -> str:
    """What the driver says when it refuses an action, which it must."""
    try:
        page.perform(action)
    except error as refusal:
        message = str(refusal)
        assert message, f"the refusal of {action} should say what was wrong"
        unsupported = isinstance(refusal, Unsupported) and error is ActionError
        assert not unsupported, f"{action.name} is an action every driver has"
        return message
    raise AssertionError(f"{action} should be refused")


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


class DriverConformance:
    """To test your own driver, subclass this and say how one is made:

    class TestMine(DriverConformance):
        @pytest.fixture
        def driver(self) -> Driver:
            return MyDriver()
    """

    @pytest.fixture
    def driver(self) -> Driver:
        """The driver; with `scope="class"` one serves all tests."""
        raise NotImplementedError(
            "Override the fixture `driver(self)` in your class: it makes the driver to test."
        )

    @pytest.fixture
    def form(self, driver: Driver) -> OpenForm:
        def opened(body: str, style: str = "") -> OpenPage:
            return driver.open(
                "<!DOCTYPE html><html><head><title>A page</title>"
                f"<style>{style}</style></head><body><form>{body}</form></body></html>"
            )

        return opened

    # Contract

    def test_names_itself_and_its_actions(self, driver: Driver) -> None:
        assert driver.name
        missing = TEXT_ACTIONS - driver.actions
        assert not missing, f"{driver.name} lacks {missing}"

    def test_an_action_it_does_not_have_is_unsupported(
        self, driver: Driver, form: OpenForm
    ) -> None:
        page = form("<input name=a>")
        for name in ("no_such_action", "click"):
            if name not in driver.actions:
                action = Action(name, {"x": 0.5, "y": 0.5})
                assert name in message_of(page, action, Unsupported)

    def test_pages_do_not_share_state(self, form: OpenForm) -> None:
        one, two = form("<input name=a>"), form("<input name=a>")
        do(one, "modify_text", "a", "x")
        assert (one.values("a"), two.values("a")) == (["x"], [""])
        one.close()
        two.close()

    # Fields

    def test_type_of_every_input(self, form: OpenForm) -> None:
        page = form("".join(f"<input type={t} name={t}>" for t in _INPUTS))
        names = [name for name in _INPUTS if name != "submit"]
        assert {f.name: f.type for f in page.fields()} == {name: name for name in names}

    def test_type_is_the_effective_one(self, form: OpenForm) -> None:
        page = form(
            "<input name=none><input type='' name=empty><input type=RaDiO name=case>"
            "<input type=whatever name=unknown><input type=' radio' name=space>"
            "<select name=s></select><textarea name=t></textarea>"
        )
        assert {f.name: f.type for f in page.fields()} == {
            "none": "text", "empty": "text", "case": "radio", "unknown": "text",
            "space": "text", "s": "select", "t": "textarea",
        }  # fmt: skip

    def test_first_element_of_a_name_decides(self, form: OpenForm) -> None:
        page = form(
            "<div name=a></div><input name=a><input name=b type=radio><input name=b>"
            "<button name=c></button><input name=c><input name=d hidden><input name=d>"
        )
        fields = {f.name: (f.type, f.visible) for f in page.fields(["a", "b", "c", "d", "e"])}
        assert fields == {"b": ("radio", True), "d": ("text", False)}

    def test_excluded_and_unnamed_controls_are_no_fields(self, form: OpenForm) -> None:
        page = form(
            "<input><input name=''><input type=hidden name=csrfmiddlewaretoken>"
            "<input name=worker_ip><input name=ee><input name=submit type=submit><input name=k>"
        )
        assert [f.name for f in page.fields()] == ["k"]
        assert page.fields(["ee", "worker_ip", "submit"]) == []

    def test_visible_fields_come_first(self, form: OpenForm) -> None:
        page = form(
            "<p><input name=a hidden><p><input name=b><p><input name=c hidden><p><input name=d>"
        )
        assert [f.name for f in page.fields(["a", "b", "c", "d"])] == ["b", "d", "a", "c"]

    def test_names_are_taken_literally(self, form: OpenForm) -> None:
        names = ["it's", 'say "x"', "a[0]", "a.b", "a\\b", "ü ", "Q1", "q1"]
        body = "".join(f"<input name='{n.replace(chr(39), '&#39;')}'>" for n in names)
        page = form(body)
        assert [f.name for f in page.fields(names)] == names
        for name in names:
            do(page, "modify_text", name, f"for {name}")
        assert [page.values(name) for name in names] == [[f"for {name}"] for name in names]

    def test_options_are_the_values_to_choose_from(self, form: OpenForm) -> None:
        page = form(
            "<input type=radio name=r value=1><input type=radio name=r><input type=radio name=r"
            " value=1><input type=radio name=r value=off disabled>"
            "<input type=checkbox name=c value='a b'><input type=checkbox name=c value=''>"
            "<select name=s><option>  Two \n words </option><option value=2>x<optgroup label=g>"
            "<option value=3>y</optgroup><option disabled value=4>z"
            "<optgroup disabled><option value=5></optgroup></select><input name=t>"
        )
        assert {f.name: f.options for f in page.fields()} == {
            "r": ("1", "on"), "c": ("a b", ""), "s": ("Two words", "2", "3"), "t": (),
        }  # fmt: skip

    # HTML5 error recovery

    def test_nested_forms_are_dropped(self, form: OpenForm) -> None:
        page = form(
            "<form><input type=radio name=r value=1></form>"
            "<input type=radio name=r value=2 checked>"
        )
        assert page.html().count("<form") == 1
        assert page.values("r") == ["2"]

    def test_unclosed_and_misnested_tags(self, form: OpenForm) -> None:
        page = form(
            "<div><b><p>one<table><tr><td><input name=a><div><input name=b></table><input name=c "
            "<input name=d><input name=e value=1 value=2/><textarea name=f><input name=g>"
        )
        assert {f.name for f in page.fields()} == {"a", "b", "c", "e", "f"}
        assert page.values("e") == ["1"]
        assert page.values("f")[0].startswith("<input name=g>")

    def test_attributes_of_every_quoting(self, form: OpenForm) -> None:
        page = form(
            """<input name="a"value="1>2"><input name='b' value='&lt;&amp;&quot;'><input NAME=c
            Value=&copy;/ ><input name=d value=a"b><input name = "e"  value = 'x'><input/name=f>"""
        )
        values = {f.name: page.values(f.name)[0] for f in page.fields()}
        assert values == {"a": "1>2", "b": '<&"', "c": "©/", "d": 'a"b', "e": "x", "f": ""}

    def test_what_is_not_in_the_document(self, form: OpenForm) -> None:
        page = form(
            "<!-- <input name=a> --><template><input name=b></template><noscript><input name=c>"
            "</noscript><script type=text/plain><input name=d></script><style><input name=e>"
            "</style><iframe><input name=f></iframe><input name=z>"
        )
        assert [f.name for f in page.fields()] == ["z"]

    def test_odd_characters(self, form: OpenForm) -> None:
        page = form("<input name=a value='x\0y'><p>\0\x01\ufffe</p><input name=b\0>")
        assert page.values("a") == ["x\ufffdy"]
        assert [f.name for f in page.fields()] == ["a", "b\ufffd"]

    # Values at load

    def test_text_values_at_load(self, form: OpenForm) -> None:
        page = form(
            "<input name=a value=' x '><input name=a><input name=b type=password value=p>"
            "<input name=h type=hidden value=h><input name=e type=email value=' a@b '>"
            "<input name=n type=number value=1x><input name=m type=number value=1e2>"
            "<input name=d type=date value=2024-02-30><input name=f type=date value=2024-02-29>"
            "<input name=c type=color value=#ABCDEF><input name=k type=color value=nonsense>"
        )
        live = {f.name: page.values(f.name) for f in page.fields()}
        assert live == {
            "a": [" x ", ""], "b": ["p"], "h": ["h"], "e": ["a@b"], "n": [""], "m": ["1e2"],
            "d": [""], "f": ["2024-02-29"], "c": ["#abcdef"], "k": ["#000000"],
        }  # fmt: skip
        markup = {name: page.values(name, attributes=True) for name in ("a", "e", "n", "d", "c")}
        assert page.values_of(markup, attributes=True) == markup
        assert page.values_of([*live, "none"]) == {**live, "none": []}
        assert page.values_of([]) == {}
        assert markup == {
            "a": [" x ", ""], "e": [" a@b "], "n": ["1x"], "d": ["2024-02-30"], "c": ["#ABCDEF"],
        }  # fmt: skip

    def test_textarea_values_at_load(self, form: OpenForm) -> None:
        page = form(
            "<textarea name=a>\n\n x &amp; &lt;b> </textarea><textarea name=b readonly>r</textarea>"
            "<textarea name=c readonly>r</textarea><textarea name=c>w</textarea>"
        )
        assert both(page, "a") == (["\n x & <b> "], ["\n x &amp; &lt;b&gt; "])
        assert both(page, "b") == ([], []), "read-only text areas are left out"
        assert both(page, "c") == (["w"], ["w"])

    def test_select_values_at_load(self, form: OpenForm) -> None:
        three = "<option value=1>a<option value=2 {}>b<option value=3 {}>c</select>"
        page = form(
            f"<select name=first>{three.format('', '')}"
            f"<select name=last>{three.format('selected', 'selected')}"
            f"<select name=many multiple>{three.format('selected', 'selected')}"
            f"<select name=list size=3>{three.format('', '')}"
            "<select name=off><option value=0 disabled>-<option value=1>a</select>"
            "<select name=text><option> a \n b </option></select><select name=none></select>"
            "<select name=group><optgroup><option value=g selected></optgroup><option value=o>"
            "</select>"
        )
        values = {f.name: both(page, f.name) for f in page.fields()}
        group = values.pop("group")
        assert group == (["g"], []), "read as markup, options inside a group are not seen"
        assert {name: live for name, (live, _) in values.items()} == {
            "first": ["1"], "last": ["3"], "many": ["2", "3"], "list": [], "off": ["1"],
            "text": ["a b"], "none": [],
        }  # fmt: skip
        assert all(live == markup for live, markup in values.values())

    def test_choice_values_at_load(self, form: OpenForm) -> None:
        page = form(
            "<input type=radio name=r value=1 checked><input type=radio name=r value=2 checked>"
            "<input type=radio name=none value=1><input type=radio name=on checked>"
            "<input type=checkbox name=c value=1 checked><input type=checkbox name=c value=2>"
            "<input type=checkbox name=c checked><input type=submit name=s value=Go>"
        )
        values = {f.name: both(page, f.name) for f in page.fields()}
        assert values == {
            "r": (["2"], ["2"]), "none": ([], []), "on": (["on"], ["on"]),
            "c": (["1", "on"], ["1", "on"]), "s": ([], []),
        }  # fmt: skip

    def test_radio_groups_are_by_form(self, driver: Driver) -> None:
        group = "<input type=radio name=r value={}1 checked><input type=radio name=r value={}2>"
        page = driver.open(
            f"<!DOCTYPE html><form id=a>{group.format('a', 'a')}</form>"
            f"<form>{group.format('b', 'b')}</form>"
            "<input type=radio form=a name=r value=a3 checked>"
        )
        assert page.values("r") == ["b1", "a3"]
        do(page, "modify_radio", "r", "b2")
        assert page.values("r") == ["b2", "a3"]

    def test_range_values_at_load(self, form: OpenForm) -> None:
        ranges = {
            "plain": ("", "50"), "text": ("value=x", "50"), "low": ("min=10 max=20 value=1", "10"),
            "high": ("max=5 value=7", "5"), "step": ("min=1 max=10 step=4 value=8", "9"),
            "middle": ("min=1 max=6", "4"), "any": ("step=any value=1.25", "1.25"),
            "turned": ("min=10 max=5", "10"), "fine": ("min=0 max=1 step=0.1 value=.33", "0.3"),
        }  # fmt: skip
        page = form("".join(f"<input type=range name={n} {a}>" for n, (a, _) in ranges.items()))
        assert {n: page.values(n) for n in ranges} == {n: [v] for n, (_, v) in ranges.items()}
        assert page.values("high", attributes=True) == ["7"]
        assert page.values("plain", attributes=True) == [""]

    # Visibility

    def test_hidden_by_itself(self, form: OpenForm) -> None:
        page = form(
            "<input name=plain><input name=type type=hidden><input name=attribute hidden>"
            "<input name=display style='display: none'>"
            "<input name=visibility style=visibility:hidden>"
            "<input name=opacity style='opacity:0'><input name=faint style='opacity:.1'>"
            "<input name=important style='display:none!important;display:block'>"
            "<input name=invalid style='display:none;display:nonsense'>"
            "<input name=shown hidden style='display:inline'>"
            "<input name=nothing type=radio style='width:0;height:0'>"
            "<input name=bordered style='width:0;height:0'>"
            "<input name=away style='position:absolute;left:-9999px'>"
        )
        hidden = {name for name, visible in shown(page).items() if not visible}
        assert hidden == {
            "type", "attribute", "display", "visibility", "opacity", "important", "invalid",
            "nothing", "away",
        }  # fmt: skip

    def test_hidden_by_an_ancestor(self, form: OpenForm) -> None:
        page = form(
            "<div hidden><p><input name=a></div><div style=display:none><input name=b></div>"
            "<div style=visibility:hidden><input name=c>"
            "<input name=d style=visibility:visible></div>"
            "<div style=opacity:0><input name=e style=opacity:1></div>"
            "<div style='height:0;overflow:hidden'><input name=f></div>"
            "<div style='height:0'><input name=g></div>"
            "<details><summary><input name=h></summary><input name=i></details>"
            "<details open><summary>x</summary><input name=j></details>"
            "<dialog><input name=k></dialog><datalist><input name=l></datalist>"
            "<dialog open><input name=m></dialog>"
        )
        seen = {name for name, visible in shown(page).items() if visible}
        assert seen == {"d", "g", "h", "j", "m"}

    def test_hidden_by_a_style_sheet(self, form: OpenForm) -> None:
        page = form(
            "<input name=a class='x'><input name=b id=b class=x><input name=c class='x y'>"
            "<div class=box><p><input name=d></p><input name=e></div><input name=f type=radio>"
            "<input name=g class=print><input name=h class=wide><input name=i class=narrow>"
            "<input name=j class=x style='display:inline'><input name=k class=last>",
            ".x { display: none } #b { display: inline } .y { display: inline !important }"
            "div.box > p { visibility: hidden } [type=radio], nonsense { opacity: 0 }"
            "a:nonsense(b), .k { display: none } /* .e {display:none} */"
            "@media print { .print { display: none } }"
            "@media (min-width: 600px) { .wide { display: none } }"
            "@media screen and (max-width: 600px) { .narrow { display: none } }"
            ".last { display: block } .last { display: none } .last { color: red; display: ;}",
        )
        hidden = {name for name, visible in shown(page).items() if not visible}
        assert hidden == {"a", "d", "f", "h", "k"}

    def test_style_follows_the_state(self, form: OpenForm) -> None:
        page = form(
            "<input type=checkbox name=more value=1><div class=rest><input name=rest></div>",
            ".rest { display: none } input:checked ~ .rest { display: block }",
        )
        assert shown(page) == {"more": True, "rest": False}
        refused(page, "modify_text", "rest", "x", "rest")
        do(page, "modify_checkbox", "more", "1")
        assert shown(page) == {"more": True, "rest": True}
        do(page, "modify_text", "rest", "x")
        do(page, "modify_checkbox", "more", "1")
        assert shown(page) == {"more": True, "rest": False}
        assert page.values("rest") == ["x"]

    # Reading the page

    def test_html_is_the_page_as_it_is(self, form: OpenForm) -> None:
        page = form("<p>Hello<input name=a><textarea name=t></textarea>")
        do(page, "modify_text", "a", "typed")
        do(page, "modify_text", "t", "written")
        html = page.html()
        for part in ("<p>Hello", 'value="typed"', ">written</textarea>", "</html>"):
            assert part in html
        assert page.perform(Action("get_html")) == html

    def test_html_of_a_field_is_on_target(self, form: OpenForm) -> None:
        rows = "".join(
            f"<p>row {i}<span><input name=f{i} value='a>b'></span></p>" for i in range(40)
        )
        page = form(f"<div><h1>Top</h1>{rows}</div>")
        part = page.html("f20")
        assert isinstance(part, str)
        assert 'name="f20"' in part
        assert "Top" not in part
        assert len(part.splitlines()) <= 15, "five lines before, nine after"
        assert page.perform(Action("get_html", {"name": "f20"})) == part
        assert "absent" in message_of(page, Action("get_html", {"name": "absent"}))

    def test_text_is_what_a_person_reads(self, form: OpenForm) -> None:
        page = form(
            "<h1>Title</h1><p>One  <b>two</b>\nthree</p><p hidden>not this</p><div class=x>nor this"
            "</div><ul><li>a<li>b</ul>before<br>after<script>var x</script><!-- no -->"
            "<table><tr><td>left<td>right</table>",
            ".x{display:none}",
        )
        lines = [" ".join(line.split()) for line in page.text().splitlines() if line.strip()]
        assert lines == [
            "Title", "One two three", "a", "b", "before", "after", "left right"
        ]  # fmt: skip

    # Actions

    def test_modify_text(self, form: OpenForm) -> None:
        page = form(
            "<input name=a value=old><input name=a value=second><textarea name=t>old</textarea>"
        )
        do(page, "modify_text", "a", 'new & "quoted" <b>')
        assert both(page, "a") == (['new & "quoted" <b>', "second"],) * 2
        do(page, "modify_text", "t", "one\ntwo & <three>")
        assert page.values("t") == ["one\ntwo & <three>"]
        assert page.values("t", attributes=True) == ["one\ntwo &amp; &lt;three&gt;"]
        do(page, "modify_text", "a", 12)
        assert page.values("a")[0] == "12", "text replaces text"
        assert 'value="12"' in page.html()

    def test_modify_text_does_nothing_for_nothing(self, form: OpenForm) -> None:
        page = form("<input name=a value=old><textarea name=t>old</textarea>")
        for name in "at":
            quiet(page, "modify_text", name, "", "nan", float("nan"), 0, None)

    def test_modify_text_of_typed_inputs(self, form: OpenForm) -> None:
        good = {
            "number": ("12.50", "12.50"), "date": ("2024-02-29", "2024-02-29"),
            "time": ("23:59", "23:59"), "month": ("2024-02", "2024-02"),
            "week": ("2020-W53", "2020-W53"), "color": ("#A0b0C0", "#a0b0c0"),
            "datetime-local": ("2024-02-29T10:00", "2024-02-29T10:00"),
            "email": ("a@b.c", "a@b.c"), "url": ("http://a", "http://a"), "tel": ("+1 2", "+1 2"),
            "search": ("x", "x"), "password": ("x", "x"),
        }  # fmt: skip
        page = form("".join(f"<input type={t} name={t}>" for t in good))
        for name, (typed, kept) in good.items():
            do(page, "modify_text", name, typed)
            assert page.values(name) == [kept], f"{name} should keep {kept!r}"
            assert page.values(name, attributes=True) == [typed]
        for name in ("number", "date", "time", "month", "week", "color", "datetime-local"):
            refused(page, "modify_text", name, "some words", name)

    def test_modify_text_keeps_to_one_line_and_maxlength(self, form: OpenForm) -> None:
        page = form("<input name=a maxlength=3><textarea name=t maxlength=3></textarea>")
        for name in "at":
            do(page, "modify_text", name, "abcdef")
            assert page.values(name) == ["abc"]
        page = form("<input name=a>")
        do(page, "modify_text", "a", "one\ntwo")
        assert page.values("a") == ["onetwo"]

    def test_modify_text_refused(self, form: OpenForm) -> None:
        page = form(
            "<input name=off disabled><input name=read readonly><input name=gone hidden>"
            "<input type=hidden name=hidden><textarea name=area readonly></textarea>"
            "<fieldset disabled><legend><input name=fine></legend><input name=set></fieldset>"
            "<input type=radio name=radio value=1><input type=checkbox name=box value=1>"
            "<input type=range name=range><select name=list><option value=1></select>"
            "<input type=file name=file><input type=button name=button><div name=div></div>"
        )
        for name in "off read gone hidden area set radio box range list file button div".split():
            refused(page, "modify_text", name, "x", name)
        refused(page, "modify_text", "absent", "x", "absent")
        do(page, "modify_text", "fine", "x")
        assert page.values("fine") == ["x"]

    def test_modify_checkbox_toggles_what_is_listed(self, form: OpenForm) -> None:
        boxes = "".join(f"<input type=checkbox name=c value={v}>" for v in "abcd")
        page = form(boxes + "<input type=checkbox name=one>")
        do(page, "modify_checkbox", "c", "a|c|missing")
        assert both(page, "c") == (["a", "c"],) * 2
        assert page.html().count("checked") == 2
        do(page, "modify_checkbox", "c", "c|d|nan")
        assert both(page, "c") == (["a", "d"],) * 2, "a listed box is clicked; others stay"
        do(page, "modify_checkbox", "one", "on")
        assert page.values("one") == ["on"]

    def test_modify_checkbox_by_number(self, form: OpenForm) -> None:
        page = form("<input type=checkbox name=c value=1><input type=checkbox name=c value=2>")
        do(page, "modify_checkbox", "c", "1.0|2.0")
        assert page.values("c") == ["1", "2"]
        do(page, "modify_checkbox", "c", 2)
        do(page, "modify_checkbox", "c", 1.0)
        assert page.values("c") == []

    def test_modify_checkbox_refused_or_quiet(self, form: OpenForm) -> None:
        page = form(
            "<input type=checkbox name=c value=a><input type=checkbox name=c value=b>"
            "<input type=checkbox name=off value=a disabled><input name=t>"
            "<input type=checkbox name=d value=a><input type=checkbox name=d value=b hidden>"
        )
        quiet(page, "modify_checkbox", "c", "", "nan", "nan|nan", float("nan"))
        refused(page, "modify_checkbox", "c", "x", "c", "a", "b")
        refused(page, "modify_checkbox", "off", "a", "off")
        refused(page, "modify_checkbox", "d", "a|b", "d")
        refused(page, "modify_checkbox", "t", "a", "t")
        refused(page, "modify_checkbox", "absent", "a", "absent")

    def test_modify_radio(self, form: OpenForm) -> None:
        page = form(
            "<input type=radio name=r value=1 checked><input type=radio name=r value=2>"
            "<input type=radio name=r value=yes><input type=radio name=e value=''>"
        )
        values: list[tuple[Value, str]] = [
            ("2", "2"), (1, "1"), (2.9, "2"), ("1.0", "1"), ("yes", "yes"), ("yes", "yes"),
        ]  # fmt: skip
        for value, chosen in values:
            do(page, "modify_radio", "r", value)
            assert both(page, "r") == ([chosen], [chosen]), f"after {value!r}"
        do(page, "modify_radio", "e", "")
        assert page.values("e") == [""]

    def test_modify_radio_refused_or_quiet(self, form: OpenForm) -> None:
        page = form(
            "<input type=radio name=r value=1 checked><input type=radio name=r value=2 disabled>"
            "<input type=radio name=r value=3 hidden><input type=checkbox name=c value=1>"
        )
        quiet(page, "modify_radio", "r", "", "nan", "None", float("nan"))
        refused(page, "modify_radio", "r", "4", "r", "1")
        for value in ("2", "3"):
            refused(page, "modify_radio", "r", value, "r")
        refused(page, "modify_radio", "c", "1", "c")
        refused(page, "modify_radio", "absent", "1", "absent")

    def test_modify_select(self, form: OpenForm) -> None:
        options = "<option value=''>-<option value=1>a<optgroup><option>b c</optgroup></select>"
        page = form(f"<select name=s>{options}<select name=m multiple>{options}")
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

    def test_modify_select_refused(self, form: OpenForm) -> None:
        page = form(
            "<select name=s><option value=1>one<option value=2 disabled>two</select>"
            "<select name=off disabled><option value=1>a</select><select name=empty></select>"
            "<select name=gone hidden><option value=1>a</select><input name=t>"
        )
        for value in ("3", "one", "nan", ""):
            refused(page, "modify_select", "s", value, "s", "1")
        refused(page, "modify_select", "s", "2", "s")
        for name in ("off", "empty", "gone", "t", "absent"):
            refused(page, "modify_select", name, "1", name)

    def test_modify_range(self, form: OpenForm) -> None:
        page = form("<input type=range name=r min=0 max=10><input type=range name=s step=.5>")
        values: list[tuple[Value, str, str]] = [
            (3, "3", "3"), ("4.0", "4", "4"), (3.3333333333333335, "3", "3.3333333333333335"),
            ("99", "10", "99"), (-1, "0", "-1"),
        ]  # fmt: skip
        for value, live, markup in values:
            do(page, "modify_range", "r", value)
            assert both(page, "r") == ([live], [markup]), f"after {value!r}"
        do(page, "modify_range", "s", 2.5)
        assert page.values("s") == ["2.5"]

    def test_modify_range_refused_or_quiet(self, form: OpenForm) -> None:
        page = form(
            "<input type=range name=r><input type=range name=off disabled><input name=t>"
            "<input type=range name=gone hidden>"
        )
        quiet(page, "modify_range", "r", "nan", "None", float("nan"))
        for value in ("high", "1;alert(1)", "", "inf"):
            refused(page, "modify_range", "r", value, "r")
        for name in ("off", "t", "gone", "absent"):
            refused(page, "modify_range", name, 1, name)

    def test_waiting_scrolling_and_submitting(self, form: OpenForm) -> None:
        page = form("<input name=a value=1><div name=d></div><input type=submit>")
        for name in ("a", "d"):
            for action in ("wait_for_element", "scroll_to_element"):
                page.perform(Action(action, {"name": name}))
        for action in ("wait_for_element", "scroll_to_element"):
            assert "absent" in message_of(page, Action(action, {"name": "absent"}))
        page.perform(Action("maximize"))
        page.perform(Action("submit"))
        assert page.values("a") == ["1"], "a submitted page can still be read"

    # Submitting

    def test_what_is_submitted(self, form: OpenForm) -> None:
        page = form(
            "<input name=a value=1><input type=hidden name=h value=2>"
            "<input name=ro readonly value=3><textarea name=t readonly>x</textarea>"
            "<input type=radio name=r value=1>"
            "<input type=checkbox name=c><input type=checkbox name=c value=b checked>"
            "<select name=s><option value=1>one<option selected>two</select>"
            "<select name=m multiple><option selected>p<option selected>q</select>"
            "<select name=none><option disabled selected>choose</select>"
        )
        assert [(f.name, f.type, f.values) for f in page.submission()] == [
            ("a", "text", ("1",)), ("h", "hidden", ("2",)), ("ro", "text", ("3",)),
            ("t", "textarea", ("x",)), ("r", "radio", ()), ("c", "checkbox", ("b",)),
            ("s", "select", ("two",)), ("m", "select", ("p", "q")), ("none", "select", ()),
        ]  # fmt: skip
        assert [field.name for field in page.submission(["h", "absent", "a"])] == ["a", "h"]

    def test_what_is_not_submitted(self, form: OpenForm) -> None:
        page = form(
            "<input value=nameless><input name='' value=empty><input name=off disabled>"
            "<fieldset disabled><legend><input name=spared></legend><input name=fenced></fieldset>"
            "<input type=submit name=s1><input type=button name=b><input type=image name=i>"
            "<input type=file name=f><input type=reset name=re><button name=bu>x</button>"
            "<div name=d></div>"
            "<input name=ee value=1><input name=submit value=1><input name=required required>"
        )
        assert [field.name for field in page.submission()] == ["spared", "required"]

    def test_the_first_form_is_submitted(self, driver: Driver) -> None:
        page = driver.open(
            "<input name=before><form id=one><input name=inside></form><input name=after>"
            "<input name=tied form=one value=x><form id=two><input name=other></form>"
            "<input name=lost form=nowhere>"
        )
        assert [field.name for field in page.submission()] == ["inside", "tied"]
        assert driver.open("<input name=a>").submission() == []

    def test_what_was_entered_is_submitted(self, form: OpenForm) -> None:
        page = form(
            "<input name=a><input type=checkbox name=c value=x><input type=radio name=r value=1>"
            "<input type=submit>"
        )
        do(page, "modify_text", "a", "typed")
        do(page, "modify_checkbox", "c", "x")
        do(page, "modify_radio", "r", "1")
        for _ in range(2):
            assert [f.values for f in page.submission()] == [("typed",), ("x",), ("1",)]

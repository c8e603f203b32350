"""The `dom` driver: the conformance suite, odd pages, and the recorded behaviour."""

import csv
import json
import math
import time
from pathlib import Path
from typing import Any

import pytest
from effort import effort
from hypothesis import given, settings
from hypothesis import strategies as st

from errands.testing import DriverConformance
from errands.turk.actions.action import Action, Value
from errands.turk.dom.driver import DomDriver
from errands.turk.dom.page import DomPage
from errands.turk.pages.comparison import Difference, compare
from errands.turk.pages.driver import ActionError, DriverError, Unsupported

SHARED = Path(__file__).resolve().parents[4] / "shared"
RECORDED = SHARED / "fixtures" / "turkingbench"


class TestConformance(DriverConformance):
    @pytest.fixture
    def driver(self) -> DomDriver:
        return DomDriver()


def page(body: str, style: str = "") -> DomPage:
    return DomDriver().open(f"<!DOCTYPE html><style>{style}</style><body>{body}")


def do(opened: DomPage, action: str, name: str, value: Value) -> None:
    opened.perform(Action(action, {"name": name, "value": value}))


# Parsing


@pytest.mark.parametrize(
    ("html", "names"),
    [
        ("<select name=s><option>a<input name=i><option>b</select>", ["s", "i"]),
        ("<table><input name=h type=hidden><input name=a><tr><td><input name=b></table>",
         ["a", "b", "h"]),
        ("<noscript><table><input name=a></noscript><input name=b>", ["b"]),
        ("<!--<noscript>--><input name=a><script>'<noscript>'</script><input name=b>", ["a", "b"]),
        ("<head><noscript><p></noscript><title>x</title></head><input name=a>", ["a"]),
        ("<NoScript><input name=a>", []),
        ("<textarea><noscript></textarea><input name=a><textarea></noscript></textarea>", ["a"]),
        ("<input name=a \"x\" 'y' =z><input name=b/>", ["a", "b/"]),
        ("<plaintext><input name=a>", []),
        ("<svg><input name=a></svg><input name=a><svg><desc><input name=b></svg>", ["b"]),
        ("", []),
    ],
)  # fmt: skip
def test_fields_of_broken_markup(html: str, names: list[str]) -> None:
    assert [field.name for field in DomDriver().open(html).fields()] == names


@pytest.mark.parametrize(
    ("attributes", "value"),
    [
        ("value=3.3 max=10", "3.3"), ("min=0 value=3.3", "3"), ("min=0.5 value=3", "3.5"),
        ("min=-5 max=5", "0"), ("min=0 step=0 value=1.5", "2"), ("max=0", "0"),
        ("min=x max=7", "4"), ("step=3 max=10", "6"), ("step=any min=0 max=1", "0.5"),
        ("min=0 step=.1 max=1 value=.55", "0.6"), ("min=0 max=1 step=0.3 value=1", "0.9"),
    ],
)  # fmt: skip
def test_sliders_as_chromium_has_them(attributes: str, value: str) -> None:
    assert page(f"<input type=range name=r {attributes}>").values("r") == [value]


@pytest.mark.parametrize(
    ("kind", "raw", "value"),
    [
        ("number", "+5", ""), ("number", "1.", ""), ("number", ".5", ".5"), ("number", "1e400", ""),
        ("time", "1:00", ""), ("time", "24:00", ""), ("month", "0000-01", ""),
        ("week", "2021-W53", ""), ("week", "2020-W53", "2020-W53"), ("date", "2024-13-01", ""),
        ("datetime-local", "2024-01-01 10:00", "2024-01-01T10:00"),
        ("datetime-local", "2024-01-01T10:00:00", "2024-01-01T10:00"),
        ("datetime-local", "2024-01-01T10:00:30.50", "2024-01-01T10:00:30.5"),
        ("color", "#AbC", "#aabbcc"), ("email", " a b ", "a b"), ("tel", "a\nb", "ab"),
        ("hidden", "a\nb", "a\nb"), ("reset", "x", "x"), ("file", "x", ""),
        ("date", "12024-02-29", "12024-02-29"), ("week", "12024-W10", "12024-W10"),
    ],
)  # fmt: skip
def test_inputs_keep_what_chromium_keeps(kind: str, raw: str, value: str) -> None:
    assert page(f"<input type={kind} name=i value='{raw}'>").values("i") == [value]


def test_several_addresses_are_trimmed_each() -> None:
    assert page("<input type=email multiple name=i value=' a@b , c@d '>").values("i") == ["a@b,c@d"]


def test_options_of_odd_drop_downs() -> None:
    opened = page(
        "<select name=a size=2x><option value=1></select>"
        "<select name=b><option>a&nbsp;b <b>c</b><script>d</script></option></select>"
        "<select name=c><option disabled value=1></select>"
        "<select name=d><option value=1 selected disabled><option value=2></select>"
    )
    assert {f.name: (f.options, opened.values(f.name)) for f in opened.fields()} == {
        "a": (("1",), []), "b": (("a\xa0b c",), ["a\xa0b c"]), "c": ((), []),
        "d": (("2",), ["1"]),
    }  # fmt: skip


# Visibility


def test_hidden_in_less_common_ways() -> None:
    opened = page(
        "<video><input name=a></video><object><input name=b></object><progress><input name=c>"
        "</progress><div popover><input name=d></div><div style='height:0;overflow:auto'>"
        "<input name=e></div><span style='height:0;overflow:hidden'><input name=f></span>"
        "<input name=g style='display:contents'><div style='display:contents'><input name=h></div>"
        "<input type=radio name=i style='appearance:none'><div style='position:fixed;left:2000px'>"
        "<input name=j></div><input type=checkbox name=k "
        "style='appearance:none;width:9px;height:9px'>"
        "<input name=l style='display:none;display:revert'><div style='visibility:hidden'>"
        "<input name=m style='visibility:initial'><input name=n style='visibility:inherit'></div>"
    )
    visible = "".join(field.name for field in opened.fields() if field.visible)
    assert visible == "bfhklm"


def test_linked_style_sheets(tmp_path: Path) -> None:
    folder = tmp_path / "task"
    (folder / "css").mkdir(parents=True)
    (folder / "css" / "own.css").write_text("@import 'css/more.css'; .own{display:none}")
    (folder / "css" / "more.css").write_text("@import url(css/own.css); .more{display:none}")
    (tmp_path / "secret.css").write_text(".secret{display:none}")
    asked: list[str] = []

    def libraries(address: str) -> str | None:
        asked.append(address)
        return ".lib{display:none}" if "bootstrap" in address else None

    html = (
        "<link rel=stylesheet href=css/own.css><link rel=stylesheet href=../secret.css>"
        "<link rel=StyleSheet href=//cdn/bootstrap.css><link rel=stylesheet href='http://[x'>"
        "<link rel='alternate stylesheet' href=css/own.css><link rel=icon href=x.png>"
        "<link rel=stylesheet href=https://else/x.css><link rel=stylesheet href=file:///etc/x>"
        "<link rel=stylesheet href=css><link rel=stylesheet href=http://bootstrap/ media=print>"
        "<input name=own class=own><input name=more class=more><input name=lib class=lib>"
        "<input name=secret class=secret>"
    )
    opened = DomDriver(libraries).open(html, files=folder)
    assert [f.name for f in opened.fields() if f.visible] == ["secret"]
    assert asked == ["//cdn/bootstrap.css", "https://else/x.css"]
    assert all(field.visible for field in DomDriver().open(html).fields())


# Actions


def test_messages_say_what_was_wrong() -> None:
    opened = page(
        "<input type=radio name=r value=yes><input type=radio name=r value=no>"
        "<select name=s><option value=1></select><input name=t readonly><input type=date name=d>"
    )
    expected = {
        ("modify_radio", "r", "maybe"):
            "The radio buttons 'r' have no value 'maybe'; they have 'yes', 'no'.",
        ("modify_select", "s", "2"): "The drop-down 's' has no option '2'; it has '1'.",
        ("modify_text", "t", "x"): "The field 't' is read-only and cannot be changed.",
        ("modify_text", "s", "x"):
            "modify_text does not fit 's', which is a drop-down: use modify_select.",
        ("modify_text", "d", "soon"):
            "The field 'd' of type date takes a date like 2024-12-31, not 'soon'.",
        ("modify_text", "q", "x"): "The page has no element named 'q'.",
    }  # fmt: skip
    for (action, name, value), message in expected.items():
        with pytest.raises(ActionError) as caught:
            do(opened, action, name, value)
        assert str(caught.value) == message


def test_messages_are_short() -> None:
    options = "".join(f"<option value={'x' * 500}{i}>" for i in range(500))
    opened = page(f"<select name=s>{options}</select>")
    with pytest.raises(ActionError) as caught:
        do(opened, "modify_select", "s", "y" * 1_000_000)
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize("arguments", [{}, {"name": None}, {"name": 3, "value": 1}])
def test_an_action_without_a_name_is_refused(arguments: dict[str, Value]) -> None:
    for action in ("modify_text", "modify_radio", "wait_for_element"):
        with pytest.raises(ActionError, match="name"):
            page("<input name=a>").perform(Action(action, dict(arguments)))


def test_no_pictures() -> None:
    with pytest.raises(Unsupported, match="browser"):
        page("").screenshot()


def test_text_area_markup_is_read_as_html() -> None:
    opened = page("<textarea name=t></textarea>")
    do(opened, "modify_text", "t", "a &lt; b </textarea><b>")
    assert opened.values("t") == ["a &lt; b </textarea><b>"]
    assert opened.values("t", attributes=True) == ["a &lt; b &lt;/textarea&gt;&lt;b&gt;"]


def test_lone_surrogates_and_astral_characters() -> None:
    opened = page("<input name=a maxlength=3><textarea name=t></textarea>")
    do(opened, "modify_text", "a", "😀😀")
    assert opened.values("a") == ["😀\ufffd"], "half a character, as in a browser"
    do(opened, "modify_text", "t", "x\ud800y")
    assert opened.values("t", attributes=True) == ["x\ufffdy"]
    assert DomDriver().open("<input name=a value='\ud800'>").values("a") == ["\ufffd"]


# Reading


def test_all_options_are_in_a_drop_downs_html() -> None:
    options = "".join(f"<option value={i}>choice {i}</option>" for i in range(40))
    html = page(f"<div><p>Which?</p><p><select name=s>{options}</select></p></div>").html("s")
    assert html.startswith("<div>")
    assert all(f"choice {i}" in html for i in range(40))
    assert "errands" not in html


def test_html_of_a_field_at_the_top() -> None:
    assert DomDriver().open("<input name=a>").html("a") == (
        '<html>\n<head>\n</head>\n<body>\n<input name="a">\n</body>\n</html>'
    )


def test_text_of_preformatted_and_hidden() -> None:
    opened = page(
        "<pre>a\n  b</pre><p>x<span style=visibility:hidden>y<b style=visibility:visible>z</b>"
        "</span></p><select><option>o</select><textarea>t</textarea>"
    )
    assert opened.text() == "a\nb\nxz\no"


# Comparing drivers


class Deaf(DomDriver):
    """Refuses nothing and finds one field less."""

    def open(self, html: str, *, files: Path | None = None) -> DomPage:
        return super().open(html.replace("name=b", "name=c"), files=files)


def test_compare_finds_what_differs() -> None:
    html = "<input name=a><input name=b value=1>"
    actions = [Action("modify_text", {"name": "b", "value": "x"})]
    assert compare(DomDriver(), DomDriver(), html, None, actions) == []
    found = compare(DomDriver(), Deaf(), html, ["a", "b"], actions)
    assert found == [
        Difference("load", "b", "presence", True, False),
        Difference("modify_text('b', 'x')", None, "refused", False, True),
        Difference("modify_text('b', 'x')", "b", "presence", True, False),
    ]
    assert str(found[0]) == "load: presence of 'b': True against False"
    hidden = "<input name=a hidden>"

    class Shows(DomDriver):
        def open(self, html: str, *, files: Path | None = None) -> DomPage:
            return super().open(html.replace("hidden", "value=1"), files=files)

    assert [each.what for each in compare(DomDriver(), Shows(), hidden)] == [
        "visible", "values", "attributes",
    ]  # fmt: skip


# Hostile pages


@pytest.mark.parametrize(
    "html",
    [
        "<p>" * 200_000, "<b>" * 100_000, "<table><tr><td>" * 900,
        "<select><option>" * effort(50_000, 300_000),
        "<input name=a>" * 50_000, "x" * 10_000_000, "\0" * 1_000_000, "<" * 1_000_000,
        "<!--" * 500_000, "<div " + "a=b " * 200_000 + ">", "<style>" + "{" * 500_000,
        "<style>" + "a{display:none}" * 100_000 + "</style>", "&" * 1_000_000,
        "<style>" + "(" * 200_000 + "</style><input name=a>", "<noscript>" * 100_000,
        "<style>" + ":not(" * 3_000 + "a{display:none}</style><input name=a>",
        "<style>" + "* " * 3_000 + "{display:none}</style><input name=a>",
        "<style>" + "a{" * 50_000 + "</style><input name=a>", "<script>" * 100_000,
    ],
    ids=lambda html: html[:12],
)  # fmt: skip
def test_large_and_broken_pages_end(html: str) -> None:
    start = time.process_time()
    opened = DomDriver().open(html)
    opened.fields()
    opened.text()
    assert opened.html()
    assert time.process_time() - start < 20


def test_bottomless_nesting_is_an_error() -> None:
    with pytest.raises(DriverError, match="deep"):
        DomDriver().open("<div>" * 100_000)
    with pytest.raises(DriverError, match="characters"):
        DomDriver().open("x" * (64 * 2**20 + 1))


@settings(max_examples=effort(40, 150), deadline=None)
@given(
    st.lists(
        st.sampled_from(
            "<div> </div> <p> <form> </form> <table> <tr> <td> </table> <select/name=s> <option> "
            "</select> <input/name=a> <input/type=radio/name=a/checked> <textarea/name=t> "
            "</textarea> <noscript> </noscript> <style> </style> a{display:none} *{opacity:0} "
            "<template> <svg> <math> <b> </b> <details> "
            "<optgroup> <fieldset/disabled> <legend> <!-- --> < & \0 "
            "<input/type=range/name=r/min=x> <plaintext> <frameset> <body/hidden>".split(" ")
        )
        | st.text(max_size=5),
        max_size=40,
    ),
    st.sampled_from(["modify_text", "modify_radio", "modify_select", "modify_range", "get_html"]),
    st.sampled_from("astrx"),
    st.text(max_size=6) | st.floats() | st.integers() | st.booleans() | st.none(),
)
def test_random_markup_never_raises(parts: list[str], action: str, name: str, value: Value) -> None:
    opened = DomDriver().open("".join(parts))
    before = opened.html()
    try:
        do(opened, action, name, value)
    except ActionError:
        assert opened.html() == before
    for field in opened.fields():
        opened.values(field.name)
        opened.values(field.name, attributes=True)
        opened.html(field.name)
    opened.text()


# Recorded behaviour


def static_tasks() -> set[str]:
    table = SHARED / "data" / "turkingbench" / "tasks.csv"
    if not table.is_file():
        return set()
    with table.open(newline="") as file:
        return {row["task"] for row in csv.DictReader(file) if row["nojs_class"] == "static"}


def instances() -> list[dict[str, Any]]:
    known = static_tasks()
    found = [json.loads(p.read_text()) for p in sorted(RECORDED.glob("instances/*.json"))]
    return [each for each in found if each["task"] in known]


def number_rule(text: str) -> str:
    """Rule N of the specification."""
    try:
        number = float(text)
    except ValueError:
        return text
    if not math.isfinite(number):
        return text
    return str(int(number)) if number == int(number) else str(number)


def prediction(opened: DomPage, kind: str, name: str) -> str:
    values = [number_rule(value) for value in opened.values(name, attributes=True)]
    if kind == "checkbox":
        return "|".join(sorted(values))
    return values[0].replace("&amp;", "&") if values else ""


@pytest.mark.shared
@pytest.mark.parametrize("network", ["cdn", "blocked"])
def test_recorded_fields(network: str) -> None:
    compared = 0
    for instance in instances():
        opened = DomDriver().open(instance["rendered_html"])
        expected = {f["name"]: (f["type"], f["displayed"]) for f in instance[f"fields_{network}"]}
        found = {f.name: (f.type, f.visible) for f in opened.fields(list(instance["gold"]))}
        assert found == expected, instance["task"]
        compared += len(found)
    assert compared > 100


@pytest.mark.shared
def test_recorded_runs() -> None:
    pages = {(each["task"], each["instance_index"]): each["rendered_html"] for each in instances()}
    compared = 0
    for line in (RECORDED / "runs.jsonl").read_text().splitlines():
        run = json.loads(line)
        html = pages.get((run["task"], run["instance_index"]))
        if html is None:
            continue
        untouched, opened = DomDriver().open(html), DomDriver().open(html)
        for field in run["fields"]:
            name, kind = field["name"], field["type"]
            idle, oracle = field["donothing"], field["oracle"]
            if idle["scored"]:
                assert prediction(untouched, kind, name) == idle["prediction"], (run["task"], name)
            call = oracle.get("action")
            if call:
                action = call.partition("(")[0]
                do(opened, action, name, call[len(f"{action}('{name}', '") : -2])
        for field in run["fields"]:
            if field["oracle"]["scored"]:
                found = prediction(opened, field["type"], field["name"])
                assert found == field["oracle"]["prediction"], (run["task"], field["name"])
                compared += 1
    assert compared > 100

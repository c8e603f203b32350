"""Style sheets: what hides, what wins, what is passed over."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.turk.dom.css import parse_declarations, parse_sheet
from errands.turk.dom.driver import DomDriver
from errands.turk.dom.media import media_matches


def hidden(style: str, body: str) -> set[str]:
    page = DomDriver().open(f"<!DOCTYPE html><style>{style}</style><body>{body}")
    return {field.name for field in page.fields() if not field.visible}


@pytest.mark.parametrize(
    ("queries", "holds"),
    [
        ("", True), ("all", True), ("screen", True), ("print", False), ("not print", True),
        ("only screen and (min-width: 768px)", True), ("(max-width: 767.98px)", False),
        ("print, screen", True), ("screen and (orientation: portrait)", False),
        ("(width >= 1000px)", True), ("(400px <= width < 1280px)", False),
        ("(min-width:80em)", True),
        ("(prefers-color-scheme: dark)", False), ("(hover)", True), ("(nonsense: 1)", False),
        ("not screen and (min-width: 1px)", False), ("(min-height: 801px)", False),
        ("(min-width: 1px) or (max-width: 1px)", True), ("(not (max-width: 1px))", True),
    ],
)  # fmt: skip
def test_media(queries: str, holds: bool) -> None:
    assert media_matches(queries) is holds


@pytest.mark.parametrize(
    ("text", "display"),
    [
        ("display:none", "none"), ("DISPLAY : NONE ;", "none"), ("display:/**/none", "none"),
        ("color:red;display:none;", "none"), ("display:none !important", "none"),
        ("display:none!IMPORTANT", "none"), ("display:nonsense", None), ("*display:none", None),
        ("_display:none", None), ("display none", None), ("background:url(a;display:none)", None),
        ("content:';display:none'", None), ("display:none !ie", None),
        ("display:inline flex", "block"),
        ("display:none;display:block", "block"), ("display:var(--x)", "unset"),
    ],
)  # fmt: skip
def test_declarations(text: str, display: str | None) -> None:
    found = [each.value for each in parse_declarations(text) if each.property == "display"]
    assert (found[-1] if found else None) == display


@pytest.mark.parametrize(
    ("selector", "specificity"),
    [
        ("a", (0, 0, 1)), ("*", (0, 0, 0)), (".a.b", (0, 2, 0)), ("#a p > .b", (1, 1, 1)),
        ("a[href='#x.y']", (0, 1, 1)), (":not(#a, .b) c", (1, 0, 1)), (":where(#a) b", (0, 0, 1)),
        ("li:nth-child(2n + 1)", (0, 1, 1)), (":is(a, .b)", (0, 1, 0)), ("a:hover", (0, 1, 1)),
    ],
)  # fmt: skip
def test_specificity(selector: str, specificity: tuple[int, int, int]) -> None:
    (rule,) = parse_sheet(selector + "{display:none}").rules
    assert rule.specificity == specificity


@pytest.mark.parametrize(
    ("style", "names"),
    [
        (".a{display:none}", {"a"}),
        ("#a.a{display:inline} .a{display:none}", set()),
        (".a{display:none !important} #a{display:inline}", {"a"}),
        (".a{display:none} .a{display:inline}", set()),
        ("@layer x{#a{display:inline}} .a{display:none}", {"a"}),
        ("@supports (display:grid){.a{display:none}}", {"a"}),
        ("@supports not (display:grid){.a{display:none}}", set()),
        ("@media screen{@media print{.a{display:none}} .b{display:none}}", {"b"}),
        ("@font-face{src:url(x)} @keyframes k{from{opacity:0}} .a{opacity:0}", {"a"}),
        ("<!-- .a{display:none} -->", {"a"}),
        ("/* open .a{display:none}", set()),
        (".a{display:none", {"a"}),
        ("} .a{display:none} .b{display:none}", {"b"}),
        (".a:-moz-nonsense,.a{display:none}", set()),
        (".a::before,.a:after{display:none} .b:focus-within{display:none}", set()),
        (".a::-webkit-thing,.a{display:none}", {"a"}),
        (".a:not(:hover){display:none}", {"a"}),
        ("div{.a{display:none} & > .b{opacity:0}}", {"a", "b"}),
        ("div{color:red; @media screen{.a{display:none}}}", {"a"}),
        ("INPUT[NAME='a']{display:none}", {"a"}),
        ("div{visibility:hidden} .b{visibility:visible}", {"a"}),
        (".a{position:absolute;left:-9999px} .b{position:absolute;left:5px}", {"a"}),
        ("div{height:0;overflow:hidden}", {"a", "b"}),
        ("div{height:0;overflow:hidden;padding:9px}", set()),
        ("div{height:0} .a{height:0}", set()),
    ],
)
def test_what_is_hidden(style: str, names: set[str]) -> None:
    assert hidden(style, "<div><input name=a id=a class=a><input name=b class=b></div>") == names


def test_selectors_not_understood_hide_nothing() -> None:
    page = DomDriver().open(
        "<style>.a:valid{display:none} .b:no(x){opacity:0}</style><input name=a>"
    )
    assert page.fields()[0].visible


def test_a_quick_pass_over_many_rules_finds_the_same() -> None:
    many = "".join(f".other{i}{{display:none}}" for i in range(50))
    body = """<DIV CLASS='x Y'><input name=a class=z></DIV><input name=b ID = "q"><input name=c>"""
    style = ".x .z{display:none} #q{opacity:0} div.Y~input{visibility:hidden}"
    assert hidden(style + many, body) == hidden(style, body) == {"a", "b", "c"}


@given(st.text(alphabet="{}()[];:,.#a@ \"'\\/*!<>-media0%&", max_size=120))
def test_any_text_is_a_style_sheet(text: str) -> None:
    parse_sheet(text)
    parse_declarations(text)
    hidden(text.replace("<", ""), "<input name=a>")

"""Markup by type: what is not markup is escaped wherever it enters."""

import markupsafe
import pytest

from errands.markup import EMPTY, Markup, html, join


def test_values_are_escaped_and_markup_is_kept() -> None:
    assert html("<p>{}</p>", """<b> & "c" 'd'""") == (
        "<p>&lt;b&gt; &amp; &quot;c&quot; &#x27;d&#x27;</p>"
    )
    assert html("<p>{}</p>", html("<b>{name}</b>", name="<")) == "<p><b>&lt;</b></p>"
    assert html("{}", markupsafe.Markup("<i>")) == "<i>"
    assert html("{}{}", None, EMPTY) == "None"
    assert type(html("x")) is Markup


def test_numbers_may_have_a_format() -> None:
    assert html("{:.2f} {:,} {x:+d}", 1.0, 1234, x=5) == "1.00 1,234 +5"


def test_braces_in_a_value_are_text() -> None:
    assert html("{}", "{0} {x.__class__}") == "{0} {x.__class__}"


def test_joined_and_added_texts_are_escaped() -> None:
    made = join(["<", html("<br>"), 3], ", ")
    assert made == "&lt;, <br>, 3"
    assert type(made) is Markup
    assert type(made + "<") is Markup
    assert made + "<" == f"{made}&lt;"
    assert "<" + made == f"&lt;{made}"
    assert Markup("<p>%s</p>") % "<" == "<p>&lt;</p>"


@pytest.mark.parametrize("bad", ["\x00", "\x1b", "\ud800", "\uffff"])
def test_what_no_file_can_hold_becomes_a_mark(bad: str) -> None:
    assert html("{}", f"a{bad}b") == "a\ufffdb"
    assert join([bad]) == EMPTY + bad == "\ufffd"

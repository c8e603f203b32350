"""Start tags are found in one pass, whatever the page is."""

import time

import pytest
from effort import effort
from hypothesis import given, settings
from hypothesis import strategies as st

from errands.turk.tasks.markup import effective_type, field_types, start_tags


def test_tags_and_attributes() -> None:
    page = """<!DOCTYPE html><P a=1 A=2 b = 'x>y' c="&amp;" d/><br/></p><?x?><!--><i><!-- <b> -->
    <style><u></style ><textarea name=t><input name=no></TEXTAREA><a / = b>"""
    assert list(start_tags(page)) == [
        ("p", {"a": "1", "b": "x>y", "c": "&", "d": ""}),
        ("br", {}),
        ("i", {}),
        ("style", {}),
        ("textarea", {"name": "t"}),
        ("a", {"b": ""}),
    ]


@pytest.mark.parametrize(
    ("tag", "given_type", "kind"),
    [
        ("input", "RADIO", "radio"),
        ("input", "datetime", "text"),
        ("input", "", "text"),
        ("select", "x", "select"),
    ],
)
def test_effective_types(tag: str, given_type: str, kind: str) -> None:
    assert effective_type(tag, {"type": given_type}) == kind


def test_the_first_element_of_a_name_decides() -> None:
    page = "<div name=a></div><input name=a><input name=b type=range><select name=b></select>"
    assert field_types(page, ["b", "a", "c"]) == {"b": "range"}


@given(st.text(alphabet="<>!-/ab='\" \n"))
def test_any_text_has_tags_or_none(page: str) -> None:
    for tag, _ in start_tags(page):
        assert tag


@pytest.mark.parametrize(
    "piece", ["<", "<!--", "<a ", "<a b='", '<a b="x" ', "</", "<script>", "<title", "= ", "<p x= "]
)
def test_time_grows_with_length_only(piece: str) -> None:
    page = "<a " + piece * (2_000_000 // len(piece))
    started = time.process_time()
    for _ in start_tags(page):
        pass
    assert time.process_time() - started < 20


@settings(max_examples=effort(125, 500))
@given(
    st.one_of(
        st.text(alphabet="<>/ab=\"' \n!-", max_size=40),
        st.lists(
            st.sampled_from(
                ["<a", "<b", "<script", "</script>", ">", "/>", " x", "=", '"', "'", " ", "\n", "/",
                 ' y="1>2"', " z='<b>'", " w=v", "<!--", "-->", "text"]
            )
        ).map("".join),
    )
)  # fmt: skip
def test_passing_over_tags_does_not_lose_others(page: str) -> None:
    wanted = [(tag, attributes) for tag, attributes in start_tags(page) if tag == "b"]
    assert list(start_tags(page, only=("b",))) == wanted

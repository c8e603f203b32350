import base64
import hashlib
import re

from hypothesis import given
from hypothesis import strategies as st
from packed_pages import unpack

from errands.reports.html.frames import (
    StyleSheets,
    is_page,
    pack,
    policy,
    script,
    visible_text,
)

LETTERS = st.text(alphabet="ab<>&'\"é€😀🎈", max_size=30)


@given(st.lists(LETTERS, max_size=6))
def test_packed_pages_come_back(pages: list[str]) -> None:
    assert unpack(pack(pages)) == pages


def test_rare_letters_are_not_cut_in_two() -> None:
    # Both begin with the same half of a pair, and end with the same other half.
    pages = ["x😀y", "x😁y", "x🤀y", "😀"]
    assert unpack(pack(pages)) == pages


def test_a_page_that_hardly_changes_costs_hardly_anything() -> None:
    page = "".join(f"<p>line {n} of {n * n}</p>" for n in range(2000))
    alone = len(pack([page]))
    ten = len(pack([page.replace("line 777 ", f"line {n} ") for n in range(10)]))
    assert ten < alone + 800


def test_lone_surrogates_are_replaced() -> None:
    assert unpack(pack(["a\ud800b"])) == ["a?b"]


def test_shared_style_sheets_are_kept_once() -> None:
    sheets = StyleSheets()
    sheet = "p { color: red } " * 40
    first = sheets.put(f"<style>{sheet}</style><p>1")
    second = sheets.put(f"<p>2<style>{sheet}</style><style>a{{}}</style>")
    assert first == '<style data-sheet="0"></style><p>1'
    assert second == '<p>2<style data-sheet="0"></style><style>a{}</style>'
    assert unpack(sheets.block()) == [sheet]


def test_what_is_a_page_and_what_it_says() -> None:
    assert is_page("\n<!DOCTYPE html><html>")
    assert is_page("<div>x</div>")
    assert not is_page("Instruction: [SEP] <b>")
    assert not is_page("<3 is a heart")
    page = "<head><title>t</title></head><style>p{}</style><script>x</script><p>Hi</p>\n\n<p>you"
    assert visible_text(page) == "Hi\nyou"


def test_the_policy_allows_this_script_and_nothing_else() -> None:
    found = re.search(r"script-src 'sha256-([^']+)';", policy())
    assert found
    assert base64.b64decode(found[1]) == hashlib.sha256(script().encode()).digest()
    assert policy().startswith("default-src 'none'")
    assert "unsafe-eval" not in policy()
    assert "</script" not in script()

"""HTML and other dirt in texts."""

from hypothesis import given
from hypothesis import strategies as st

from errands.mining.plain_text import bullets_in, is_html, plain, plain_html

DIRTY = (
    "<p>Hello&nbsp;<b>big</b> world</p><ul><li>One<li>Two &amp; three</ul>"
    "<script>alert(1)</script><style>p{}</style>"
)


def test_blocks_become_lines_and_scripts_vanish() -> None:
    assert plain_html(DIRTY) == "Hello big world\nOne\nTwo & three"
    assert bullets_in(DIRTY) == ["One", "Two & three"]
    assert plain(DIRTY) == "Hello big world One Two & three"


def test_entities_are_read_once() -> None:
    assert plain("Salt &amp; Pepper") == "Salt & Pepper"
    assert plain_html("<p>&amp;lt;b&amp;gt;</p>") == "&lt;b&gt;"


def test_signs_that_are_no_tags_stay() -> None:
    assert not is_html("5 < 6 and 7 > 3")
    assert plain("5 < 6 and 7 > 3") == "5 < 6 and 7 > 3"


def test_what_cannot_be_seen_becomes_a_space() -> None:
    assert plain("a\x00b\x1b[31m\ud800c\u200bd\n e") == "a b [31m c d e"
    assert plain(None) == ""
    assert plain(7) == "7"


@given(st.text())
def test_anything_can_be_read(text: str) -> None:
    for made in (plain(text), plain_html(text), *bullets_in(f"<li>{text}")):
        made.encode("utf-8")
        assert "\x00" not in made

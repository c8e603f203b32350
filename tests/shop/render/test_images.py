"""Pictures are valid, small, and safe whatever they are asked for."""

import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.shop.render.images import kinds, picture
from errands.shop.synthetic.wordbank import wordbank

PLACEHOLDER = picture("")


@pytest.mark.parametrize("kind", kinds())
def test_every_kind_is_valid_small_xml(kind: str) -> None:
    for variant in range(0, 66, 5):
        drawing = picture(f"picture:{kind}/1f6f8b/{variant}")
        root = ElementTree.fromstring(drawing)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert root.get("viewBox") == "0 0 300 300"
        assert root.findtext("{http://www.w3.org/2000/svg}title") == kind
        assert len(drawing.encode()) < 3000
        inks = [element.get(ink, "none") for element in root.iter() for ink in ("fill", "stroke")]
        assert all(ink == "none" or ink.startswith("#") for ink in inks)


def test_every_subcategory_can_be_drawn() -> None:
    assert {kind.picture for kind in wordbank().subcategories} <= set(kinds())


def test_the_colour_shows_and_the_silhouette_stays() -> None:
    red, blue = picture("picture:shoe/c0392b/4"), picture("picture:shoe/2f6db5/4")
    assert "#c0392b" in red
    assert "#2f6db5" in blue
    assert len(red) == len(blue)


@pytest.mark.parametrize(
    "reference",
    [
        "https://example.com/x.jpg",
        "picture:",
        "picture:nothing/1f6f8b/7",
        "picture:shoe/1F6F8B/7",
        "picture:shoe/1f6f8b/٣",
        "picture:shoe/1f6f8b/7\n",
        'picture:shoe/"><script>/7',
        "picture:shoe/1f6f8b/" + "9" * 5000,
    ],
)
def test_anything_else_gives_the_placeholder(reference: str) -> None:
    assert picture(reference) == PLACEHOLDER


@given(st.text() | st.from_regex(r"picture:.*/.*/.*"))
def test_garbage_never_raises_nor_leaks(reference: str) -> None:
    drawing = picture(reference)
    ElementTree.fromstring(drawing)
    assert "script" not in drawing

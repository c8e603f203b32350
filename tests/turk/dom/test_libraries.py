"""Style libraries, condensed: shipped as the packages say, and enough for what pages show."""

import pytest

from errands.turk.dom.css import parse_sheet
from errands.turk.dom.driver import DomDriver
from errands.turk.dom.libraries import condensed, condensed_libraries, library_style

SHEETS = condensed_libraries()


@pytest.mark.parametrize("name", sorted(SHEETS))
def test_what_ships_is_what_the_packages_say(name: str) -> None:
    from errands.turk.dom.libraries import _shipped

    assert _shipped(name) == SHEETS[name], "run python -m errands.turk.dom.libraries"


def test_all_libraries_with_styles_ship() -> None:
    assert len(SHEETS) == 6


def test_an_address_stands_for_a_library() -> None:
    sheet = library_style("//maxcdn.bootstrapcdn.com/bootstrap/3.3.7/css/bootstrap.min.css")
    assert sheet is not None
    assert ".hidden{display:none!important}" in sheet
    assert library_style("https://elsewhere.example/bootstrap.min.css") is None
    assert library_style("https://code.jquery.com/jquery-3.2.1.slim.min.js") is None
    assert library_style("https://fonts.googleapis.com/css?family=X") is None


def test_only_what_is_shown_is_kept() -> None:
    sheet = parse_sheet(
        "a {color: red} b {display: none !important; width: 3px} i, u {height: 0; overflow: hidden}"
        " s {padding: 3px} p {position: relative} q {position: absolute; left: -999px}"
    )
    assert condensed(sheet) == (
        "b{display:none!important;width:3px}\n"
        "i{height:0;overflow-x:hidden;overflow-y:hidden}\n"
        "u{height:0;overflow-x:hidden;overflow-y:hidden}\n"
        "q{position:absolute;left:-999px}\n"
    )
    again = parse_sheet(condensed(sheet))
    assert [rule.declarations for rule in again.rules] == [
        rule.declarations for rule in sheet.rules if rule.source in "biuq"
    ]


def test_a_linked_library_hides() -> None:
    link = '<link rel="stylesheet" href="https://cdnjs.cloudflare.com/bootstrap/4.5.0/{}.min.css">'
    body = "<p class=d-none><input name=a></p><p class=collapse><input name=b></p><input name=c>"
    for name, seen in (("bootstrap", {"c"}), ("other", {"a", "b", "c"})):
        page = DomDriver().open(link.format(name) + body)
        assert {field.name for field in page.fields() if field.visible} == seen

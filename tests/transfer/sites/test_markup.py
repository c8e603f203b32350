"""Parts of a page, and addresses that can be opened."""

import pytest

from errands.transfer.sites.markup import absolute, parse, plain, text_of


@pytest.mark.parametrize(
    "link", ["javascript:alert(1)", "data:text/html,x", "//[", "http://[x", ""]
)
def test_what_cannot_be_opened_is_no_address(link: str) -> None:
    assert absolute(link, "https://") == ""


def test_texts_lose_scripts_and_what_steers_a_terminal() -> None:
    tree = parse("<p>a<script>b()</script><style>c{}</style>\x1b[2J d\u202e</p>")
    said = text_of(tree.css_first("p"))
    assert said.split() == ["a", "[2J", "d"]
    assert plain("x" * 100_000) == "x" * 20_000


@pytest.mark.parametrize("html", ["", "\ud800", "<", "\x00", "<div>" * 50_000, "]]>", "<p" * 1000])
def test_anything_can_be_parsed(html: str) -> None:
    assert isinstance(text_of(parse(html).body), str)

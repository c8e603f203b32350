"""XML feeds, as shops send them and as nobody should."""

from pathlib import Path

import pytest

from errands.errors import DataError
from errands.mining.table.feed import feed_rows
from errands.mining.table.table_file import TableFile

RSS = """<?xml version="1.0"?>
<rss version="2.0" xmlns:g="http://base.google.com/ns/1.0"><channel>
<title>Shop</title>
<item><g:id>1</g:id><title>Mug &amp; co</title><g:price>5.00 GBP</g:price>
<g:shipping><g:price>1.00 GBP</g:price></g:shipping>
<g:additional_image_link>a</g:additional_image_link>
<g:additional_image_link>b</g:additional_image_link>
<description><![CDATA[<p>easy</p>]]></description></item>
<item><g:id>2</g:id><g:title>Jug</g:title></item>
</channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xmlns:g="http://base.google.com/ns/1.0">
<title>Shop</title><entry><g:id>1</g:id><g:title>Mug</g:title><link href="http://a.example/"/></entry>
</feed>"""


def _write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "feed.xml"
    path.write_text(text, encoding="utf-8")
    return path


def test_items_are_rows_whatever_their_namespace(tmp_path: Path) -> None:
    first, second = feed_rows(_write(tmp_path, RSS))
    assert first == {
        "id": "1",
        "title": "Mug & co",
        "price": "5.00 GBP",
        "shipping": {"price": "1.00 GBP"},
        "additional_image_link": ["a", "b"],
        "description": "<p>easy</p>",
    }
    assert second == {"id": "2", "title": "Jug"}


def test_atom_and_its_links(tmp_path: Path) -> None:
    assert list(feed_rows(_write(tmp_path, ATOM))) == [
        {"id": "1", "title": "Mug", "link": "http://a.example/"}
    ]


def test_a_feed_is_a_table(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    table = TableFile(
        _write(tmp_path, RSS), progress=lambda done, total: told.append((done, total))
    )
    assert table.kind == "xml"
    assert table.header[:3] == ("id", "title", "price")
    assert len(list(table.rows())) == 2
    assert told[-1][0] == told[-1][1]


BOMB = (
    '<!DOCTYPE a [<!ENTITY x "ha"><!ENTITY y "&x;&x;&x;&x;&x;&x;&x;&x;">]>'
    "<rss><item><title>&y;</title></item></rss>"
)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (BOMB, "declares a document type"),
        ("<rss><item><title>A</title>", "cannot be read as XML"),
        ("<rss>" + "<a>" * 60 + "</a>" * 60 + "</rss>", "more than 50 deep"),
        ("<rss><channel/></rss>", "holds no products"),
        ('<?xml version="1.0" encoding="no-such"?><rss/>', "unknown encoding"),
        ('<?xml version="1.0" encoding="big5"?><rss/>', "multi-byte encodings"),
        ('<?xml version="1.0" encoding="idna"?><rss/>', "cannot be read as XML"),
        ("<item><title>root alone</title></item>", "holds no products"),
        ("<html><body><p>no</p></body></html>", "holds no products"),
    ],
)
def test_what_is_no_feed_is_one_sentence(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        list(TableFile(_write(tmp_path, text)).rows())


def test_a_part_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("errands.mining.table.feed._LONGEST", 1 << 17)
    for part in (f"<!--{'x' * (1 << 19)}-->", f'<a b="{"x" * (1 << 19)}"/>'):
        path = _write(tmp_path, f"<rss><item><title>A</title>{part}</item></rss>")
        with pytest.raises(DataError, match="131,072 bytes without end"):
            list(feed_rows(path))


def test_a_product_without_end(tmp_path: Path) -> None:
    path = _write(tmp_path, f"<rss><item><title>{'x' * (1 << 24)}x</title></item></rss>")
    with pytest.raises(DataError, match="more than 16,777,216 characters"):
        list(feed_rows(path))

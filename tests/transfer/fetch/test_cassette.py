"""Recording and replaying, and folders of saved pages."""

import base64
import json
from pathlib import Path

import pytest
import zstandard
from made_up_shops import GOODS, MadeUpShop, amazon_item, amazon_results, shop_results

from errands.errors import DataError, SettingError
from errands.transfer.fetch.cassette import Recorder, Replayer, read_cassette
from errands.transfer.fetch.fetcher import FetchedPage, MissingPage, PageRequest
from errands.transfer.fetch.saved_pages import SavedPages, read_page
from errands.transfer.fetch.sources import page_source
from errands.transfer.sites.site import site_named

AMAZON = site_named("amazon")


def _requests() -> list[PageRequest]:
    return [
        PageRequest("search", AMAZON.search_url("red shoe", 1)),
        PageRequest("search", AMAZON.search_url("red shoe", 2)),
        PageRequest("item", AMAZON.item_url("B0SHOE0001")),
    ]


def test_what_is_recorded_is_replayed_and_nothing_else(tmp_path: Path) -> None:
    tape, shop = tmp_path / "deep" / "tape.jsonl", MadeUpShop("amazon")
    recorder = Recorder(tape, shop)
    answers = [recorder(request) for request in _requests()]
    assert [recorder(request) for request in _requests()] == answers
    recorder.close()
    assert shop.asked == _requests(), "what is on the cassette is not asked for again"
    replayer = Replayer(tape)
    assert [replayer(request) for request in reversed(_requests())] == answers[::-1]
    with pytest.raises(MissingPage, match="Nobody was asked"):
        replayer(PageRequest("search", AMAZON.search_url("red shoe", 3)))
    # The page is part of the key: the original gave page 1 again.
    assert answers[0] != answers[1]
    lines = tape.read_text().splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["search", "search", "item"]
    assert len(lines[0]) < len(answers[0].body), "bodies are squeezed"


def test_a_recording_that_was_cut_off_goes_on(tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    recorder = Recorder(tape, MadeUpShop("amazon"))
    for request in _requests()[:2]:
        recorder(request)
    recorder.close()
    whole = tape.read_bytes()
    tape.write_bytes(whole[:-30])
    assert len(read_cassette(tape)) == 1
    shop = MadeUpShop("amazon")
    again = Recorder(tape, shop)
    for request in _requests():
        again(request)
    again.close()
    assert shop.asked == _requests()[1:]
    assert len(read_cassette(tape)) == 3


def test_a_refusal_is_asked_again_and_the_last_answer_counts(tmp_path: Path) -> None:
    tape, request = tmp_path / "tape.jsonl", _requests()[0]
    moods = iter([
        FetchedPage(request.url, 503, "busy"),
        FetchedPage(request.url, 200, "<title>Robot Check</title>"),
        FetchedPage(request.url, 200, "<p>a page</p>"),
    ])  # fmt: skip
    given = []
    for _ in range(2):  # One recording after the other.
        recorder = Recorder(tape, lambda request: next(moods), AMAZON.refusal)
        given += [recorder(request).body for _ in range(2)]
        recorder.close()
    assert given == ["busy", "<title>Robot Check</title>", "<p>a page</p>", "<p>a page</p>"]
    assert Replayer(tape)(request).body == "<p>a page</p>"
    assert len(tape.read_bytes().splitlines()) == 3


def test_a_page_that_was_cut_off_is_no_shorter_page(tmp_path: Path) -> None:
    packed = zstandard.compress(b"<p>a page</p>" * 20_000 + bytes(range(256)))
    endless = zstandard.ZstdCompressor(write_content_size=False).compress(b"<p>a page</p>")
    for data in (packed[:-3], packed + b"more", endless):
        body = base64.b64encode(data).decode()
        line = {"kind": "item", "url": "u", "status": 200, "at": "u", "body": body}
        (tmp_path / "tape.jsonl").write_text(json.dumps(line) + "\n")
        with pytest.raises(DataError, match="line 1, is not of a cassette"):
            read_cassette(tmp_path / "tape.jsonl")


@pytest.mark.parametrize(
    "data",
    [
        b"{}\n", b"x", b"\xff\xfe\n", b'{"kind":"buy","url":"","status":200,"at":"","body":""}\n',
        b'{"kind":"item","url":"","status":200,"at":"","body":"!!"}\n',
        b'{"kind":"item","url":"","status":200,"at":"","body":"AAAA"}\n',
        b'{"kind":"item","url":"","status":200,"at":"","body":"","format":9}\n', b"",
    ],
)  # fmt: skip
def test_what_is_no_cassette(tmp_path: Path, data: bytes) -> None:
    tape = tmp_path / "tape.jsonl"
    tape.write_bytes(data)
    with pytest.raises(DataError, match="cassette"):
        Replayer(tape)


def test_no_cassette_and_no_sense(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="--record"):
        Replayer(tmp_path / "none.jsonl")
    with pytest.raises(SettingError, match="--record needs"), page_source(AMAZON, record=True):
        pass
    both = page_source(AMAZON, pages=tmp_path, cassette=tmp_path / "x")
    with pytest.raises(SettingError, match="not from both"), both:
        pass


def test_a_folder_speaks_for_itself(tmp_path: Path) -> None:
    (tmp_path / "a-results.html").write_text(amazon_results(GOODS[:12], True))
    (tmp_path / "b-results.html").write_text(amazon_results(GOODS[12:], False))
    (tmp_path / "item.html").write_text(amazon_item(GOODS[0]))
    (tmp_path / "notes.html").write_text("<p>unrelated</p>")
    (tmp_path / "broken.html").write_bytes(b"\xff\xfe<\x00")
    held = SavedPages(tmp_path, AMAZON)
    first, second, _ = _requests()
    assert GOODS[0]["id"] in held(first).body
    assert GOODS[12]["id"] in held(second).body
    beyond = PageRequest("search", AMAZON.search_url("anything", 3))
    assert held(beyond).body == ""
    assert held(PageRequest("item", AMAZON.item_url("b0shoe0000"))).body == amazon_item(GOODS[0])
    with pytest.raises(MissingPage, match="nobody was asked"):
        held(PageRequest("item", AMAZON.item_url("B0SHOE0001")))


def test_one_bad_file_does_not_break_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = '{"@type":"Product","brand":' + '{"name":' * 700 + '""' + "}" * 701
    (tmp_path / "deep.html").write_text(f'<script type="application/ld+json">{deep}</script>')
    (tmp_path / "results.html").write_text(shop_results(GOODS[:12], False))
    (tmp_path / "huge.html").write_bytes(b" " * 30_000)
    monkeypatch.setattr("errands.transfer.fetch.saved_pages._LARGEST", 20_000)
    site = site_named("schema.org", search="https://shop.example/?q={query}")
    held = SavedPages(tmp_path, site)
    assert GOODS[0]["id"] in held(PageRequest("search", site.search_url("x", 1))).body
    with pytest.raises(MissingPage, match=r"huge\.html is larger"):
        held(PageRequest("item", "https://shop.example/goods/none"))


def test_an_index_names_the_pages(tmp_path: Path) -> None:
    (tmp_path / "one.html").write_text(amazon_results(GOODS[:3], False))
    index = tmp_path / "index.toml"
    url = AMAZON.search_url("red shoe", 1)
    index.write_text(f'[[page]]\nurl = "{url}"\nfile = "one.html"\n')
    held = SavedPages(tmp_path, AMAZON)
    assert GOODS[0]["id"] in held(PageRequest("search", url)).body
    with pytest.raises(MissingPage):
        held(PageRequest("search", AMAZON.search_url("blue shoe", 1)))
    for text, said in (
        ("[[page]]\nurl = 3\nfile = 'one.html'", "both texts"),
        ("[[page]]\nurl = 'x'\nfile = '../../etc/passwd'", "not in the folder"),
        ("[[page]]\nurl = 'x'\nfile = 'absent.html'", "not in the folder"),
        ("page = 3", "names no pages"),
        ("[[", "not TOML"),
        ("page = " + "[" * 5_000, "nests too deeply"),
    ):
        index.write_text(text)
        with pytest.raises(DataError, match=said):
            SavedPages(tmp_path, AMAZON)


def test_no_folder_no_pages(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not a folder"):
        SavedPages(tmp_path / "none", AMAZON)
    with pytest.raises(DataError, match="no page of amazon"):
        SavedPages(tmp_path, AMAZON)
    with pytest.raises(DataError, match="cannot be read"):
        read_page(tmp_path / "none.html")
    (tmp_path / "wide.html").write_bytes("<p>é</p>".encode("utf-16"))
    assert read_page(tmp_path / "wide.html") == "<p>é</p>"

"""The review page: every answer is saved, nothing acts that should not, nobody else may answer."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

import pytest
from mining_served import NASTY, Served, candidates, served

from errands.mining.decisions import read_decisions


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path / "d.jsonl") as running:
        yield running


def test_answers_lead_from_question_to_question(site: Served, tmp_path: Path) -> None:
    check = site.check()
    for phrase, use in (("easy clean", "which is"), ("dry skin", "good for"), ("oz ml", "drop")):
        page = site.ask("/mining")[2]
        assert f'id="phrase">{phrase}</h2>' in page
        assert site.ask("/mining", {"check": check, "phrase": phrase, "use": use})[:2] == (
            303,
            "/mining",
        )
        assert read_decisions(tmp_path / "d.jsonl")[phrase] == use
    page = site.ask("/mining")[2]
    assert "3 of 5 answered: 2 kept, 1 dropped" in page
    assert 'id="phrase">wide handle</h2>' in page


def test_undo_later_and_change(site: Served, tmp_path: Path) -> None:
    check = site.check()
    assert site.ask("/mining/undo", {"check": check})[1] == "/mining"
    site.ask("/mining", {"check": check, "phrase": "easy clean", "use": "drop"})
    status, where, _ = site.ask("/mining/undo", {"check": check})
    assert (status, where) == (303, "/mining?phrase=easy%20clean")
    assert read_decisions(tmp_path / "d.jsonl") == {}
    site.ask("/mining/later", {"check": check, "phrase": "easy clean"})
    assert 'id="phrase">dry skin</h2>' in site.ask("/mining")[2]
    site.ask("/mining", {"check": check, "phrase": "dry skin", "use": "has"})
    again = site.ask("/mining?phrase=dry%20skin")[2]
    assert "Answered before" in again
    site.ask("/mining", {"check": check, "phrase": "dry skin", "use": "good for"})
    assert read_decisions(tmp_path / "d.jsonl") == {"dry skin": "good for"}


def test_the_end(site: Served) -> None:
    check = site.check()
    for one in candidates().candidates:
        site.ask("/mining", {"check": check, "phrase": one.phrase, "use": "has"})
    page = site.ask("/mining")[2]
    assert "All candidates are answered." in page
    assert "errands mine assign" in page


def test_the_answers_are_listed(site: Served) -> None:
    assert "There are none yet." in site.ask("/mining/decided")[2]
    check = site.check()
    site.ask("/mining", {"check": check, "phrase": "easy clean", "use": "drop"})
    site.ask("/mining", {"check": check, "phrase": "dry skin", "use": "good for"})
    page = site.ask("/mining/decided")[2]
    assert page.index("dry skin") < page.index("easy clean")
    assert "proposed which is" in page
    assert "agrees" in page
    for offset in ("999999", "-1", "x", "9" * 50):
        assert site.ask(f"/mining/decided?offset={offset}")[0] == 200


def test_nothing_of_a_product_acts(site: Served) -> None:
    check = site.check()
    site.ask("/mining", {"check": check, "phrase": NASTY, "use": "is a"})
    pages = [
        site.ask(path)[2]
        for path in (
            f"/mining?phrase={quote(NASTY)}",
            "/mining",
            "/mining/decided",
            "/mining?phrase=%3Cb%3E",
        )
    ]
    for page in pages:
        assert "<script>" not in page
        assert "alert(1)</script>" not in page
        # One script, which is a file.
        assert len(re.findall("<script", page)) == 1
    assert "&lt;script&gt;alert(1)" in pages[0]


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({"phrase": "easy clean", "use": "has"}, 403),
        ({"check": "wrong", "phrase": "easy clean", "use": "has"}, 403),
        ({"check": "ours", "phrase": "nonsense", "use": "has"}, 400),
        ({"check": "ours", "phrase": "easy clean", "use": "eat"}, 400),
        ({"check": "ours"}, 400),
        ({"check": "ours", "phrase": "x" * 70_000, "use": "has"}, 413),
    ],
)
def test_answers_that_are_none(
    site: Served, tmp_path: Path, form: dict[str, str], status: int
) -> None:
    if form.get("check") == "ours":
        form = {**form, "check": site.check()}
    found, _, page = site.ask("/mining", form)
    assert found == status
    assert "That did not work" in page
    assert read_decisions(tmp_path / "d.jsonl") == {}


def test_only_this_machine_and_its_own_pages(site: Served, tmp_path: Path) -> None:
    check = site.check()
    assert site.ask("/mining", Host="evil.example:80")[0] == 421
    form = {"check": check, "phrase": "easy clean", "use": "has"}
    assert site.ask("/mining", form, Origin="https://evil.example")[0] == 403
    assert read_decisions(tmp_path / "d.jsonl") == {}
    assert site.ask("/")[:2] == (303, "/mining")
    assert site.ask("/mining?phrase=nowhere")[0] == 404


def test_pages_forbid_what_is_not_ours(site: Served) -> None:
    with urlopen(f"{site.url}/mining", timeout=30) as answer:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert answer.headers["cache-control"] == "no-store"
    page = site.ask("/mining")[2]
    for address in re.findall(r'(?:href|src)="(/mining/static[^"]+)"', page):
        assert site.ask(address)[0] == 200


def test_killed_outright_every_answer_is_there(tmp_path: Path) -> None:
    mined = tmp_path / "candidates.json"
    candidates().write(mined)
    decisions = tmp_path / "d.jsonl"
    child = subprocess.Popen(
        [sys.executable, "-m", "errands", "mine", "review", str(mined), "--decisions",
         str(decisions), "--web", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )  # fmt: skip
    try:
        assert child.stdout is not None
        address = child.stdout.readline().split()[-1]
        with pytest.raises(HTTPError, match="421"):
            urlopen(Request(address, headers={"Host": "evil.example"}), timeout=60)
        with urlopen(address, timeout=60) as answer:
            found = re.search(r'name="check" value="([^"]+)"', answer.read().decode())
        assert found
        form = urlencode({"check": found[1], "phrase": "easy clean", "use": "which is"})
        with urlopen(Request(address, form.encode()), timeout=60) as answer:
            assert "dry skin" in answer.read().decode()
        os.kill(child.pid, signal.SIGKILL)
        child.wait(60)
    finally:
        child.kill()
        child.communicate()
    assert read_decisions(decisions) == {"easy clean": "which is"}
    with served(decisions) as again:
        assert "1 of 5 answered" in again.ask("/mining")[2]

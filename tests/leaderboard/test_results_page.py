"""The results page is what the submissions in results/ give; those of the demo come back."""

import re
import shutil
import sys
from pathlib import Path

import msgspec
import pytest

from errands.leaderboard.board import leaderboard
from errands.leaderboard.results_page import WantedRun, fill, wanted_runs
from errands.leaderboard.submission import SUFFIX, SubmissionError, SubmittedRun, read_submission
from errands.runs.protocol import named_protocols

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "results"
TEMPLATE = (RESULTS / "template.md").read_text("utf-8")
FILES = sorted(RESULTS.glob(f"*{SUFFIX}"))


@pytest.fixture(scope="module")
def submitted() -> list[SubmittedRun]:
    return [read_submission(path)[0] for path in FILES]


def test_the_page_is_what_the_submissions_give(submitted: list[SubmittedRun]) -> None:
    page = (ROOT / "docs" / "explanation" / "results.md").read_text("utf-8")
    assert page == fill(TEMPLATE, submitted), (
        "docs/explanation/results.md is stale: run `make results`"
    )


def test_there_is_a_submission_for_every_row(submitted: list[SubmittedRun]) -> None:
    there = {WantedRun(str(run.protocol["id"]), run.agent.agent) for run in submitted}
    assert there == set(wanted_runs(TEMPLATE))
    for run in submitted:
        known = named_protocols()[str(run.protocol["id"])]
        assert run.protocol["version"] == known.version, "run `make results`"


def test_nothing_of_the_originals_is_in_them(submitted: list[SubmittedRun]) -> None:
    """Of data that is not ours there are fingerprints, keys and figures."""
    for path, run in zip(FILES, submitted, strict=True):
        assert path.stat().st_size < 200_000
        if not str(run.protocol["data"]).startswith("demo"):
            assert run.kind == "reproducible", path.name
            assert all(len(episode.actions) == 24 for episode in run.episodes)
            assert not any(episode.error for episode in run.episodes)


@pytest.mark.parametrize("name", ["rule@shop-demo", "random@shop-demo", "do-nothing@turk-demo"])
def test_those_of_the_demo_come_back(name: str, tmp_path: Path) -> None:
    shutil.copy(RESULTS / f"{name}{SUFFIX}", tmp_path)
    board = leaderboard(tmp_path).board
    assert not board.refused
    assert not board.unchecked
    [table] = [table for table in board.tables if table.date]
    assert not table.own
    assert table.departures == ()


def test_a_template_says_what_is_wrong_with_it(submitted: list[SubmittedRun]) -> None:
    for text, reason in {
        "{{ chart x }}": "expected table, figure, made",
        "{{ table shop-demo }}": "expected PROTOCOL: AGENT",
        "{{ figure shop-demo rule }}": "expected PROTOCOL AGENT NAME",
        "{{ figure shop-demo rule r_luck }}": "expected score, success, steps or one of r_type",
    }.items():
        with pytest.raises(SubmissionError, match=reason):
            fill(text, submitted)


def test_what_is_not_there_or_old_is_marked(submitted: list[SubmittedRun]) -> None:
    words = "{{ table shop-demo: rule, shopper }}"
    page = fill(words, submitted)
    assert "| shopper | not played |" in page
    old = [
        msgspec.structs.replace(run, protocol={**run.protocol, "version": 0}) for run in submitted
    ]
    assert "| rule (of version 0, not remade since) |" in fill(words, old)
    assert fill("{{ figure shop-demo shopper score }}", submitted) == "not played"


def test_make_results_writes_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The script itself, on one protocol of the demo, without the originals."""
    monkeypatch.syspath_prepend(ROOT / "tests")
    import make_results as script

    folder = tmp_path / "results"
    folder.mkdir()
    template = folder / "template.md"
    template.write_text(
        "# R\n{{ table shop-demo: rule }}\n{{ table webshop-1k: rule }}\n", encoding="utf-8"
    )
    paths = {
        "ROOT": tmp_path,
        "RESULTS": folder,
        "TEMPLATE": template,
        "PAGE": tmp_path / "results.md",
        "BUILD": tmp_path / "build" / "results",
        "SHARED": tmp_path / "nowhere",
    }
    for name, path in paths.items():
        monkeypatch.setattr(script, name, path)
    said: list[str] = []
    monkeypatch.setattr(script, "print", lambda text, **_: said.append(text), raising=False)
    assert script.main([]) == 0
    first = (folder / f"rule@shop-demo{SUFFIX}").read_bytes()
    page = (tmp_path / "results.md").read_text()
    assert re.search(r"\| rule \| \d+\.\d \(\d+\.\d-\d+\.\d\) \|", page)
    assert "| rule | not played |" in page
    assert any(
        "Not remade: rule@webshop-1k: the data 'webshop-1k' is not in" in one for one in said
    )
    assert (tmp_path / "build" / "leaderboard" / "index.html").is_file()
    assert script.main([]) == 0
    assert (folder / f"rule@shop-demo{SUFFIX}").read_bytes() == first
    assert any("as before" in one for one in said)
    sys.modules.pop("make_results")

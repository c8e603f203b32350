"""`errands submit` and `errands leaderboard`, as a user calls them."""

import json
from pathlib import Path

import msgspec
import pytest
from command import in_process
from submissions import rewritten

from errands.leaderboard.submission import read_submission
from errands.shop.catalog.catalog import Catalog


@pytest.fixture
def run(little: Catalog, tmp_path: Path) -> Path:
    protocols = tmp_path / "mine.toml"
    protocols.write_text(
        "[mine]\nversion = 1\ndomain = 'shop'\ndata = '/nowhere/little'\ngoals = 'human'\n"
        "episodes = 6\nmax_steps = 15\n"
    )
    place = tmp_path / "run"
    words = ("--data", little.path, "--agent", "rule", "--out", place)
    assert in_process("run", f"{protocols}#mine", *words).returncode == 0
    return place


def test_from_a_run_to_a_site_and_back(run: Path, little: Catalog, tmp_path: Path) -> None:
    folder = tmp_path / "sent"
    file = folder / "mine.errands.json.gz"
    card = ("--name", "Mine", "--authors", "A. Person", "--url", "https://example.org")
    sent = in_process("submit", run, "--out", file, *card, "--note", "A first try", "--json")
    assert sent.returncode == 0, sent.stderr
    told = json.loads(sent.stdout)
    submitted, digest = read_submission(file)
    assert told["hash"] == digest
    assert told["episodes"] == 6
    assert submitted.agent.note == "A first try"

    words = ("leaderboard", folder, "--out", tmp_path / "site", "--workers", 1)
    absent = in_process(*words)
    assert absent.returncode == 0
    assert "Not checked: mine.errands.json.gz: data absent: 'little'" in absent.stderr

    data = ("--data", f"little={little.path}")
    done = in_process(*words, *data, "--title", "Ours")
    assert done.returncode == 0, done.stderr
    assert "Mine" in done.stdout
    assert f"Open {tmp_path / 'site' / 'index.html'}" in done.stdout
    assert "<h1>Ours</h1>" in (tmp_path / "site" / "index.html").read_text()

    found = json.loads(in_process(*words, *data, "--json").stdout)
    [table] = found["tables"]
    assert table["rows"][0]["hash"] == digest
    assert table["rows"][0]["score"]["mean"] == told["score"]["mean"]

    rewritten(
        file,
        lambda one: msgspec.structs.replace(
            one, figures=msgspec.structs.replace(one.figures, errors=2)
        ),
    )
    refused = in_process(*words, *data)
    assert refused.returncode == 1
    assert (
        "Refused: mine.errands.json.gz: It does not come back. the number of errors: 2 was"
        " claimed, 0 came." in refused.stderr
    )


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("leaderboard", "nowhere"), "nowhere is no folder"),
        (("leaderboard", "."), "has no file *.errands.json.gz"),
        (("leaderboard", ".", "--data", "x"), "expected NAME=PATH"),
        (("leaderboard", ".", "--data", "x=/nowhere"), "there is nothing at /nowhere"),
        (("submit", "nowhere"), "nowhere"),
    ],
)
def test_mistakes_are_one_sentence(words: tuple[str, ...], reason: str, tmp_path: Path) -> None:
    done = in_process(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert reason in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_an_agent_that_ships_is_sent_without_its_words(run: Path, tmp_path: Path) -> None:
    done = in_process("submit", run, "--reproducible", cwd=tmp_path)
    assert done.returncode == 0
    submitted, _ = read_submission(tmp_path / "rule@mine@1.errands.json.gz")
    assert submitted.kind == "reproducible"
    again = in_process("submit", run, "--reproducible", cwd=tmp_path)
    assert again.returncode == 2
    assert "--force" in again.stderr

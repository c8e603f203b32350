"""`errands verify-reward`, as a user calls it."""

import json
from contextlib import closing
from pathlib import Path

import pytest
from command import in_process

from errands.runs.protocol import Protocol
from errands.runs.runner import run
from errands.runs.store.places import open_run
from errands.shop.catalog.catalog import Catalog
from errands.verify.hand_scores import HandFile, HandScore


def errands(*arguments: object, cwd: Path, status: int = 0) -> str:
    """What the command prints; its errors where it fails."""
    done = in_process("verify-reward", *arguments, cwd=cwd, COLUMNS="120")
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    if status:
        assert done.stderr.count("\n") == 1
    return done.stderr if status else done.stdout


@pytest.fixture(scope="module")
def place(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run in `careful`."""
    folder = tmp_path_factory.mktemp("verified")
    protocol = Protocol(
        id="mine", version=1, title="m", domain="shop", data=str(little.path), goals="human",
        episodes=20, max_steps=20,
    )  # fmt: skip
    run(protocol, "careful", out=folder / "careful")
    return folder


def test_the_table(place: Path) -> None:
    told = errands("careful", "--examples", 2, cwd=place)
    for word in ("released and synonym", "Pearson", "within 10 %", "20 trajectories"):
        assert word in told
    held = json.loads(errands("careful", "--json", cwd=place))
    assert held["trajectories"] == 20
    assert set(held["means"]) == {"released", "synonym"}
    assert all(part["below"] == 0 for part in held["agreements"][0]["parts"].values())
    assert "--web" in errands("--help", cwd=place)


def test_the_page(place: Path) -> None:
    assert "Written: page.html" in errands("careful", "--out", "page.html", cwd=place)
    assert "Mean scores" in (place / "page.html").read_text()
    assert "--force" in errands("careful", "--out", "page.html", cwd=place, status=2)
    errands("careful", "--out", "page.html", "--force", cwd=place)


def test_scores_by_hand(place: Path) -> None:
    with closing(open_run(place / "careful")) as store:
        id = store.info.id
        goals = [row.parts for row in store.summaries()]
    assert goals
    path = place / "hand.jsonl"
    told = errands("careful", "--hand", path, cwd=place, status=2)
    assert "cannot be read" in told
    path.write_text("{}\n")
    assert "line 1" in errands("careful", "--hand", path, cwd=place, status=2)
    path.unlink()
    with HandFile(path, id) as file:
        file.add(HandScore(run=id, episode=0, type=1.0, attributes=(), options=(), price=True))
    assert "other data" in errands("careful", "--hand", path, cwd=place, status=2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["none"], "none"),
        (["careful", "--rules", "released"], "first scorer"),
        (["careful", "--rules", "nobody"], "There is no reward rule 'nobody'"),
        (["careful", "--web", "--json"], "--web serves pages"),
        (["careful", "--web", "--hand", "/proc/none/x.jsonl"], "/proc/none/x.jsonl"),
    ],
)
def test_mistakes_are_one_sentence(place: Path, words: list[str], said: str) -> None:
    assert said in errands(*words, cwd=place, status=2)

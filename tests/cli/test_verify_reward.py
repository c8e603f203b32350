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
from errands.verify.verification import Material


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


def hand_file(place: Path, name: str, judge: str, type_: float) -> Path:
    """Scores of the first purchases of the run."""
    with closing(open_run(place / "careful")) as store:
        material = Material.read(store)
    path = place / name
    path.unlink(missing_ok=True)
    with HandFile(path, material.info.id, judge) as file:
        for one in [one for one in material.trajectories if one.purchase][:6]:
            file.add(
                HandScore(
                    run=material.info.id, episode=one.number, type=type_,
                    attributes=(True,) * len(one.goal.attributes),
                    options=(True,) * len(one.goal.goal_options), price=True,
                )
            )  # fmt: skip
    return path


def test_two_judges_an_interval_and_an_export(place: Path) -> None:
    ann = hand_file(place, "ann.jsonl", "ann", 1.0)
    bob = hand_file(place, "bob.jsonl", "bob", 0.5)
    hands = ["--hand", ann, "--hand", bob]
    told = errands("careful", *hands, "--interval", "0.05", "--export", "judged.csv", cwd=place)
    for word in ("ann and bob: 6 purchases", "kappa", "in all) for ±5 points", "ann 1, bob 0.5"):
        assert word in told
    assert (place / "judged.csv").read_text().startswith("run,episode,goal,wanted_asin")
    held = json.loads(errands("careful", *hands, "--interval", "0.1", "--json", cwd=place))
    assert held["judges"][0]["parts"]["type"]["same"]["mean"] == 0.0
    assert held["needed"][0]["total"] > 0
    again = errands("careful", *hands, "--export", "judged.csv", cwd=place, status=2)
    assert "--force" in again
    errands("careful", *hands, "--export", "judged.jsonl", cwd=place)
    assert len((place / "judged.jsonl").read_text().splitlines()) == 6
    told = errands("careful", "--interval", "0.05", cwd=place)
    assert "381 judgements give ±5 points" in told


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--judge", "ann"], "goes with --web"),
        (["--web", "--judge", "../ann"], "letters, digits"),
        (["--web", "--judge", "synonym"], "the rules are called so"),
        (["--web", "--export", "x.csv"], "--web serves pages"),
        (["--export", "x.csv"], "name their files with --hand"),
        (["--interval", "5"], "half an interval"),
        (["--web", "--interval", "5"], "half an interval"),
        (["--web", "--hand", "a.jsonl", "--hand", "b.jsonl"], "one judge"),
    ],
)
def test_mistakes_about_judges_are_one_sentence(place: Path, words: list[str], said: str) -> None:
    assert said in errands("careful", *words, cwd=place, status=2)

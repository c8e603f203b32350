"""`errands catalog info --against` and `catalog goals`: what they print, write and refuse."""

import json
from pathlib import Path

import pytest
from command import in_process as errands

from errands.shop.catalog.catalog import Catalog
from errands.shop.splits import split_indices


def test_goals_are_compared_with_real_ones(little: Catalog) -> None:
    done = errands("catalog", "info", little.path, "--against", "paper", "--sample", 20)
    assert "1,181,436 │" in done.stdout  # Not 1.181e+06.
    assert done.returncode == 0, done.stderr
    for part in ("words per instruction", "14.36", "the paper, 1,181,436 products", "0.7973"):
        assert part in done.stdout
    told = errands(
        *("catalog", "info", little.path, "--against", "paper", "--goals", "synthetic"),
        *("--sample", 20, "--seed", 3, "--json"),
    )
    record = json.loads(told.stdout)
    assert (record["goals"], record["seed"]) == ("synthetic", 3)
    rows = {row["name"]: row for row in record["statistics"]}
    assert rows["goals counted"]["here"] == 20
    assert rows["perfect substitute in first 50 among 1000"]["real"] == 0.18


def test_a_catalogue_without_people_is_compared_too(tmp_path: Path) -> None:
    assert errands("catalog", "generate", tmp_path / "one", "--products", 12).returncode == 0
    done = errands("catalog", "info", tmp_path / "one", "--against", "paper")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("info", "--against", "reality"), "--against reality: expected paper."),
        (("info", "--against", "paper", "--goals", "mine"), "There is no goal set 'mine'"),
        (("info", "--against", "paper", "--sample", "0"), "--sample"),
        (("info", "--goals", "human"), "add --against paper"),
        (("info", "--against", "paper", "--quick"), "leave out one of them"),
        (("goals",), "Where to write the goals is missing: --out FILE."),
        (("goals", "--difficulty", "hard", "--out", "x.json"), "add --generate N"),
        (("goals", "--disjoint-from", "human", "--out", "x.json"), "add --generate N"),
        (("goals", "--generate", "3", "--goals", "human"), "leave out --goals"),
        (("goals", "--generate", "3", "--split", "test"), "leave out --goals, --split"),
        (("goals", "--generate", "0"), "0 goals were asked for"),
        (("goals", "--generate", "301"), "of the 300 in"),
        (("goals", "--generate", "3", "--difficulty", "x"), "no difficulty 'x'"),
        (("goals", "--generate", "3", "--disjoint-from", "x.json"), "no goal set 'x.json'"),
        (("goals", "--split", "disjoint", "--out", "x.json"), "There is no split 'disjoint'"),
    ],
)
def test_mistakes_are_one_sentence(
    words: tuple[str, ...], message: str, little: Catalog, tmp_path: Path
) -> None:
    done = errands("catalog", words[0], little.path, *words[1:], cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_new_goals_are_written_and_stay_apart(little: Catalog, tmp_path: Path) -> None:
    train, test, again = (tmp_path / f"{name}.json" for name in ("train", "test", "again"))
    made = errands("catalog", "goals", little.path, "--generate", 60, "--seed", 1, "--out", train)
    assert made.stdout.startswith(f"{train}: 60 goals and 300 prices.")
    apart = ("--disjoint-from", train, "--disjoint-from", "human", "--difficulty", "hard")
    for out in (test, again):
        words = ("--generate", 40, "--seed", 2, *apart, "--out", out)
        done = errands("catalog", "goals", little.path, *words)
        assert done.returncode == 0, done.stderr
    assert test.read_bytes() == again.read_bytes()
    frozen = json.loads(test.read_text())
    assert frozen["made"]["difficulty"] == "hard"
    assert frozen["made"]["catalog"] == little.manifest.checksum
    taken = {goal["asin"] for goal in json.loads(train.read_text())["goals"]}
    taken |= {asin for asin, _ in little.goals("human").entries()[0]}
    assert not taken & {goal["asin"] for goal in frozen["goals"]}
    assert len(little.goals(test)) == 40
    refused = errands("catalog", "goals", little.path, "--generate", 5, "--out", test)
    assert "exists already" in refused.stderr
    assert test.read_bytes() == again.read_bytes()


def test_new_goals_can_be_looked_at(little: Catalog) -> None:
    done = errands("catalog", "goals", little.path, "--generate", 4)
    assert len(done.stdout.splitlines()) == 4
    assert done.stdout == errands("catalog", "goals", little.path, "--generate", 4).stdout
    assert (
        done.stdout != errands("catalog", "goals", little.path, "--generate", 4, "--seed", 9).stdout
    )


@pytest.mark.parametrize("split", ["disjoint-test", "disjoint-eval", "disjoint-train", "test"])
def test_every_split_can_be_frozen(split: str, little: Catalog, tmp_path: Path) -> None:
    out = tmp_path / "split.json"
    words = ("--goals", "human", "--split", split, "--out", out)
    assert errands("catalog", "goals", little.path, *words).returncode == 0
    goals = little.goals("human")
    expected = [goals[index].instruction_text for index in split_indices(split, goals)]
    frozen = json.loads(out.read_text())["goals"]
    assert [goal["instruction_text"] for goal in frozen] == expected


@pytest.mark.shared
def test_freezing_a_split_that_shares_products_says_so(catalog_1k: Catalog, tmp_path: Path) -> None:
    for split in ("test", "disjoint-test"):
        words = ("--split", split, "--out", tmp_path / f"{split}.json")
        done = errands("catalog", "goals", catalog_1k.path, *words)
        assert done.returncode == 0, done.stderr
        told = "95.8 % of the goals of the split 'test' share their product with 'train'"
        assert (told in done.stderr.replace("\n", " ")) == (split == "test")


def test_new_goals_are_played(little: Catalog, tmp_path: Path) -> None:
    errands("catalog", "goals", little.path, "--generate", 5, "--out", tmp_path / "new.json")
    (tmp_path / "mine.toml").write_text(
        '[new]\nversion = 1\ntitle = "Goals nobody has seen"\ndomain = "shop"\n'
        f'data = "{little.path}"\ngoals = "new.json"\nmax_steps = 15\n'
    )
    words = ("run", "mine.toml#new", "--agent", "choice-oracle", "--out", "played", "--json")
    done = errands(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["episodes"] == 5

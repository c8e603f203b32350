"""`errands train`, as a user calls it: every trainer end to end, and every mistake a sentence."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from school import Said, same_weights

from errands.extras import install_command
from errands.shop.catalog.catalog import Catalog

pytest.importorskip("torch", reason="needs torch: pip install 'errands[train]'")

Errands = Callable[..., Said]
TINY = ("--epochs", 1, "--width", 16, "--threads", 1)


def test_choice_tells_how_well_and_how_fast_it_learns(
    errands: Errands, demos: Path, il: Path, little: Catalog, tmp_path: Path
) -> None:
    words = ("train", "choice", demos, "--out", tmp_path / "il", *TINY, "--data", little.path)
    told = json.loads(errands(*words, "--evaluate", "0.2", "--json").out)
    assert told["checkpoint"] == str(tmp_path / "il")
    assert {"held_out_loss", "held_out_accuracy", "loss", "accuracy", "updates"} <= told.keys()
    assert told["choices_per_second"] > 0
    assert told["choices_per_cpu_second"] > 0
    assert {"encoding", "model", "learning", "saving", "evaluation"} == told["shares"].keys()
    last = json.loads((tmp_path / "il" / "log.jsonl").read_text().splitlines()[-1])
    assert last["held_out_loss"] == told["held_out_loss"]
    other = shutil.copytree(demos, tmp_path / "other")
    said = errands("train", "choice", demos, "--out", tmp_path / "run", *TINY, "--evaluate", other)
    assert "of those it was measured on, loss" in said.out
    assert "a CPU second; time: encoding" in said.out
    # What another run is measured on changes nothing.
    assert same_weights(tmp_path / "run", il)


def test_a_checkpoint_is_not_written_over(errands: Errands, demos: Path, il: Path) -> None:
    words = ("train", "choice", demos, "--out", il, *TINY)
    assert "has a checkpoint already; add --resume" in errands(*words, status=2).err
    before = (il / "weights.pt").read_bytes()
    errands(*words, "--resume")
    assert (il / "weights.pt").read_bytes() == before
    assert "other settings" in errands(*words, "--resume", "--rate", "1", status=2).err
    fewer = ("train", "choice", demos, "--least", "0", "--out", il, *TINY, "--resume")
    assert "trained on other demonstrations; resume it with" in errands(*fewer, status=2).err


def test_search_and_its_queries(
    errands: Errands, demos: Path, search: Path, little: Catalog, tmp_path: Path
) -> None:
    words = ("train", "search", demos, "--out", tmp_path / "search", "--epochs", 1, "--threads", 1)
    told = json.loads(errands(*words, "--evaluate", "0.2", "--json").out)
    assert told["held_out_loss"] > 0
    assert told["queries_per_second"] > 0
    file = tmp_path / "queries.json"
    ask = ("train", "queries", search, "--data", little.path, "--split", "disjoint-eval",
           "--beams", 2, "--out", file)  # fmt: skip
    told = json.loads(errands(*ask, "--json").out)
    assert told["instructions"] == len(json.loads(file.read_text())) > 0
    nowhere = (*ask[:2], tmp_path / "nowhere", *ask[3:])
    assert "add --force" in errands(*nowhere, status=2).err, "before all the work"
    assert "queries for" in errands(*ask, "--force").out


def test_rl_is_evaluated_played_and_reported(
    errands: Errands, il: Path, search: Path, little: Catalog, tmp_path: Path
) -> None:
    rl, run = tmp_path / "rl", tmp_path / "run"
    words = (
        "train", "rl", "--out", rl, "--from", il, "--search", search, "--data", little.path,
        "--total-timesteps", 96, "--evaluate-every", 64, "--evaluate-episodes", 3,
    )  # fmt: skip
    told = json.loads(errands(*words, "--json").out)
    assert told["steps"] == 96
    assert set(told["shares"]) == {
        *("environment", "encoding", "model", "learning", "evaluation", "saving")
    }
    assert told["best"]["score"] >= told["evaluated"]["score"]
    log = [json.loads(line) for line in (rl / "log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in log if "eval_score" in line] == [0, 64, 96]
    without = [*words[:-3], 0]
    without[3] = tmp_path / "without"
    assert "evaluation" not in errands(*without).out
    assert same_weights(rl, tmp_path / "without")

    play = ("run", "shop-learn", "--data", little.path, "--agent", "rl", "--episodes", 2)
    errands(*play, "--checkpoint", rl / "best", "--out", run)
    errands("report", run, "--out", tmp_path / "report", "--format", "html,json")
    kept = json.loads((tmp_path / "report" / "report.json").read_text())["runs"][0]["training"]
    assert kept["step"] == 96
    assert '<section id="training">' in (tmp_path / "report" / "report.html").read_text()
    shutil.rmtree(rl / "best")
    errands("report", run, "--out", tmp_path / "later", "--format", "md")
    assert "is gone, or cannot" in (tmp_path / "later" / "report.md").read_text()

    page = tmp_path / "curves" / "training.html"
    said = errands("report", il, rl, "--out", page.parent)
    assert f"Written: {page}" in said.out
    assert page.read_text().count("<polyline") > 10
    told = json.loads(errands("report", il, rl, run, "--out", page.parent, "--json").out)
    assert [one["label"] for one in told["trainings"]] == ["il", "rl"]
    assert [one["episodes"] for one in told["runs"]] == [2]
    assert (page.parent / "report.html").is_file()
    refused = errands("report", run, il, "--episode", 0, status=2)
    assert f"--episode is of runs, and {il} is a training" in refused.err


def test_rl_keeps_imitating_what_it_is_shown(
    errands: Errands, il: Path, demos: Path, little: Catalog, tmp_path: Path
) -> None:
    choices = tmp_path / "choices.jsonl"
    page = "Instruction:\\na red hat\\n[button] red [button_]\\n[button] buy now [button_]"
    choices.write_text(
        f'{{"states": ["{page}"], "available_actions": [["click[red]", "click[buy now]"]],'
        ' "action_idxs": [1]}\n'
    )
    usual = (
        "train",
        "rl",
        "--data",
        little.path,
        "--evaluate-every",
        0,
        "--total-timesteps",
        32,
    )

    def weight(name: str, *words: object) -> float:
        errands(*usual, "--out", tmp_path / name, *words)
        about = json.loads((tmp_path / name / "about.json").read_text())
        assert about["config"]["protocol"]["split"] == "disjoint-train"
        log = (tmp_path / name / "log.jsonl").read_text()
        assert ("imitation_loss" in log) == bool(about["config"]["imitation"])
        return float(about["config"]["imitation"])

    assert weight("both", "--from", il, "--demonstrations", demos) == 0.2
    assert weight("file", "--from", il, "--demonstrations", choices) == 0.2
    assert weight("told", "--from", il, "--demonstrations", demos, "--imitation", 0) == 0
    assert weight("words", "--demonstrations", demos) == 0
    words = (*usual, "--out", tmp_path / "both", "--demonstrations", demos, "--imitation", 0.2)
    assert "on other demonstrations" in errands(*words, "--resume", "--least", 0, status=2).err


def test_what_is_learnt_from_is_not_what_is_measured_on(
    errands: Errands, demos: Path, tmp_path: Path
) -> None:
    said = errands(
        "train", "choice", demos, "--out", tmp_path / "il", "--evaluate", demos, status=2
    )
    assert "is what is learnt from; name another run" in said.err
    assert not (tmp_path / "il").exists()


def test_queries_of_reinforcement_are_the_best_unless_told(
    errands: Errands, search: Path, little: Catalog, tmp_path: Path
) -> None:
    words = (
        "train", "rl", "--out", tmp_path / "rl", "--search", search, "--data", little.path,
        "--evaluate-every", 0, "--total-timesteps", 32,
    )  # fmt: skip
    said = errands(*words).err
    assert "In the first 20 updates only the value is learnt" in said
    assert "32 steps make 1: the choices stay as they are" in said
    about = json.loads((tmp_path / "rl" / "about.json").read_text())
    assert about["config"]["queries_from"] == f"{search}, the best"
    alone = ("train", "ppo", "--out", tmp_path / "no", "--queries", "sample")
    assert "add --search" in errands(*alone, status=2).err
    words = (*words, "--resume", "--queries")
    assert "other settings" in errands(*words, "sample", status=2).err
    assert "top, sample" in errands(*words, "worst", status=2).err


def test_goals_that_agents_are_tested_on_are_not_trained_on(
    errands: Errands, little: Catalog, tmp_path: Path
) -> None:
    words = (
        "train",
        "rl",
        "--data",
        little.path,
        "--evaluate-every",
        0,
        "--total-timesteps",
        32,
    )
    said = errands(*words, "--out", tmp_path / "no", "--protocol", "shop-learn", status=2).err
    assert "which agents are tested on" in said
    assert not (tmp_path / "no").exists()


def test_another_catalogue_is_refused_or_remarked_on(
    errands: Errands, demos: Path, il: Path, elsewhere: Path, little: Catalog, tmp_path: Path
) -> None:
    out = ("--out", tmp_path / "out")
    for trainer in ("choice", "search"):
        words = ("train", trainer, demos, *out, "--data", elsewhere)
        assert "was played on another catalogue" in errands(*words, status=2).err
    rl = (
        "train",
        "rl",
        *out,
        "--data",
        elsewhere,
        "--evaluate-every",
        0,
        "--total-timesteps",
        32,
    )
    said = errands(*rl, "--demonstrations", demos, status=2)
    assert "was played on another catalogue" in said.err
    assert not (tmp_path / "out").exists()
    # To go on in another shop is no mistake.
    assert "was trained on another catalogue" in errands(*rl, "--from", il).err
    here = (*rl[:5], little.path, *rl[6:], "--resume")
    assert "on another catalogue; resume it with the same" in errands(*here, status=2).err
    choices = tmp_path / "choices.jsonl"
    choices.write_text("")
    words = ("train", "choice", choices, *out, "--data", little.path)
    assert "does not say which catalogue" in errands(*words, status=2).err
    assert "no choice to learn from" in errands(*words[:-2], status=2).err


def test_a_model_of_another_architecture_is_refused(
    errands: Errands, il: Path, search: Path, little: Catalog, tmp_path: Path
) -> None:
    play = ("run", "shop-learn", "--data", little.path, "--agent", "il", "--episodes", 1,
            "--out", tmp_path / "run", "--checkpoint")  # fmt: skip
    said = errands(*play, search, status=2).err
    assert "is a search model; expected a choice model" in said
    other = tmp_path / "other"
    shutil.copytree(il, other)
    about = json.loads((other / "about.json").read_text())
    about["config"]["choice"]["width"] = 32
    (other / "about.json").write_text(json.dumps(about))
    assert "weights of another architecture" in errands(*play, other, status=2).err
    rl = (
        "train",
        "rl",
        "--data",
        little.path,
        "--out",
        tmp_path / "rl",
        "--total-timesteps",
        32,
    )
    words = (*rl, "--evaluate-every", 0, "--from")
    assert "weights of another architecture" in errands(*words, other, status=2).err
    assert "is a search model" in errands(*words, search, status=2).err
    assert "is a choice model" in errands(*rl, "--search", il, status=2).err
    del about["config"]["choice"]
    (other / "about.json").write_text(json.dumps(about))
    assert "is of another architecture" in errands(*words, other, status=2).err


_RECORDER = """
told = []
def init(**given): told.append(("init", given["name"]))
def log(figures, step): told.append((step, sorted(figures)))
def finish(): told.append("finish")
"""


def test_a_tracker_is_any_module_like_it(
    errands: Errands, demos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "train_recorder.py").write_text(_RECORDER)
    monkeypatch.syspath_prepend(str(tmp_path))
    words = ("train", "search", demos, "--epochs", 1, "--threads", 1, "--out", tmp_path / "search")
    assert "run pip install no_tracker" in errands(*words, "--track", "no_tracker", status=2).err
    assert not (tmp_path / "search").exists()
    errands(*words, "--track", "train_recorder")
    told = sys.modules["train_recorder"].told
    assert told[0] == ("init", "search")
    assert "loss" in told[1][1]
    assert told[-1] == "finish"


@pytest.mark.parametrize("trainer", ["choice demos", "search demos", "queries search", "rl"])
def test_without_the_extra_a_sentence_says_what_to_install(
    trainer: str, errands: Errands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    said = errands("train", *trainer.split(), "--out", tmp_path / "out", status=2)
    assert f"run {install_command('train')}" in said.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["rl", "--preset", "huge"], "small, paper, paper-rnn"),
        (["rl", "--from", "nowhere"], "is no checkpoint"),
        (["rl", "--imitation", "1"], "--demonstrations RUN"),
        (["rl", "--protocol", "shop-demo"], "shop-learn-train"),
        (["rl", "--data", "nowhere"], "nowhere"),
        (["rl", "--evaluate-choose", "worst"], "best, sample"),
        (["rl", "--search", "/nowhere"], "is no checkpoint"),
        (["choice", "nowhere"], "nowhere"),
        (["choice", "nowhere.jsonl"], "cannot be read"),
        (["choice", "nowhere", "--preset", "huge"], "small, matching, rnn, paper"),
        (["choice", "nowhere", "--evaluate", "1.5"], "is no share; expected one between 0 and 1"),
        (["choice", "nowhere", "--evaluate", "nan"], "is no share"),
        (["search", "nowhere", "--preset", "small", "--model", "x"], "leave --model or"),
        (["search", "nowhere", "--evaluate", "elsewhere"], "elsewhere"),
    ],
)
def test_mistakes_are_one_sentence(
    words: list[str], says: str, errands: Errands, tmp_path: Path
) -> None:
    said = errands("train", *words, "--out", tmp_path / "out", status=2).err
    assert says in said
    assert said.startswith("errands: ")
    assert not (tmp_path / "out").exists()


def test_out_is_a_directory(errands: Errands, demos: Path, little: Catalog, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    rl = ("rl", "--data", little.path, "--evaluate-every", 0, "--total-timesteps", 32)
    for words in (("choice", demos), ("search", demos), rl):
        said = errands("train", *words, "--out", file, status=2).err
        assert "is a file; expected a directory" in said
        said = errands("train", *words, "--out", file / "deeper", status=2).err
        assert "cannot be written (Not a directory)" in said
    assert file.read_text() == "mine"


def test_a_width_that_heads_cannot_share_is_said(
    errands: Errands, demos: Path, tmp_path: Path
) -> None:
    words = ("train", "choice", demos, "--out", tmp_path / "il", "--width")
    assert "expected a multiple of 4" in errands(*words, 10, status=2).err
    assert not (tmp_path / "il").exists()


def test_a_rate_that_is_too_high_is_said(errands: Errands, demos: Path, tmp_path: Path) -> None:
    words = ("train", "choice", demos, "--out", tmp_path / "il", *TINY, "--rate", "1e37")
    assert "train with a lower --learning-rate" in errands(*words, status=2).err

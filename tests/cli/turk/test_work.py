"""`errands turk`, `errands run turk` and `errands bench turk`, without a browser."""

import json
from pathlib import Path

import pytest
from command import in_process as errands
from effort import only_slow

from errands.turk.drivers import start_browser
from errands.turk.pages.driver import DriverError


def chromium_found() -> bool:
    try:
        start_browser().close()
    except DriverError:
        return False
    return True


def test_baselines_in_their_order(tmp_path: Path) -> None:
    means = []
    for agent in ("do-nothing", "random", "oracle"):
        done = errands("run", "turk", "--agent", agent, "--split", "train", "--driver", "dom",
                       "--per-task", "2", "--out", str(tmp_path / agent), "--json")  # fmt: skip
        assert done.returncode == 0, done.stderr
        summary = json.loads(done.stdout)
        assert summary["protocol"].endswith("split=train per_task=2 driver=dom")
        assert len(summary["tasks"]) == 19
        assert all(task["errors"] == 0 for task in summary["tasks"])
        means.append(summary["score"]["mean"])
    assert means == sorted(means)
    assert means[2] > 90


def test_workers_change_nothing_and_seeds_do(tmp_path: Path) -> None:
    runs = []
    for workers, seed in ("14", "24", "15"):
        out = str(tmp_path / f"{workers}-{seed}")
        done = errands("run", "turk", "--agent", "random", "--split", "test", "--driver", "dom",
                       "--workers", workers, "--seed", seed, "--out", out, "--json")  # fmt: skip
        runs.append(json.loads(done.stdout)["tasks"])
    assert runs[0] == runs[1] != runs[2]
    assert set(runs[0][0]) == {
        "task", "instances", "errors", "paper", "released", "submitted", "instance_figure"
    }  # fmt: skip
    assert set(runs[0][0]["instance_figure"]) == {"mean", "worst"}


def test_a_run_shows_a_table_and_refuses_unknown_agents(tmp_path: Path) -> None:
    done = errands("run", "turk", "--agent", "oracle", "--split", "subjective", "--driver", "dom",
                   "--out", str(tmp_path / "run"))  # fmt: skip
    assert "Weekend Questionnaire" in done.stdout
    assert "mean over tasks, paper rules" in done.stdout
    wrong = errands("run", "turk", "--agent", "genius")
    assert wrong.returncode == 2
    assert "'genius'" in wrong.stderr


def test_what_is_for_forms_means_nothing_to_a_shop() -> None:
    for option in (("--per-task", "2"), ("--driver", "dom")):
        wrong = errands("run", "shop-demo", "--agent", "rule", *option)
        assert wrong.returncode == 2
        assert "TurkingBench" in wrong.stderr


def test_a_folder_of_ones_own(tmp_path: Path) -> None:
    task = tmp_path / "tasks" / "One Box"
    task.mkdir(parents=True)
    (task / "template.html").write_text("<p>${word}</p><input type=text name=a>")
    (task / "batch.csv").write_text("word,Answer.a\ntea,yes\nmilk,no\n")
    done = errands("run", "turk", "--data", str(tmp_path / "tasks"), "--agent", "oracle",
                   "--driver", "dom", "--out", str(tmp_path / "run"), "--json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["tasks"] == [
        {"task": "One Box", "instances": 2, "errors": 0, "paper": 1.0, "released": 1.0,
         "submitted": None, "instance_figure": {"mean": 1.0, "worst": 1.0}}
    ]  # fmt: skip


def test_the_oracles_actions_can_be_scored(tmp_path: Path) -> None:
    out = tmp_path / "actions.jsonl"
    done = errands("turk", "oracle-actions", "--split", "subjective", "--driver", "dom",
                   "--out", str(out))  # fmt: skip
    assert done.returncode == 0, done.stderr
    scored = errands("turk", "score", str(out), "--driver", "dom", "--json")
    facts = json.loads(scored.stdout)
    assert facts["errors"] == []
    assert facts["paper"]["macro"]["mean"] > 0.9
    assert "all fields (micro)" in errands("turk", "score", str(out), "--driver", "dom").stdout


def test_verify_without_a_browser_says_what_it_can() -> None:
    done = errands("turk", "verify", "--split", "subjective", "--driver", "dom", "--json")
    assert done.returncode == 0, done.stderr
    (found,) = map(json.loads, done.stdout.splitlines())
    assert set(found) == {
        "task", "split", "instances", "fields", "proof", "driver", "oracle", "do_nothing",
        "seconds", "error",
    }  # fmt: skip
    assert found["proof"]["equal"]
    assert found["oracle"]["released"] > 0.9


@only_slow
def test_challenge_compares_two_oracles() -> None:
    if not chromium_found():
        pytest.skip("there is no Chromium")
    done = errands("turk", "challenge", "--instances", "1", "--json")
    assert done.returncode == 0, done.stderr
    found = {task["task"]: task for task in map(json.loads, done.stdout.splitlines())}
    assert len(found) == 9
    for task in found.values():
        by_fields, by_pointer = task["oracle"], task["pointer-oracle"]
        assert by_fields["answered"]["paper"] < 1
        assert by_pointer["scores"]["submitted"] == 1
    assert found["Bicycle Clinic"]["pointer-oracle"]["scores"]["paper"] is None


def test_challenge_of_another_split() -> None:
    if not chromium_found():
        pytest.skip("there is no Chromium")
    shown = errands("turk", "challenge", "--split", "subjective", "--instances", "1")
    assert shown.returncode == 0, shown.stderr
    assert "Weekend Questionnaire" in shown.stdout


def test_challenge_without_a_browser_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ERRANDS_CHROMIUM", str(tmp_path / "none"))
    done = errands("turk", "challenge")
    assert done.returncode == 2
    assert done.stdout == ""


def test_bench_prints_one_object_a_figure() -> None:
    done = errands("bench", "turk", "--driver", "dom", "--instances", "1", "--json")
    figures = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(list(figure) == ["name", "value", "unit", "floor", "aim"] for figure in figures)
    assert figures[0]["name"] == "dom: instances per second"


@pytest.mark.parametrize("command", ["verify", "score", "oracle-actions", "info"])
def test_every_command_shows_an_example(command: str) -> None:
    assert "Example" in errands("turk", command, "--help").stdout

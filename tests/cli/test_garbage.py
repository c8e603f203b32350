"""Every command with garbage for every argument: a sentence, or the argument takes it. Never a
traceback, a signal, something left behind, or a server with a setting that is none."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import garbage_commands
import pytest
from effort import SLOW
from garbage import BESIDE, Trial, number_of, parameters, tried

from errands.shop.catalog.catalog import Catalog

OUTPUT = frozenset({"out", "path", "form", "csv", "plot", "store", "items", "attributes",
                    "human", "nouns", "decisions"})  # fmt: skip
"""Options that name a new place: almost anything can be one."""
TEXTS = frozenset({
    "title", "name", "authors", "url", "note", "by", "token", "password", "user_agent", "host",
    "instruction", "words", "value", "allowed_host", "service_key", "only", "model",
})  # fmt: skip
"""Options that take any text."""


GOOD = frozenset({
    "catalogue", "run", "form run", "submission", "items", "transfer run", "site", "table", "page",
})  # fmt: skip
"""Kinds that are garbage but for the option that expects them."""
VALID = frozenset({
    *(("mine map products", kind) for kind in ("nan.json", "latin", "text", "objects.json",
                                               "object.json", "lines")),
    ("mine products products", "objects.json"), ("mine products --map", "empty file"),
    ("mine shop --map", "empty file"), ("serve --runs", "database"),
})  # fmt: skip
"""Objects are rows of a table, and a header is enough for a map; a map may say nothing; a database
is asked when somebody looks."""
LEAVES = (
    "train with a lower --learning-rate", "As it is, it can be looked at", "1 failed (time)",
)  # fmt: skip
"""What commands say that end with a status and keep what there is."""
THERE = re.compile(r"{m}/(shop|pages|products\.csv|site\.sqlite)")
SLOW_TO_START = ("train", "mine", "bench", "experiment", "demo tour")


def sample() -> list[Trial]:
    """One of each command: if it would take long otherwise, one that is refused before."""
    chosen: dict[str, Trial] = {}
    for trial in sorted(tried(), key=number_of):
        parameter = trial.parameter
        made = (word for word in trial.words if "{m}" in word)
        is_quick = not parameter.command.startswith(SLOW_TO_START) and all(map(THERE.search, made))
        if is_quick or trial.is_plain:
            chosen.setdefault(parameter.command, trial)
    return list(chosen.values())


def test_every_parameter_of_every_command_has_garbage() -> None:
    every = set(parameters())
    assert len(every) > 560
    assert {one.command for one in every} == set(BESIDE), "a command without an entry in BESIDE"
    counted = Counter(trial.parameter for trial in tried())
    assert counted.keys() == every
    assert min(counted.values()) >= 5
    assert sum(counted.values()) > 15_000
    assert {trial.parameter.command for trial in sample()} >= {
        command for command in BESIDE if "bench" not in command
    }


def test_garbage_is_one_sentence(little: Catalog, tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'errands[mine]'")
    trials = list(tried()) if SLOW else sample()
    seen = 0
    counts: Counter[str] = Counter()
    wrong = []
    for number, told in outcomes(trials, little, tmp_path):
        seen += 1
        trial = trials[number]
        counts[told["state"] or ("refused" if told["status"] else "taken")] += 1
        if what := complaint(trial, told):
            wrong.append((str(trial.parameter), trial.kind, what, told["err"][-1500:]))
    print(f"{seen:,} command lines with garbage: {dict(counts)}")
    assert not wrong, wrong[:20]
    assert seen == len(trials)
    assert counts["refused"] > 0.6 * seen


def outcomes(trials: list[Trial], catalog: Catalog, work: Path) -> Any:
    """What came of each, with its number."""
    helpers = str(Path(garbage_commands.__file__).parent)
    told = work / "trials"
    told.write_text("".join(json.dumps([trial.is_plain, *trial.words]) + "\n" for trial in trials))
    with told.open() as lines, subprocess.Popen(
        [sys.executable, garbage_commands.__file__, work, catalog.path],
        stdin=lines, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": helpers, "OMP_NUM_THREADS": "1"},
    ) as process:  # fmt: skip
        assert process.stdout is not None
        for line in process.stdout:
            outcome = json.loads(line)
            yield outcome["number"], outcome
    assert process.returncode == 0


def complaint(trial: Trial, told: dict[str, Any]) -> str:
    """What is wrong with an outcome, if anything."""
    err, status = told["err"], told["status"]
    if "Traceback" in err or "Traceback" in told["out"]:
        return "a traceback"
    if told["processes"] or told["state"] == "deaf":
        return "it does not end"
    if told["state"] or status == 0:
        return may_be_taken(trial)
    if status not in (1, 2):
        return f"status {status}"
    if changed := [name for name in told["changed"] if not name.endswith(("-shm", "-wal"))]:
        return f"refused, and changed {changed}"
    if told["files"] and not any(sentence in err for sentence in LEAVES):
        return f"refused, and left {told['files']}"
    if re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff]", err):
        return "characters that act on a terminal"
    lines = [line for line in err.splitlines() if line.strip()]
    is_usage = sum("─ Error ─" in line for line in lines) == 1
    sentences = sum(line.startswith("errands: ") for line in lines)
    if not is_usage and not (sentences == 1 and lines[-1].startswith("errands: ")):
        return "no sentence, or several"
    return ""


def may_be_taken(trial: Trial) -> str:
    """Why this garbage should have been refused, if it should."""
    parameter, kind = trial.parameter, trial.kind
    if trial.is_plain:
        return "taken, and it is no value of the type"
    if parameter.kind in (int, float) or parameter.name in OUTPUT | TEXTS:
        return ""
    return (
        ""
        if kind in GOOD or (str(parameter), kind) in VALID
        else "taken, and it is none of what is expected"
    )

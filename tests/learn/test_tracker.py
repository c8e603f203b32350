"""Figures of a training go to a file, and to any module that looks like a tracker."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from errands.errors import SettingError
from errands.learn.tracker import open_log


def _logged(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_resumed_log_goes_on_where_the_checkpoint_is(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "log.jsonl"
    with open_log(path.parent, None, "il", {}) as log:
        for step in (0, 20, 40, 60):
            log(step, {"loss": 1 / (1 + step)})
    with path.open("ab") as file:
        file.write(b'{"step": 80, "lo')
    with open_log(path.parent, None, "il", {}, from_step=40) as log:
        log(60, {"loss": 0.5})
    assert [line["step"] for line in _logged(path)] == [0, 20, 40, 60]
    assert _logged(path)[-1]["loss"] == 0.5


def test_a_training_from_the_start_has_a_log_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"step": 0, "loss": 3}\n\xff\xfe nonsense\n[]\n{"step": 20, "loss": 3}\n')
    with open_log(tmp_path, None, "il", {}):
        pass
    assert path.read_text() == ""


def test_a_folder_has_one_training_at_a_time(tmp_path: Path) -> None:
    with open_log(tmp_path, None, "il", {}):
        code = (
            "import sys\nfrom pathlib import Path\n"
            "from errands.learn.tracker import open_log\n"
            "with open_log(Path(sys.argv[1]), None, 'il', {}): pass"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, tmp_path], capture_output=True, text=True
        )
    assert f"(process {os.getpid()}) is at work in" in done.stderr
    with open_log(tmp_path, None, "il", {}):
        pass


def test_a_module_is_told_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told: list[Any] = []
    module = SimpleNamespace(
        init=lambda **given: told.append(given),
        log=lambda figures, step: told.append((step, figures)),
        finish=lambda: (told.append("finished"), print("uploading")),
    )
    monkeypatch.setitem(sys.modules, "recorder", module)  # type: ignore[arg-type]
    with open_log(tmp_path, "recorder", "il", {"rate": 1}) as log:
        log(20, {"loss": 2.0})
    assert told == [
        {"project": "errands", "name": "il", "config": {"rate": 1}},
        (20, {"loss": 2.0}),
        "finished",
    ]
    assert _logged(tmp_path / "log.jsonl") == [{"step": 20, "loss": 2.0}]
    assert capsys.readouterr() == ("", "uploading\n")


def test_what_is_no_tracker_is_said(tmp_path: Path) -> None:
    for module, said in (
        ("no_such_tracker", "run pip install no_such_tracker"),
        ("json", r"'json' is no tracker: it has no init\(\)"),
    ):
        with pytest.raises(SettingError, match=said), open_log(tmp_path, module, "il", {}):
            pass
    assert list(tmp_path.iterdir()) == []

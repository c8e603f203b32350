"""Trainings are read off their checkpoints, whatever state those are in."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from played import MemoryStore, made, run_info, write_report

from errands.errors import DataError, SettingError
from errands.reports.content import gather, to_json
from errands.reports.markdown import to_markdown
from errands.reports.statistics.training import MOST_POINTS, labelled, read_training, training_of
from errands.reports.writing import training_report

HOSTILE = "</script><img src=x onerror=alert(1)>"


def checkpoint(folder: Path, lines: int = 50, **more: Any) -> Path:
    """What a training leaves, without its weights."""
    folder.mkdir(parents=True)
    about = {
        "kind": "choice", "trained": "imitation", "config": {"rate": 0.002, "held_out": 0.1},
        "words": ["a", "b"], "checksum": "c" * 16, "is_done": True,
        "figures": {"loss": 0.5, "accuracy": 0.8, "held_out_accuracy": 0.7},
        "versions": {"errands": "test"}, "version": 1,
    }  # fmt: skip
    (folder / "about.json").write_text(json.dumps({**about, **more}))
    with (folder / "log.jsonl").open("w") as log:
        for number in range(1, lines + 1):
            entry = {
                "step": 20 * number, "loss": 2 / number, "accuracy": 1 - 1 / number,
                "samples_per_second": 100.0, "time_model": 0.6, "time_learning": 0.4,
            }  # fmt: skip
            if number % 10 == 0:
                entry |= {"held_out_loss": 3 / number, "held_out_accuracy": 0.7}
            log.write(json.dumps(entry) + "\n")
    return folder


def test_settings_figures_and_curves_are_read(tmp_path: Path) -> None:
    found = read_training(checkpoint(tmp_path / "il"))
    assert (found.label, found.trained, found.is_done, found.step) == (
        "il",
        "imitation",
        True,
        1000,
    )
    assert (found.words, found.settings["rate"], found.remarks) == (2, 0.002, ())
    loss, held = found.curve("loss"), found.curve("held_out_loss")
    assert loss is not None
    assert held is not None
    assert (loss.points[0], loss.last, len(loss.points)) == ((20, 2.0), 2 / 50, 50)
    assert [step for step, _ in held.points] == [200, 400, 600, 800, 1000]
    assert found.shares() == {"model": 0.6, "learning": 0.4}


def test_long_logs_are_thinned_and_keep_their_ends(tmp_path: Path) -> None:
    loss = read_training(checkpoint(tmp_path / "il", lines=5000)).curve("loss")
    assert loss is not None
    assert len(loss.points) <= MOST_POINTS + 1
    assert (loss.points[0][0], loss.points[-1][0]) == (20, 100_000)


def test_damaged_lines_are_counted_and_left_out(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "il", lines=3)
    with (folder / "log.jsonl").open("ab") as log:
        log.write(b'\xff\xfe\n[]\n7\n{"loss": 1}\n{"step": "x"}\n{"step": NaN}\n{"step": 1e200}\n')
        log.write(
            b'{"step": 80, "loss": -1e300, "accuracy": "high", "x": true, "y": 1' + b"0" * 400
        )
        log.write(b'}\n\n{"step": 100, "lo')
    found = read_training(folder)
    assert found.remarks == ("8 lines of log.jsonl could not be read and are left out.",)
    loss = found.curve("loss")
    assert loss is not None
    assert loss.points[-1][0] == 60
    assert found.curve("x") is found.curve("y") is None


def test_what_is_no_checkpoint_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"is no checkpoint: it has no about\.json"):
        read_training(tmp_path)
    for damaged in (b"", b"{", b"[]", b'{"kind": 1}', b"\xff\xfe"):
        (tmp_path / "about.json").write_bytes(damaged)
        with pytest.raises(DataError, match="is damaged"):
            read_training(tmp_path)
    with pytest.raises(SettingError, match="at least one checkpoint"):
        labelled([])


def test_a_checkpoint_without_a_log_has_a_remark(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "il", is_done=False)
    (folder / "log.jsonl").unlink()
    assert len(read_training(folder).remarks) == 2
    os.mkfifo(folder / "log.jsonl")
    assert read_training(folder).curves == ()


def test_the_best_checkpoint_shows_the_log_of_its_training(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "rl")
    best = checkpoint(folder / "best")
    (best / "log.jsonl").unlink()
    assert read_training(best).step == 1000


def test_labels_tell_trainings_apart() -> None:
    assert labelled([Path("il"), Path("a/rl"), Path("b/rl")]) == ["il", "a/rl", "b/rl"]


def store(folder: Path | str, **more: Any) -> MemoryStore:
    info = run_info("shop", "il", 1, agent_settings={"checkpoint": str(folder)}, **more)
    return MemoryStore(info, [made(0, 1.0)])


def test_a_run_shows_how_its_model_was_trained(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "il")
    paths = write_report([store(folder, started="2126-01-01T00:00:00Z")], tmp_path / "report")
    html, markdown, data = (path.read_text() for path in paths)
    assert '<section id="training">' in html
    assert "polyline" in html
    assert "## Training" in markdown
    assert "| il | choice, imitation | 1,000 | 0.5 | 0.8 | 0.7 |" in markdown
    training = json.loads(data)["runs"][0]["training"]
    assert training["step"] == 1000
    assert training["remarks"] == []


def test_a_checkpoint_that_is_gone_is_a_sentence(tmp_path: Path) -> None:
    (path,) = write_report([store(tmp_path / HOSTILE)], tmp_path / "report", formats=["html"])
    html = path.read_text()
    assert "is gone, or cannot be read from here." in html
    assert "<img" not in html
    made_ = gather([store("\0")])
    assert "gone" in to_markdown(made_)
    assert b"gone" in to_json(made_)


def test_a_checkpoint_that_was_trained_since_is_told_of(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "il")
    found = training_of({"checkpoint": str(folder)}, "2020-01-01T00:00:00+00:00")
    assert found is not None
    assert "written after the run had begun" in found.remarks[0]
    for started in ("", "nonsense"):
        told = training_of({"checkpoint": str(folder)}, started)
        assert told is not None
        assert told.remarks == ()


@pytest.mark.parametrize("settings", [{}, {"checkpoint": ""}, {"checkpoint": 7}])
def test_agents_without_a_checkpoint_have_no_training(settings: dict[str, Any]) -> None:
    assert training_of(settings) is None


def test_nothing_of_a_hostile_checkpoint_acts_on_the_page(tmp_path: Path) -> None:
    folder = checkpoint(
        tmp_path / "il", kind=HOSTILE, trained=HOSTILE, config={HOSTILE: HOSTILE},
        checksum=HOSTILE, figures={HOSTILE: 1.0}, versions={HOSTILE: HOSTILE},
    )  # fmt: skip
    with (folder / "log.jsonl").open("a") as log:
        log.write(json.dumps({"step": 2000, HOSTILE: 1.0, "time_" + HOSTILE: 1.0}) + "\n")
    path = training_report([read_training(folder, HOSTILE)], tmp_path / "training.html")
    assert "<img" not in path.read_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_fits_and_asks_for_nothing(
    browser: Any, tmp_path: Path, width: int, scheme: str
) -> None:
    one = read_training(checkpoint(tmp_path / "il"))
    other = read_training(checkpoint(tmp_path / "rnn", lines=80))
    path = training_report([one, other], tmp_path / "training.html")
    page = browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme=scheme, java_script_enabled=True
    ).new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    assert page.locator("svg polyline").count() >= 2 * 4
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.locator("#settings details").count() == 2
    assert (said, [url for url in asked if not url.startswith(("file:", "data:"))]) == ([], [])
    page.context.close()


def test_a_bottomless_description_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "about.json").write_text('{"config":' + '{"a":' * 100_000)
    with pytest.raises(DataError, match=r"about\.json is damaged"):
        read_training(tmp_path)

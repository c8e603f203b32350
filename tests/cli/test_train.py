"""`errands train`, as a user calls it."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from errands.cli import app
from errands.errors import ErrandsError
from errands.runs.run_place import open_run
from errands.shop.catalog import Catalog

torch = pytest.importorskip("torch", reason="needs torch: pip install 'errands[train]'")

COMMAND = (sys.executable, "-m", "errands", "train", "rl")


def _train(*words: object, status: int = 0) -> str:
    done = subprocess.run(
        [*COMMAND, *map(str, words)], text=True, capture_output=True, check=False, timeout=300,
        env={**os.environ, "COLUMNS": "120"},
    )  # fmt: skip
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if status == 0 else done.stderr


def _weights(folder: Path) -> dict[str, object]:
    weights: dict[str, object] = torch.load(folder / "weights.pt", weights_only=True)
    return weights


def test_stopped_by_a_key_it_goes_on_to_the_same_weights(little: Catalog, tmp_path: Path) -> None:
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    settings = ["--catalog", str(little.path), "--steps", "960"]
    told = json.loads(_train("--out", whole, *settings, "--json"))
    assert told["steps"] == 960
    assert told["words_from"] == "random play"
    assert sum(told["shares"].values()) == pytest.approx(1)

    child = subprocess.Popen(
        [*COMMAND, "--out", str(stopped), *settings], stderr=subprocess.PIPE, text=True
    )
    log = stopped / "log.jsonl"
    deadline = time.monotonic() + 200
    while not (log.exists() and log.read_text()):
        assert child.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=200)
    assert child.returncode == 0, said
    assert "--resume" in said
    assert not json.loads((stopped / "about.json").read_text())["is_done"]

    assert "960 steps" in _train("--out", stopped, *settings, "--resume")
    one, other = _weights(whole), _weights(stopped)
    assert all(torch.equal(weight, other[name]) for name, weight in one.items())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--preset", "huge"], "small, paper, paper-rnn"),
        (["--from", "nowhere"], "is no checkpoint"),
        (["--imitation", "1"], "--demonstrations RUN"),
        (["--protocol", "shop-demo"], "shop-learn-train"),
        (["--catalog", "nowhere"], "nowhere"),
    ],
)
def test_mistakes_are_one_sentence(words: list[str], says: str, tmp_path: Path) -> None:
    said = _train("--out", tmp_path / "rl", *words, status=2)
    assert says in " ".join(said.split())
    assert not (tmp_path / "rl").exists()


@pytest.fixture(scope="module")
def demos(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> str:
    from errands.runs.protocol import Protocol
    from errands.runs.runner import run

    rules = Protocol(
        id="school", version=1, title="school", half="shop", data=str(little.path), goals="human",
        split="disjoint-train", episodes=3, observation="text_rich", max_steps=30,
    )  # fmt: skip
    out = tmp_path_factory.mktemp("demos") / "run"
    run(rules, "shopper", out=out, observations="full")
    return str(out)


def _called(*words: object) -> str:
    """In this process: starting transformers anew takes longer than what is tested."""
    result = CliRunner().invoke(app, list(map(str, words)), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_pretrained_encoder_from_demonstrations_to_a_run(
    little: Catalog, demos: str, tmp_path: Path
) -> None:
    transformers = pytest.importorskip(
        "transformers", reason="needs transformers: pip install 'errands[hf]'"
    )
    from errands.learn.private_chance import private_chance

    hub, il, rl = (tmp_path / name for name in ("hub", "il", "rl"))
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = "a i for the with buy now back to search prev next red blue item opened < >".split()
    hub.mkdir()
    (hub / "vocab.txt").write_text("\n".join([*marks, *words]))
    config = transformers.BertConfig(
        vocab_size=len(marks) + len(words), hidden_size=16, num_hidden_layers=1,
        num_attention_heads=2, intermediate_size=16,
    )  # fmt: skip
    with private_chance(1):
        transformers.BertModel(config).save_pretrained(hub)
    train = ("train", "choice", demos, "--out", il, "--encoder", hub, "--epochs", 1, "--json")
    told = json.loads(_called(*train))
    assert told["updates"] == json.loads(_called(*train, "--resume"))["updates"] > 0
    about = json.loads((il / "about.json").read_text())
    assert about["config"]["rate"] == 2e-5
    assert about["config"]["choice"]["lengths"]["page"] == 380
    floor = ("--catalog", little.path, "--steps", 16, "--environments", 2)
    said = _called("train", "rl", "--out", rl, "--from", il, *floor)
    assert "Words: from checkpoint" in " ".join(said.split())
    play = ("--agent", "rl", "--checkpoint", rl, "--data", little.path, "--episodes", 1)
    _called("run", "shop-learn", *play, "--out", tmp_path / "run", "--workers", 1)
    with closing(open_run(str(tmp_path / "run"))) as store:
        assert [one.summary.status for one in store.episodes()] != ["error"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--encoder", "x", "--preset", "rnn"], "leave --encoder or --preset out"),
        (["--encoder", "x", "--preset", "huge"], "small, rnn, paper"),
        (["--encoder", ""], "needs a name or a path"),
        (["--encoder", "./nowhere"], "cannot be had"),
    ],
)
def test_mistakes_about_encoders_are_one_sentence(
    words: list[str], says: str, demos: str, tmp_path: Path
) -> None:
    pytest.importorskip("transformers", reason="needs transformers: pip install 'errands[hf]'")
    with pytest.raises(ErrandsError, match=says):
        _called("train", "choice", demos, "--out", tmp_path / "il", *words)
    assert not (tmp_path / "il").exists()

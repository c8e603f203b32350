"""`errands train choice --encoder`, as a user calls it."""

import json
from contextlib import closing
from pathlib import Path

import pytest
from effort import only_slow
from tiny_models import write_bert
from typer.testing import CliRunner

from errands.cli import app
from errands.errors import ErrandsError
from errands.runs.store.places import open_run
from errands.shop.catalog.catalog import Catalog

pytest.importorskip("torch", reason="needs torch: pip install 'errands[train]'")


@pytest.fixture(scope="module")
def demos(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> str:
    from errands.runs.protocol import Protocol
    from errands.runs.runner import run

    rules = Protocol(
        id="school", version=1, title="school", domain="shop", data=str(little.path), goals="human",
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


@only_slow
def test_a_pretrained_encoder_from_demonstrations_to_a_run(
    little: Catalog, demos: str, tmp_path: Path
) -> None:
    pytest.importorskip("transformers", reason="needs transformers: pip install 'errands[hf]'")
    hub, il, rl = (tmp_path / name for name in ("hub", "il", "rl"))
    write_bert(hub)
    train = ("train", "choice", demos, "--out", il, "--encoder", hub, "--epochs", 1, "--json")
    told = json.loads(_called(*train))
    assert told["updates"] == json.loads(_called(*train, "--resume"))["updates"] > 0
    about = json.loads((il / "about.json").read_text())
    assert about["config"]["rate"] == 2e-5
    assert about["config"]["choice"]["lengths"]["page"] == 380
    floor = ("--data", little.path, "--total-timesteps", 16, "--num-envs", 2)
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
        (["--encoder", "x", "--preset", "huge"], "small, matching, rnn, paper"),
        (["--encoder", ""], "--encoder is empty"),
        (["--from-scratch"], "--from-scratch draws the weights of a pretrained model anew"),
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

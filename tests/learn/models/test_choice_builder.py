"""Choice models with a pretrained encoder: trained, stopped, played and reinforced."""

import json
import re
import shutil
import socket
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from effort import sampled
from protocols import Rules
from trainings import same_weights, stopper

from errands.envs.shop_vector import ShopVectorEnv
from errands.errors import DataError, SettingError
from errands.extras import install_command
from errands.learn.a2c import PRESETS as RL_PRESETS
from errands.learn.a2c import train_rl
from errands.learn.checkpoint import read_info
from errands.learn.data.batch import TokenLimits
from errands.learn.data.demonstrations import Demonstrations, read_demonstrations
from errands.learn.data.view import read_view
from errands.learn.data.vocabulary import Vocabulary
from errands.learn.environments import TrainingEnv
from errands.learn.imitation import PRESETS, ImitationConfig, train_choice, with_encoder
from errands.learn.models.builder import load_builder, new_builder
from errands.learn.models.choice import ChoiceConfig
from errands.learn.policy import open_policy
from errands.learn.trainer import TrainingOptions
from errands.runs.runner import run
from errands.runs.store.places import open_run
from errands.shop.catalog.catalog import Catalog

pytest.importorskip("transformers", reason="needs transformers: pip install 'errands[hf]'")

Readers = Callable[[str], Path]
SHORT = TokenLimits(instruction=16, past=8, page=24, action=8)


def _config(place: Path, **settings: Any) -> ImitationConfig:
    choice = ChoiceConfig(encoder="pretrained", pretrained=str(place), width=0, lengths=SHORT)
    base = ImitationConfig(
        choice=choice,
        max_actions=8,
        epochs=2,
        batch_size=8,
        learning_rate=3e-3,
        warmup_steps=2,
        threads=1,
    )
    return msgspec.structs.replace(base, **settings)


@pytest.fixture(scope="module")
def shown(demos: str) -> Demonstrations:
    whole = read_demonstrations(demos)
    return msgspec.structs.replace(whole, choices=whole.choices[:48])


@pytest.fixture(scope="module")
def bert(shown: Demonstrations, readers: Readers, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint whose encoder came from a directory that is no more."""
    folder = tmp_path_factory.mktemp("bert")
    shutil.copytree(readers("bert"), folder / "hub")
    train_choice(shown, folder / "il", _config(folder / "hub", epochs=1))
    shutil.rmtree(folder / "hub")
    return folder / "il"


def _judged(folder: Path, shown: Demonstrations) -> tuple[float, float]:
    """The mean negative log-likelihood of what was done, and how often it is the best."""
    policy = open_policy(str(folder))
    scores = [(policy.scores(view), taken) for view, taken in shown.choices]
    losses = [-float(score.log_softmax(0)[taken]) for score, taken in scores]
    right = sum(int(score.argmax()) == taken for score, taken in scores)
    return sum(losses) / len(losses), right / len(scores)


@pytest.mark.parametrize("kind", sampled(["bert", "roberta"], "bert"))
def test_it_learns(shown: Demonstrations, readers: Readers, kind: str, tmp_path: Path) -> None:
    before = torch.get_rng_state()
    config = _config(readers(kind))
    train_choice(
        shown, tmp_path / "new", msgspec.structs.replace(config, learning_rate=0.0, epochs=1)
    )
    train_choice(shown, tmp_path / "il", msgspec.structs.replace(config, epochs=16))
    assert torch.equal(torch.get_rng_state(), before)
    at_first, taught = (_judged(tmp_path / name, shown) for name in ("new", "il"))
    assert taught[0] < at_first[0] / 2
    assert taught[1] > max(0.55, at_first[1] + 0.2)
    new, weights = (
        torch.load(tmp_path / name / "weights.pt", weights_only=True) for name in ("new", "il")
    )
    same = {name for name, weight in new.items() if torch.equal(weight, weights[name])}
    assert {name.partition(".")[0] for name in same} == {"value"}  # Of use to reinforcement only.


@pytest.mark.parametrize("kind", sampled(["bert", "distilbert"], "distilbert"))
def test_stopped_and_resumed_gives_the_same_weights(
    shown: Demonstrations, readers: Readers, kind: str, tmp_path: Path
) -> None:
    shutil.copytree(readers(kind), tmp_path / "hub")
    config = _config(tmp_path / "hub")
    train_choice(shown, tmp_path / "whole", config)
    train_choice(shown, tmp_path / "halves", config, options=TrainingOptions(stop=stopper(4)))
    assert not read_info(tmp_path / "halves", "choice").is_done
    assert not same_weights(tmp_path / "whole", tmp_path / "halves")
    shutil.rmtree(tmp_path / "hub")  # What is resumed needs it no more.
    train_choice(shown, tmp_path / "halves", config, options=TrainingOptions(resume=True))
    assert same_weights(tmp_path / "whole", tmp_path / "halves")


def test_a_checkpoint_opens_without_network_or_origin(
    bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {path.name for path in bert.iterdir()} >= {"about.json", "weights.pt", "pretrained"}

    def refused(*args: Any, **settings: Any) -> Any:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "getaddrinfo", refused)
    monkeypatch.setattr(socket.socket, "connect", refused)
    moved = tmp_path / "elsewhere"
    shutil.copytree(bert, moved)
    view = read_view(
        "Instruction:\na red hat\n[button] Buy Now [button_]\n[button] < Prev [button_]"
    )
    found = [open_policy(str(place)).scores(view) for place in (bert, moved)]
    assert found[0].shape == (2,)
    assert torch.equal(*found)


def test_it_plays_a_run(bert: Path, rules: Rules, tmp_path: Path) -> None:
    finished = run(
        rules(episodes=4, max_steps=8), "il", out=tmp_path / "run",
        settings={"checkpoint": str(bert)}, allow_overlap=True,
    )  # fmt: skip
    assert finished.kept == 4
    with closing(open_run(str(finished.place))) as store:
        assert not [one for one in store.episodes() if one.summary.status == "error"]


def test_reinforcement_begins_with_it_and_resumes_to_the_same_weights(
    bert: Path, little: Catalog, tmp_path: Path
) -> None:
    config = msgspec.structs.replace(
        RL_PRESETS["small"], total_timesteps=48, num_envs=2, num_steps=4, critic_warmup_updates=1
    )

    def training_env() -> TrainingEnv:
        env = ShopVectorEnv(
            2, autoreset="disabled", catalog=little, goals="human", observation="text_rich",
            max_steps=6,
        )  # fmt: skip
        return TrainingEnv(env, range(8))

    trained = train_rl(training_env(), tmp_path / "whole", config, start=bert)
    assert trained.words_from == "checkpoint"
    assert not same_weights(bert, tmp_path / "whole")
    cut = tmp_path / "cut"
    train_rl(training_env(), cut, config, start=bert, options=TrainingOptions(stop=stopper(2)))
    train_rl(training_env(), cut, config, options=TrainingOptions(resume=True))
    assert same_weights(tmp_path / "whole", cut)
    assert open_policy(str(cut)).config.encoder == "pretrained"


def test_reinforcement_from_scratch_takes_a_pretrained_encoder(
    readers: Readers, little: Catalog, tmp_path: Path
) -> None:
    choice = _config(readers("distilbert")).choice
    config = msgspec.structs.replace(
        RL_PRESETS["small"], choice=choice, total_timesteps=8, num_envs=1, num_steps=4
    )
    shop = ShopVectorEnv(
        1, autoreset="disabled", catalog=little, goals="human", observation="text_rich",
        max_steps=6,
    )  # fmt: skip
    trained = train_rl(TrainingEnv(shop, range(8)), tmp_path / "rl", config)
    assert trained.words_from == "its encoder"
    open_policy(str(tmp_path / "rl"))


def test_weights_can_be_drawn_anew(shown: Demonstrations, readers: Readers, tmp_path: Path) -> None:
    """The paper's ablation: the same architecture and tokenizer, and nothing that was learnt."""
    config = _config(readers("bert"), epochs=1)
    drawn = msgspec.structs.replace(
        config, choice=msgspec.structs.replace(config.choice, from_scratch=True)
    )
    encoders = [
        new_builder(one.choice, (), 0, seed).encoder
        for one, seed in ((config, 0), (drawn, 0), (drawn, 0), (drawn, 1))
    ]
    kept, first, same, other = (
        {} if encoder is None else encoder.model.state_dict() for encoder in encoders
    )
    name = "encoder.layer.0.attention.self.query.weight"
    assert kept.keys() == first.keys()
    assert not torch.equal(kept[name], first[name])
    assert torch.equal(first[name], same[name])
    assert not torch.equal(first[name], other[name])
    train_choice(shown, tmp_path / "il", drawn, options=TrainingOptions(stop=lambda: True))
    about = json.loads((tmp_path / "il" / "about.json").read_text())
    assert about["config"]["choice"]["from_scratch"]
    train_choice(shown, tmp_path / "il", drawn, options=TrainingOptions(resume=True))
    assert open_policy(str(tmp_path / "il")).config.from_scratch


def test_the_paper_reads_pages_of_512_tokens_as_wide_as_its_encoder() -> None:
    config = with_encoder(PRESETS["paper"], "bert-base-uncased")
    lengths = config.choice.lengths
    # Two ends between the parts, and the model's own tokens around them.
    assert lengths.instruction + lengths.past + lengths.page + 2 + 2 == 512
    assert (lengths.action, config.choice.width) == (128, 0)
    assert (config.learning_rate, config.epochs, config.batch_size) == (2e-5, 10, 32)


def test_damaged_checkpoints_are_one_sentence(bert: Path, tmp_path: Path) -> None:
    lost = tmp_path / "lost"
    shutil.copytree(bert, lost)
    shutil.rmtree(lost / "pretrained")
    with pytest.raises(DataError, match="has lost its folder pretrained"):
        open_policy(str(lost))
    other = tmp_path / "other"
    shutil.copytree(bert, other)
    path = other / "pretrained" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "num_hidden_layers": 1}))
    with pytest.raises(DataError, match="weights of another architecture"):
        open_policy(str(other))
    broken = tmp_path / "broken"
    shutil.copytree(bert, broken)
    (broken / "pretrained" / "tokenizer.json").write_text("{}")
    with pytest.raises(DataError, match="no model that can be used"):
        open_policy(str(broken))


def test_without_the_library_a_checkpoint_says_what_to_install(
    bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(bert, tmp_path / "il")  # Opened for the first time.
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(SettingError, match=re.escape(install_command("hf"))):
        open_policy(str(tmp_path / "il"))


def test_without_a_name_there_is_nothing_to_open(shown: Demonstrations, tmp_path: Path) -> None:
    config = msgspec.structs.replace(
        _config(tmp_path), choice=ChoiceConfig(encoder="pretrained", width=0)
    )
    with pytest.raises(SettingError, match="needs a name or a path"):
        train_choice(shown, tmp_path / "il", config)
    assert not (tmp_path / "il").exists()


def test_other_encoders_keep_their_words_as_ever(tmp_path: Path) -> None:
    config = ChoiceConfig(width=8, heads=2)
    builder = new_builder(config, ["red hat", "red shoe"], most=10, seed=0)
    assert builder.encoder is None
    assert builder.tokenizer.words == ("red",)
    builder.save(tmp_path / "il")
    assert not (tmp_path / "il").exists()
    again = load_builder(tmp_path / "il", config, builder.tokenizer.words)
    assert isinstance(again.tokenizer, Vocabulary)
    assert again.tokenizer.encode("red hat") == builder.tokenizer.encode("red hat")

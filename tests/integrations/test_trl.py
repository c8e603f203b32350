"""TRL's own trainer plays, scores and learns; only what the model says is scripted."""

import contextlib
import importlib
import json
import pickle
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from scripted_model import Call, Script

pytest.importorskip("trl", reason="needs TRL: pip install 'errands[trl]'")

import numpy as np
import torch
import train_with_trl
import trl
from safetensors.torch import load_file
from tiny_model import calls_in, said, save_tiny_model, texts_of
from transformers.utils import get_json_schema
from trl import GRPOConfig, GRPOTrainer

from errands.agents.llm import ShopTools, ToolError, TurkTools
from errands.errors import SettingError
from errands.integrations import IntegrationError, ToolEpisodes, open_episodes
from errands.integrations.trl import dataset, environments, log_episodes
from errands.testing.adapter import AdapterConformance, ScriptedModel

# What other people's packages warn of is not ours to mend.
pytestmark = pytest.mark.filterwarnings("default")

IN_PROCESS = True
ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "guides" / "integrations" / "trl.md"
TEMPLATE = Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja"
COLUMNS = {"goal": None, "task": None, "row": None}

Saying = Callable[[str, int, int], str]
"""What is said in a conversation: its text, how many calls were answered, its place in a batch."""


def play(script: ScriptedModel) -> list[float]:
    """The script's calls through the environments that TRL is given."""
    (factory,) = environments(script.episodes).values()
    tools: Any = factory()
    rewards = []
    for played in script.played:
        tools.reset(**{**COLUMNS, **script.episodes.row(played.number), "prompt": []})
        for name, arguments in played.calls:
            with contextlib.suppress(ToolError):
                getattr(tools, name)(**arguments)
        rewards.append(tools.get_reward())
    return rewards


class TestConformance(AdapterConformance):
    """Ours passes the kit for adapters."""

    def play(self, script: ScriptedModel) -> list[float]:
        return play(script)


class Ended(NamedTuple):
    """How an episode went."""

    key: str
    row: dict[str, Any]
    reward: float
    steps: int


class ScriptedTrainer(GRPOTrainer):  # type: ignore[misc]
    """TRL's trainer, but for the tokens that a model would sample."""

    say: Saying

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.ended: list[Ended] = []
        self.told: list[list[str]] = []

    def _generate_single_turn(
        self,
        prompt_ids: list[list[int]],
        images: Any,
        multimodal_fields: Any,
        num_generations: int,
        has_tool_images: bool = False,
    ) -> tuple[list[list[int]], None]:
        texts = [self.processing_class.decode(ids) for ids in prompt_ids]
        answers = [type(self).say(text, calls_in(text), place) for place, text in enumerate(texts)]
        return [self.processing_class.encode(answer) for answer in answers], None

    def _calculate_rewards(self, inputs: Any, prompts: Any, completions: Any, ids: Any) -> Any:
        assert self.environments is not None
        for completion in completions:
            self.told.append([one["content"] for one in completion if one["role"] == "tool"])
        for row, tools in zip(inputs, self.environments, strict=True):
            played = {name: row[name] for name in COLUMNS if row[name] is not None}
            self.ended.append(Ended(row["environment"], played, tools.reward, tools.steps))
        return super()._calculate_rewards(inputs, prompts, completions, ids)


@pytest.fixture(scope="session")
def training() -> list[ToolEpisodes]:
    """A few episodes of both domains that may be trained on."""
    return [
        open_episodes("shop-demo", split="disjoint-train", episodes=4, training=True),
        open_episodes("turk", split="train", driver="dom", episodes=4, training=True),
    ]


@pytest.fixture(scope="session")
def training_scripts(training: list[ToolEpisodes]) -> list[Script]:
    return [Script(episodes) for episodes in training]


@pytest.fixture(scope="session")
def model(
    shop_script: Script,
    form_script: Script,
    training_scripts: list[Script],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    texts = texts_of(shop_script, form_script, *training_scripts)
    return save_tiny_model(tmp_path_factory.mktemp("tiny"), texts, TEMPLATE.read_text())


def scripted(*scripts: Script) -> Saying:
    """Says what the script of the conversation's domain says."""

    def say(text: str, made: int, place: int) -> str:
        domain = "shop" if "Instruction: " in text else "turk"
        script = next(one for one in scripts if one.episodes.domain == domain)
        return said(script.after(text, made))

    return say


@pytest.fixture
def trainer(model: Path, training: list[ToolEpisodes], tmp_path: Path) -> Iterator[Any]:
    """Makes a trainer, and takes its script away afterwards."""

    def make(say: Saying, *tested: ToolEpisodes, **settings: Any) -> ScriptedTrainer:
        ScriptedTrainer.say = staticmethod(say)  # type: ignore[assignment]
        config = {
            "output_dir": str(tmp_path / "out"),
            "per_device_train_batch_size": 24,
            "per_device_eval_batch_size": 2,
            "num_generations": 2,
            "num_generations_eval": 1,
            "max_completion_length": 8000,
            "max_tool_calling_iterations": 100,
            "logging_steps": 1,
            "save_strategy": "no",
            "report_to": "none",
            "use_cpu": True,
            **settings,
        }
        return ScriptedTrainer(
            model=str(model),
            args=GRPOConfig(**config),
            train_dataset=dataset(*training),
            eval_dataset=dataset(*tested, evaluation=True) if tested else None,
            environment_factory=environments(*training, *tested),
            reward_funcs=log_episodes,
        )

    yield make
    del ScriptedTrainer.say


def completions(folder: Path) -> Any:
    """TRL's own table of what was said and earned."""
    import pandas

    tables = sorted((folder / "out" / "completions").glob("*.parquet"))
    return pandas.concat([pandas.read_parquet(table) for table in tables])


def test_every_episode_earns_what_it_does_in_errands_run(
    shop_script: Script, form_script: Script, trainer: Any, tmp_path: Path
) -> None:
    scripts = [shop_script, form_script]
    tested = [script.episodes for script in scripts]
    made = trainer(scripted(*scripts), *tested, log_completions=True, num_completions_to_print=0)
    for script, kind in zip(scripts, (ShopTools, TurkTools), strict=True):
        episodes = script.episodes
        made.ended.clear()
        metrics = made.evaluate(dataset(episodes, evaluation=True))
        numbers = [list(episodes).index(one.row) for one in made.ended]
        assert sorted(numbers) == list(range(12))
        for number, one in zip(numbers, made.ended, strict=True):
            assert one.key == episodes.key
            assert one.reward == script.rewards[number]
            assert one.steps == len(script.played[number].calls)
        mean = sum(script.rewards) / 12
        assert metrics["eval_reward"] == pytest.approx(mean, abs=1e-6)
        assert metrics[f"eval_{episodes.key}/reward"] == pytest.approx(mean, abs=1e-6)
        assert metrics[f"eval_{episodes.key}/success"] == pytest.approx(
            sum(reward >= 1 for reward in script.rewards) / 12
        )
        assert metrics[f"eval_{episodes.key}/done"] == 1
        assert metrics["eval_tools/failure_frequency"] == 0
        # TRL itself reckons with 32 bits.
        table = completions(tmp_path)
        logged = table[table["protocol"] == episodes.key][kind.__name__]
        assert sorted(logged) == sorted(map(float, np.array(script.rewards, np.float32)))


WRONG = (
    Call("buy", {}),
    Call("search", {"words": "a"}),
    Call("click", {"name": "nothing of that name"}),
    Call("reset", {"goal": 3}),
    Call("search", {"query": {"no": ["text"]}}),
    Call("click", {"name": None}),
)
"""Three of these reach the shop, and are steps."""


def test_wrong_calls_are_told_to_the_model_and_end_nothing(
    shop_script: Script, trainer: Any
) -> None:
    shop = open_episodes("shop-demo", episodes=3)

    def say(text: str, made: int, place: int) -> str:
        if made < len(WRONG):
            return said(WRONG[made])
        # When all is done it calls once more, and is told that it is over.
        call = shop_script.after(text, made - len(WRONG))
        over = shop_script.after(text, made - len(WRONG) - 1) is None
        return said(Call("search", {"query": "more"}) if call is None and not over else call)

    made = trainer(say, shop, per_device_eval_batch_size=3)
    metrics = made.evaluate()
    for one in made.ended:
        number = list(shop).index(one.row)
        assert one.reward == shop_script.rewards[number]
        assert one.steps == len(shop_script.played[number].calls) + 3
    assert metrics[f"eval_{shop.key}/done"] == 1
    calls = sum(len(played.calls) for played in shop_script.played[:3])
    assert metrics["eval_tools/failure_frequency"] == pytest.approx(21 / (calls + 21))
    for answers in made.told:
        assert all("error" in answer for answer in answers[: len(WRONG)])
        assert "nothing called 'nothing of that name'" in answers[2]
        assert "The errand is over" in answers[-1]
        assert "error" not in answers[len(WRONG)]


def weights(folder: Path) -> dict[str, Any]:
    return dict(load_file(folder / "model.safetensors"))


def changed(before: Path, after: Path) -> bool:
    old, new = weights(before), weights(after)
    assert old.keys() == new.keys()
    return any(not torch.equal(old[name], new[name]) for name in old)


def test_shop_and_forms_are_learnt_from_in_one_run(
    training_scripts: list[Script], trainer: Any, model: Path, tmp_path: Path
) -> None:
    plays = scripted(*training_scripts)

    def say(text: str, made: int, place: int) -> str:
        """Of each pair one plays, and one gives up at once."""
        return plays(text, made, place) if made or place % 2 == 0 else said(None)

    made = trainer(
        say,
        per_device_train_batch_size=2,
        gradient_accumulation_steps=8,
        max_steps=1,
        learning_rate=1e-3,
        lr_scheduler_type="constant",
    )
    made.train()
    made.save_model(str(tmp_path / "trained"))
    line = made.state.log_history[0]
    earned = [one.reward for one in made.ended]
    assert len(earned) == 16
    assert earned[1::2] == [0] * 8
    assert line["reward"] == pytest.approx(sum(earned) / 16)
    # Both domains were in the update, and both had something to prefer.
    for script, kind in zip(training_scripts, ("ShopTools", "TurkTools"), strict=True):
        key = script.episodes.key
        rewards = [one.reward for one in made.ended if one.key == key]
        assert sorted(rewards[::2]) == sorted(script.rewards)
        assert sum(rewards) > 0
        assert line[f"{key}/done"] == 0.5
        assert f"rewards/{kind}/mean" in line
    assert line["reward_std"] > 0
    assert line["grad_norm"] > 0
    assert changed(model, tmp_path / "trained")
    assert line["rewards/log_episodes/mean"] is None


def test_a_model_that_calls_nothing_learns_nothing(
    trainer: Any, model: Path, tmp_path: Path
) -> None:
    def say(text: str, made: int, place: int) -> str:
        return said(None)

    made = trainer(say, per_device_train_batch_size=4, max_steps=1, learning_rate=1e-3)
    made.train()
    made.save_model(str(tmp_path / "trained"))
    line = made.state.log_history[0]
    assert line["reward"] == line["tools/call_frequency"] == 0
    assert all(line[f"{one.key}/steps"] == 0 for one in made.ended)
    assert not changed(model, tmp_path / "trained")


def test_a_failure_that_is_not_the_models_does_not_count(
    form_script: Script, trainer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    forms = open_episodes("turk-demo", episodes=2)
    made = trainer(scripted(form_script), forms)
    from errands.envs.turk import TurkEnv

    def fails(self: Any, action: Any) -> Any:
        raise OSError("the browser is gone")

    monkeypatch.setattr(TurkEnv, "step", fails)
    metrics = made.evaluate()
    assert metrics["eval_reward"] is None


def test_a_model_is_offered_the_tools_of_its_domain(
    trainer: Any, training: list[ToolEpisodes]
) -> None:
    made = trainer(scripted())
    for episodes in training:
        offered = [get_json_schema(tool)["function"] for tool in made._env_tools[episodes.key]]
        specs = sorted(episodes.specs, key=lambda spec: spec.name)
        for one, spec in zip(offered, specs, strict=True):
            assert one.pop("return") == {"type": "string"}
            one["parameters"].setdefault("required", [])
            assert one == spec.function()["function"]


def test_what_is_handed_over_pickles(training: list[ToolEpisodes]) -> None:
    packed = pickle.dumps((environments(*training), log_episodes))
    assert len(packed) < 1_000
    program = (
        "import json, pickle, sys; made, _ = pickle.loads(sys.stdin.buffer.read());"
        "print(json.dumps({key: type(factory()).__name__ for key, factory in made.items()}))"
    )
    told = subprocess.run(
        [sys.executable, "-c", program], input=packed, stdout=subprocess.PIPE, check=True
    )
    kinds = {training[0].key: "ShopTools", training[1].key: "TurkTools"}
    assert json.loads(told.stdout) == kinds


def test_tools_that_are_used_again_remember_nothing(shop_script: Script) -> None:
    assert play(shop_script) == play(shop_script) == shop_script.rewards


def test_rows_say_what_is_played_and_nothing_of_the_goal(training: list[ToolEpisodes]) -> None:
    rows = dataset(*training)
    assert len(rows) == 8
    assert rows.column_names == ["prompt", "environment", "goal", "task", "row"]
    for row, episodes, number in zip(
        rows, [training[0]] * 4 + [training[1]] * 4, [*range(4)] * 2, strict=True
    ):
        assert row["environment"] == episodes.key
        assert row["prompt"] == episodes.messages()
        own = {name: row[name] for name in COLUMNS if row[name] is not None}
        assert own == episodes.row(number)


def test_mistakes_are_one_sentence(
    shop: ToolEpisodes, training: list[ToolEpisodes], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SettingError, match=r"'shop-demo' plays .* for testing"):
        dataset(training[0], shop)
    with pytest.raises(SettingError, match="pass open_episodes"):
        dataset()
    with pytest.raises(SettingError, match="pass open_episodes"):
        environments()
    with pytest.raises(SettingError, match="given twice"):
        environments(shop, shop)
    module = importlib.import_module("errands.integrations.trl")
    for old in ("trl", "transformers"):
        versions = {"trl": "1.16.0", "transformers": "5.22.2", old: "1.2"}
        monkeypatch.setattr(metadata, "version", versions.__getitem__)
        with pytest.raises(IntegrationError, match=rf"pip install --upgrade '{old}>=") as caught:
            importlib.reload(module)
        assert "\n" not in str(caught.value)


def test_the_page_of_the_documentation_runs(
    model: Path,
    training_scripts: list[Script],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    trainer: Any,
) -> None:
    """The block as it stands, but for the model, the length and the place."""
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    for old, new in (
        ("Qwen/Qwen3-0.6B", str(model)),
        ("max_steps=200", "max_steps=1, use_cpu=True"),
        ('"shopper"', repr(str(tmp_path / "shopper"))),
    ):
        assert old in block
        block = block.replace(old, new)
    ScriptedTrainer.say = staticmethod(lambda text, made, place: said(None))  # type: ignore
    monkeypatch.setattr(trl, "GRPOTrainer", ScriptedTrainer)
    names: dict[str, Any] = {}
    exec(block, names)
    assert names["trainer"].state.log_history[0]["reward"] == 0


def test_the_example_trains(
    model: Path,
    training_scripts: list[Script],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    trainer: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    searches = [said(Call("search", {"query": "red shoes"})), said(None)]
    ScriptedTrainer.say = staticmethod(lambda text, made, place: searches[made])  # type: ignore
    monkeypatch.setattr(trl, "GRPOTrainer", ScriptedTrainer)
    train_with_trl.main(
        out=tmp_path,
        model=str(model),
        protocol="shop-learn-train",
        data=None,
        split=None,
        forms=True,
        steps=1,
        group=2,
        batch=1,
        max_steps=15,
        tokens=4096,
        learning_rate=1e-6,
        warmup=0,
        seed=0,
    )
    printed = capsys.readouterr().out
    assert "1,828 episodes of shop-learn-train@1" in printed
    assert "episodes of turk@1" in printed
    log = json.loads((tmp_path / "trainer_state.json").read_text())["log_history"]
    assert log[0]["tools/call_frequency"] == 1
    assert (tmp_path / "model.safetensors").is_file()

"""verl's own worker and loop play; only the server of tokens is scripted."""

import asyncio
import importlib
import json
import re
import warnings
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from scripted_model import Call, Script

pytest.importorskip("verl", reason="needs verl (Python below 3.13): pip install 'errands[verl]'")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # verl imports what Ray calls out of date.
    import verl.experimental.agent_loop

import datasets
import numpy as np
import pyarrow.parquet
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf
from tiny_model import CHATML, calls_in, said, save_tiny_model, texts_of
from verl.experimental.agent_loop.agent_loop import AgentLoopWorker
from verl.experimental.agent_loop.tool_parser import FunctionCall
from verl.protocol import DataProto
from verl.utils.dataset.rl_dataset import RLHFDataset, collate_fn
from verl.workers.rollout.replica import TokenOutput

from errands.agents.llm import ShopTools
from errands.errors import SettingError
from errands.integrations import IntegrationError, ToolEpisodes, open_episodes
from errands.integrations.verl import ErrandsAgentLoop, prepare, rows
from errands.testing.adapter import AdapterConformance, ScriptedModel

# What other people's packages warn of is not ours to mend.
pytestmark = pytest.mark.filterwarnings("default")

IN_PROCESS = True
PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "integrations" / "verl.md"

Saying = Callable[[str, int], str]
"""What is said in a conversation: its text, and how many calls were answered."""


def play(script: ScriptedModel) -> list[float]:
    """The script's calls through the loop's own handling of a call, without tokens."""

    async def playing() -> list[float]:
        loop = ErrandsAgentLoop.__new__(ErrandsAgentLoop)
        rewards = []
        for played in script.played:
            loop.episode, _ = script.episodes.begin(played.number)
            for name, arguments in played.calls:
                call = FunctionCall(name=name, arguments=json.dumps(arguments))
                await loop._call_tool(call, {}, None)
            rewards.append(loop.episode.reward)
        return rewards

    return asyncio.run(playing())


class TestConformance(AdapterConformance):
    """Ours passes the kit for adapters."""

    def play(self, script: ScriptedModel) -> list[float]:
        return play(script)


class TokenServer:
    """A server of tokens that says what is scripted."""

    def __init__(self, say: Saying) -> None:
        self.say = say
        self.tokenizer: Any = None
        self.waiting = self.most = 0

    async def generate(self, request_id: str, *, prompt_ids: list[int], **rest: Any) -> TokenOutput:
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        await asyncio.sleep(0)
        self.waiting -= 1
        text = self.tokenizer.decode(prompt_ids)
        ids = self.tokenizer.encode(self.say(text, calls_in(text)))
        return TokenOutput(token_ids=ids, log_probs=[-1.0] * len(ids))


@pytest.fixture(scope="session")
def model(
    shop_script: Script, form_script: Script, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    texts = texts_of(shop_script, form_script)
    return save_tiny_model(tmp_path_factory.mktemp("tiny"), texts, CHATML)


@pytest.fixture(scope="session")
def few() -> ToolEpisodes:
    return open_episodes("shop-learn-train", episodes=4, max_steps=15, training=True)


def config_with(model: Path, *settings: str) -> Any:
    folder = Path(verl.__file__).parent / "trainer" / "config"
    with initialize_config_dir(str(folder), version_base=None):
        return compose(
            "ppo_trainer",
            overrides=[
                f"actor_rollout_ref.model.path={model}",
                "actor_rollout_ref.rollout.name=vllm",
                "actor_rollout_ref.rollout.multi_turn.format=hermes",
                "actor_rollout_ref.rollout.calculate_log_probs=true",
                "data.max_prompt_length=20000",
                "data.max_response_length=16000",
                "data.filter_overlong_prompts=false",
                *settings,
            ],
        )


@pytest.fixture
def rollout(model: Path, few: ToolEpisodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Plays the files' rows for testing, as verl does for validation."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")

    def run(server: TokenServer, *tested: ToolEpisodes, settings: tuple[str, ...] = ()) -> Any:
        config = config_with(
            model,
            *prepare(tmp_path, [few], tested),
            f"+data.cache_dir={tmp_path / 'cache'}",
            *settings,
        )
        worker = AgentLoopWorker(config, server)
        server.tokenizer = worker.tokenizer
        data = RLHFDataset(config.data.val_files, worker.tokenizer, config.data)
        batch = DataProto.from_single_dict(collate_fn([data[n] for n in range(len(data))]))
        batch.meta_info["validate"] = True
        return asyncio.run(worker.generate_sequences(batch)), worker.tokenizer

    return run


def scripted(*scripts: Script) -> Saying:
    def say(text: str, made: int) -> str:
        domain = "shop" if "Instruction: " in text else "turk"
        script = next(one for one in scripts if one.episodes.domain == domain)
        return said(script.after(text, made))

    return say


def test_every_episode_earns_what_it_does_in_errands_run(
    shop_script: Script, form_script: Script, rollout: Any
) -> None:
    scripts = [shop_script, form_script]
    server = TokenServer(scripted(*scripts))
    made, tokenizer = rollout(server, *(script.episodes for script in scripts))
    expected = shop_script.rewards + form_script.rewards
    logged = made.non_tensor_batch
    assert list(logged["score"]) == expected
    assert np.mean(logged["score"]) == np.mean(expected)
    assert (
        list(logged["protocol"])
        == [shop_script.episodes.key] * 12 + [form_script.episodes.key] * 12
    )
    assert list(logged["success"]) == [float(reward >= 1) for reward in expected]
    assert list(logged["done"]) == [1.0] * 24
    assert "protocol" in made.meta_info["reward_extra_keys"]
    scores = made.batch["rm_scores"]
    assert scores.sum(-1).tolist() == np.array(expected, np.float32).tolist()
    played = shop_script.played + form_script.played
    masks = made.batch["response_mask"]
    for number, one in enumerate(played):
        assert logged["steps"][number] == len(one.calls)
        parts = json.loads(logged["reward_parts"][number])
        assert parts
        # The model's own tokens are its calls, and the last of them has the reward.
        own = masks[number].bool()
        response = made.batch["responses"][number]
        assert tokenizer.decode(response[own]) == "".join(map(said, one.calls))
        assert bool((scores[number][~own] == 0).all())
        assert int(own.sum()) < len(own)
    # All of them were played at the same time.
    assert server.most > 12


WRONG = (
    Call("buy", {}),
    Call("search", {"words": "a"}),
    Call("click", {"name": "nothing of that name"}),
    Call("reset", {"goal": 3}),
    Call("search", {"query": {"no": ["text"]}}),
    Call("click", ["a list"]),  # type: ignore[arg-type]
)
"""Two of these reach the shop, and are steps."""


def test_wrong_calls_are_told_to_the_model_and_end_nothing(
    shop_script: Script, rollout: Any
) -> None:
    shop = open_episodes("shop-demo", episodes=3)
    seen = []

    def say(text: str, made: int) -> str:
        seen.append(text)
        if made < len(WRONG):
            return said(WRONG[made])
        return said(shop_script.after(text, made - len(WRONG)))

    made, _ = rollout(TokenServer(say), shop)
    assert list(made.non_tensor_batch["score"]) == shop_script.rewards[:3]
    for steps, played in zip(made.non_tensor_batch["steps"], shop_script.played, strict=False):
        assert steps == len(played.calls) + 2
    told = max(seen, key=len)
    assert "There is no tool 'buy'; there are search, click." in told
    assert "search has no argument 'words'" in told
    assert "There is nothing called 'nothing of that name'" in told
    assert "The arguments of click are no object" in told
    # Pages are whole, though verl would cut answers after 256 characters.
    assert "truncated" not in told


def test_a_model_that_stops_or_writes_no_call_ends_with_no_reward(rollout: Any) -> None:
    shop = open_episodes("shop-demo", episodes=2)
    for text in (
        "Done.<|im_end|>",
        "<tool_call>\n{not JSON}\n</tool_call><|im_end|>",
        "<|im_end|>",
    ):
        made, _ = rollout(TokenServer(lambda _, __, text=text: text), shop)
        assert list(made.non_tensor_batch["score"]) == [0, 0]
        assert list(made.non_tensor_batch["done"]) == [0, 0]


def test_a_response_that_is_too_long_ends_there(shop_script: Script, rollout: Any) -> None:
    shop = open_episodes("shop-demo", episodes=2)
    short = ("data.max_response_length=64",)
    made, _ = rollout(TokenServer(scripted(shop_script)), shop, settings=short)
    assert made.batch["responses"].shape[1] == 64
    assert list(made.non_tensor_batch["done"]) == [0, 0]


def test_other_failures_are_failures(
    shop_script: Script, rollout: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: Any, query: str) -> str:
        raise OSError("the disk is gone")

    monkeypatch.setattr(ShopTools, "search", fails)
    with pytest.raises(OSError, match="the disk is gone"):
        rollout(TokenServer(scripted(shop_script)), open_episodes("shop-demo", episodes=2))


def test_a_model_is_offered_the_tools_of_its_domain(
    shop: ToolEpisodes, forms: ToolEpisodes, rollout: Any
) -> None:
    prompts = []

    def say(text: str, made: int) -> str:
        prompts.append(text)
        return said(None)

    rollout(TokenServer(say), shop, forms)
    for number, prompt in enumerate(prompts):
        told = prompt.split("Tools:\n")[1].split("<|im_end|>")[0].splitlines()
        specs = (shop if number < 12 else forms).specs
        assert [json.loads(line) for line in told] == [spec.function() for spec in specs]


def test_the_files_hold_what_is_played_and_nothing_of_the_goal(
    few: ToolEpisodes, forms: ToolEpisodes, tmp_path: Path
) -> None:
    settings = prepare(tmp_path / "a" / "b", [few], [forms])
    names = dict(setting.split("=", 1) for setting in settings)
    table = pyarrow.parquet.read_table(names["data.train_files"]).to_pylist()
    assert table == list(rows(few))
    assert len(table) == 4
    for number, row in enumerate(table):
        assert row["data_source"] == few.key
        assert row["prompt"] == few.conversation(number)[1]
        assert row["extra_info"] == {"index": number, "episodes": json.dumps(few.options)}
    assert len(pyarrow.parquet.read_table(names["data.val_files"])) == 12
    (loop,) = OmegaConf.load(names["actor_rollout_ref.rollout.agent.agent_loop_config_path"])
    assert loop.name == table[0]["agent_name"]
    module, _, name = loop._target_.rpartition(".")
    assert getattr(importlib.import_module(module), name) is ErrandsAgentLoop


def test_the_cheap_way_earns_the_same(shop_script: Script, form_script: Script) -> None:
    assert play(shop_script) == shop_script.rewards
    assert play(form_script) == form_script.rewards


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({}, "names no episode"),
        ({"extra_info": None}, "names no episode"),
        ({"extra_info": {"index": 0}}, "names no episode"),
        ({"extra_info": {"index": 0, "episodes": "{"}}, "names no episode"),
        ({"extra_info": {"index": 0, "episodes": "[]"}}, "names no episode"),
        ({"extra_info": {"index": 0, "episodes": '{"no": 1}'}}, "names no episode"),
        (
            {
                "data_source": "shop-demo@0 data:other",
                "extra_info": {"index": 0, "episodes": '{"protocol": "shop-demo"}'},
            },
            "were written for 'shop-demo@0 data:other'",
        ),
    ],
)
def test_rows_of_nonsense_are_one_sentence(row: dict[str, Any], why: str) -> None:
    loop = ErrandsAgentLoop.__new__(ErrandsAgentLoop)
    with pytest.raises(SettingError, match=why) as caught:
        asyncio.run(loop.run({}, raw_prompt=[], **row))
    assert "\n" not in str(caught.value)
    assert "prepare" in str(caught.value)


def test_mistakes_are_one_sentence(
    shop: ToolEpisodes, few: ToolEpisodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SettingError, match=r"'shop-demo' plays .* for testing"):
        prepare(tmp_path, [few, shop])
    with pytest.raises(SettingError, match="needs episodes to train on"):
        prepare(tmp_path, [], [shop])
    assert not list(tmp_path.iterdir())
    few_like = open_episodes("shop-learn-train", episodes=1, training=True)
    monkeypatch.setattr(few_like, "pointer", True)
    with pytest.raises(SettingError, match="worked with a browser"):
        prepare(tmp_path, [few_like])
    module = importlib.import_module("errands.integrations.verl")
    monkeypatch.setattr(metadata, "version", lambda name: "0.7.1")
    with pytest.raises(IntegrationError, match=r"pip install --upgrade 'verl>=0\.9\.1'"):
        importlib.reload(module)


def test_the_page_of_the_documentation_runs(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    monkeypatch.chdir(tmp_path)
    exec(block, {})
    config = config_with(model, *capsys.readouterr().out.split())
    for file in (config.data.train_files, config.data.val_files):
        assert len(pyarrow.parquet.read_table(file)) > 10

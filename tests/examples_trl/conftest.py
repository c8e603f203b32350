"""Chat models of 136,000 weights, made on the spot: one of chance, one with a little schooling.

The tokenizer is learnt from the texts that it will read; the chat template is Qwen3's, as TRL ships
it. The schooled model has imitated two errands of one goal until it can do them by itself: both
search for the same, then one buys the right product and the other a wrong one. So all that TRL
parses, calls and rewards is the model's own output, and there is something to prefer.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from errands.agents.llm.shop.tools import ShopTools, opening_messages
from errands.envs.episode import ShopContext
from errands.envs.shop import ShopEnv
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import select_goals, write_goals

ROOT = Path(__file__).resolve().parents[2]
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
MARKS = (
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
)

Conversation = list[dict[str, Any]]


class Lesson(NamedTuple):
    """Two ways to do one errand, and the file of goals that holds it alone."""

    catalog: Path
    goals: Path
    right: Conversation
    wrong: Conversation


def errand(shop: ShopContext, goal: int, query: str, product: str) -> tuple[Conversation, float]:
    """A conversation that buys a product, and what that was worth."""
    tools = ShopTools(shop)
    told: Conversation = opening_messages()
    told[-1]["content"] += tools.reset(goal=goal)
    calls = [("search", "query", query), ("click", "name", product), ("click", "name", "Buy Now")]
    for name, argument, value in calls:
        function = {"name": name, "arguments": {argument: value}}
        call = {"type": "function", "function": function}
        told.append({"role": "assistant", "content": "", "tool_calls": [call]})
        said = getattr(tools, name)(**{argument: value})
        told.append({"role": "tool", "name": name, "content": said})
    told.append({"role": "assistant", "content": "Done."})
    return told, tools.reward


@pytest.fixture(scope="session")
def lesson(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Lesson:
    shop = ShopEnv(little, "human", "disjoint-train", max_steps=6).context
    for goal in shop.indices:
        asin = shop.goals[goal].asin
        query = " ".join(little[asin].title.split()[:4])
        tools = ShopTools(shop)
        tools.reset(goal=goal)
        found = re.findall(r"^\[(B0\w+)\]$", tools.search(query), re.M)
        right, reward = errand(shop, goal, query, asin) if asin in found else ([], 0.0)
        if reward < 1:
            continue
        for other in found:
            wrong, reward = errand(shop, goal, query, other)
            if reward == 0:
                file = tmp_path_factory.mktemp("goals") / "one.json"
                only = select_goals(shop.goals, where=lambda index, _, goal=goal: index == goal)
                write_goals(file, only, little)
                return Lesson(little.path, file, right, wrong)
    raise AssertionError("no goal has a right and a wrong product on its first page")


def tokenizer_of(texts: Sequence[str]) -> Any:
    """Bytes, and the pieces that are frequent in some texts."""
    import trl
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1500,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token=SPECIAL[2], pad_token=SPECIAL[0]
    )
    tokenizer.add_tokens(list(MARKS))
    templates = Path(trl.__file__).parent / "chat_templates"
    tokenizer.chat_template = (templates / "qwen3.jinja").read_text()
    return tokenizer


def model_for(tokenizer: Any) -> Any:
    """A Qwen3 of two layers with random weights."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=8192,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Qwen3ForCausalLM(config)


def school(model: Any, tokenizer: Any, told: Sequence[Conversation], tools: list[Any]) -> float:
    """Imitate the assistant's part of conversations of equal weight; the last loss."""
    import torch
    from trl.chat_template_utils import get_training_chat_template

    examples = []
    for conversation in told:
        rendered = tokenizer.apply_chat_template(
            conversation,
            tools=tools,
            chat_template=get_training_chat_template(tokenizer),
            return_dict=True,
            return_assistant_tokens_mask=True,
            enable_thinking=False,
        )
        ids = torch.tensor([rendered["input_ids"]])
        own = torch.tensor([rendered["assistant_masks"]], dtype=torch.bool)
        examples.append((ids, torch.where(own, ids, -100)))
    steps = 300
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    slower = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    model.train()
    last = float("inf")
    for _ in range(steps):
        losses = [model(input_ids=ids, labels=labels).loss for ids, labels in examples]
        loss = torch.stack(losses).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        slower.step()
        last = float(loss.detach())
    return last


@pytest.fixture(scope="session")
def untaught(lesson: Lesson, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the model of chance and its tokenizer."""
    texts = [
        message["content"] + json.dumps(message.get("tool_calls", ""))
        for conversation in (lesson.right, lesson.wrong)
        for message in conversation
    ]
    tokenizer = tokenizer_of(texts)
    folder = tmp_path_factory.mktemp("models") / "untaught"
    model_for(tokenizer).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def taught(lesson: Lesson, untaught: Path) -> Path:
    """A directory with the schooled model."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(untaught)
    tokenizer = AutoTokenizer.from_pretrained(untaught)
    tools = ShopTools(ShopEnv(lesson.catalog, lesson.goals).context)
    # In the order in which TRL offers them.
    loss = school(model, tokenizer, [lesson.right, lesson.wrong], [tools.click, tools.search])
    assert loss < 0.05
    folder = untaught.parent / "taught"
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


class Trained(NamedTuple):
    out: Path
    log: list[dict[str, float]]
    printed: str


@pytest.fixture(scope="session")
def train(lesson: Lesson, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Runs the example as a user would, on the one goal."""

    def run(model: Path, *options: str) -> Trained:
        out = tmp_path_factory.mktemp("trained")
        made = subprocess.run(
            [
                *(sys.executable, str(ROOT / "examples" / "train_with_trl.py")),
                *("--model", str(model), "--out", str(out), "--catalog", str(lesson.catalog)),
                *("--goals", str(lesson.goals), "--max-steps", "6", "--batch", "1", *options),
            ],
            env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "HF_HUB_OFFLINE": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert made.returncode == 0, made.stdout[-3000:]
        history = json.loads((out / "trainer_state.json").read_text())["log_history"]
        return Trained(out, [line for line in history if "reward" in line], made.stdout)

    return run

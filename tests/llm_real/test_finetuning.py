"""The real weights learn: a few updates of SmolLM2-135M on what the teacher said."""

import json
from contextlib import closing
from pathlib import Path

import finetune_chat as example
import pytest

from errands.runs import open_run, run
from errands.runs.export import export

PROMPT = example.TEMPLATE.parent / "short_prompt.md"


@pytest.mark.filterwarnings("default")
def test_the_loss_of_the_real_model_falls(tmp_path: Path) -> None:
    run("shop-learn-train", "teacher", episodes=12, max_steps=15, out=tmp_path / "teacher")
    settings = {"shots": 0, "top": 3, "prompt": str(PROMPT)}
    with closing(open_run(tmp_path / "teacher")) as store:
        export(
            store, tmp_path / "sft.jsonl", "chat", style="react", settings=settings, min_reward=1.0
        )
    model, tokenizer = example.load(example.SMALL, None)
    examples = example.read_examples(tmp_path / "sft.jsonl", tokenizer, 1200)[:6]
    said = "".join(
        tokenizer.decode([token for token, wanted in zip(*one, strict=True) if wanted])
        for one in examples
    )
    assert said.count("<tool_call>") == said.count("<|im_end|>")
    folder = tmp_path / "tuned"
    folder.mkdir()
    example.train(
        model,
        example.batches(examples, 2, 2, 0),
        folder,
        learning_rate=3e-4,
        together=1,
        save_minutes=60,
        plan={},
    )
    losses = [json.loads(line)["loss"] for line in (folder / "log.jsonl").read_text().splitlines()]
    assert losses[-1] < 0.8 * losses[0]
    print("losses of SmolLM2-135M-Instruct:", losses)

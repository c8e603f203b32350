"""Train a language model to shop, with TRL's GRPO: a file to start from.

    pip install errands torch 'trl>=1.16' 'transformers>=5.13' datasets
    python examples/train_with_trl.py --out shopper --steps 200

The model gets an instruction and the shop's first page, calls the tools `search` and `click`, and
is rewarded by what it bought. Several errands are done for each goal, and those that went better
than their group's average are made more likely. See docs/training-elsewhere.md.
"""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from errands import ErrandsError, ShopEnv
from errands.agents.llm import ShopTools, opening_messages
from errands.envs import ShopContext

if TYPE_CHECKING:
    from datasets import Dataset
    from trl import GRPOTrainer


class Split(StrEnum):
    """Where goals for training may come from: the others are for evaluating."""

    disjoint_train = "disjoint-train"
    train = "train"


def errands_of(shop: ShopContext) -> "Dataset":
    """A row for each goal of the shop's split: what the conversation begins with, and the goal's
    index. TRL hands a row to `ShopTools.reset`, and adds what that returns to the last message;
    the index itself is never shown to the model."""
    from datasets import Dataset

    start = opening_messages()
    return Dataset.from_list([{"prompt": start, "goal": goal} for goal in shop.indices])


def purchase_reward(environments: list[ShopTools], log_metric: Any, **_: Any) -> list[float]:
    """The shop's own reward of each errand; 0 where nothing was bought."""
    rewards = [errand.reward for errand in environments]
    log_metric("shop/bought", sum(errand.bought for errand in environments) / len(rewards))
    log_metric("shop/success", sum(reward == 1 for reward in rewards) / len(rewards))
    return rewards


def trainer(
    model: str, shop: ShopContext, out: Path, *, steps: int, group: int, batch: int, **settings: Any
) -> "GRPOTrainer":
    """A trainer whose every errand is done in the given shop."""
    import torch
    from trl import GRPOConfig, GRPOTrainer

    config = GRPOConfig(
        output_dir=str(out),
        max_steps=steps,
        # A step is `batch` goals, with a group of errands for each.
        num_generations=group,
        per_device_train_batch_size=group,
        gradient_accumulation_steps=batch,
        # Every tool call is a step of the shop, so the model may call as often as it may act.
        max_tool_calling_iterations=shop.max_steps,
        # Qwen3 would think at length before each call; other models pass this over.
        chat_template_kwargs={"enable_thinking": False},
        temperature=1.0,
        lr_scheduler_type="constant_with_warmup",
        bf16=torch.cuda.is_available() and torch.cuda.is_bf16_supported(),
        logging_steps=1,
        save_steps=50,
        report_to="none",
        **settings,
    )
    return GRPOTrainer(
        model=model,
        args=config,
        reward_funcs=purchase_reward,
        train_dataset=errands_of(shop),
        # One for each errand that is done at the same time; all share the catalogue.
        environment_factory=lambda: ShopTools(shop),
    )


def main(
    out: Path = typer.Option(..., help="Directory for the model, checkpoints and the log."),
    model: str = typer.Option("Qwen/Qwen3-0.6B", help="A chat model with tools, or a directory."),
    catalog: str = typer.Option("demo", help="A catalogue's name or directory."),
    goals: str = typer.Option("human", help="synthetic, human, or a goal file."),
    split: Split = typer.Option(Split.disjoint_train, help="Which goals to train on."),
    steps: int = typer.Option(200, min=1, help="Updates of the model."),
    group: int = typer.Option(8, min=2, help="Errands for each goal."),
    batch: int = typer.Option(4, min=1, help="Goals for each update."),
    max_steps: int = typer.Option(15, min=1, help="Tool calls in an errand."),
    tokens: int = typer.Option(4096, min=64, help="Tokens of an errand, pages and all."),
    learning_rate: float = typer.Option(1e-6, min=0, help="How far an update goes."),
    warmup: int = typer.Option(10, min=0, help="Updates until the learning rate is reached."),
    seed: int = typer.Option(0, min=0, help="Of the order of goals and of the sampling."),
) -> None:
    """Train a language model to shop, with TRL's GRPO.

    Examples:

    \b
      python examples/train_with_trl.py --out shopper --steps 1000
      python examples/train_with_trl.py --out larger --model Qwen/Qwen3-1.7B
      python examples/train_with_trl.py --out try --steps 2 --group 2 --batch 1
    """
    try:
        shop = ShopEnv(catalog, goals, split, max_steps=max_steps).context
    except ErrandsError as failure:
        stop(str(failure))
    typer.echo(f"{len(shop.indices):,} goals of {split} in {catalog}")
    try:
        made = trainer(
            model,
            shop,
            out,
            steps=steps,
            group=group,
            batch=batch,
            max_completion_length=tokens,
            learning_rate=learning_rate,
            warmup_steps=warmup,
            seed=seed,
        )
    except ImportError as failure:
        stop(
            f"{failure.name or 'A part of TRL'} is missing ({failure}); run"
            " `pip install torch 'trl>=1.16' 'transformers>=5.13' datasets`."
        )
    except (OSError, ValueError) as failure:
        stop(f"{model} cannot be trained: {str(failure).splitlines()[0]}")
    made.train()
    made.save_model(str(out))
    made.save_state()
    typer.echo(f"The model is in {out}, what was logged in {out / 'trainer_state.json'}.")


def stop(reason: str) -> NoReturn:
    typer.echo(reason, err=True)
    sys.exit(2)


if __name__ == "__main__":
    typer.run(main)

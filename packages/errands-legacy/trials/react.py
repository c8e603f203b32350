"""ReAct: the notebook's loop over HTTP, against `errands serve`."""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from shopper import CATALOG, check, report, shop

SERVE = "from errands.cli import main; main()"


def notebook(folder: Path) -> dict[str, Any]:
    """What the notebook's cells define, those that call a model aside."""
    cells = json.loads((folder / "ReAct/WebShop.ipynb").read_text())["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    names: dict[str, Any] = {"sys": sys}
    for source in sources:
        if "openai" not in source and "run_episodes(prompt1, 500)" not in source:
            exec(source, names)
    return names


def main(folder: Path) -> str:
    names = notebook(folder)
    with tempfile.TemporaryDirectory() as scratch:
        words = ["serve", "--port", "0", "--data", CATALOG, "--goals", "human"]
        process = subprocess.Popen(
            [sys.executable, "-c", SERVE, *words, "--store", f"{scratch}/site.sqlite"],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            found = re.search(r"http://[\d.]+:\d+", process.stdout.readline())
            assert found is not None
            names["WEBSHOP_URL"] = found[0]
            scores = [play(names, goal) for goal in (0, 1, 2, 3)]
        finally:
            process.terminate()
            process.wait()
    return f"webshop_run over HTTP, goals 0-3: scores {[round(s, 3) for s in scores]}"


def play(names: dict[str, Any], goal: int) -> float:
    episode = shop(goal, "human")
    answers = iter([*map(spelled, episode.actions)])
    prompts: list[str] = []

    def llm(prompt: str, stop: list[str]) -> str:
        prompts.append(prompt)
        return f" {next(answers)}"

    names["llm"] = llm
    score = float(names["webshop_run"](f"fixed_{goal}", names["prompt1"], to_print=False))
    check("the reward", score, episode.reward)
    check("the instruction", episode.instruction in prompts[0], True)
    check("the results", "Page 1 (Total results: " in prompts[1], True)
    check("invalid actions", "Invalid action!" in prompts[-1][len(names["prompt1"]) :], False)
    return score


def spelled(action: str) -> str:
    """Buttons and products as the site writes them."""
    name = action[6:-1]
    if action.startswith("click[") and re.fullmatch("b[0-9a-z]{9}", name):
        return f"click[{name.upper()}]"
    return "click[Buy Now]" if name == "buy now" else action


if __name__ == "__main__":
    report(main)

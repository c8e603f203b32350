"""Makes every measured table of docs/guides/training.md anew, between their marks.

make results-learn                          # all of them; what was done already is not done again
make results-learn PARTS="paper easy"       # some of them; see PARTS below

Folders of experiments, trainings and runs stay below build/learn, so a part that was stopped goes
on. The real products and people's queries come from ../shared; a part that needs what is not here
keeps the table that is there, and is told.
"""

import argparse
import json
import re
import shlex
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "guides" / "training.md"
SHARED = ROOT.parent / "shared" / "data"
ERRANDS = [sys.executable, "-m", "errands"]
PAPER_SIZE = 1_181_436
"""Products of the paper's shop."""
SPEED_STEPS = 6_000


def do(*words: object) -> str:
    """A command, which is told; what it prints."""
    print("$ errands", shlex.join(map(str, words)), flush=True)
    command = [*ERRANDS, *map(str, words)]
    return subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True).stdout


def experiment(folder: Path, name: str, *words: object) -> str:
    """A table of `errands experiment`, without its heading, and what it took."""
    told = json.loads(do("experiment", name, *words, "--out", folder, "--json"))
    _, _, text = (folder / f"{name}.md").read_text("utf-8").partition("\n\n")
    return f"{text.strip()}\n\n{cost(told['work'])}"


def cost(work: dict[str, Any]) -> str:
    """CPU time of an experiment's trainings, for one seed."""
    trained: dict[str, list[float]] = {}
    for job, spent in work.items():
        label, _, seed = job.rpartition("-")
        if seed.isdigit() and not job.startswith(("run-", "place-")):
            trained.setdefault(label, []).append(spent["cpu"] / 60)
    parts = [f"{name} {statistics.mean(each):.1f}" for name, each in sorted(trained.items())]
    whole = sum(statistics.mean(each) for each in trained.values())
    return f"CPU minutes of the trainings of one seed: {', '.join(parts)}; together {whole:.0f}."


def shop_1k(folder: Path) -> Path:
    """The catalogue of the 1,000 real products."""
    shop, files = folder / "shop-1k", SHARED / "webshop-1k"
    if not files.is_dir():
        raise Absent("the real products in ../shared/data/webshop-1k")
    if not shop.exists():
        do(
            "catalog", "build", shop, "--items", files / "items_shuffle_1000.json",
            "--attributes", files / "items_ins_v2_1000.json",
            "--human", files / "items_human_ins.json",
        )  # fmt: skip
    return shop


class Absent(Exception):
    """Data that is not on this machine."""


def paper(folder: Path) -> str:
    return experiment(folder / "paper", "table", "--difficulty", "paper")


def easy(folder: Path) -> str:
    return experiment(folder / "easy", "table", "--difficulty", "easy")


def travel(folder: Path) -> str:
    full = folder / "full"
    if not full.exists():
        do("catalog", "generate", full, "--products", PAPER_SIZE)
    places = [f"webshop-1k={shop_1k(folder)}", full]
    named = [word for place in places for word in ("--place", place)]
    text = experiment(folder / "paper", "travel", "--difficulty", "paper", *named)
    return text.replace(f"{folder}/", "")


def real(folder: Path) -> str:
    return experiment(folder / "real", "table", "--data", shop_1k(folder))


def people(folder: Path) -> str:
    pairs, goals = (SHARED / "webshop-text" / name for name in
                    ("goal_query_map.json", "human_goals.json"))  # fmt: skip
    if not pairs.is_file():
        raise Absent("people's queries in ../shared/data/webshop-text")
    out = folder / "human-queries"
    do(
        "experiment", "human-queries", pairs, "--instructions", goals,
        "--data", shop_1k(folder), "--data", "demo", "--out", out, "--json",
    )  # fmt: skip
    _, _, text = (out / "human-queries.md").read_text("utf-8").partition("\n\n")
    return text.strip()


def of_the_demo(name: str) -> Callable[[Path], str]:
    return lambda folder: experiment(folder / "demo", name)


def speed(folder: Path) -> str:
    """CPU seconds for 1,000 steps of the environment, learning included."""
    kinds = {
        "A2C, small transformer": ("rl",),
        # These steps are few: all of them would be spent on warming the critic up.
        "PPO, matching model, critic that knows the goals": ("ppo", "--critic-warmup-updates", 0),
    }
    lines = ["| | CPU seconds for 1,000 steps, learning included |", "|---|---:|"]
    for title, (algorithm, *options) in kinds.items():
        with TemporaryDirectory(dir=folder) as place:
            told = json.loads(do(
                "train", algorithm, "--out", Path(place) / algorithm,
                "--total-timesteps", SPEED_STEPS, "--evaluate-every", 0, *options, "--json",
            ))  # fmt: skip
        lines.append(f"| {title} | {1_000 / told['steps_per_cpu_second']:.1f} |")
    return "\n".join(lines)


PARTS: dict[str, Callable[[Path], str]] = {
    "paper": paper,
    "easy": easy,
    "travel": travel,
    "real": real,
    "people": people,
    "queries": of_the_demo("queries"),
    "chance": of_the_demo("chance"),
    "pictures": of_the_demo("pictures"),
    "search": of_the_demo("search"),
    "speed": speed,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    given = parser.parse_args()
    if unknown := [name for name in given.parts if name not in PARTS]:
        parser.error(f"no part {unknown[0]!r}; expected {', '.join(PARTS)}")
    folder: Path = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for name in given.parts or PARTS:
        try:
            made = PARTS[name](folder)
        except Absent as absent:
            print(f"{name}: needs {absent}; its table stays as it is.", file=sys.stderr)
            continue
        marks = re.compile(rf"(<!-- results: {name} -->\n).*?(<!-- end -->)", re.S)
        page = PAGE.read_text("utf-8")
        if not marks.search(page):
            raise SystemExit(f"{PAGE} has no marks for the results {name}.")
        filled = f"\n{made}\n\n"
        PAGE.write_text(marks.sub(lambda m, text=filled: f"{m[1]}{text}{m[2]}", page), "utf-8")


if __name__ == "__main__":
    main()

"""Build the wheel, install it in an empty environment outside the clone, run the demo there.

Run by `make wheel`; what it needs from the registry is what a user's `pip install` would need.
"""

import json
import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NEEDED = (
    "errands/py.typed",
    "errands/shop/render/shop.css",
    "errands/shop/rewards/trade_words.txt",
    "errands/shop/search/word_break.txt",
    "errands/shop/synthetic/wordbank/fashion.toml",
    "errands/data/turkingbench.sha256",
    "errands/turk/proofs.jsonl",
    "errands/turk/demo/Teapot Reviews/template.html",
    "errands/browser/guard.js",
    "errands/turk/browser/probe.js",
    "errands/turk/browser/sight.js",
    "errands/turk/tasks/turkingbench.toml",
)

TASKS = ROOT.parent / "shared" / "data" / "turkingbench" / "tasks"
FORMS = """
# Form pages without Chromium: Gymnasium's own check, and the oracle on whatever can be played.
import sys, warnings
from contextlib import closing
from pathlib import Path
import gymnasium
from gymnasium.utils.env_checker import check_env
import errands
from errands.turk.drivers import Pages
from errands.turk.oracle.field_oracle import play_oracle
from errands.turk.scoring.instance_score import instance_figure, score_page
from errands.turk.tasks.loader import load_tasks

warnings.simplefilter("ignore")
check_env(gymnasium.make("errands/Turk-v0", max_steps=5).unwrapped, skip_render_check=True)
if not Path(sys.argv[1]).is_dir():
    print(f"There are no tasks at {sys.argv[1]}: the oracle played none.")
    sys.exit()
pages, below, played = Pages("auto"), [], 0
for task in load_tasks(sys.argv[1]):
    if not pages.can_open(task):
        continue
    played += 1
    for instance in task.instances[:3]:
        with closing(pages.open(task, instance)) as page:
            play_oracle(page, instance)
            scored = score_page(page, instance)
        if instance_figure(scored, "released", ranges_count_as_one=True) != 1.0:
            below.append((task.name, instance.row))
assert played > 60 and not below, (played, below)
print(f"Without Chromium {played} TurkingBench tasks are played, and the oracle has 1 on each.")
"""


def run(*command: str, cwd: Path, **environment: str) -> str:
    """Run a command and give back what it printed; its complaints end this script."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **environment},
        text=True,
        stdout=subprocess.PIPE,
        check=True,
    )
    return done.stdout


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="errands-wheel-") as folder:
        outside = Path(folder)
        run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder,
            str(ROOT), cwd=outside)  # fmt: skip
        (wheel,) = outside.glob("errands-*.whl")
        names = set(zipfile.ZipFile(wheel).namelist())
        missing = [name for name in NEEDED if name not in names]
        assert not missing, f"the wheel lacks {missing}"
        assert len([name for name in names if name.endswith(".so")]) == 1, "no C library, or many"
        venv.create(outside / "venv", with_pip=True)
        binaries = outside / "venv" / "bin"
        run(str(binaries / "pip"), "install", "--quiet", "--constraint",
            str(ROOT / "constraints.txt"), str(wheel), cwd=outside)  # fmt: skip
        home = {"ERRANDS_HOME": str(outside / "home"), "PYTHONPATH": ""}
        shown = run(str(binaries / "errands"), "demo", cwd=outside, **home)
        assert "Reward:" in shown, shown
        assert "What to try next" in shown, shown
        hits = run(str(binaries / "errands"), "search", "red shirt", "-k", "10", "--json",
                   cwd=outside, **home)  # fmt: skip
        assert hits.count('"asin"') == 10, hits
        played = run(str(binaries / "errands"), "run", "turk", "--split", "subjective", "--agent",
                     "oracle", "--json", cwd=outside, **home)  # fmt: skip
        result = json.loads(played)
        assert (result["played"], result["errors"]) == (4, 0), played
        played = run(str(binaries / "errands"), "run", "turk-demo", "--agent", "oracle", "--json",
                     cwd=outside, **home)  # fmt: skip
        assert json.loads(played)["errors"] == 0, played
        print(run(str(binaries / "python"), "-c", FORMS, str(TASKS), cwd=outside, **home), end="")
        assert not (outside / "home" / "native").exists(), "the C library was built while running"
        size = run("du", "-sm", str(outside / "venv"), cwd=outside).split()[0]
        assert int(size) < 380, f"the base takes {size} MB"
    print(f"The wheel runs the demo in an empty environment of {size} MB.")


if __name__ == "__main__":
    main()

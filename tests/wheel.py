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
        size = run("du", "-sm", str(outside / "venv"), cwd=outside).split()[0]
    print(f"The wheel runs the demo in an empty environment of {size} MB.")


if __name__ == "__main__":
    main()

"""Run unmodified files of other projects against errands-legacy, and print a table.

    python packages/errands-legacy/trials/run.py FOLDER [NAME ...]

FOLDER holds checkouts named verl-agent, RAGEN, AgentGym, AgentBench and ReAct; what is not there
is said. Their own requirements beside WebShop must be installed (docs/guides/original-code.md
lists them). Each trial is a process of its own. The catalogue is `demo`, or
that of `ERRANDS_LEGACY_CATALOG`.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
TRIALS = {
    "verl_agent": "verl-agent",
    "ragen": "RAGEN",
    "agentgym": "AgentGym",
    "agentbench": "AgentBench",
    "react": "ReAct",
    "baselines": "AgentGym/agentenv-webshop/webshop/baseline_models",
}


def run(name: str, folder: Path) -> tuple[bool, str]:
    """Whether a trial passed, and what it says."""
    if not (folder / TRIALS[name]).exists():
        return False, f"{folder / TRIALS[name]} is not there"
    environment = {"ERRANDS_LEGACY_CATALOG": "demo", **os.environ}
    done = subprocess.run(
        [sys.executable, str(HERE / f"{name}.py"), str(folder)],
        capture_output=True,
        text=True,
        env=environment,
    )
    said = [line for line in done.stdout.splitlines() if line.startswith("trial: ")]
    if done.returncode == 0 and said:
        return True, said[-1].removeprefix("trial: ")
    return False, done.stderr[-2000:]


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    folder = Path(sys.argv[1]).resolve()
    names = sys.argv[2:] or list(TRIALS)
    failed = 0
    print("| trial | result | seconds | what was compared |\n|---|---|---|---|")
    for name in names:
        begun = time.perf_counter()
        passed, said = run(name, folder)
        failed += not passed
        print(
            f"| {name} | {'passed' if passed else 'failed'} | {time.perf_counter() - begun:.0f}"
            f" | {said} |",
            flush=True,
        )
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())

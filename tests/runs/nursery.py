"""Runs that are killed: started by test_killed.py in a process without threads, so it may fork.

Arguments: protocol file, directory, workers, number of kills, seed, agent. Prints how many kills
hit a run that was not complete yet.
"""

import os
import random
import signal
import sys
import time

from errands.runs.runner import run
from errands.runs.store.base import StoreError
from errands.runs.store.places import open_run


def child(protocol: str, out: str, workers: int, agent: str) -> None:
    """Begin the run, or go on with it, as a user would who does not know which."""
    try:
        open_run(out).close()
        begun = True
    except StoreError:
        begun = False
    run(protocol, agent, out=out, workers=workers, resume=begun)


def main() -> None:
    protocol, out, workers, kills, seed, agent = sys.argv[1:7]
    dice = random.Random(int(seed))
    longest = 0.25 if workers == "1" else 3.0
    hit = 0
    for _ in range(int(kills)):
        process = os.fork()
        if process == 0:
            child(protocol, out, int(workers), agent)
            os._exit(0)
        time.sleep(dice.uniform(0.0, longest))
        os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
        hit += os.WIFSIGNALED(status)
    child(protocol, out, int(workers), agent)
    print(hit)


if __name__ == "__main__":
    main()

"""Runs that are killed: started by test_killed.py in a process without threads, so it may fork.

Arguments: protocol file, directory, workers, number of kills, seed, agent, episodes. Prints how
many kills hit a run that was not complete yet. A kill comes at a random moment after a random
number of episodes: after a random time a quick machine would be done, and a slow one not have
begun.
"""

import os
import random
import signal
import sys
import time

from errands.runs.runner import run
from errands.runs.store.base import StoreError
from errands.runs.store.places import open_run


def child(protocol: str, out: str, workers: int, agent: str, pipe: int | None = None) -> None:
    """Begin the run, or go on with it, as a user would who does not know which."""

    def tell(summary: object) -> None:
        if pipe is not None:
            os.write(pipe, b".")

    try:
        open_run(out).close()
        begun = True
    except StoreError:
        begun = False
    run(protocol, agent, out=out, workers=workers, resume=begun, on_episode=tell)


def main() -> None:
    protocol, out, workers, kills, seed, agent, episodes = sys.argv[1:8]
    dice = random.Random(int(seed))
    most = int(episodes) // (int(kills) + 1)
    hit = 0
    for _ in range(int(kills)):
        reading, writing = os.pipe()
        process = os.fork()
        if process == 0:
            os.close(reading)
            child(protocol, out, int(workers), agent, writing)
            os._exit(0)
        os.close(writing)
        for _ in range(dice.randrange(most)):
            if not os.read(reading, 1):
                break
        time.sleep(dice.uniform(0.0, 0.01))
        os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
        os.close(reading)
        hit += os.WIFSIGNALED(status)
    child(protocol, out, int(workers), agent)
    print(hit)


if __name__ == "__main__":
    main()

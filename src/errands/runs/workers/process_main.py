"""A worker process: plays the episodes whose numbers it reads, and keeps each before it says so.

Started by `errands.runs.workers.processes` only. It ends when its input does, and with the runner.
"""

import os
import sys
import time
from typing import BinaryIO, Final

import msgspec

from errands.agents.agent import EndOfRun
from errands.errors import ErrandsError
from errands.runs.episode import Summary
from errands.runs.play import agent_for, play
from errands.runs.store.places import open_run
from errands.runs.workers.processes import Job, Message, open_job

__all__ = ["main"]

_SAY_SECONDS: Final = 0.05
"""Finished episodes are reported together, at most this late."""


def main() -> None:
    """Play until there are no more numbers."""
    runner = int(sys.argv[2])
    voice = os.fdopen(int(sys.argv[1]), "wb", buffering=0)
    numbers = sys.stdin.buffer
    job = msgspec.json.decode(numbers.readline(), type=Job)
    try:
        _play(job, numbers, voice, runner)
    except BrokenPipeError:
        return  # The runner is gone.
    except EndOfRun as reason:
        _say(voice, Message(ended=str(reason)))
    except ErrandsError as failure:
        _say(voice, Message(broken=str(failure)))


def _play(job: Job, numbers: BinaryIO, voice: BinaryIO, runner: int) -> None:
    source, factory = open_job(job)
    env = source.env()
    store = open_run(job.place, fsync=job.fsync)
    writer = store.writer()
    done: list[Summary] = []
    said = time.monotonic()
    try:
        for line in numbers:
            for number in map(int, line.split()):
                if os.getppid() != runner:
                    return
                agent = agent_for(factory, job.rules.seed, number)
                episode = play(source, env, agent, number, job.rules)
                writer.write(episode)
                done.append(msgspec.structs.replace(episode.summary, parts={}))
                now = time.monotonic()
                if now - said > _SAY_SECONDS:
                    _say(voice, Message(done=tuple(done)))
                    done, said = [], now
            _say(voice, Message(done=tuple(done)))
            done, said = [], time.monotonic()
    finally:
        writer.close()
        store.close()
        factory.close()
        source.close()


def _say(voice: BinaryIO, message: Message) -> None:
    """One line, whole: a pipe takes less than that at once where it is full."""
    left = memoryview(msgspec.json.encode(message) + b"\n")
    while left:
        left = left[voice.write(left) or 0 :]

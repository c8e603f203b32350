"""A rehearsal of the largest report: a run of a million episodes that nobody played.

The store makes its episodes from their numbers, so it holds nothing but columns; what is measured
is the report. Run as a module it prints one line of JSON, so that memory is that of a process of
its own.
"""

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from errands.errors import ErrandsError
from errands.reports.writing import report
from errands.runs.episode import Episode, RunInfo, Step, Summary

__all__ = ["ImaginedStore", "Rehearsal", "rehearse"]

EPISODES: Final = 1_000_000
_OWNERS: Final = ("agent", "model", "page")
_OPTIONS: Final = (None, 0.0, 0.5, 1.0)


class Rehearsal(msgspec.Struct, frozen=True):
    """What a report of so many episodes took."""

    episodes: int
    seconds: float
    """By the clock."""
    cpu_seconds: float
    megabytes: float
    """The most the process ever held, libraries included."""
    html_megabytes: float


class ImaginedStore:
    """A run of the shop in which every fiftieth episode failed."""

    def __init__(self, episodes: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self._size = episodes
        self._type = rng.choice([0.0, 0.1, 0.5, 1.0], episodes, p=[0.2, 0.1, 0.1, 0.6])
        self._att = rng.integers(0, 5, episodes) / 4
        self._steps = rng.integers(2, 40, episodes)
        self.info = RunInfo(
            id="imagined", protocol={"id": "imagined", "version": 1, "data": "nowhere"},
            protocol_key="imagined/1", half="shop", agent="imagined", agent_settings={},
            episodes=episodes, seed=seed, observations="none", checksum="",
        )  # fmt: skip

    def _reward(self, number: int) -> float | None:
        if number % 50 == 49:
            return None
        return round(float(self._type[number] * (self._att[number] * 4 + 1) / 5), 6)

    def columns(self) -> dict[str, Any]:
        number = np.arange(self._size)
        failed = number % 50 == 49
        reward = np.round(self._type * (self._att * 4 + 1) / 5, 6)
        reward[failed] = np.nan
        tokens = self._steps * 800
        return {
            "number": number, "status": np.where(failed, 2, 0).astype(np.int8), "reward": reward,
            "steps": self._steps, "seconds": self._steps * 0.25, "states": self._steps // 2 + 1,
            "items": self._steps // 4, "searches": self._steps // 8 + 1, "tokens_in": tokens,
            "tokens_out": self._steps * 40, "cost": tokens * 1e-6,
        }  # fmt: skip

    def parts(self) -> Iterator[tuple[int, dict[str, Any]]]:
        for number in range(self._size):
            if number % 50 != 49:
                yield number, self._parts(number)

    def _parts(self, number: int) -> dict[str, Any]:
        option = _OPTIONS[number % 4]
        parts = {
            "r_type": float(self._type[number]), "r_att": float(self._att[number]),
            "r_price": number % 3 > 0,
        }  # fmt: skip
        return parts if option is None else {**parts, "r_option": option}

    def add(self, episode: Episode) -> bool:
        raise ErrandsError("An imagined run takes no episodes.")

    def drop(self, numbers: Iterable[int]) -> int:
        raise ErrandsError("An imagined run loses no episodes.")

    def numbers(self) -> set[int]:
        return set(range(self._size))

    def summaries(self) -> Iterator[Summary]:
        return (self._summary(number) for number in range(self._size))

    def _summary(self, number: int) -> Summary:
        reward = self._reward(number)
        failed = reward is None
        steps = int(self._steps[number])
        return Summary(
            number=number, key=f"goal {number % 12_000}", status="error" if failed else "done",
            reward=reward, success=None if reward is None else reward >= 1, steps=steps,
            seconds=steps * 0.25, owner=_OWNERS[number % 3] if failed else "",
            error="It was imagined to fail." if failed else "",
            parts={} if failed else self._parts(number),
        )  # fmt: skip

    def episode(self, number: int) -> Episode:
        summary = self._summary(number)
        seen = f"WebShop [SEP] Instruction: [SEP] imagine goal {number} [SEP] Search"
        steps = tuple(Step(f"search[{at}]", observation=seen) for at in range(summary.steps))
        return Episode(summary=summary, steps=steps)

    def episodes(self, numbers: Iterable[int] | None = None) -> Iterator[Episode]:
        wanted = range(self._size) if numbers is None else sorted(numbers)
        return (self.episode(number) for number in wanted)

    def close(self) -> None:
        pass


def rehearse(episodes: int = EPISODES) -> Rehearsal:
    """Report on an imagined run in a process of its own, and say what it took."""
    done = subprocess.run(
        [sys.executable, "-m", "errands.reports.rehearsal", str(episodes)],
        capture_output=True,
        check=True,
    )
    return msgspec.json.decode(done.stdout, type=Rehearsal)


def _measured(episodes: int) -> Rehearsal:
    store = ImaginedStore(episodes)
    begun, begun_cpu = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        page = report([store], Path(folder))[0]
        size = page.stat().st_size
    return Rehearsal(
        episodes,
        time.perf_counter() - begun,
        time.process_time() - begun_cpu,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        size / 1e6,
    )


if __name__ == "__main__":
    sys.stdout.write(msgspec.json.encode(_measured(int(sys.argv[1]))).decode())

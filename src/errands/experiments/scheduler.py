"""The scheduler: several processes that do jobs as soon as what they need is there.

Jobs that are done are marked in the folder, so an experiment that was stopped goes on with what is
left. Each job reports its progress in a small file, which the scheduler reads.
"""

import json
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from errands.atomic import atomic_write
from errands.errors import DataError, ErrandsError, SettingError
from errands.experiments.config import ExperimentConfig
from errands.experiments.jobs import ExperimentJob

__all__ = ["PLAN", "JobCost", "costs", "open_folder", "run_jobs"]

PLAN: Final = "plan.json"
_DONE: Final = "done"
_SHARES: Final = "under-way"
_INTERVAL: Final = 0.5
"""Seconds between looks at how far jobs are."""


class JobCost(NamedTuple):
    """What a job took; what was lost by a kill is not counted."""

    seconds: float
    cpu: float


def open_folder(folder: Path, config: ExperimentConfig) -> None:
    """Begin an experiment in a folder, or go on with the one that is there."""
    current = msgspec.to_builtins(config)
    path = folder / PLAN
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            if any(folder.iterdir()):
                raise SettingError(f"{folder} has other things in it; name a new folder.")
            path.write_bytes(msgspec.json.format(msgspec.json.encode(current)))
        stored = msgspec.json.decode(path.read_bytes())
        (folder / _DONE).mkdir(exist_ok=True)
        (folder / _SHARES).mkdir(exist_ok=True)
    except OSError as failure:
        raise DataError(f"{folder} cannot be written ({failure.strerror}).") from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as failure:
        raise DataError(f"{path} is damaged ({failure}); name a new folder.") from None
    if stored != json.loads(json.dumps(current)):
        raise SettingError(
            f"{folder} holds an experiment with other settings (see {PLAN} there); name another"
            " folder."
        )


def costs(folder: Path) -> dict[str, JobCost]:
    """What every finished job took."""
    result = {}
    for path in sorted((folder / _DONE).glob("*.json")):
        took = _read(path)
        # What was deleted is made again.
        if took is not None and (folder / path.stem).exists():
            result[path.stem] = took
    return result


def run_jobs(
    jobs: Sequence[ExperimentJob],
    folder: Path,
    config: ExperimentConfig,
    workers: int,
    on_progress: Callable[[Mapping[str, float], int], None] = lambda under_way, done: None,
) -> None:
    """Do all that is not done yet. `on_progress` is told how far each running job is, and how
    many are done."""
    done = set(costs(folder))
    waiting = [job for job in jobs if job.name not in done]
    done &= {job.name for job in jobs}
    running: dict[Future[None], ExperimentJob] = {}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, initializer=_follow_parent) as pool:
        try:
            while waiting or running:
                for job in [one for one in waiting if done.issuperset(one.needs)]:
                    if len(running) == workers:
                        break
                    waiting.remove(job)
                    running[pool.submit(_run, job, folder, config)] = job
                if not running:
                    names = ", ".join(job.name for job in waiting)
                    raise SettingError(f"No job makes what is needed for {names}.")
                finished, _ = wait(running, _INTERVAL, return_when=FIRST_COMPLETED)
                for future in finished:
                    job = running.pop(future)
                    _result(future, job)
                    done.add(job.name)
                on_progress(_running_shares(folder, running.values()), len(done))
        except BaseException:
            for process in list((pool._processes or {}).values()):
                process.terminate()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _follow_parent() -> None:
    """End with the parent process, should it be killed."""

    def end_with(parent: Any) -> None:
        parent.join()
        os._exit(1)

    parent = multiprocessing.parent_process()
    threading.Thread(target=end_with, args=(parent,), daemon=True).start()


def _result(future: Future[None], job: ExperimentJob) -> None:
    try:
        future.result()
    except ErrandsError as failure:
        raise type(failure)(f"{job.name}: {failure}") from None
    except BrokenProcessPool:
        raise SettingError(
            f"A process was ended from outside while {job.name} was under way, perhaps for want of"
            " memory; the same command goes on, --workers 1 needs less."
        ) from None


def _run(job: ExperimentJob, folder: Path, config: ExperimentConfig) -> None:
    """In a process of its own."""
    began, cpu = time.monotonic(), time.process_time()
    shown = 0.0

    def report(share: float) -> None:
        nonlocal shown
        now = time.monotonic()
        if now - shown > _INTERVAL:
            shown = now
            (folder / _SHARES / job.name).write_text(f"{share:.4f}")

    before = _read(folder / _SHARES / f"{job.name}.spent") or JobCost(0.0, 0.0)
    try:
        job.run(folder, config, report)
    finally:
        took = JobCost(
            before.seconds + time.monotonic() - began, before.cpu + time.process_time() - cpu
        )
        _note(folder / _SHARES / f"{job.name}.spent", took)
    _note(folder / _DONE / f"{job.name}.json", took)


def _note(path: Path, took: JobCost) -> None:
    atomic_write(path, lambda part: part.write_bytes(msgspec.json.encode(took._asdict())))


def _read(path: Path) -> JobCost | None:
    """What was noted there, if it can be read."""
    try:
        return JobCost(**msgspec.json.decode(path.read_bytes()))
    except (OSError, msgspec.DecodeError, RecursionError, UnicodeDecodeError, TypeError):
        return None


def _running_shares(folder: Path, jobs: Any) -> dict[str, float]:
    shares = {}
    for job in jobs:
        try:
            shares[job.name] = float((folder / _SHARES / job.name).read_text())
        except (OSError, ValueError):
            shares[job.name] = 0.0
    return shares

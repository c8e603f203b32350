"""A crew: several processes that do pieces of work as soon as what they need is there.

What is done is marked in the folder, so an experiment that was stopped goes on with what is left.
How far each piece is goes through small files, which whoever waits can read.
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

from errands.errors import DataError, ErrandsError, SettingError
from errands.experiments.jobs import Work, do
from errands.experiments.plan import Plan

__all__ = ["Spent", "carry_out", "spent", "take_folder"]

_PLAN: Final = "plan.json"
_DONE: Final = "done"
_SHARES: Final = "under-way"
_LOOK: Final = 0.5
"""Seconds between looks at how far everyone is."""


class Spent(NamedTuple):
    """What a piece of work took; what was lost by a kill is not counted."""

    seconds: float
    cpu: float


def take_folder(folder: Path, plan: Plan) -> None:
    """Begin an experiment in a folder, or go on with the one that is there."""
    wanted = msgspec.to_builtins(plan)
    path = folder / _PLAN
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            if any(folder.iterdir()):
                raise SettingError(f"{folder} has other things in it; name a new folder.")
            path.write_bytes(msgspec.json.format(msgspec.json.encode(wanted)))
        held = msgspec.json.decode(path.read_bytes())
        (folder / _DONE).mkdir(exist_ok=True)
        (folder / _SHARES).mkdir(exist_ok=True)
    except OSError as failure:
        raise DataError(f"{folder} cannot be written ({failure.strerror}).") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as failure:
        raise DataError(f"{path} is damaged ({failure}); name a new folder.") from None
    if held != json.loads(json.dumps(wanted)):
        raise SettingError(
            f"{folder} holds an experiment with other settings (see {_PLAN} there); name another"
            " folder."
        )


def spent(folder: Path) -> dict[str, Spent]:
    """What every finished piece of work took."""
    found = {}
    for path in sorted((folder / _DONE).glob("*.json")):
        took = _read(path)
        # What was deleted is made again.
        if took is not None and (folder / path.stem).exists():
            found[path.stem] = took
    return found


def carry_out(
    works: Sequence[Work],
    folder: Path,
    plan: Plan,
    workers: int,
    on_look: Callable[[Mapping[str, float], int], None] = lambda under_way, done: None,
) -> None:
    """Do all that is not done yet. `on_look` is told how far each piece under way is, and how
    many are done."""
    done = set(spent(folder))
    waiting = [work for work in works if work.name not in done]
    done &= {work.name for work in works}
    running: dict[Future[None], Work] = {}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, initializer=_follow_parent) as pool:
        try:
            while waiting or running:
                for work in [one for one in waiting if done.issuperset(one.needs)]:
                    if len(running) == workers:
                        break
                    waiting.remove(work)
                    running[pool.submit(_work, work, folder, plan)] = work
                if not running:
                    names = ", ".join(work.name for work in waiting)
                    raise SettingError(f"Nobody makes what is needed for {names}.")
                finished, _ = wait(running, _LOOK, return_when=FIRST_COMPLETED)
                for future in finished:
                    work = running.pop(future)
                    _result(future, work)
                    done.add(work.name)
                on_look(_under_way(folder, running.values()), len(done))
        except BaseException:
            for process in list((pool._processes or {}).values()):
                process.terminate()
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _follow_parent() -> None:
    """Nobody goes on working for one who was killed."""

    def end_with(parent: Any) -> None:
        parent.join()
        os._exit(1)

    parent = multiprocessing.parent_process()
    threading.Thread(target=end_with, args=(parent,), daemon=True).start()


def _result(future: Future[None], work: Work) -> None:
    try:
        future.result()
    except ErrandsError as failure:
        raise type(failure)(f"{work.name}: {failure}") from None
    except BrokenProcessPool:
        raise SettingError(
            f"A process was ended from outside while {work.name} was under way, perhaps for want of"
            " memory; the same command goes on, --workers 1 needs less."
        ) from None


def _work(work: Work, folder: Path, plan: Plan) -> None:
    """In a process of its own."""
    began, cpu = time.monotonic(), time.process_time()
    shown = 0.0

    def tell(share: float) -> None:
        nonlocal shown
        now = time.monotonic()
        if now - shown > _LOOK:
            shown = now
            (folder / _SHARES / work.name).write_text(f"{share:.4f}")

    before = _read(folder / _SHARES / f"{work.name}.spent") or Spent(0.0, 0.0)
    try:
        do(work, folder, plan, tell)
    finally:
        took = Spent(
            before.seconds + time.monotonic() - began, before.cpu + time.process_time() - cpu
        )
        _note(folder / _SHARES / f"{work.name}.spent", took)
    _note(folder / _DONE / f"{work.name}.json", took)


def _note(path: Path, took: Spent) -> None:
    part = path.with_name(path.name + ".part")
    part.write_bytes(msgspec.json.encode(took._asdict()))
    part.replace(path)


def _read(path: Path) -> Spent | None:
    """What was noted there, if it can be read."""
    try:
        return Spent(**msgspec.json.decode(path.read_bytes()))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, TypeError):
        return None


def _under_way(folder: Path, works: Any) -> dict[str, float]:
    shares = {}
    for work in works:
        try:
            shares[work.name] = float((folder / _SHARES / work.name).read_text())
        except (OSError, ValueError):
            shares[work.name] = 0.0
    return shares

"""How fast TurkingBench is: the oracle on every task, scoring and loading included."""

import concurrent.futures
import contextlib
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from errands.bench.figure import Figure, cost, private_memory
from errands.bench.process import family_cpu_seconds
from errands.turk.drivers import start_browser
from errands.turk.effects.rows import evenly_spaced
from errands.turk.oracle.field_oracle import play_oracle
from errands.turk.pages.driver import Driver, DriverError
from errands.turk.scoring.instance_score import score_page
from errands.turk.tasks.loader import load_tasks
from errands.turk.tasks.task import Instance, Task
from errands.turk.tasks.template import page_html

__all__ = ["bench_turk", "bench_turk_memory", "few_at_once"]

T = TypeVar("T")
R = TypeVar("R")

FLOORS = {"dom": (250.0, 500.0), "browser": (8.0, 20.0)}
"""Instances a second: floor and aim. Of `dom` per second of CPU, of `browser` on two cores."""
PAGES_AT_ONCE = {"dom": 1, "browser": 4}
"""A browser has pages of its own processes; a few at once keep the cores busy."""
WAYMARKS = (1_000, 10_000)
"""Instances after which the memory is looked at."""


def bench_turk(
    tasks: str, *, instances: int = 5, drivers: tuple[str, ...] = ("dom", "browser")
) -> Iterator[Figure]:
    """Play so many instances of each task with each driver."""
    for name in drivers:
        try:
            driver = _driver(name)
        except DriverError:
            continue
        with contextlib.closing(driver):
            yield from _measure(name, driver, tasks, instances)


def _driver(name: str) -> Driver:
    if name == "dom":
        from errands.turk.dom.driver import DomDriver

        return DomDriver()
    # The oracle needs no pictures.
    return start_browser(pictures=False)


def _measure(name: str, driver: Driver, tasks: str, instances: int) -> Iterator[Figure]:
    before = private_memory()
    count = failed = 0
    whole = family_cpu_seconds(os.getpid())
    begun, begun_cpu = time.perf_counter(), time.process_time()
    work = _instances(tasks, instances)
    for fine in few_at_once(lambda one: _play(driver, *one), work, PAGES_AT_ONCE[name]):
        count += 1
        failed += not fine
    seconds = time.perf_counter() - begun
    cpu = time.process_time() - begun_cpu
    # A browser works in processes of its own, so there only the clock tells.
    rate = count / (cpu if name == "dom" else seconds)
    floor, aim = FLOORS[name]
    yield Figure(f"{name}: instances per second", rate, "1/s", floor, aim)
    if name == "browser":
        # Other work on the machine takes from the clock, and not from this.
        whole = family_cpu_seconds(os.getpid()) - whole
        yield cost(f"{name}: CPU of an instance, all processes", 1000 * whole / count, "ms")
    yield Figure(f"{name}: instances", count, "")
    yield cost(f"{name}: failed", failed, "", 0)
    yield Figure(f"{name}: memory gained", (private_memory() - before) / 2**20, "MB")


def few_at_once(work: Callable[[T], R], inputs: Iterable[T], most: int) -> Iterator[R]:
    """The results in order, worked out in `most` threads; inputs are taken as they are needed.

    An executor's own `map` takes all its inputs at the start, which here are whole tasks.
    """
    if most == 1:
        yield from map(work, inputs)
        return
    waiting: deque[concurrent.futures.Future[R]] = deque()
    with concurrent.futures.ThreadPoolExecutor(most) as pool:
        for each in inputs:
            # One page that takes long must not leave the other threads without work.
            if len(waiting) >= 4 * most:
                yield waiting.popleft().result()
            waiting.append(pool.submit(work, each))
        while waiting:
            yield waiting.popleft().result()


def _instances(tasks: str, most: int | None = None) -> Iterator[tuple[Task, Instance]]:
    """Every instance, or at most so many of each task."""
    for task in load_tasks(tasks):
        count = len(task.instances)
        for row in evenly_spaced(count, count if most is None else most):
            yield task, task.instances[row]


def _play(driver: Driver, task: Task, instance: Instance) -> bool:
    """Play one instance; whether the page held."""
    try:
        with contextlib.closing(driver.open(page_html(task, instance))) as page:
            play_oracle(page, instance)
            score_page(page, instance)
    except DriverError:
        return False
    return True


def bench_turk_memory(tasks: str) -> Iterator[Figure]:
    """Play every instance of the tasks without a browser, and watch the memory.

    Only so many tasks and pages are kept at a time: what there is after a thousand instances
    should do for all the others.
    """
    driver = _driver("dom")
    count = failed = 0
    begun = time.process_time()
    for count, (task, instance) in enumerate(_instances(tasks), 1):
        failed += not _play(driver, task, instance)
        if count in WAYMARKS:
            yield Figure(f"dom: memory after {count:,}", private_memory() / 2**20, "MB")
    rate = count / (time.process_time() - begun)
    floor, aim = FLOORS["dom"]
    yield Figure("dom: memory at the end", private_memory() / 2**20, "MB")
    yield Figure("dom: instances per second", rate, "1/s", floor, aim)
    yield Figure("dom: instances", count, "")
    yield cost("dom: failed", failed, "", 0)

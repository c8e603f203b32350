"""How fast the shop is as pixels: pictures of one tab and of a pool, and a vector environment.

A browser works in processes of its own, so the clock tells how long a picture takes; what it costs
is the CPU time of all processes, which other work on the machine disturbs least. No picture is
remembered but in the last figure, where pages come again as they do while a customer shops.
"""

import os
import time
from collections.abc import Iterator
from contextlib import closing

import numpy as np
from numpy.typing import NDArray

from errands.agents.random_agent import RandomShopper
from errands.bench.figure import Figure, cost, percentile
from errands.bench.process import family_cpu_seconds
from errands.bench.shop import EPISODE_STEPS, instructions
from errands.browser.engine import Engine
from errands.browser.page import WebPage
from errands.browser.screenshots import HEIGHT, pixels
from errands.browser.tab import TabConfig
from errands.envs.screenshots import Camera, still
from errands.envs.shop import ShopEnv
from errands.envs.shop_vector import ShopVectorEnv
from errands.shop.catalog.catalog import Catalog

__all__ = ["bench_pixels", "random_pages"]

ENVIRONMENTS = 4
"""In the vector environment, for each tab."""


def bench_pixels(
    catalog: str, *, steps: int = 200, seed: int = 1, tabs: int | None = None
) -> Iterator[Figure]:
    """Measure one catalogue; figures come as they are ready."""
    opened = Catalog.open(catalog)
    pages = random_pages(opened, steps, seed)
    with closing(Engine(None, TabConfig(height=HEIGHT))) as engine:
        yield from _fresh(engine, pages)
    with closing(Camera(tabs=1, remember=0)) as camera:
        yield from _one_tab(camera, pages)
    with closing(Camera(tabs, remember=0)) as camera:
        yield from _vector(opened, camera, steps, seed, "")
    with closing(Camera(tabs)) as camera:
        yield from _vector(opened, camera, steps, seed, ", pictures remembered")


def random_pages(catalog: Catalog, count: int, seed: int) -> list[str]:
    """Pages that a random customer sees one after another, without those seen before."""
    env = ShopEnv(catalog, observation="html", max_steps=EPISODE_STEPS)
    agent = RandomShopper(instructions(env.context.goals), seed)
    pages: dict[str, None] = {}
    seen, info = env.reset(seed=seed)
    while len(pages) < count:
        pages[seen] = None
        if env.episode.over:
            seen, info = env.reset()
        else:
            seen, *_, info = env.step(agent.act(seen, info))
    return list(pages)


def _fresh(engine: Engine, pages: list[str]) -> Iterator[Figure]:
    """What a step took before there were warm tabs, and takes where a page is loaded."""

    def loaded(html: str) -> NDArray[np.uint8]:
        with WebPage(engine, still(html)) as page:
            return pixels(page.snapshot())

    some = pages[: max(2, len(pages) // 4)]
    loaded(some[0])
    whole, begun = family_cpu_seconds(os.getpid()), time.perf_counter()
    for html in some:
        loaded(html)
    yield cost("a fresh load", 1000 * (time.perf_counter() - begun) / len(some), "ms")
    whole = family_cpu_seconds(os.getpid()) - whole
    yield cost("a fresh load: CPU, all processes", 1000 * whole / len(some), "ms")
    with closing(Camera(tabs=1, remember=0)) as camera:
        other = sum(bool((camera.take(camera, html) != loaded(html)).any()) for html in some)
    yield cost(f"of {len(some)} pages, other pixels than a fresh load", other, "", 0)


def _one_tab(camera: Camera, pages: list[str]) -> Iterator[Figure]:
    begun = time.perf_counter()
    camera.take(camera, pages[0])
    yield cost(
        "first picture, with the browser's start", 1000 * (time.perf_counter() - begun), "ms"
    )
    whole, times = family_cpu_seconds(os.getpid()), []
    for html in pages[1:]:
        begun = time.perf_counter()
        camera.take(camera, html)
        times.append(1000 * (time.perf_counter() - begun))
    whole = family_cpu_seconds(os.getpid()) - whole
    yield cost("one tab: a picture, median", percentile(times, 0.5), "ms", 90, 30)
    yield cost("one tab: a picture, 99th percentile", percentile(times, 0.99), "ms")
    yield cost("one tab: CPU of a picture, all processes", 1000 * whole / len(times), "ms")


def _vector(
    catalog: Catalog, camera: Camera, steps: int, seed: int, remark: str
) -> Iterator[Figure]:
    """Steps of a random customer in every sub-environment."""
    count = ENVIRONMENTS * camera.tabs
    envs = ShopVectorEnv(
        count, catalog=catalog, camera=camera, observation="screenshot", max_steps=EPISODE_STEPS
    )
    agent = RandomShopper(instructions(envs.context.goals), seed)
    _, infos = envs.reset(seed=seed)
    played = 0
    whole, begun = family_cpu_seconds(os.getpid()), time.perf_counter()
    while played < steps:
        told = [{"available_actions": each} for each in infos["available_actions"]]
        *_, infos = envs.step([agent.act("", info) for info in told])
        played += count
    seconds = time.perf_counter() - begun
    whole = family_cpu_seconds(os.getpid()) - whole
    name = f"{camera.tabs} tabs, {count} environments{remark}"
    yield Figure(f"{name}: steps per second", played / seconds, "1/s", 20, 60)
    yield cost(f"{name}: CPU of a step, all processes", 1000 * whole / played, "ms")
    envs.close()

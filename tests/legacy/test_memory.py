"""A thousand environments in one process."""

import gc
import tracemalloc
from pathlib import Path

from errands_legacy import WebAgentTextEnv

from errands.shop.catalog.catalog import Catalog

COUNT = 1000
MEGABYTE = 1 << 20


def _private() -> int:
    """Bytes that are this process's own."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Private"))


def test_a_thousand_environments_take_little(little: Catalog) -> None:
    """200 MB is the limit; what they need is a few kilobytes each."""
    warm = WebAgentTextEnv("text", catalog=little)
    warm.step("search[shoes]")
    gc.collect()
    before = _private()
    tracemalloc.start()
    try:
        envs = [WebAgentTextEnv("text", catalog=little) for _ in range(COUNT)]
        for goal, env in enumerate(envs):
            env.reset(goal % len(env.server.goals))
            env.step("search[shoes]")
            env.step(f"click[{env.get_available_actions()['clickables'][2]}]")
        counted, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    gc.collect()
    assert counted < 40 * MEGABYTE
    assert _private() - before < 150 * MEGABYTE
    for env in envs:
        assert env.server.catalog is little

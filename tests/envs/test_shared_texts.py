"""Texts in the memory that Gymnasium's processes share."""

import copy
import gc
import os
from pathlib import Path
from typing import Any

import gymnasium
import pytest

import errands  # noqa: F401
from errands.envs.shared_texts import SharedTexts, TextSlots
from errands.shop.catalog.catalog import Catalog

TEXTS = ("", "WebShop [SEP] ü – 日本 \ud83d", "x" * 3_000_000, "short")


def test_slots_hold_any_text_and_forget_the_last_one() -> None:
    slots = TextSlots(2, 1 << 24)
    assert list(SharedTexts(slots)) == ["", ""]
    for text in TEXTS:
        slots.write(1, text)
        assert slots.read(1) == text
    assert slots.read(0) == ""


def test_a_copy_stays_while_the_texts_go_on() -> None:
    slots = TextSlots(3, 100)
    texts = SharedTexts(slots)
    slots.write(2, "first")
    seen: dict[str, Any] = copy.deepcopy({"html": texts})
    slots.write(2, "second")
    assert seen == {"html": ("", "", "first")}
    assert (texts[-1], texts[1:]) == ("second", ("", "second"))
    with pytest.raises(IndexError):
        texts[3]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_nothing_is_left_open() -> None:
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    TextSlots(1000, 1 << 24).write(999, "page")
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before


def _episode(envs: Any, actions: tuple[str, ...]) -> list[tuple[str, ...]]:
    first = tuple(envs.reset(seed=5)[0])
    pages = [first, *(tuple(envs.step([action] * envs.num_envs)[0]) for action in actions)]
    envs.close()
    return pages


@pytest.mark.parametrize("options", [{}, {"copy": False}, {"context": "spawn"}], ids=str)
def test_processes_show_the_pages_of_a_shop(little: Catalog, options: dict[str, Any]) -> None:
    made = {"num_envs": 2, "catalog": str(little.path), "max_steps": 3}
    actions = ("search[easy clean]", "click[next >]", "click[back to search]", "search[red]")
    envs = gymnasium.make_vec(
        "errands/Shop-v0", vectorization_mode="async", vector_kwargs=options, **made
    )
    alone = gymnasium.make_vec("errands/Shop-v0", vectorization_mode="sync", **made)
    pages = _episode(envs, actions)
    assert pages == _episode(alone, actions)
    assert len(set(pages)) > 2


def test_processes_show_form_pages() -> None:
    made = {"num_envs": 2, "driver": "dom", "max_steps": 3}
    envs = gymnasium.make_vec("errands/Turk-v0", vectorization_mode="async", **made)
    alone = gymnasium.make_vec("errands/Turk-v0", vectorization_mode="sync", **made)
    actions = ("submit()", "submit()", "submit()")
    pages = _episode(envs, actions)
    assert pages == _episode(alone, actions)
    assert len(set(pages[0] + pages[-1])) > 2

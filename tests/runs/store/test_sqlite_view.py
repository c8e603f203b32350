"""A run that is looked at: nothing is written, nothing is disturbed, and only some is read."""

import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from errands.runs.episode import Episode, RunInfo, Step, Summary
from errands.runs.store.base import StoreError
from errands.runs.store.lock import RunLock, is_held
from errands.runs.store.sqlite import SqliteStore
from errands.runs.store.sqlite_view import SqliteView
from errands.runs.store.view import EpisodeFilter


def info(episodes: int) -> RunInfo:
    return RunInfo(
        id="r",
        protocol={"id": "p"},
        protocol_key="p@1",
        domain="shop",
        agent="a",
        agent_settings={},
        episodes=episodes,
        seed=0,
        observations="hash",
        checksum="",
    )


def episode(number: int, reward: float | None) -> Episode:
    failed = reward is None
    return Episode(
        summary=Summary(
            number=number,
            key=f"goal {number}",
            status="error" if failed else "truncated" if number % 7 == 0 else "done",
            reward=reward,
            success=None if failed else reward == 1,
            steps=number % 11,
            seconds=float(number % 13),
        ),
        steps=(Step("search[x]"),),
    )


def drawn(count: int) -> list[Episode]:
    dice = random.Random(3)
    rewards = [None, 0.0, 0.25, 0.5, 1.0]
    return [episode(number, dice.choice(rewards)) for number in range(count)]


DYING = """
import os, sys
sys.path.insert(0, sys.argv[1])
from test_sqlite_view import SqliteStore, episode
writer = SqliteStore.open(sys.argv[2]).writer()
writer.write(episode(0, 1.0))
writer.write(episode(1, 0.5))
os._exit(0)
"""


def names(folder: Path) -> set[str]:
    return set(os.listdir(folder))


def test_looking_leaves_everything_as_it_is(tmp_path: Path) -> None:
    store = SqliteStore.create(tmp_path / "run.sqlite", info(3))
    store.add(episode(0, 1.0))
    store.close()
    before = names(tmp_path), (tmp_path / "run.sqlite").read_bytes()
    view = SqliteView(tmp_path / "run.sqlite")
    assert view.info == info(3)
    assert view.totals().kept == 1
    assert view.episode(0) == episode(0, 1.0)
    assert view.find(1) is None
    assert (names(tmp_path), (tmp_path / "run.sqlite").read_bytes()) == before
    for attempt in (lambda: view.add(episode(1, 1.0)), view.writer, lambda: view.drop([0])):
        with pytest.raises(StoreError, match="opened to look at"):
            attempt()


def test_a_run_that_is_written_is_seen_as_it_grows(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    store = SqliteStore.create(path, info(400))
    view = SqliteView(path)
    seen: list[int] = []
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            seen.append(view.totals().kept)

    readers = [threading.Thread(target=look) for _ in range(3)]
    for reader in readers:
        reader.start()
    stamps = {view.stamp()}
    for one in drawn(400):
        store.add(one)
        stamps.add(view.stamp())
    stop.set()
    for reader in readers:
        reader.join()
    assert max(seen) > 0
    assert len(stamps) > 300, "what was added shows in the stamp"
    assert view.totals().kept == 400
    store.close()
    assert view.totals().kept == 400
    assert "run.sqlite-wal" not in names(tmp_path), "the last writer could tidy up"


def test_what_the_dead_left_is_let_lie(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    store = SqliteStore.create(path, info(2))
    subprocess.run([sys.executable, "-c", DYING, str(Path(__file__).parent), str(path)], check=True)
    view = SqliteView(path)
    left = {name for name in names(tmp_path) if ".kept-" in name}
    assert len(left) == 1
    assert view.waiting()
    kept = view.totals().kept
    assert kept < 2
    assert {name for name in names(tmp_path) if ".kept-" in name} == left
    store.gather()
    assert (view.totals().kept, view.waiting()) == (2, False)
    store.close()


def test_stretches_are_what_sorting_all_would_give(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    store = SqliteStore.create(path, info(3000))
    held = drawn(3000)
    with store.writer() as writer:
        for one in held:
            writer.write(one)
    view = SqliteView(path)
    every = [one.summary for one in held]
    for order in ("number", "reward", "steps", "seconds"):
        for descending in (False, True):
            for status in (None, "done", "error"):
                for least, most in ((None, None), (0.25, 0.5)):
                    chosen = EpisodeFilter(
                        status=status, least=least, most=most, order=order, descending=descending
                    )
                    want = [
                        one
                        for one in every
                        if status in (None, one.status)
                        and (least is None or (one.reward is not None and one.reward >= least))
                        and (most is None or (one.reward is not None and one.reward <= most))
                    ]
                    want.sort(key=lambda one: one.number)
                    there = [one for one in want if getattr(one, order) is not None]
                    there.sort(key=lambda one: getattr(one, order), reverse=descending)
                    there += [one for one in want if getattr(one, order) is None]
                    assert view.count(chosen) == len(want)
                    assert list(view.some(chosen, 40, 25)) == there[40:65]
    totals = view.totals()
    rewards = [one.reward for one in every if one.reward is not None]
    assert dict(totals.rewards) == {held: rewards.count(held) for held in set(rewards)}
    assert totals.errors == 3000 - len(rewards)
    assert [one.number for one in view.latest(3)] == [2999, 2998, 2997]
    assert view.neighbours(0) == (None, 1)
    assert view.neighbours(2999) == (2998, None)
    store.close()


def test_asking_who_writes_stops_no_runner(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert not is_held(folder)
    assert not folder.exists()
    with RunLock(folder):
        assert is_held(folder)
        (folder / "something").touch()
    assert not is_held(folder)
    stop = threading.Event()

    def ask() -> None:
        while not stop.is_set():
            is_held(folder)

    asking = [threading.Thread(target=ask) for _ in range(2)]
    for one in asking:
        one.start()
    try:
        for _ in range(50):
            RunLock(folder).release()
    finally:
        stop.set()
        for one in asking:
            one.join()


def test_what_is_no_run_says_so(tmp_path: Path) -> None:
    (tmp_path / "text.sqlite").write_text("Not a database, but long enough to be taken for one.")
    with pytest.raises(StoreError, match="no run of Errands"):
        SqliteView(tmp_path / "text.sqlite")
    with pytest.raises(StoreError, match="no run at"):
        SqliteView(tmp_path / "absent.sqlite")

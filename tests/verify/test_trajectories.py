"""Purchases of stored runs, found again."""

from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from errands.errors import ErrandsError
from errands.runs.protocol import Protocol
from errands.runs.runner import run
from errands.runs.store.places import create_run, open_run
from errands.shop.catalog.catalog import Catalog
from errands.shop.rewards.rules import released
from errands.verify.trajectories import read_trajectories


def test_every_purchase_is_found_again(careful_run: Path) -> None:
    told: list[tuple[int, int]] = []
    with closing(open_run(careful_run)) as store:
        found, unbought = read_trajectories(store, lambda done, total: told.append((done, total)))
        kept = {row.number: row for row in store.summaries()}
    assert [one.number for one in found] == list(range(30))
    assert told[-1] == (30, 30)
    assert unbought.failed == 0
    for one in found:
        assert one.key == kept[one.number].key
        if one.purchase is None:
            assert kept[one.number].reward == 0
        else:
            assert released(one.purchase, one.goal).total == kept[one.number].reward
            assert one.actions[-1] == "click[buy now]"
    assert sum(one.purchase is not None for one in found) > 20


def test_what_was_not_bought_is_told_apart(random_run: Path) -> None:
    with closing(open_run(random_run)) as store:
        found, unbought = read_trajectories(store)
        truncated = sum(row.status == "truncated" for row in store.summaries())
    assert truncated > 0
    assert unbought.out_of_steps == sum(one.purchase is None for one in found) == truncated


def test_failed_episodes_are_left_out(careful_run: Path, tmp_path: Path) -> None:
    with closing(open_run(careful_run)) as store:
        info, episodes = store.info, list(store.episodes())
    broken = msgspec.structs.replace(
        episodes[3].summary, status="error", reward=None, success=None, error="gone", owner="agent"
    )
    episodes[3] = msgspec.structs.replace(episodes[3], summary=broken)
    with closing(create_run(tmp_path / "run", info)) as store:
        for episode in episodes:
            store.add(episode)
        found, unbought = read_trajectories(store)
    assert unbought.failed == 1
    assert 3 not in {one.number for one in found}


def test_a_reward_that_does_not_come_again_is_an_error(careful_run: Path, tmp_path: Path) -> None:
    with closing(open_run(careful_run)) as store:
        info, episode = store.info, store.episode(0)
    other = msgspec.structs.replace(episode.summary, reward=0.123)
    with closing(create_run(tmp_path / "run", info)) as store:
        store.add(msgspec.structs.replace(episode, summary=other))
        with pytest.raises(ErrandsError, match="no longer what they were"):
            read_trajectories(store)


def test_runs_without_purchases_are_refused(
    little: Catalog, careful_run: Path, tmp_path: Path
) -> None:
    with closing(open_run(careful_run)) as store:
        info = store.info
    with (
        closing(create_run(tmp_path / "empty", info)) as store,
        pytest.raises(ErrandsError, match="no episodes yet"),
    ):
        read_trajectories(store)
    desk = Protocol(
        id="desk", version=1, title="d", domain="turk", data="demo", tasks=("Teapot Reviews",),
        observation="html", rules="paper", episodes=1,
    )  # fmt: skip
    run(desk, "do-nothing", out=tmp_path / "desk")
    with (
        closing(open_run(tmp_path / "desk")) as store,
        pytest.raises(ErrandsError, match="TurkingBench"),
    ):
        read_trajectories(store)

"""Worlds: which episodes a protocol has, in which order, and what they add up to."""

import random
from pathlib import Path

import msgspec
import pytest

from errands.runs.episode_source import ShopSource, TurkSource, open_source
from errands.runs.protocol import Protocol, ProtocolError, find_protocol
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import shuffled


def _shop(catalog: Catalog, **settings: object) -> Protocol:
    base = {"id": "t", "version": 1, "title": "t", "half": "shop", "data": str(catalog.path)}
    return msgspec.convert({**base, **settings}, Protocol)


def _turk(**settings: object) -> Protocol:
    base = {"id": "t", "version": 1, "title": "t", "half": "turk", "data": "demo",
            "observation": "html"}  # fmt: skip
    return msgspec.convert({**base, **settings}, Protocol)


def test_a_shop_plays_its_splits_goals_in_order(little: Catalog) -> None:
    source = ShopSource(_shop(little, goals="synthetic", split="test", episodes=7))
    assert source.keys == [f"goal {index}" for index in range(7)]
    assert source.options(3) == {"goal": 3}
    assert source.checksum == little.manifest.checksum
    assert source.key.startswith("t@1 data:")


def test_the_disjoint_split_is_played_from_its_beginning(little: Catalog) -> None:
    source = ShopSource(_shop(little, split="disjoint-test", episodes=5))
    everything = ShopSource(_shop(little, split="disjoint-test"))
    assert source.keys == everything.keys[:5]
    assert source.keys != ["goal 0", "goal 1", "goal 2", "goal 3", "goal 4"]


def test_the_legacy_order_is_every_workers_own_shuffle_of_the_load_order(little: Catalog) -> None:
    source = ShopSource(_shop(little, shuffle_workers=2, seed=1000, episodes=6))
    count = len(little.goals("synthetic"))
    load_order = {place: index for index, place in enumerate(shuffled(count)[0])}
    expected = []
    for number in range(6):
        order = list(range(count))
        random.Random(1000 + number % 2).shuffle(order)
        expected.append(load_order[order[number // 2]])
    assert list(source.indices) == expected
    everything = ShopSource(_shop(little, shuffle_workers=2, seed=1000, episodes=2 * count + 9))
    # Both workers meet every goal: what is a test goal of one is a training goal of the other.
    assert sorted(everything.indices) == sorted([*range(count)] * 2)


def test_another_catalogue_is_named_with_what_to_do() -> None:
    with pytest.raises(ProtocolError, match="needs the catalogue 'webshop'"):
        open_source(find_protocol("webshop-paper"))


def test_tasks_take_turns_and_rows_are_drawn_by_the_seed() -> None:
    one = TurkSource(_turk(split="train", per_task=2, seed=4))
    again = TurkSource(_turk(split="train", per_task=2, seed=4))
    other = TurkSource(_turk(split="train", per_task=2, seed=5))
    assert one.keys == again.keys
    assert one.keys != other.keys
    assert one.checksum != other.checksum
    tasks = [key.rsplit("/", 1)[0] for key in one.keys]
    half = len(tasks) // 2
    assert tasks[:half] == tasks[half:] == sorted(tasks[:half])


def test_absent_tasks_are_named_and_change_the_key(tmp_path: Path) -> None:
    for name in ("kept", "gone"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "template.html").write_text("<input name='a'>")
        (folder / "batch.csv").write_text("Input.x,Answer.a\n1,yes\n")
    whole = TurkSource(_turk(data=str(tmp_path)))
    (tmp_path / "gone" / "batch.csv").write_text("")
    part = TurkSource(_turk(data=str(tmp_path)))
    assert "gone" in part.remarks[0]
    assert part.key.endswith("without:1")
    assert whole.key != part.key
    assert part.keys == ["kept/0"]
    assert part.remarks[1].startswith("broken task folders are left out: gone (batch.csv is empty")
    (tmp_path / "gone" / "batch.csv").unlink()
    missing = TurkSource(_turk(data=str(tmp_path)))
    assert missing.key.endswith("without:1")
    assert missing.remarks[0] == "1 task is absent: gone"
    # A task that the protocol does not ask for is not missed.
    assert "without" not in TurkSource(_turk(data=str(tmp_path), tasks=["kept"])).key
    (tmp_path / "kept" / "batch.csv").unlink()
    with pytest.raises(ProtocolError, match=r"none of its tasks .* kept \(batch.csv is missing\)"):
        TurkSource(_turk(data=str(tmp_path)))


def test_a_protocols_tasks_must_be_there() -> None:
    with pytest.raises(ProtocolError, match="'No Such'"):
        TurkSource(_turk(tasks=["No Such"]))


def test_a_checksum_is_checked(little: Catalog) -> None:
    protocol = _shop(little, checksum="ffff")
    with pytest.raises(ProtocolError, match="other data would give other scores"):
        open_source(protocol)
    open_source(msgspec.structs.replace(protocol, checksum=little.manifest.checksum[:12])).close()


def test_a_goal_file_is_part_of_the_checksum(little: Catalog, tmp_path: Path) -> None:
    from errands.shop.goals import select_goals, write_goals

    goals = little.goals("human")
    for name, picked in (("a", [1, 2]), ("b", [2, 3])):
        chosen = select_goals(goals, where=lambda index, goal, picked=picked: index in picked)
        write_goals(tmp_path / f"{name}.json", chosen, little)
    sources = [ShopSource(_shop(little, goals=str(tmp_path / f"{n}.json"))) for n in ("a", "b")]
    assert sources[0].checksum != sources[1].checksum


def test_trajectories_are_counted(little: Catalog) -> None:
    source = ShopSource(_shop(little, split="test", episodes=1))
    env = source.env()
    track = source.track()
    observation, info = env.reset(options=source.options(0))
    track.saw(env, observation, "", info)
    query = f"search[{info['instruction']}]"
    for action in (query, "click[next >]", "nonsense", "click[back to search]", query,
                   "click[next >]"):  # fmt: skip
        observation, *_, info = env.step(action)
        track.saw(env, observation, action, info)
    item = info["available_actions"]["clickables"][-1]
    for action in (f"click[{item}]", "click[description]", "click[< prev]", "click[buy now]"):
        observation, *_, info = env.step(action)
        track.saw(env, observation, action, info)
    figures = track.figures()
    assert (figures["items"], figures["searches"]) == (1, 2)
    assert figures["states"] == 6
    parts = track.parts(env, info)
    assert set(parts) >= {"r_type", "r_att", "r_price"}
    assert parts["invalid"] == 1
    assert ("failure" in parts) is (info["score"] < 1)

"""The runner: whoever plays and however often it is stopped, the run is the same."""

import os
import signal
import sqlite3
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from errands.agents.agent import EndOfRun, Move
from errands.agents.careful import CarefulShopper
from errands.agents.factory import SimpleFactory
from errands.errors import ErrandsError, SettingError
from errands.runs.protocol import Protocol
from errands.runs.runner import run
from errands.runs.store.base import StoreError
from errands.runs.store.places import open_run, run_lock
from errands.shop.catalog.catalog import Catalog


def _protocol(catalog: Catalog, **settings: Any) -> Protocol:
    base: dict[str, Any] = {"id": "t", "version": 1, "title": "t", "domain": "shop",
                            "data": str(catalog.path), "split": "test", "episodes": 60,
                            "max_steps": 12}  # fmt: skip
    return Protocol(**{**base, **settings})


def _played(place: object) -> list[tuple[Any, ...]]:
    with closing(open_run(str(place))) as store:
        return [
            (one.summary.number, one.summary.reward, one.last_digest,
             tuple(step.action for step in one.steps))
            for one in store.episodes()
        ]  # fmt: skip


def test_one_process_and_several_play_the_same(little: Catalog, tmp_path: Path) -> None:
    protocol = _protocol(little)
    seen: list[int] = []
    one = run(protocol, "random", out=tmp_path / "one")
    two = run(
        protocol, "random", out=tmp_path / "two", workers=2,
        on_episode=lambda summary: seen.append(summary.number),
    )  # fmt: skip
    assert one.kept == two.kept == two.played == 60
    assert sorted(seen) == list(range(60))
    assert _played(one.place) == _played(two.place)
    other = run(protocol, "random", out=tmp_path / "other", seed=1)
    assert _played(one.place) != _played(other.place)


def test_other_rules_are_told_by_the_key(little: Catalog, tmp_path: Path) -> None:
    protocol = _protocol(little, goals="human")
    plain = run(protocol, "rule", out=tmp_path / "plain", episodes=20)
    again = run(protocol, "rule", out=tmp_path / "same", episodes=20, rules="released")
    kind = run(protocol, "rule", out=tmp_path / "kind", episodes=20, rules="synonym")
    assert plain.info.protocol_key == again.info.protocol_key
    assert kind.info.protocol_key.endswith("rules=synonym")
    assert " words:wordnet-3.0+trade-" in kind.info.protocol_key
    assert kind.info.protocol["rules"] == "synonym"
    pairs = zip(_played(tmp_path / "plain"), _played(tmp_path / "kind"), strict=True)
    for (_, before, _, actions), (_, after, _, same_actions) in pairs:
        assert actions == same_actions
        assert after >= before
    with pytest.raises(SettingError, match="There is no reward rule"):
        run(protocol, "rule", out=tmp_path / "none", rules="kindness")


class _Stops(CarefulShopper):
    """Ends the run after a few episodes, as a person who quits."""

    left = 0

    def begin(self, observation: str, info: Mapping[str, Any]) -> None:
        if _Stops.left == 0:
            raise EndOfRun("enough for today")
        _Stops.left -= 1
        super().begin(observation, info)


def test_a_run_that_ends_early_goes_on(little: Catalog, tmp_path: Path) -> None:
    protocol = _protocol(little)
    factory = SimpleFactory("stops", lambda seed: _Stops())
    _Stops.left = 7
    first = run(protocol, factory, out=tmp_path / "r")
    assert (first.kept, first.ended) == (7, "enough for today")
    _Stops.left = 1000
    second = run(protocol, factory, out=tmp_path / "r", resume=True)
    assert (second.kept, second.played, second.ended) == (60, 53, "")
    whole = run(protocol, "careful", out=tmp_path / "whole")
    assert _played(first.place) == _played(whole.place)


def test_another_run_is_not_gone_on_with(little: Catalog, tmp_path: Path) -> None:
    run(_protocol(little), "random", out=tmp_path / "r", episodes=3)
    for change, sentence in (
        ({"episodes": 4}, "protocol"),
        ({"seed": 5}, "seed"),
        ({"observations": "full"}, "observations"),
    ):
        given = {"episodes": 3, **change}
        with pytest.raises(StoreError, match=f"holds another run: its .*{sentence}"):
            run(_protocol(little), "random", out=tmp_path / "r", resume=True, **given)
    with pytest.raises(StoreError, match="its agent is random"):
        run(_protocol(little), "rule", out=tmp_path / "r", resume=True, episodes=3)
    with pytest.raises(StoreError, match="--resume"):
        run(_protocol(little), "random", out=tmp_path / "r", episodes=3)
    with pytest.raises(StoreError, match="no run"):
        run(_protocol(little), "random", out=tmp_path / "none", episodes=3, resume=True)


def test_two_runners_in_one_directory(little: Catalog, tmp_path: Path) -> None:
    run(_protocol(little), "random", out=tmp_path / "r", episodes=2)
    with run_lock(str(tmp_path / "r")), pytest.raises(StoreError, match="another runner"):
        run(_protocol(little), "random", out=tmp_path / "r", episodes=2, resume=True)


class _Fails(CarefulShopper):
    fail = True

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        if _Fails.fail and info["goal"] % 2:
            raise ValueError("odd goals are too much")
        return super().act(observation, info)


def test_failed_episodes_are_kept_as_failures_and_can_be_played_again(
    little: Catalog, tmp_path: Path
) -> None:
    factory = SimpleFactory("fails", lambda seed: _Fails())
    _Fails.fail = True
    run(_protocol(little), factory, out=tmp_path / "r", episodes=6)
    with closing(open_run(tmp_path / "r")) as store:
        rows = list(store.summaries())
    assert [row.status for row in rows] == ["done", "error"] * 3
    assert {row.reward for row in rows if row.status == "error"} == {None}
    assert "odd goals" in rows[1].error
    again = run(_protocol(little), factory, out=tmp_path / "r", episodes=6, resume=True)
    assert again.played == 0
    _Fails.fail = False
    mended = run(
        _protocol(little), factory, out=tmp_path / "r", episodes=6, resume=True, retry_errors=True
    )
    assert (mended.played, mended.kept) == (3, 6)
    with closing(open_run(tmp_path / "r")) as store:
        assert {row.status for row in store.summaries()} == {"done"}


class _Waits(CarefulShopper):
    """As a model's agent: many at once."""

    at_once = 0
    most = 0

    async def act(self, observation: str, info: Mapping[str, Any]) -> Move:  # type: ignore[override]
        import asyncio

        _Waits.at_once += 1
        _Waits.most = max(_Waits.most, _Waits.at_once)
        await asyncio.sleep(0.002)
        _Waits.at_once -= 1
        return Move(super().act(observation, info), self.reason)


def test_agents_that_wait_play_many_at_once(little: Catalog, tmp_path: Path) -> None:
    factory = SimpleFactory("waits", lambda seed: _Waits(), mode="model")
    done = run(_protocol(little), factory, out=tmp_path / "r", workers=8)
    assert _Waits.most == 8
    whole = run(_protocol(little), "careful", out=tmp_path / "whole")
    assert [row[:2] for row in _played(done.place)] == [row[:2] for row in _played(whole.place)]
    with closing(open_run(done.place)) as store:
        assert store.info.observations == "full"
        assert store.episode(0).steps[0].thought


def test_agents_that_wait_play_inside_a_running_loop(little: Catalog, tmp_path: Path) -> None:
    import asyncio

    async def notebook() -> int:
        factory = SimpleFactory("waits", lambda seed: _Waits(), mode="model")
        return run(_protocol(little), factory, out=tmp_path / "r", workers=4).kept

    assert asyncio.run(notebook()) == 60


def test_an_agent_object_needs_a_name_for_several_processes(
    little: Catalog, tmp_path: Path
) -> None:
    factory = SimpleFactory("mine", lambda seed: CarefulShopper())
    with pytest.raises(SettingError, match="several workers"):
        run(_protocol(little), factory, out=tmp_path / "r", workers=2)


def test_an_agent_of_ones_own_by_name(
    little: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(
        "from errands.agents.careful import CarefulShopper\n"
        "import os\n"
        "class Mine(CarefulShopper):\n"
        "    def act(self, observation, info):\n"
        "        if info['goal'] == 3 and not os.path.exists(os.environ['SAVED']):\n"
        "            open(os.environ['SAVED'], 'w').close()\n"
        "            os.kill(os.getpid(), 9)\n"
        "        if info['goal'] == 5:\n"
        "            os._exit(7)\n"
        "        return super().act(observation, info)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("SAVED", str(tmp_path / "saved"))
    done = run(_protocol(little), "mine:Mine", out=tmp_path / "r", workers=2, episodes=9)
    assert done.kept == 9
    with closing(open_run(done.place)) as store:
        rows = list(store.summaries())
    # Goal 3 ended one worker, which is forgiven; goal 5 ended two.
    assert [row.number for row in rows if row.status == "error"] == [5]
    assert (rows[5].owner, rows[5].reward) == ("worker", None)
    assert "exit status 7" in rows[5].error


def test_a_run_ends_though_its_last_episodes_end_their_workers(
    little: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lethal.py").write_text(
        "import os\n"
        "class Lethal:\n"
        "    def begin(self, observation, info): self.goal = info['goal']\n"
        "    def act(self, observation, info):\n"
        "        os._exit(3 if self.goal else 7)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it does not end"))
    signal.alarm(60)
    try:
        done = run(_protocol(little), "lethal:Lethal", out=tmp_path / "r", workers=2, episodes=2)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    with closing(open_run(done.place)) as store:
        reasons = [row.error for row in store.summaries()]
    assert [reason.rpartition(" by ")[2] for reason in reasons] == [
        "exit status 7", "exit status 3",
    ]  # fmt: skip


def test_an_agent_that_will_not_be_interrupted_costs_its_worker(
    little: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stubborn.py").write_text(
        "import time\n"
        "from errands.agents.careful import CarefulShopper\n"
        "class Stubborn(CarefulShopper):\n"
        "    def act(self, observation, info):\n"
        "        while info['goal'] == 1:\n"
        "            try: time.sleep(60)\n"
        "            except BaseException: pass\n"
        "        return super().act(observation, info)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    # Long enough for an honest episode on a machine with other work.
    monkeypatch.setattr("errands.runs.workers.processes.GRACE", 1.0)
    done = run(
        _protocol(little),
        "stubborn:Stubborn",
        out=tmp_path / "r",
        workers=2,
        episodes=4,
        seconds=10,
    )
    assert done.kept == 4
    with closing(open_run(done.place)) as store:
        rows = list(store.summaries())
    assert [row.owner for row in rows] == ["", "worker", "", ""]
    assert "signal 9" in rows[1].error


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"workers": 0}, "workers=0"),
        ({"seconds": -1}, "seconds=-1"),
        ({"observations": "some"}, "observations='some'"),
        ({"episodes": 0}, "episodes=0"),
        ({"seconds": 1e30}, "seconds=1e"),
        ({"seconds": "9"}, "seconds='9': expected more than 0"),
        ({"workers": "2"}, "workers='2': expected a whole number"),
        ({"episodes": "5"}, "episodes='5': expected a whole number"),
        ({"max_steps": 2.5}, "max_steps=2.5: expected a whole number"),
        ({"seed": "a"}, "seed='a': expected a whole number"),
        ({"settings": 3}, "settings=3: expected"),
        ({"seed": 1 << 70}, "seed="),
        ({"max_steps": 1 << 70}, "max_steps="),
        ({"agent": "rulle"}, "'rule'"),
        ({"agent": "oracle"}, "oracle"),
        ({"settings": {"nonsense": 1}}, "nonsense"),
    ],
)
def test_bad_settings(
    little: Catalog, tmp_path: Path, change: dict[str, Any], sentence: str
) -> None:
    given = {"agent": "random", **change}
    agent = given.pop("agent")
    with pytest.raises(ErrandsError, match=sentence):
        run(_protocol(little), agent, out=tmp_path / "r", **given)
    assert not (tmp_path / "r").exists()


def test_what_is_no_protocol() -> None:
    with pytest.raises(SettingError, match="protocol=5: expected the name of a protocol"):
        run(5, "rule")  # type: ignore[arg-type]


def test_a_name_that_is_too_long(little: Catalog) -> None:
    with pytest.raises(StoreError, match=r"xxx\.\.\. is no place for a run \(File name too long"):
        run(_protocol(little), "rule", out="x" * 300)


def test_a_place_that_cannot_be_written(little: Catalog, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot"):
        run(_protocol(little), "random", out=tmp_path / "file" / "r")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_full_disk_ends_the_run_with_a_sentence_and_loses_nothing(
    little: Catalog, tmp_path: Path, workers: int
) -> None:
    """A limit of this process and its children on the size of files stands in for the disk."""
    import subprocess

    code = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "from errands.runs.protocol import find_protocol\n"
        "from errands.runs.runner import run\n"
        "from errands.errors import ErrandsError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))\n"
        "try:\n"
        f"    run(sys.argv[1], 'random', out=sys.argv[2], workers={workers}, observations='full')\n"
        "except ErrandsError as failure:\n"
        "    print(failure)\n"
    )
    file = tmp_path / "p.toml"
    file.write_text(f'[p]\nversion = 1\nhalf = "shop"\ndata = "{little.path}"\nepisodes = 300\n')
    done = subprocess.run(
        [sys.executable, "-c", code, str(file), str(tmp_path / "r")],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "run.sqlite" in done.stdout, done.stdout + done.stderr
    with closing(open_run(tmp_path / "r")) as store:
        kept = len(store.numbers())
    assert 0 < kept < 300
    finished = run(str(file), "random", out=tmp_path / "r", resume=True, observations="full")
    assert finished.kept == 300


def test_a_run_of_another_version(little: Catalog, tmp_path: Path) -> None:
    run(_protocol(little), "random", out=tmp_path / "r", episodes=2)
    with closing(sqlite3.connect(tmp_path / "r" / "run.sqlite")) as base:
        base.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match="99"):
        run(_protocol(little), "random", out=tmp_path / "r", episodes=2, resume=True)


def test_departures_are_in_the_key(little: Catalog, tmp_path: Path) -> None:
    plain = run(_protocol(little), "rule", out=tmp_path / "a").info
    fewer = run(_protocol(little), "rule", out=tmp_path / "b", episodes=3, max_steps=5).info
    assert plain.protocol_key.startswith("t@1 data:")
    assert fewer.protocol_key == f"{plain.protocol_key} episodes=3 max_steps=5"
    more = run(_protocol(little), "rule", out=tmp_path / "c", episodes=999).info
    assert (more.protocol_key, more.episodes) == (plain.protocol_key, 60)


def test_protocols_of_ones_own_are_told_apart_by_more_than_their_names(
    little: Catalog, tmp_path: Path
) -> None:
    def key(name: str, **settings: Any) -> str:
        return run(
            _protocol(little, **settings), "rule", out=tmp_path / name, episodes=3
        ).info.protocol_key

    assert key("a") == key("b", title="the same by another title")
    assert key("c") != key("d", max_steps=3)
    assert key("e", observation="html") == key("h")  # How pages are seen is the agent's.
    # Not taken for the one that ships, nor gone on with once its file has changed.
    assert " own:" in key("f", id="shop-demo")
    with pytest.raises(StoreError, match="holds another run: its protocol"):
        run(_protocol(little, max_steps=3), "rule", out=tmp_path / "a", episodes=3, resume=True)
    assert " own:" not in run("shop-demo", "rule", out=tmp_path / "g", episodes=1).info.protocol_key


def test_settings_that_mean_nothing_to_the_environment(little: Catalog, tmp_path: Path) -> None:
    with pytest.raises(
        ErrandsError, match=r"'t' has settings that the shop domain cannot use.*'foo'"
    ):
        run(_protocol(little, settings={"foo": 1}), "rule", out=tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_an_agent_that_cannot_be_made_is_that_episodes_failure(
    little: Catalog, tmp_path: Path
) -> None:
    made = iter(range(100))

    def careful(seed: int) -> CarefulShopper:
        if next(made) == 2:
            raise ValueError("no agent today")
        return CarefulShopper()

    factory = SimpleFactory("moody", careful)
    done = run(_protocol(little), factory, out=tmp_path / "r", episodes=4)
    with closing(open_run(done.place)) as store:
        rows = list(store.summaries())
    assert [row.status == "error" for row in rows].count(True) == 1
    assert [(row.owner, row.error) for row in rows if row.error] == [
        ("agent", "ValueError: no agent today")
    ]


def test_resources_are_given_back(little: Catalog, tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for number in range(3):
        run(_protocol(little), "random", out=tmp_path / str(number), episodes=4, workers=2)
    assert len(os.listdir("/proc/self/fd")) <= before + 1


@pytest.mark.parametrize("name", ["about.json", "manifest.json", "plan.json"])
def test_the_folder_of_something_else_is_left_alone(
    little: Catalog, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).touch()
    with pytest.raises(StoreError, match=r"is the folder of .*; name a new one for the run"):
        run("shop-demo", "rule", out=tmp_path, data=str(little.path), episodes=1)
    assert [path.name for path in tmp_path.iterdir()] == [name]

"""Runs on a real Ray cluster of two nodes on this machine: whoever is lost, the run is the same."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from effort import effort, only_slow

from errands.agents.careful import CarefulShopper
from errands.agents.factory import SimpleFactory
from errands.errors import SettingError
from errands.runs.protocol import Protocol
from errands.runs.rollouts import rollouts
from errands.runs.runner import run
from errands.runs.store.places import open_run
from errands.runs.workers.ray_cluster import ClusterError
from errands.shop.catalog.catalog import Catalog

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
pytest.importorskip("ray", reason="needs Ray: pip install 'errands[ray]'")

# What Ray leaves to the collector is not ours to close.
pytestmark = pytest.mark.filterwarnings("ignore")

_SMALL = {"num_cpus": 1, "num_gpus": 0, "object_store_memory": 80 << 20}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head with one CPU, on ports and in a directory of its own."""
    from ray.cluster_utils import Cluster

    # Not below the tests' own directories: the paths of sockets are short.
    with (
        tempfile.TemporaryDirectory(prefix="er-", dir="/tmp", ignore_cleanup_errors=True) as place,
        pytest.MonkeyPatch.context() as patch,
    ):
        # Where Ray notes its current cluster: another one on this machine has a note of its own.
        patch.setenv("RAY_TMPDIR", place)
        patch.delenv("RAY_ADDRESS", raising=False)
        (Path(place) / "ray").mkdir()
        made = Cluster(
            initialize_head=True,
            head_node_args={**_SMALL, "include_dashboard": False, "temp_dir": place},
        )
        yield made
        made.shutdown()


@pytest.fixture
def second(cluster: Any) -> Iterator[Any]:
    """A second node with one CPU."""
    node = cluster.add_node(**_SMALL)
    yield node
    if node in cluster.worker_nodes:
        cluster.remove_node(node, allow_graceful=False)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with much other work is slow, and that is no fault of the cluster's."""
    monkeypatch.setattr("errands.runs.workers.ray_pool._SLOW", 600.0)


@pytest.fixture
def agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], str]:
    """Writes an agent of one's own, a careful shopper who does something first; its name."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(module: str, act: str) -> str:
        lines = "".join(f"        {line}\n" for line in act.splitlines())
        (tmp_path / f"{module}.py").write_text(
            "import asyncio, os, time\n"
            "from errands.agents.agent import EndOfRun\n"
            "from errands.agents.careful import CarefulShopper\n"
            "class Mine(CarefulShopper):\n"
            f"    def act(self, observation, info):\n{lines}"
            "        return super().act(observation, info)\n"
        )
        return f"{module}:Mine"

    return write


def _protocol(catalog: Catalog, **settings: Any) -> Protocol:
    base: dict[str, Any] = {"id": "t", "version": 1, "title": "t", "domain": "shop",
                            "data": str(catalog.path), "shuffle_workers": 40, "episodes": 400,
                            "max_steps": 12}  # fmt: skip
    return Protocol(**{**base, **settings})


def _told(episode: Any) -> tuple[Any, ...]:
    one = episode.summary
    return (one.number, one.key, one.status, one.reward, one.parts, one.states, one.items,
            episode.last_digest,
            tuple((step.action, step.reward, step.digest) for step in episode.steps))  # fmt: skip


def _played(place: object) -> list[tuple[Any, ...]]:
    with closing(open_run(str(place))) as store:
        return [_told(one) for one in store.episodes()]


@contextlib.contextmanager
def _at_most(seconds: int) -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it does not end"))
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_two_nodes_play_what_one_process_plays(
    cluster: Any, second: Any, little: Catalog, tmp_path: Path
) -> None:
    episodes = effort(60, 400)
    protocol = _protocol(little, episodes=episodes)
    here = run(protocol, "random", out=tmp_path / "here")
    seen: list[int] = []
    there = run(
        protocol, "random", out=tmp_path / "there", ray=cluster.address,
        on_episode=lambda summary: seen.append(summary.number), on_remark=pytest.fail,
    )  # fmt: skip
    assert there.played == episodes
    assert sorted(seen) == list(range(episodes))
    assert _played(there.place) == _played(here.place)


@only_slow
def test_a_node_that_is_killed_costs_nothing_but_time(
    cluster: Any,
    second: Any,
    little: Catalog,
    tmp_path: Path,
    agents: Callable[[str, str], str],
) -> None:
    protocol = _protocol(little, episodes=300)
    name = agents(
        "marked", f"open({str(tmp_path)!r} + f'/by-{{os.getpid()}}', 'a').close()\ntime.sleep(0.01)"
    )
    seen: list[int] = []

    def kill(summary: Any) -> None:
        seen.append(summary.number)
        if len(list(tmp_path.glob("by-*"))) == 2 and second in cluster.worker_nodes:
            killed_at.append(len(seen))
            cluster.remove_node(second, allow_graceful=False)

    killed_at: list[int] = []
    with _at_most(120):
        done = run(protocol, name, out=tmp_path / "r", ray=cluster.address, on_episode=kill)
    # It was killed in mid-run, and nothing was counted twice.
    assert killed_at[0] < 250
    assert done.kept == done.played == 300
    assert sorted(seen) == list(range(300))
    whole = run(protocol, "careful", out=tmp_path / "whole")
    assert _played(done.place) == _played(whole.place)


def test_an_episode_that_ends_two_workers_is_an_error(
    cluster: Any, little: Catalog, tmp_path: Path, agents: Callable[[str, str], str]
) -> None:
    saved = tmp_path / "saved"
    name = agents(
        "lethal_on_ray",
        f"if info['goal'] == 3 and not os.path.exists({str(saved)!r}):\n"
        f"    open({str(saved)!r}, 'w').close()\n"
        "    os.kill(os.getpid(), 9)\n"
        f"if info['goal'] == 5:\n    open({str(tmp_path / 'deaths')!r}, 'a').write('x')\n"
        "    os._exit(7)",
    )
    protocol = _protocol(little, shuffle_workers=0, split="test", episodes=12)
    with _at_most(120):
        done = run(protocol, name, out=tmp_path / "r", ray=cluster.address)
    with closing(open_run(done.place)) as store:
        rows = list(store.summaries())
    # Goal 3 ended one worker, which is forgiven, to those played beside it, too.
    assert [row.number for row in rows if row.status == "error"] == [5]
    assert (rows[5].owner, rows[5].reward) == ("worker", None)
    assert "ended again and again, the last time on node" in rows[5].error
    # Two that played nothing else, and perhaps one before that played others, too.
    assert (tmp_path / "deaths").read_text() in ("xx", "xxx")
    whole = run(protocol, "careful", out=tmp_path / "whole")
    fine = [row for row in _played(whole.place) if row[0] != 5]
    assert [row for row in _played(done.place) if row[0] != 5] == fine


@only_slow
def test_an_agent_that_will_not_be_interrupted_costs_its_worker(
    cluster: Any,
    little: Catalog,
    tmp_path: Path,
    agents: Callable[[str, str], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    name = agents(
        "stubborn_on_ray",
        "while info['goal'] == 1:\n"
        "    try: time.sleep(60)\n"
        "    except BaseException: pass\n"
        "while info['goal'] == 2:\n"
        "    time.sleep(60)",
    )
    monkeypatch.setattr("errands.runs.workers.processes.GRACE", 1.0)
    protocol = _protocol(little, shuffle_workers=0, split="test", episodes=4)
    with _at_most(120):
        done = run(protocol, name, out=tmp_path / "r", ray=cluster.address, seconds=2)
    with closing(open_run(done.place)) as store:
        rows = list(store.summaries())
    assert [row.owner for row in rows[1:3]] == ["worker", "time"]
    assert "ended again and again" in rows[1].error
    # On a machine that is busy the others may run out of time, too.
    assert {rows[0].owner, rows[3].owner} <= {"", "time"}


@only_slow
def test_the_end_of_a_run_ends_it(
    cluster: Any, little: Catalog, tmp_path: Path, agents: Callable[[str, str], str]
) -> None:
    name = agents(
        "stops",
        f"if info['goal'] == 40 and not os.path.exists({str(tmp_path / 'on')!r}):\n"
        "    raise EndOfRun('enough for today')",
    )
    protocol = _protocol(little, shuffle_workers=0, split="test", episodes=60)
    first = run(protocol, name, out=tmp_path / "r", ray=cluster.address)
    assert first.ended == "enough for today"
    assert 0 < first.kept < 60
    (tmp_path / "on").touch()
    second = run(protocol, name, out=tmp_path / "r", ray=cluster.address, resume=True)
    assert (second.kept, second.played, second.ended) == (60, 60 - first.kept, "")
    whole = run(protocol, "careful", out=tmp_path / "whole")
    assert _played(first.place) == _played(whole.place)


@only_slow
def test_agents_that_wait_play_many_at_once(
    cluster: Any, little: Catalog, tmp_path: Path, agents: Callable[[str, str], str]
) -> None:
    agents("plain", "pass")
    (tmp_path / "waits.py").write_text(
        "import asyncio, pathlib\n"
        "from errands.agents.careful import CarefulShopper\n"
        "class Mine(CarefulShopper):\n"
        "    now = 0\n"
        "    async def act(self, observation, info):\n"
        "        Mine.now += 1\n"
        f"        pathlib.Path({str(tmp_path)!r}, f'at-once-{{Mine.now}}').touch()\n"
        "        await asyncio.sleep(0.02)\n"
        "        Mine.now -= 1\n"
        "        return super().act(observation, info)\n"
    )
    protocol = _protocol(little, episodes=60)
    done = run(protocol, "waits:Mine", out=tmp_path / "r", ray=cluster.address, workers=8)
    assert (tmp_path / "at-once-8").exists()
    assert not (tmp_path / "at-once-9").exists()
    whole = run(protocol, "careful", out=tmp_path / "whole", observations="full")
    assert _played(done.place) == _played(whole.place)


@only_slow
def test_a_node_without_the_data_is_named_and_the_others_play(
    cluster: Any, little: Catalog, tmp_path: Path, agents: Callable[[str, str], str]
) -> None:
    kept = Path(os.environ["ERRANDS_HOME"]) / "catalogs" / "at-the-head-only"
    kept.parent.mkdir(exist_ok=True)
    kept.symlink_to(little.path)
    # The head's worker waits until the other node has spoken.
    name = agents(
        "patient", f"while not os.path.exists({str(tmp_path / 'said')!r}): time.sleep(0.05)"
    )
    said: list[str] = []

    def note(remark: str) -> None:
        said.append(remark)
        (tmp_path / "said").touch()

    bare = cluster.add_node(**_SMALL, env_vars={"ERRANDS_HOME": str(tmp_path / "empty")})
    try:
        with _at_most(120):
            done = run(
                _protocol(little, data=kept.name, episodes=20), name, out=tmp_path / "r",
                ray=cluster.address, on_remark=note,
            )  # fmt: skip
    finally:
        kept.unlink()
        cluster.remove_node(bare, allow_graceful=False)
    assert done.kept == 20
    assert len(said) == 1
    assert bare.node_id[:8] in said[0]
    assert "does not play: The protocol 't' needs the catalogue 'at-the-head-only'" in said[0]


@only_slow
def test_a_cluster_without_the_data(
    cluster: Any, little: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "catalogs").mkdir()
    (tmp_path / "catalogs" / "only-here").symlink_to(little.path)
    monkeypatch.setenv("ERRANDS_HOME", str(tmp_path))
    protocol = _protocol(little, data="only-here", episodes=3)
    with _at_most(120), pytest.raises(ClusterError, match=r"No node .* can play.* 'only-here'"):
        run(protocol, "rule", out=tmp_path / "r", ray=cluster.address, on_remark=lambda _: None)


@only_slow
def test_rollouts_come_as_they_are_finished(cluster: Any, little: Catalog, tmp_path: Path) -> None:
    protocol = _protocol(little, episodes=60)
    whole = run(protocol, "random", out=tmp_path / "whole", observations="full")
    wanted = [3, 5, 8, 50]
    found = {
        one.summary.number: _told(one)
        for one in rollouts(protocol, "random", ray=cluster.address, episodes=wanted)
    }
    assert found == {row[0]: row for row in _played(whole.place) if row[0] in wanted}
    with closing(rollouts(protocol, "random", ray=cluster.address)) as endless:
        assert next(endless).steps
    with pytest.raises(SettingError, match="there is no 60"):
        next(rollouts(protocol, "random", ray=cluster.address, episodes=[60]))


@only_slow
def test_a_driver_that_is_killed_leaves_nothing_running_and_goes_on(
    cluster: Any, little: Catalog, tmp_path: Path, agents: Callable[[str, str], str]
) -> None:
    """Its Ray is its own; the run goes on on another one."""
    hurry = tmp_path / "hurry"
    name = agents("slow", f"if not os.path.exists({str(hurry)!r}): time.sleep(0.03)")
    file = tmp_path / "p.toml"
    file.write_text(
        f'[p]\nversion = 1\nhalf = "shop"\ndata = "{little.path}"\nshuffle_workers = 40\n'
        "episodes = 300\nmax_steps = 12\n"
    )
    place = tmp_path / "r"
    driver = subprocess.Popen(
        [sys.executable, "-m", "errands", "run", str(file), "--agent", name, "--out", str(place),
         "--ray", "local", "--workers", "2"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        with _at_most(120):
            while _kept(place / "run.sqlite") < 20:
                assert driver.poll() is None, "it was over before it could be killed"
                time.sleep(0.02)
        # Two helpers of Ray's take a minute to notice; all that plays or decides goes at once.
        started = [pid for pid in _below(driver.pid) if "Agent" not in _name(pid)]
        assert any("raylet" in _name(pid) for pid in started)
        assert sum("ray::Computing" in _name(pid) for pid in started) == 2
    finally:
        driver.kill()
        driver.wait()
    with closing(open_run(place)) as store:
        kept = len(store.numbers())
    assert 0 < kept < 300
    with _at_most(60):
        while any(_runs(process) for process in started):
            time.sleep(0.1)
    hurry.touch()
    done = run(str(file), name, out=place, resume=True, ray=cluster.address)
    assert (done.kept, done.played) == (300, 300 - kept)
    whole = run(str(file), "careful", out=tmp_path / "whole")
    assert _played(done.place) == _played(whole.place)


def _kept(database: Path) -> int:
    """How many episodes a run that is on its way has brought into its database."""
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as base:
            return int(base.execute("SELECT count(*) FROM episodes").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def _below(pid: int) -> list[int]:
    """Every process that this one has started, and those that they have."""
    found = []
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, children.read_text().split()):
            found += [child, *_below(child)]
    return found


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_who_cannot_play_on_a_cluster(little: Catalog, tmp_path: Path) -> None:
    protocol = _protocol(little, episodes=3)
    factory = SimpleFactory("mine", lambda seed: CarefulShopper())
    with pytest.raises(SettingError, match="for a cluster name it"):
        run(protocol, factory, out=tmp_path / "r", ray="local")
    with pytest.raises(SettingError, match="one terminal"):
        run(protocol, "human", out=tmp_path / "r", ray="local")
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("127.0.0.1:9", "There is no Ray cluster at 127.0.0.1:9"),
        ("nonsense", "There is no Ray cluster at nonsense"),
        ("ray://127.0.0.1:10001", "run the same command there with --ray auto"),
    ],
)
def test_addresses_where_nobody_is(
    little: Catalog, tmp_path: Path, address: str, sentence: str
) -> None:
    from errands.errors import ErrandsError

    with pytest.raises(ErrandsError, match=sentence):
        run(_protocol(little, episodes=3), "rule", out=tmp_path / "r", ray=address)

"""What every store must do, on SQLite and on a PostgreSQL server of our own."""

import contextlib
import itertools
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from errands.extras import install_command
from errands.runs.episode import FORMAT, Episode, RunInfo, Step, Summary
from errands.runs.store.base import Store, StoreError
from errands.runs.store.places import create_run, open_run, read_place, run_lock

INFO = RunInfo(
    id="run",
    protocol={"id": "demo", "version": 1, "settings": {"a": [1, 2.5, None, True]}},
    protocol_key="demo@1",
    domain="shop",
    agent="random",
    agent_settings={"path": "odd \udcff name"},
    episodes=1000,
    seed=3,
    observations="full",
    checksum="abc",
    remarks=("two tasks are absent",),
    versions={"errands": "0"},
    started="2026-01-01T00:00:00Z",
)
SOURCE = Path(__file__).resolve().parents[3] / "src"
_names = itertools.count()


def episode(number: int, **more: Any) -> Episode:
    """A small episode that tells its number in several places."""
    given = {"status": "done", "reward": number % 11 / 10, "success": number % 11 == 10, **more}
    step = Step(f"click[b{number}]", digest=f"{number:024x}", seconds=0.001)
    summary = Summary(
        number=number,
        key=f"goal {number}",
        steps=8,
        seconds=number / 7,
        states=number % 5,
        items=number % 3,
        searches=1,
        tokens_in=number * 10,
        tokens_out=number,
        cost=number / 1000,
        parts={"r_type": 1.0, "number": number},
        **given,  # type: ignore[arg-type]
    )
    return Episode(summary=summary, steps=(step,) * 8, last_digest="d", last=f"page {number}")


@pytest.fixture(scope="session")
def server(postgres_url: str) -> str:
    return postgres_url


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where there is no run yet."""
    if request.param == "sqlite":
        with tempfile.TemporaryDirectory() as folder:
            yield f"{folder}/runs/one"
    else:
        yield f"{request.getfixturevalue('server')}&run=run{next(_names)}"


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    with contextlib.closing(create_run(place, INFO)) as made:
        yield made


def test_a_new_store_is_empty_and_knows_its_run(store: Store, place: str) -> None:
    assert msgspec.structs.replace(store.info, id="run") == INFO
    with contextlib.closing(open_run(place)) as again:
        assert again.info == store.info
        assert again.numbers() == set()
        assert list(again.summaries()) == list(again.episodes()) == list(again.parts()) == []
        assert {len(column) for column in again.columns().values()} == {0}


def test_an_episode_is_kept_once(store: Store) -> None:
    assert store.add(episode(4)) is True
    other = msgspec.structs.replace(episode(4), steps=(), last="another page")
    assert store.add(other) is False
    assert list(store.episodes()) == [episode(4)]
    assert store.episode(4) == episode(4)


def test_all_is_read_in_order_of_number(store: Store, place: str) -> None:
    numbers = random.Random(1).sample(range(500), 40)
    for number in numbers:
        store.add(episode(number))
    ordered = [episode(number) for number in sorted(numbers)]
    with contextlib.closing(open_run(place)) as again:
        assert again.numbers() == set(numbers)
        assert list(again.summaries()) == [one.summary for one in ordered]
        assert list(again.parts()) == [(o.summary.number, o.summary.parts) for o in ordered]
        assert list(again.episodes()) == ordered
        some = [ordered[9], ordered[20]]
        wanted = [some[1].summary.number, some[0].summary.number, some[1].summary.number]
        assert list(again.episodes(wanted)) == some


def test_columns_say_what_summaries_say(store: Store) -> None:
    for number in range(20):
        store.add(episode(number))
    store.add(episode(20, status="error", reward=None, success=None, owner="page", error="gone"))
    store.add(episode(21, status="truncated", reward=0.0, success=False))
    columns = store.columns()
    summaries = list(store.summaries())
    for name in columns.keys() - {"status", "reward"}:
        assert columns[name].tolist() == [getattr(one, name) for one in summaries]
    assert columns["status"].tolist() == [0] * 20 + [2, 1]
    assert np.isnan(columns["reward"]).tolist() == [one.reward is None for one in summaries]
    assert columns["reward"][:20].tolist() == [one.reward for one in summaries[:20]]
    assert columns["reward"].flags.c_contiguous


def test_dropped_episodes_can_be_played_again(store: Store) -> None:
    for number in range(6):
        store.add(episode(number))
    assert store.drop([1, 3, 3, 77]) == 2
    assert store.drop([]) == 0
    assert store.numbers() == {0, 2, 4, 5}
    with pytest.raises(StoreError, match="no episode 3 in"):
        store.episode(3)
    assert store.add(episode(3, reward=0.25))
    assert store.episode(3).summary.reward == 0.25


def test_a_stream_shows_one_moment(store: Store) -> None:
    for number in range(3):
        store.add(episode(number))
    stream = store.summaries()
    assert next(stream).number == 0
    store.add(episode(3))
    store.drop([1])
    assert [one.number for one in stream] == [1, 2]
    assert store.numbers() == {0, 2, 3}
    unfinished = store.episodes()
    next(unfinished)
    assert store.add(episode(9))


TEXTS = st.text(st.characters(codec=None), max_size=30)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
COUNTS = st.integers(0, 2**31 - 1)
AMOUNTS = st.floats(0, 1e9)
STEPS = st.builds(
    Step,
    action=TEXTS,
    reward=st.floats(allow_nan=False),
    digest=TEXTS,
    observation=st.none() | TEXTS | st.just("page " * 2000),
    thought=TEXTS,
    message=TEXTS,
    seconds=AMOUNTS,
    tokens_in=COUNTS,
    tokens_out=COUNTS,
    cost=AMOUNTS,
)
SUMMARIES = st.builds(
    Summary,
    number=st.just(0),
    key=TEXTS,
    status=st.sampled_from(["done", "truncated", "error"]),
    reward=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    success=st.none() | st.booleans(),
    steps=COUNTS,
    seconds=AMOUNTS,
    states=COUNTS,
    items=COUNTS,
    searches=COUNTS,
    tokens_in=st.integers(0, 2**63 - 1),
    tokens_out=COUNTS,
    cost=AMOUNTS,
    owner=TEXTS,
    error=TEXTS,
    parts=st.dictionaries(TEXTS, JSON, max_size=4),
)
EPISODES = st.builds(
    Episode,
    summary=SUMMARIES,
    steps=st.lists(STEPS, max_size=4).map(tuple),
    last_digest=TEXTS,
    last=st.none() | TEXTS,
)


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_any_episode_comes_back_as_it_was(kind: str, request: pytest.FixtureRequest) -> None:
    folder = tempfile.TemporaryDirectory()
    place = folder.name
    if kind == "postgres":
        place = f"{request.getfixturevalue('server')}&run=run{next(_names)}"
    with folder, contextlib.closing(create_run(place, INFO)) as store:

        @settings(max_examples=60)
        @given(EPISODES)
        def check(given_episode: Episode) -> None:
            store.drop([0])
            assert store.add(given_episode)
            assert store.episode(0) == given_episode
            assert list(store.summaries()) == [given_episode.summary]

        check()


@pytest.mark.parametrize(
    "wrong",
    [{"reward": float("nan")}, {"seconds": float("inf")}, {"cost": float("nan")}],
)
def test_a_figure_that_is_none_is_refused(store: Store, wrong: dict[str, float]) -> None:
    summary = msgspec.structs.replace(episode(1).summary, **wrong)
    with pytest.raises(StoreError, match=r"Episode 1 has .*expected numbers"):
        store.add(msgspec.structs.replace(episode(1), summary=summary))
    assert store.numbers() == set()
    assert store.add(episode(1))


def test_numbers_of_numpy_may_stand_among_the_parts(store: Store) -> None:
    parts = {"a": np.float32(0.5), "b": np.int64(3), "c": np.bool_(True)}
    summary = msgspec.structs.replace(episode(1).summary, parts=parts)
    store.add(msgspec.structs.replace(episode(1), summary=summary))
    assert store.episode(1).summary.parts == {"a": 0.5, "b": 3, "c": True}


def test_threads_share_a_store(store: Store) -> None:
    def add(first: int) -> None:
        for number in range(first, 60, 3):
            store.add(episode(number))

    threads = [threading.Thread(target=add, args=(first,)) for first in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(store.episodes()) == [episode(number) for number in range(60)]


WRITER = """
import importlib.util, os, random, signal, sys, time
spec = importlib.util.spec_from_file_location("test_store", sys.argv[1])
tests = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tests)
place, doing, first = sys.argv[2], sys.argv[3], int(sys.argv[4])
store = tests.open_run(place)
"""
ADD_500 = (
    WRITER
    + """
sys.stdin.readline()
added = sum(store.add(tests.episode(n)) for n in range(first, first + 500))
added += sum(store.add(tests.episode(n)) for n in range(400, 600))
print(added)
store.close()
"""
)
KILLED = (
    WRITER
    + """
# The store is opened before the fork on purpose: a child must make a connection of its own.
dice = random.Random(first)
for attempt in range(20):
    back, out = os.pipe()
    child = os.fork()
    if child == 0:
        keep = store.add if sys.argv[3] == "add" else store.writer().write
        for number in range(attempt * 100_000, (attempt + 1) * 100_000):
            keep(tests.episode(number))
            os.write(out, b"%d\\n" % number)
    os.close(out)
    time.sleep(dice.uniform(0.001, 0.08))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with open(back, "rb") as told:
        sys.stdout.buffer.write(told.read())
    sys.stdout.buffer.flush()
"""
)


def start(program: str, place: str, doing: str, first: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", program, __file__, place, doing, str(first)]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)


def test_two_processes_add_at_once(store: Store, place: str) -> None:
    both = [start(ADD_500, place, "", first) for first in (0, 500)]
    for process in both:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    added = [int(process.communicate(timeout=60)[0]) for process in both]
    assert sum(added) == 1000
    assert list(store.episodes()) == [episode(number) for number in range(1000)]


@pytest.mark.parametrize("how", ["add", "write"])
def test_a_killed_writer_loses_nothing(store: Store, place: str, how: str) -> None:
    process = start(KILLED, place, how, 7)
    told, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    numbers = [int(line) for line in re.findall(r"(\d+)\n", told)]
    assert numbers
    store.close()
    with contextlib.closing(open_run(place)) as again:
        kept = again.numbers()
        assert set(numbers) <= kept
        # At most the one episode that was being told when the process died is there beside them.
        assert len(kept) - len(numbers) <= 20
        for one in again.episodes():
            assert one == episode(one.summary.number)


def test_a_keeper_keeps_what_is_new(store: Store, place: str) -> None:
    store.add(episode(3))
    with store.writer() as writer:
        for number in range(5):
            writer.write(episode(number, error="" if number != 3 else "another"))
    assert list(store.episodes()) == [episode(number) for number in range(5)]
    store.gather()
    assert store.numbers() == set(range(5))


def test_a_run_is_made_once(store: Store, place: str) -> None:
    store.add(episode(1))
    with pytest.raises(StoreError, match=r"There is a run .* already; continue it with --resume"):
        create_run(place, INFO)
    assert store.numbers() == {1}


def test_a_run_that_is_not_there(place: str) -> None:
    with pytest.raises(StoreError, match="There is no run"):
        open_run(place)


def test_a_second_runner_is_turned_away(place: str) -> None:
    with (
        run_lock(place),
        pytest.raises(StoreError, match=rf"another runner \(process {os.getpid()}"),
    ):
        run_lock(place)
    with run_lock(place):
        pass


def test_a_closed_store_says_so(store: Store) -> None:
    store.close()
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        store.add(episode(1))


def test_two_machines_make_their_runs_at_once(server: str) -> None:
    import psycopg

    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE DATABASE fresh")
    fresh = server.replace("/postgres?", "/fresh?")
    failures: list[Exception] = []

    def make(name: str) -> None:
        try:
            create_run(f"{fresh}&run={name}", INFO).close()
        except StoreError as failure:
            failures.append(failure)

    threads = [threading.Thread(target=make, args=(f"run{n % 5}",)) for n in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(failures) == 5
    assert all("already" in str(failure) for failure in failures)
    with pytest.raises(StoreError, match=r"several runs; name one as \?run=ID: run\d, run\d"):
        open_run(fresh)


def test_runs_of_one_database_are_apart(server: str) -> None:
    one, two = (create_run(f"{server}#pair{n}", INFO) for n in range(2))
    with contextlib.closing(one), contextlib.closing(two):
        one.add(episode(1))
        two.add(episode(1, reward=0.75))
        two.add(episode(2))
        assert one.numbers() == {1}
        assert two.drop([2]) == 1
        assert two.episode(1).summary.reward == 0.75
        assert one.episode(1) == episode(1)
        assert one.info.id == "pair0"


def test_a_lost_connection_is_made_again(server: str) -> None:
    import psycopg

    def cut_off() -> None:
        with psycopg.connect(server, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )

    with contextlib.closing(create_run(f"{server}&run=lost", INFO)) as store:
        store.add(episode(1))
        cut_off()
        assert store.add(episode(2)) is True
        cut_off()
        assert store.add(episode(1)) is True, "its own first try may have been the one that kept it"
        cut_off()
        assert store.add(episode(2, reward=0.9)) is False
        cut_off()
        assert list(store.episodes()) == [episode(1), episode(2)]


def test_a_run_of_another_format_is_refused_by_the_database(server: str) -> None:
    import psycopg

    create_run(f"{server}&run=old", INFO).close()
    with psycopg.connect(server, autocommit=True) as other:
        other.execute("UPDATE errands_runs SET format = 77 WHERE id = 'old'")
    with pytest.raises(StoreError, match=rf"format 77\); this one reads format {FORMAT}"):
        open_run(f"{server}&run=old")


def test_a_database_out_of_reach_is_named_without_its_password() -> None:
    pytest.importorskip("psycopg", reason="needs psycopg: pip install 'errands[postgres]'")
    with pytest.raises(
        StoreError, match=r"^postgresql://me@127.0.0.1:1/db cannot be reached"
    ) as why:
        open_run("postgresql://me:secret@127.0.0.1:1/db?run=x")
    assert "secret" not in str(why.value)


def test_a_database_without_psycopg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    for deed in (open_run, run_lock):
        with pytest.raises(StoreError, match=re.escape(install_command("postgres"))):
            deed("postgresql://host/db?run=x")


def test_places_as_people_write_them(tmp_path: Path) -> None:
    assert read_place(tmp_path / "new") == tmp_path / "new" / "run.sqlite"
    assert read_place(tmp_path / "new.sqlite") == tmp_path / "new.sqlite"
    database = read_place("postgres://u:p@host:5433/db?sslmode=require&run=a%20b")
    assert database == read_place("postgresql://u:p@host:5433/db?sslmode=require#a%20b")
    assert not isinstance(database, Path)
    assert database.run == "a b"
    assert database.url == "postgresql://u:p@host:5433/db?sslmode=require"
    with pytest.raises(StoreError, match="cannot be kept at mysql://"):
        open_run("mysql://host/db")
    with pytest.raises(StoreError, match="cannot be read"):
        open_run("postgresql://host:port/db")
    with pytest.raises(StoreError, match=r"does not say which run.*\?run=NAME"):
        run_lock("postgresql://host/db")

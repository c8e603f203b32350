"""The pages about runs on a free port, runs to look at, and a runner that takes its time."""

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from served import Served

from errands.runs.episode import Episode, RunInfo, Step, Summary, digest
from errands.runs.store.sqlite import SqliteStore
from errands.web.core.auth import AuthMiddleware
from errands.web.core.limits import ServerLimits, listen
from errands.web.core.server import Server
from errands.web.runs.library import RunLibrary
from errands.web.runs.site import runs_site

PROTOCOL = """
[little]
version = 1
title = "Goals of the little shop"
half = "shop"
data = "{data}"
goals = "synthetic"
episodes = {episodes}
observation = "text"
rules = "released"
max_steps = 6
"""


class SlowShopper:
    """Looks around, and takes its time until it is told to hurry."""

    def begin(self, observation: Any, info: Any) -> None:
        self._steps = 0

    def act(self, observation: Any, info: Any) -> str:
        if not os.path.exists(os.environ["HURRY"]):
            threading.Event().wait(0.05)
        self._steps += 1
        return "search[lamp]" if self._steps == 1 else "click[back to search]"


def write_protocol(folder: Path, data: Path, episodes: int) -> str:
    """A protocol on a catalogue, as a file."""
    path = folder / "little.toml"
    path.write_text(PROTOCOL.format(data=data, episodes=episodes))
    return f"{path}#little"


def start_runner(protocol: str, out: Path, *more: str) -> "subprocess.Popen[str]":
    """`errands run` with the slow shopper, as a process of its own.

    An episode takes a third of a second until there is a file `hurry` beside the protocol.
    """
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    code = "from errands.cli import main; main()"
    words = ["run", protocol, "--agent", "runs_served:SlowShopper", "--out", str(out), *more]
    return subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": path, "HURRY": str(Path(protocol).with_name("hurry"))},
    )


def run_info(episodes: int, **more: Any) -> RunInfo:
    given: dict[str, Any] = {
        "id": "made",
        "protocol": {"id": "absent", "version": 1, "title": "A protocol", "half": "shop",
                     "data": "no-such-catalogue", "goals": "human"},
        "protocol_key": "absent@1",
        "domain": "shop",
        "agent": "somebody",
        "agent_settings": {},
        "episodes": episodes,
        "seed": 0,
        "observations": "full",
        "checksum": "0" * 16,
        "started": "2026-01-02T03:04:05+00:00",
    }  # fmt: skip
    return RunInfo(**(given | more))


def made(number: int, reward: float | None, *, page: str | None = "a page", **more: Any) -> Episode:
    """An episode of two steps."""
    step = {name: more.pop(name) for name in ("action", "thought", "message") if name in more}
    given: dict[str, Any] = {
        "number": number,
        "key": f"goal {number}",
        "status": "done",
        "reward": reward,
        "success": None if reward is None else reward >= 1,
        "steps": 2,
        "seconds": 0.5 + number,
    }
    if reward is None:
        given |= {"status": "error", "owner": "agent", "error": "It gave up."}
    step = {"action": "click[buy now]", "observation": page, "digest": digest(page or "")} | step
    return Episode(
        summary=Summary(**(given | more)),
        steps=(Step(**(step | {"action": "search[lamp]"})), Step(**step)),
        last=page,
    )


def make_run(folder: Path, info: RunInfo, episodes: Iterable[Episode]) -> Path:
    """A run directory with these episodes."""
    folder.mkdir(parents=True)
    store = SqliteStore.create(folder / "run.sqlite", info)
    with store.writer() as writer:
        for episode in episodes:
            writer.write(episode)
    store.close()
    return folder


@contextlib.contextmanager
def runs_served(*places: Path | str, token: str | None = None) -> Iterator[Served]:
    """Serve runs as `errands serve --runs` does, but for the process."""
    started = threading.Event()
    library = RunLibrary([str(place) for place in places])
    server = Server([runs_site(library)], AuthMiddleware(token), ServerLimits(), started.set)
    with listen("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        assert started.wait(60)
        try:
            yield Served(None, port, token)  # type: ignore[arg-type]
        finally:
            server.handle_exit(15, None)
            thread.join(30)
            assert not thread.is_alive()

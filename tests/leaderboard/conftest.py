"""Runs of a little shop and of two forms, as submissions; a folder of them for each test."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from little_runs import little_protocol

from errands.leaderboard.making import submit
from errands.leaderboard.submission import SUFFIX
from errands.runs.protocol import Protocol
from errands.runs.runner import run
from errands.shop.catalog.catalog import Catalog

EPISODES = 12


@pytest.fixture(scope="session")
def protocol(little: Catalog) -> Protocol:
    return little_protocol(little, EPISODES)


@pytest.fixture(scope="session")
def runs(protocol: Protocol, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The run of an agent on the little shop, played once."""
    folder = tmp_path_factory.mktemp("submitted")

    def played(agent: str, **more: Any) -> Path:
        place = folder / "-".join([agent, *map(str, more.values())])
        if not place.exists():
            run(protocol, agent, out=place, **more)
        return place

    return played


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "submissions"
    made.mkdir()
    return made


@pytest.fixture
def send(folder: Path, runs: Callable[..., Path]) -> Callable[..., Path]:
    """The submission of an agent's run, in the folder."""

    def sent(agent: str, file: str = "", *, kind: str = "actions", **card: str) -> Path:
        return submit(runs(agent), folder / f"{file or agent}{SUFFIX}", kind=kind, **card)  # type: ignore[arg-type]

    return sent


@pytest.fixture
def places(little: Catalog) -> dict[str, str]:
    """Where the data is."""
    return {little.path.name: str(little.path)}

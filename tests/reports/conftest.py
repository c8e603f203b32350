"""Runs that were really played, once for all tests of reports."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parent))

from played import MemoryStore, play_shop, play_turk


@pytest.fixture(scope="session")
def careful() -> MemoryStore:
    return play_shop("careful", 12)


@pytest.fixture(scope="session")
def chance() -> MemoryStore:
    return play_shop("random", 12)


@pytest.fixture(scope="session")
def idle() -> MemoryStore:
    return play_turk("do-nothing", 2)


@pytest.fixture(scope="session")
def oracle() -> MemoryStore:
    return play_turk("oracle", 2)


# Of one file: as long as Playwright lives, its loop keeps tests of others from their own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A Chromium that can be asked anything, as a reader's would be."""
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("there is no Chromium on this machine: apt-get install chromium")
    with api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()

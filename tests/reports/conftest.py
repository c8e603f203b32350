"""Runs that were really played, once for all tests of reports."""

import pytest
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

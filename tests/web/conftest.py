"""One server for all tests that need no special one."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# Test modules are imported one by one, without a package around them.
sys.path.insert(0, str(Path(__file__).parent))

from served import Served, served

from errands.shop.catalog import Catalog


@pytest.fixture(scope="session")
def server(little: Catalog) -> Iterator[Served]:
    with served(little) as running:
        yield running

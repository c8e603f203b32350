"""One server for all tests that need no special one."""

from collections.abc import Iterator

import pytest
from served import Served, served

from errands.shop.catalog.catalog import Catalog


@pytest.fixture(scope="session")
def server(little: Catalog) -> Iterator[Served]:
    with served(little) as running:
        yield running

"""One server for the remote environments."""

from collections.abc import Iterator

import pytest
from served import Served, served

from errands.shop.catalog.catalog import Catalog


@pytest.fixture(scope="session")
def server(little: Catalog) -> Iterator[Served]:
    with served(little) as running:
        yield running

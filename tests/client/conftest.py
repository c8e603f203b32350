"""The client of one file, as it is with Gymnasium and as it is without any library."""

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from served import Served, served

from errands.shop.catalog.catalog import Catalog

FILE = Path(__file__).parents[2] / "packages" / "errands-client" / "errands_client.py"


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def gymnasium_client() -> ModuleType:
    return loaded("errands_client")


@pytest.fixture(scope="session")
def plain_client() -> ModuleType:
    """As it is where there is nothing but the standard library."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("gymnasium", "gym", "numpy"):
            patch.setitem(sys.modules, name, None)
        return loaded("errands_client_alone")


@pytest.fixture(params=["gymnasium", "alone"])
def client(
    request: pytest.FixtureRequest, gymnasium_client: ModuleType, plain_client: ModuleType
) -> ModuleType:
    return gymnasium_client if request.param == "gymnasium" else plain_client


@pytest.fixture(params=["http", "ws"])
def scheme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def server(little: Catalog) -> Iterator[Served]:
    with served(little) as running:
        yield running


@pytest.fixture
def url(server: Served, scheme: str) -> str:
    return server.url.replace("http", scheme)

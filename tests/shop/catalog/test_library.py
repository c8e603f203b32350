"""Catalogues by name, and the demo that makes itself."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from errands.errors import CatalogError, SettingError
from errands.home import catalogs_dir
from errands.shop.build.builder import generate_catalog
from errands.shop.catalog import library
from errands.shop.catalog.catalog import Catalog


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ERRANDS_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_demo_is_made_once_and_is_the_default() -> None:
    demo = Catalog.open()
    assert len(demo) >= 5000
    assert demo.path == library.demo_folder().resolve()
    assert Catalog.open("demo") is demo
    assert demo.verify() == []
    assert demo.manifest.goals["human"] >= 2000
    assert len({product.category for product in demo}) == 5
    assert len({product.query for product in demo}) == 25, (
        "200 products each, as alike as real ones"
    )


def test_processes_that_ask_at_once_make_it_once(own_home: Path) -> None:
    script = (
        "import errands.shop.catalog.library as l; l.DEMO_PRODUCTS = 200;"
        "from errands.shop import Catalog; print(len(Catalog.open()))"
    )
    asking = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert [process.communicate()[0] for process in asking] == ["200\n"] * 3
    assert sorted(path.suffix for path in catalogs_dir().iterdir()) == [
        f".{library.DEMO_EDITION}",
        ".lock",
    ]


def test_names_in_the_home(own_home: Path) -> None:
    generate_catalog(catalogs_dir() / "mine", products=10, seed=1)
    assert library.names() == ["demo", "demo-easy", "mine"]
    assert len(Catalog.open("mine")) == 10


def test_an_unknown_name_suggests_the_nearest(own_home: Path) -> None:
    generate_catalog(catalogs_dir() / "webshop-1k", products=10, seed=1)
    with pytest.raises(CatalogError, match=r"no catalogue 'webshop1k'.*Did you mean 'webshop-1k'"):
        Catalog.open("webshop1k")
    with pytest.raises(CatalogError, match=r"no catalogue '\.\./no-such-place'"):
        Catalog.open("../no-such-place")


def test_what_is_no_catalogue_is_one_sentence() -> None:
    with pytest.raises(SettingError, match="catalog=3: expected a name, a directory"):
        Catalog.open(3)  # type: ignore[arg-type]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_home_is_one_sentence(own_home: Path) -> None:
    own_home.mkdir()
    own_home.chmod(0o500)
    with pytest.raises(CatalogError, match="set ERRANDS_HOME"):
        Catalog.open()


def test_a_home_that_is_a_file_is_one_sentence(own_home: Path) -> None:
    own_home.write_text("x")
    with pytest.raises(CatalogError, match="set ERRANDS_HOME"):
        Catalog.open()


def test_a_folder_called_demo_is_not_in_the_way(
    own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "DEMO_PRODUCTS", 50)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo").mkdir()
    assert len(Catalog.open("demo")) == 50
    assert len(Catalog.open(Path("demo"))) == 50

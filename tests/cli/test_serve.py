"""`errands serve --data`: which of the places is the catalogue, and which the tasks."""

from pathlib import Path

import pytest

from errands.cli.serve import _catalog_and_tasks
from errands.errors import SettingError
from errands.shop.catalog.catalog import Catalog


@pytest.fixture
def tasks(tmp_path: Path) -> str:
    folder = tmp_path / "tasks" / "One"
    folder.mkdir(parents=True)
    (folder / "template.html").write_text('<p>${x}</p><input name="a">')
    (folder / "batch.csv").write_text("Input.x,Answer.a\n1,2\n")
    return str(tmp_path)


def test_places_are_recognised(little: Catalog, tasks: str) -> None:
    shop = str(little.path)
    assert _catalog_and_tasks(["demo"]) == ("demo", "demo")
    assert _catalog_and_tasks([shop]) == (shop, "demo")
    assert _catalog_and_tasks([tasks, "demo"]) == ("demo", tasks)
    assert _catalog_and_tasks([tasks, shop]) == (shop, tasks)


def test_mistakes(little: Catalog, tasks: str, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="takes one catalogue, and got"):
        _catalog_and_tasks([str(little.path), str(little.path)])
    for place in ("nowhere", str(tmp_path / "tasks" / "One" / "batch.csv")):
        with pytest.raises(SettingError, match="no such catalogue"):
            _catalog_and_tasks([place])

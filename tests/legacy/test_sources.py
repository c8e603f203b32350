"""Which catalogue an environment sells from: files, a name, the demo."""

import json
from pathlib import Path
from typing import Any

import pytest
from errands_legacy import SimServer, WebAgentTextEnv, sources
from errands_legacy.sources import CATALOG_VARIABLE, default_files, find_catalog

from errands.errors import DataError, GoalError, SettingError
from errands.shop.build.export import export_catalog
from errands.shop.catalog.catalog import Catalog


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    monkeypatch.setenv("ERRANDS_HOME", str(folder))
    monkeypatch.delenv(CATALOG_VARIABLE, raising=False)
    return folder


@pytest.fixture
def files(little: Catalog, tmp_path: Path) -> Path:
    """The 300 products as WebShop's files."""
    folder = tmp_path / "data"
    folder.mkdir()
    export_catalog(
        little,
        items=folder / "items_shuffle.json",
        attributes=folder / "items_ins_v2.json",
        human=folder / "items_human_ins.json",
    )
    return folder


def test_files_are_built_once(
    home: Path, files: Path, little: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[Path] = []
    build = sources.build_catalog

    def counted(folder: Path, **options: Any) -> Any:
        built.append(folder)
        return build(folder, **options)

    monkeypatch.setattr(sources, "build_catalog", counted)
    items = files / "items_shuffle.json"
    first = find_catalog(file_path=items)
    assert first.manifest.checksum == little.manifest.checksum
    assert find_catalog(file_path=str(items)) is first
    moved = files.rename(files.with_name("elsewhere"))
    again = find_catalog(
        file_path=moved / "items_shuffle.json", attr_path=moved / "items_ins_v2.json"
    )
    assert again is first
    assert len(built) == 1
    human = moved / "items_human_ins.json"
    said = json.loads(human.read_text())
    said.popitem()
    human.write_text(json.dumps(said))
    other = find_catalog(file_path=moved / "items_shuffle.json")
    assert len(built) == 2
    assert other.manifest.goals["human"] < first.manifest.goals["human"]


def test_num_products_takes_the_first_records(home: Path, files: Path) -> None:
    items = files / "items_shuffle.json"
    records = json.loads(items.read_text())
    catalog = find_catalog(file_path=items, num_products=100)
    assert [product.asin for product in catalog] == [record["asin"] for record in records[:100]]
    assert len(find_catalog(file_path=items, num_products=1000)) == 300
    env = WebAgentTextEnv("text", items, num_products=100, human_goals=True)
    assert len(env.server.all_products) == 100
    asins = {record["asin"] for record in records[:100]}
    assert {goal["asin"] for goal in env.server.goals} <= asins


def test_the_demo_without_files(home: Path) -> None:
    catalog = find_catalog(num_products=120)
    assert len(catalog) == 120
    assert find_catalog(num_products=120, file_path=default_files().items) is catalog
    assert find_catalog(num_products=120, file_path="") is catalog
    assert catalog.path.is_relative_to(home)


def test_downloaded_files_are_the_default(home: Path, files: Path) -> None:
    default = default_files()
    default.items.parent.mkdir(parents=True)
    (files / "items_shuffle.json").rename(default.items)
    (files / "items_ins_v2.json").rename(default.attributes)
    (files / "items_human_ins.json").rename(default.human)
    assert len(find_catalog()) == 300
    server = SimServer(human_goals=1)
    assert len(server.goals) == server.catalog.manifest.goals["human"]


def test_a_named_catalogue_wins(
    home: Path, little: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CATALOG_VARIABLE, str(little.path))
    assert find_catalog(file_path="/nowhere.json", num_products=7) is little


@pytest.mark.parametrize("count", [0, -1, True, 1.5, "100"])
def test_a_number_of_products_that_is_none(home: Path, count: Any) -> None:
    with pytest.raises(SettingError, match="expected 1 or more, or None"):
        find_catalog(num_products=count)


def test_missing_files_are_said(home: Path, files: Path) -> None:
    with pytest.raises(DataError, match="There is no items file /nowhere"):
        find_catalog(file_path="/nowhere/items_shuffle.json")
    (files / "items_ins_v2.json").unlink()
    with pytest.raises(DataError, match="There is no attributes file"):
        find_catalog(file_path=files / "items_shuffle.json")


def test_a_home_that_cannot_be_written(
    home: Path, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.write_text("a file")
    with pytest.raises(Exception, match="cannot be written"):
        find_catalog(file_path=files / "items_shuffle.json")


def test_few_products_of_which_no_human_speaks(home: Path, files: Path) -> None:
    human = files / "items_human_ins.json"
    items = json.loads((files / "items_shuffle.json").read_text())
    few = {item["asin"] for item in items[:20]}
    told = json.loads(human.read_text())
    human.write_text(json.dumps({asin: told[asin] for asin in told if asin not in few}))
    path = files / "items_shuffle.json"
    env = WebAgentTextEnv("text", file_path=path, num_products=20)
    assert set(env.server.product_item_dict) == few
    with pytest.raises(GoalError, match="no human goals"):
        SimServer(file_path=path, num_products=20, human_goals=True)
    human.write_text("nonsense")
    with pytest.raises(DataError, match="items_human_ins"):
        SimServer(file_path=path, num_products=20)


def test_a_file_that_cannot_be_read_is_named(
    home: Path, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = files / "items_shuffle.json"
    opened = Path.open

    def refused(self: Path, *arguments: Any, **options: Any) -> Any:
        if self == path:
            raise PermissionError(13, "Permission denied", str(self))
        return opened(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(DataError, match=r"items_shuffle.json cannot be read: Permission denied"):
        find_catalog(file_path=path)

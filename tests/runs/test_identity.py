"""What a protocol says is what is played: other data is played under another title and key."""

import json
import shutil
from contextlib import closing
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec
import pytest
from command import in_process
from typer.testing import CliRunner

from errands.cli import app
from errands.errors import ErrandsError, SettingError
from errands.reports.content import gather
from errands.runs.episode_source import ShopSource, open_source
from errands.runs.identity import catalog_content, goal_wording, is_meant_catalog
from errands.runs.protocol import (
    DataIdentity,
    Protocol,
    ProtocolError,
    find_protocol,
    named_protocols,
    read_protocols,
)
from errands.runs.replay import reopen_source
from errands.runs.runner import protocol_key, run
from errands.runs.store.places import create_run, open_run
from errands.shop.build.builder import build_catalog, generate_catalog
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import Goal, ListedGoals, write_goals

SHARED = Path(__file__).resolve().parents[3] / "shared"
WEBSHOP = SHARED / "data" / "webshop-1k"
real = pytest.mark.shared


def _on(name: str, catalog: object, **changes: Any) -> ShopSource:
    protocol = msgspec.structs.replace(find_protocol(name), data=str(catalog), **changes)
    source = open_source(protocol)
    assert isinstance(source, ShopSource)
    return source


def test_a_generated_shop_is_not_webshop_as_published(little: Catalog, tmp_path: Path) -> None:
    """The report was titled "WebShop as published"."""
    shutil.copytree(little.path, tmp_path / "small")
    result = run(
        "webshop-paper", "rule", data=str(tmp_path / "small"), episodes=2, out=tmp_path / "run"
    )
    title = "webshop-paper's settings on small (generated, "
    assert str(result.info.protocol["title"]).startswith(title)
    assert " other-data " in result.info.protocol_key
    (remark,) = [one for one in result.info.remarks if "means other data" in one]
    assert remark.startswith(
        "webshop-paper means other data than the human goals of small (generated, "
    )
    with closing(open_run(result.place)) as store:
        assert gather([store]).title.startswith(title)
        with closing(reopen_source(store.info)) as source:
            assert source.title == result.info.protocol["title"]


def test_every_named_protocol_says_which_data_it_means() -> None:
    anything = {"turk", "turk-demo"}  # Any folder; and tasks that must be there by name.
    for name, protocol in named_protocols().items():
        assert (protocol.identity is None) == (protocol.id in anything), name
        assert protocol.observation == "", name


def test_the_demo_and_the_full_size_shop_are_known_by_how_they_are_generated(
    little: Catalog,
) -> None:
    demo = _on("shop-demo", "demo")
    assert "other-data" not in demo.key
    assert demo.title == find_protocol("shop-demo").title
    assert " other-data" in _on("shop-demo", little.path).key
    for name in ("shop-full", "shop-full-eval", "shop-full-train"):
        protocol = find_protocol(name)
        assert protocol.data == "shop-full"
        assert protocol.identity is not None
        assert protocol.identity.generated == {"seed": 1, "difficulty": "paper"}
        assert protocol.identity.products == 1_181_436
        assert " other-data" in _on(name, "demo").key


def test_a_generated_catalogue_of_another_seed_or_difficulty_is_another(
    little: Catalog, tmp_path: Path
) -> None:
    goals = little.goals("human")
    made = little.manifest.made
    seed, difficulty = made["seed"], made.get("difficulty", "easy")

    def meant(**generated: Any) -> bool:
        identity = DataIdentity(products=len(little), generated=generated)
        return is_meant_catalog(identity, little, goals)

    assert meant(seed=seed)
    assert meant(seed=seed, difficulty=difficulty)
    assert not meant(seed=seed + 1)
    assert not meant(seed=seed, difficulty="impossible")
    assert not is_meant_catalog(DataIdentity(products=5000), little, goals)


@real
def test_the_originals_instructions_are_those_of_the_full_set() -> None:
    listed = json.loads((SHARED / "data/webshop-text/human_goals.json").read_text())
    identity = find_protocol("webshop-paper").identity
    assert identity is not None
    assert len(listed) == identity.goals == 12_087
    assert goal_wording(listed) == identity.instructions
    # As a catalogue would tell them: with full stops, capitals and quotation marks.
    assert goal_wording([f'{text.capitalize()}".' for text in listed]) == identity.instructions
    assert goal_wording(listed[1:] + listed[:1]) != identity.instructions


@real
def test_a_catalogue_with_the_originals_goals_would_be_webshop_as_published(
    little: Catalog,
) -> None:
    """The full set is not at hand: its instructions as goals, and the count of its products."""
    listed = json.loads((SHARED / "data/webshop-text/human_goals.json").read_text())
    some = little.goals("human")[0]
    goals = ListedGoals(
        "human",
        [msgspec.structs.replace(some, instruction_text=text, price_upper=20.0) for text in listed],
        lambda product: 1.0,
    )
    identity = find_protocol("webshop-paper").identity
    assert identity is not None

    class FullSize:
        manifest = msgspec.structs.replace(little.manifest, products=1_181_000)

    assert is_meant_catalog(identity, FullSize(), goals)  # type: ignore[arg-type]
    fewer = ListedGoals("human", list(goals)[:-1], goals.price)
    assert not is_meant_catalog(identity, FullSize(), fewer)  # type: ignore[arg-type]
    assert not is_meant_catalog(identity, little, goals)


@real
def test_the_thousand_products_are_known_however_they_are_built(
    catalog_1k: Catalog, tmp_path: Path
) -> None:
    """Neither the noun tagger nor the seed of prices makes them others; a changed title does."""
    sources: dict[str, Any] = {
        "items": WEBSHOP / "items_shuffle_1000.json",
        "attributes": WEBSHOP / "items_ins_v2_1000.json",
        "human": WEBSHOP / "items_human_ins.json",
    }
    build_catalog(tmp_path / "seed", **sources, seed=7)
    other = Catalog.open(tmp_path / "seed")
    assert other.manifest.checksum != catalog_1k.manifest.checksum
    assert catalog_content(other) == catalog_content(catalog_1k)
    for name in ("webshop-1k", "webshop-1k@1", "webshop-1k-human", "webshop-1k-legacy"):
        for catalog in (other, catalog_1k):
            source = _on(name, catalog.path)
            assert "other-data" not in source.key
            assert source.title == find_protocol(name).title
    items = json.loads(sources["items"].read_text())
    items[3]["name"] += " (new)"
    (tmp_path / "items.json").write_text(json.dumps(items))
    build_catalog(tmp_path / "changed", **{**sources, "items": tmp_path / "items.json"})
    assert " other-data" in _on("webshop-1k", tmp_path / "changed").key


@real
def test_webshop_1k_version_2_weighs_products_alike(catalog_1k: Catalog) -> None:
    source = _on("webshop-1k", catalog_1k.path)
    assert source.key.startswith("webshop-1k@2 data:")
    assert source.protocol.weights == "cluster"
    counts = {asin: list(source.clusters).count(asin) for asin in source.clusters}
    assert (len(source.keys), len(counts), max(counts.values())) == (124, 47, 5)
    # Any beginning has as many products as it can.
    assert len(set(source.clusters[:47])) == 47
    assert list(_on("webshop-1k", catalog_1k.path).keys) == list(source.keys)
    assert _on("webshop-1k", catalog_1k.path, seed=1).keys != source.keys
    first = _on("webshop-1k@1", catalog_1k.path)
    assert first.key.startswith("webshop-1k@1 data:")
    assert len(first.keys) == 500
    assert {*first.clusters} == {*source.clusters}
    assert max(list(first.clusters).count(asin) for asin in {*first.clusters}) == 206
    assert {*source.indices} <= {*_on("webshop-1k@1", catalog_1k.path, episodes=None).indices}


@real
def test_training_evaluation_and_test_share_no_product(catalog_1k: Catalog) -> None:
    names = ("webshop-1k", "webshop-1k-eval", "webshop-1k-train")
    sources = [_on(name, catalog_1k.path) for name in names]
    assert [source.protocol.split for source in sources] == [
        "disjoint-test",
        "disjoint-eval",
        "disjoint-train",
    ]
    for one, other in combinations(sources, 2):
        assert not {*one.clusters} & {*other.clusters}
        wordings = [{text for _, text in source.wanted()} for source in (one, other)]
        assert not wordings[0] & wordings[1]


@real
def test_form_pages_that_are_not_turkingbenchs(tmp_path: Path) -> None:
    for name in ("turk-test", "turk-challenge"):
        real_tasks = msgspec.structs.replace(
            find_protocol(name), data=str(SHARED / "data/turkingbench"), per_task=1
        )
        with closing(open_source(real_tasks)) as source:
            assert "other-data" not in source.key
            assert source.title == real_tasks.title
        with closing(open_source(msgspec.structs.replace(real_tasks, data="demo"))) as source:
            assert " other-data" in source.key
            assert source.title == f"{name}'s settings on demo ({len(source.tasks.names)} tasks)"  # type: ignore[attr-defined]


@real
def test_turkingbenchs_names_with_other_answers_are_not_turkingbench(tmp_path: Path) -> None:
    """Names alone were asked for: changed answers were played as TurkingBench's."""
    name = "Event effect"
    shutil.copytree(SHARED / "data/turkingbench/tasks" / name, tmp_path / "tasks" / name)
    protocol = msgspec.structs.replace(find_protocol("turk-test"), data=str(tmp_path), per_task=1)
    with closing(open_source(protocol)) as source:
        assert "other-data" not in source.key
    table = tmp_path / "tasks" / name / "batch.csv"
    table.chmod(0o644)
    table.write_bytes(table.read_bytes() + b"\n")
    with closing(open_source(protocol)) as source:
        assert " other-data" in source.key
        assert source.title == f"turk-test's settings on {tmp_path.name} (1 tasks)"


def test_versions_are_named() -> None:
    assert find_protocol("webshop-1k@2") is find_protocol("webshop-1k")
    assert find_protocol("webshop-1k@1").version == 1
    assert find_protocol("webshop-1k@1").id == "webshop-1k"
    with pytest.raises(ProtocolError, match=r"no version '3' of the protocol 'webshop-1k'.*1 or 2"):
        find_protocol("webshop-1k@3")
    with pytest.raises(ProtocolError, match="There is no protocol 'nothing@1'"):
        find_protocol("nothing@1")


def test_files_may_keep_older_versions(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    table = 'domain = "shop"\ndata = "demo"\n'
    file.write_text(f'[mine]\nversion = 2\n{table}["mine@1"]\nversion = 1\n{table}')
    found = read_protocols(file)
    assert [(one.id, one.version) for one in found.values()] == [("mine", 2), ("mine", 1)]
    assert find_protocol(f"{file}#mine@1").version == 1
    file.write_text(f'["mine@1"]\nversion = 2\n{table}')
    with pytest.raises(ProtocolError, match=r"'mine@1'\] says version = 2; expected 1"):
        read_protocols(file)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("identity = {products = 3, gaols = 4}", "gaols"),
        ('identity = {tasks = "mine"}', "turkingbench"),
        ("per_product = 0", "per_product must be 1 or more"),
        ("per_product = 2\npicked = [1]", "picked goals stand for themselves"),
        ("per_product = 2\nshuffle_workers = 2", "do not go together"),
        ('weights = "mine"', "weights"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(tmp_path: Path, line: str, says: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(f'[mine]\nversion = 1\ndomain = "shop"\ndata = "demo"\n{line}\n')
    with pytest.raises(ProtocolError, match=says):
        read_protocols(file)


def test_a_protocol_of_ones_own_may_say_its_data_too(little: Catalog, tmp_path: Path) -> None:
    content = catalog_content(little)
    file = tmp_path / "mine.toml"
    for products, is_other in ((len(little), False), (5000, True)):
        file.write_text(
            f'[mine]\nversion = 1\ntitle = "Mine"\ndomain = "shop"\ndata = "{little.path}"\n'
            f'identity = {{products = {products}, content = "{content}"}}\n'
        )
        with closing(open_source(find_protocol(f"{file}#mine"))) as source:
            assert ("other-data" in source.key) == is_other
            assert (source.title == "Mine") != is_other


def test_few_goals_of_each_product(little: Catalog) -> None:
    base = Protocol(
        id="few", version=1, title="few", domain="shop", data=str(little.path), per_product=2
    )
    source = ShopSource(base)
    every = ShopSource(msgspec.structs.replace(base, per_product=None))
    counts = [list(source.clusters).count(asin) for asin in dict.fromkeys(source.clusters)]
    assert {*source.clusters} == {*every.clusters}
    assert max(counts) == 2
    assert len({*source.indices}) == len(source.indices) < len(every.indices)
    assert len({*source.clusters[: len(counts)]}) == len(counts)


def test_other_goals_are_said_in_title_and_key(little: Catalog, tmp_path: Path) -> None:
    goals = little.goals("synthetic")
    some: list[Goal] = [goals[index] for index in range(5)]
    write_goals(tmp_path / "five.json", ListedGoals("five", some, goals.price), little)
    result = run(
        "shop-demo", "rule", data=str(little.path), goals=str(tmp_path / "five.json"), split="test",
        out=tmp_path / "run",
    )  # fmt: skip
    assert result.kept == 5
    assert " goals=five.json " in f"{result.info.protocol_key} "
    title = str(result.info.protocol["title"])
    assert title.startswith(f"shop-demo's settings on the goals of five.json, {little.path.name}")
    with pytest.raises(SettingError, match="goals are WebShop's"):
        run("turk-demo", "do-nothing", goals="human", out=tmp_path / "forms")


def test_runs_on_other_data_from_before_go_on(little: Catalog, tmp_path: Path) -> None:
    """Their key did not say it."""
    fresh = run(
        "webshop-paper", "rule", data=str(little.path), episodes=2, out=tmp_path / "new"
    ).info
    protocol = {**fresh.protocol, "observation": "text", "title": "WebShop as published"}
    del protocol["identity"]
    older = msgspec.structs.replace(
        fresh,
        protocol=protocol,
        protocol_key=f"webshop-paper@1 data:{fresh.checksum[:12]} episodes=2 observation=text",
        observation="",
    )
    create_run(str(tmp_path / "old"), older).close()
    again = run(
        "webshop-paper",
        "rule",
        data=str(little.path),
        episodes=2,
        out=tmp_path / "old",
        resume=True,
    )
    assert again.played == 2


@real
def test_the_key_of_an_older_version_is_a_named_protocols(catalog_1k: Catalog) -> None:
    protocol = msgspec.structs.replace(find_protocol("webshop-1k@1"))
    source = _on("webshop-1k@1", catalog_1k.path)
    assert " own:" not in protocol_key(protocol, source.protocol, source)


def test_the_list_of_protocols_tells_versions_and_data() -> None:
    said = in_process("protocols").stdout
    for words in ("webshop-1k@2", "webshop-1k@1", "shop-full@1", "disjoint-train", "LEAKS"):
        assert words in said
    assert said.index("webshop-1k@2") < said.index("webshop-1k@1 ")
    shown = CliRunner().invoke(app, ["protocols", "--show", "webshop-1k@1"]).output
    assert json.loads(shown)["version"] == 1


def test_a_damaged_generator_note_is_other_data(little: Catalog) -> None:
    identity = DataIdentity(products=len(little), generated={"seed": 5})
    made = {"by": "build"}

    class Built:
        manifest = msgspec.structs.replace(little.manifest, made=made)

    assert not is_meant_catalog(identity, Built(), little.goals("human"))  # type: ignore[arg-type]


def test_an_unknown_catalogue_is_still_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ErrandsError, match="needs the catalogue"):
        run("shop-full", "rule", out=tmp_path / "run", data=str(tmp_path / "none"))


def test_generated_catalogues_of_two_sizes(tmp_path: Path) -> None:
    generate_catalog(tmp_path / "tiny", products=40, seed=1)
    assert "tiny (generated, " in _on("shop-demo", tmp_path / "tiny", split="").title

"""Building: what is kept, what is dropped and why, and that the same input gives the same bytes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from errands.errors import CatalogError, DataError, ErrandsError
from errands.shop.build import builder, items_file
from errands.shop.build.builder import build_catalog, generate_catalog
from errands.shop.build.chunk import indexed_text
from errands.shop.catalog.catalog import Catalog
from errands.shop.catalog.manifest import Manifest, SourceFile
from errands.shop.synthetic.generator import generate

RECORD: dict[str, Any] = {
    "name": "Red Lamp",
    "full_description": "A lamp.",
    "small_description": ["bright", "second"],
    "pricing": "$10.00 - $30.00",
    "customization_options": {"Color": [{"value": "Red"}, {"value": "Blue"}], "Size": None},
    "category": "garden",
    "query": "Lamps",
    "product_category": "Home › Lamps",
    "images": ["x.jpg"],
}


def record(asin: str, **changes: Any) -> dict[str, Any]:
    held = {**RECORD, "asin": asin, **changes}
    return {key: value for key, value in held.items() if value is not ...}


def write(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value))
    return path


def built(folder: Path, records: Any, mined: Any, human: Any = None, **more: Any) -> Manifest:
    return build_catalog(
        folder / "out",
        items=write(folder / "items.json", records),
        attributes=write(folder / "ins.json", mined),
        human=None if human is None else write(folder / "human.json", human),
        **more,
    )


MINED = {
    "B2": {
        "attributes": ["soft light"],
        "instruction": "Find me lamps",
        "instruction_attributes": ["soft light"],
    },
    "B1": {"attributes": ["soft light", "easy clean"]},
    "B3": {"attributes": [], "instruction": "Find me x", "instruction_attributes": []},
}


def said(instruction: str, attributes: list[str]) -> dict[str, Any]:
    return {
        "instruction": instruction,
        "instruction_attributes": attributes,
        "instruction_options": [],
    }


def test_what_the_original_would_crash_on_is_skipped_and_counted(tmp_path: Path) -> None:
    records = [
        record("B2"),
        record("B1", name="Blue Chair", customization_options=""),
        record("B2", name="again"),
        record("B3"),
        record("B4", pricing="12"),
        record("B5", images=[]),
        record("B6", category=...),
        record("nan"),
        "not a record",
        record("B7"),
    ]
    human = {
        "B1": [said("..a chair.", ["easy clean"]), said("x", []), {"instruction": "x"}],
        "B9": [said("unknown", ["a"])],
    }
    manifest = built(tmp_path, records, MINED, human)
    assert manifest.products == 4
    assert manifest.goals == {"synthetic": 2, "human": 1}
    assert manifest.dropped == {
        "human instruction: no attributes": 1,
        "human instruction: not of the expected form": 1,
        "product: asin is not an id of at most 10 characters": 1,
        "product: asin seen before": 1,
        "product: no category": 1,
        "product: no image": 1,
        "product: price without $": 1,
        "product: record is not an object": 1,
        "synthetic instruction: no attributes": 1,
        "synthetic instruction: product not in the attributes file": 1,
    }
    catalog = Catalog.open(tmp_path / "out")
    assert [product.asin for product in catalog] == ["B2", "B1", "B3", "B7"]
    assert catalog["B2"].title == "Red Lamp"
    assert catalog["B7"].attributes == ("DUMMY_ATTR",)
    assert 10 <= catalog["B2"].price <= 30
    goal = catalog.goals("human")[0]
    assert goal.instruction_text.startswith("a chair, and price lower than ")


def test_only_the_first_bullet_is_searchable(tmp_path: Path) -> None:
    built(tmp_path, [record("B2")], MINED)
    catalog = Catalog.open(tmp_path / "out")
    assert indexed_text(catalog["B2"]) == "red lamp a lamp. bright color: red, blue"
    assert [hit.asin for hit in catalog.search("bright")] == ["B2"]
    assert catalog.search("second") == []
    assert catalog.search("garden lighting") == []


def test_nouns_from_a_file_and_from_the_tagger(tmp_path: Path) -> None:
    nouns = write(tmp_path / "nouns.json", {"B2": ["from", "file"]})
    manifest = built(tmp_path, [record("B2"), record("B1")], MINED, nouns=nouns)
    catalog = Catalog.open(tmp_path / "out")
    assert catalog["B2"].nouns == ("from", "file")
    assert "lamp" in catalog["B1"].nouns
    assert manifest.made["products in the nouns file"] == 1
    assert manifest.tagger.startswith("lexicon")
    assert [source.name for source in manifest.sources] == ["items.json", "ins.json", "nouns.json"]


@pytest.mark.parametrize(
    ("items", "complaint"),
    [
        ("{", "is not the JSON file it should be"),
        ('[{"asin": "B1"}, oops]', "at character 17"),
        ("[]", "has no usable product: it is empty"),
        ('[{"asin": "B1"}]', r"has no usable product: product: no name \(1\)"),
    ],
)
def test_bad_items_give_a_sentence_and_no_directory(
    tmp_path: Path, items: str, complaint: str
) -> None:
    (tmp_path / "items.json").write_text(items)
    write(tmp_path / "ins.json", MINED)
    with pytest.raises(DataError, match=complaint):
        build_catalog(
            tmp_path / "out", items=tmp_path / "items.json", attributes=tmp_path / "ins.json"
        )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ins.json", "items.json"]


def test_missing_files_and_wrong_taggers(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"absent\.json is not a file"):
        build_catalog(tmp_path / "o", items=tmp_path / "absent.json", attributes=tmp_path / "a")
    with pytest.raises(ErrandsError, match="tagger"):
        built(tmp_path, [record("B2")], MINED, tagger_name="magic")
    for products in (0, 2_000_001):
        with pytest.raises(CatalogError, match=f"{products} products were asked for; .* 2,000,000"):
            generate_catalog(tmp_path / "out", products=products)
    assert not list(tmp_path.glob(".out*"))


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    one = generate_catalog(tmp_path / "one", products=60, seed=9)
    script = (
        "import sys, pathlib; from errands.shop.build.builder import generate_catalog;"
        "generate_catalog(pathlib.Path(sys.argv[1]), products=60, seed=9)"
    )
    subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "two")],
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "77"},
    )
    assert Catalog.open(tmp_path / "two").manifest == one
    files = [path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*.*")]
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    other = generate_catalog(tmp_path / "three", products=60, seed=10)
    assert other.checksum != one.checksum


def test_prices_depend_on_the_seed_alone(tmp_path: Path) -> None:
    records = [record(f"B{i}") for i in range(20)]

    def prices(name: str, seed: int) -> list[float]:
        (tmp_path / name).mkdir()
        built(tmp_path / name, records, {}, seed=seed)
        return [product.price for product in Catalog.open(tmp_path / name / "out")]

    assert prices("a", 1) == prices("b", 1) != prices("c", 2)


@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_build_leaves_nothing(tmp_path: Path, stop: signal.Signals) -> None:
    """The watcher removes what a builder that was killed outright had made."""
    script = (
        "import sys, pathlib; from errands.shop.build.builder import generate_catalog;"
        "generate_catalog(pathlib.Path(sys.argv[1]), products=100_000, seed=1,"
        " progress=lambda stage, done, total: print(done, flush=True))"
    )
    builder = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    with builder:
        assert builder.stdout is not None
        builder.stdout.readline()
        assert [path.name for path in tmp_path.iterdir()] != []
        builder.send_signal(stop)
    patience = time.monotonic() + 120
    while list(tmp_path.iterdir()) and time.monotonic() < patience:
        time.sleep(0.05)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.shared
def test_the_real_products(catalog_1k: Catalog) -> None:
    manifest = catalog_1k.manifest
    assert manifest.products == 1000
    assert manifest.goals == {"synthetic": 6910, "human": 13}
    assert manifest.dropped == {}
    assert manifest.tagger == "file"
    assert sum(len(product.prices) == 2 for product in catalog_1k) == 93


def test_an_option_without_values_gives_no_goals(tmp_path: Path) -> None:
    records = [record("B1", customization_options={"Size": []}), record("B2")]
    mined = {
        name: {"attributes": [name], "instruction": "Find me", "instruction_attributes": [name]}
        for name in ("B1", "B2")
    }
    assert built(tmp_path, records, mined).goals["synthetic"] == 2
    goals = Catalog.open(tmp_path / "out").goals("synthetic")
    assert {goals[i].asin for i in range(2)} == {"B2"}


def test_half_a_surrogate_pair_costs_a_letter_not_the_build(tmp_path: Path) -> None:
    records = [record("B1", name="x \ud83d y"), record("B\udc00", name="😀 kept")]
    mined = {"B1": {"attributes": ["\ud83d"]}, "\ud83d": {}}
    built(tmp_path, records, mined, {"B1": [said("a \udfff b", ["\ud83d"])]})
    catalog = Catalog.open(tmp_path / "out")
    assert catalog["B1"].title == "x \ufffd y"
    assert catalog["B\ufffd"].title == "😀 kept"
    assert catalog.goals("human")[0].instruction_text.startswith("a \ufffd b")


def test_products_without_mined_attributes_are_counted(tmp_path: Path) -> None:
    manifest = built(tmp_path, [record("B2"), record("B8")], MINED)
    assert manifest.products == 2
    assert manifest.dropped == {"synthetic instruction: product not in the attributes file": 1}


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def generated(folder: Path, count: int) -> dict[str, Path]:
    """The original files of a generated catalogue, with a record that comes again."""
    made = list(generate(count, 3))
    records = [one.record for one in made]
    return {
        "items": write(folder / "items.json", [*records, records[5], record("B1")]),
        "attributes": write(
            folder / "ins.json", {one.record["asin"]: one.attributes for one in made}
        ),
        "human": write(
            folder / "human.json", {one.record["asin"]: one.human for one in made if one.human}
        ),
    }


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builder, "SMALL_FILE", 0)
    monkeypatch.setattr(builder, "SMALL_NUMBER", 0)
    monkeypatch.setattr(builder, "PIECE", 100)
    monkeypatch.setattr(items_file.ItemsFile.pieces, "__defaults__", (100,))


@pytest.mark.usefixtures("small_pieces")
def test_the_number_of_workers_changes_no_byte(tmp_path: Path) -> None:
    files = generated(tmp_path, 700)
    for workers in (1, 2, 3):
        build_catalog(tmp_path / f"{workers}", **files, workers=workers)
    one = files_of(tmp_path / "1")
    assert one == files_of(tmp_path / "2") == files_of(tmp_path / "3")
    assert Catalog.open(tmp_path / "1").manifest.dropped == {
        "product: asin seen before": 1,
        "synthetic instruction: product not in the attributes file": 1,
    }


@pytest.mark.usefixtures("small_pieces")
def test_generated_is_as_built_from_its_files(tmp_path: Path) -> None:
    made = list(generate(250, 3))
    build_catalog(
        tmp_path / "built",
        items=write(tmp_path / "i.json", [one.record for one in made]),
        attributes=write(tmp_path / "a.json", {m.record["asin"]: m.attributes for m in made}),
        human=write(tmp_path / "h.json", {m.record["asin"]: m.human for m in made if m.human}),
        workers=1,
    )
    generate_catalog(tmp_path / "made", products=250, seed=3, workers=2)
    built, generated_ = files_of(tmp_path / "built"), files_of(tmp_path / "made")
    assert built.pop("manifest.json") != generated_.pop("manifest.json")
    assert built == generated_
    catalogs = [Catalog.open(tmp_path / name) for name in ("built", "made")]
    assert catalogs[0].manifest.checksum == catalogs[1].manifest.checksum


@pytest.mark.usefixtures("small_pieces")
def test_a_repeated_product_leaves_no_trace(tmp_path: Path) -> None:
    """Neither words, nor goals, nor a draw of its price."""
    once = [record("B2"), record("B1", name="Chair"), record("B3", name="Last")]
    twice = [once[0], record("B2", name="Zebra"), once[1], record("B1", name="Yak"), once[2]]
    human = {"B2": [said("a", ["x"])], "B1": [said("b", ["y"]), said("c", [])]}
    held = {}
    for name, records in (("once", once), ("twice", twice)):
        (tmp_path / name).mkdir()
        manifest = built(tmp_path / name, records, MINED, human)
        held[name] = files_of(tmp_path / name / "out")
        del held[name]["manifest.json"]
    assert manifest.dropped["product: asin seen before"] == 2
    assert held["once"] == held["twice"]


@pytest.mark.usefixtures("small_pieces")
def test_bad_items_are_found_by_workers_too(tmp_path: Path) -> None:
    files = generated(tmp_path, 300)
    text = files["items"].read_text()
    at = text.rindex('"average_rating"')
    files["items"].write_text(text[:at] + "oops" + text[at:])
    with pytest.raises(DataError, match=rf"items\.json is not .* at character {at:,}\."):
        build_catalog(tmp_path / "out", **files, workers=2)
    assert not (tmp_path / "out").exists()


def test_no_workers_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="0 workers were asked for; expected 1 or more"):
        generate_catalog(tmp_path / "out", products=5, workers=0)


def test_the_checksum_is_of_the_content(little: Catalog) -> None:
    manifest = little.manifest
    squeezed = dict(manifest.files)
    squeezed["products.bin"] = SourceFile("products.bin", 1, "other bytes, the same records")
    assert structs.replace(manifest, files=squeezed).checksum == manifest.checksum
    other = structs.replace(manifest, contents={"products": "other records"})
    assert other.checksum != manifest.checksum
    squeezed["cards.bin"] = SourceFile("cards.bin", 1, "other cards")
    assert structs.replace(manifest, files=squeezed).checksum != manifest.checksum


@pytest.mark.parametrize("most", [500, 40_000])
def test_a_file_that_cannot_grow_is_one_sentence(tmp_path: Path, most: int) -> None:
    """As on a full disk, whichever file it is that finds no room."""
    script = (
        "import resource, sys; from pathlib import Path; from errands.cli import main\n"
        "from errands.shop.build.builder import generate_catalog\n"
        "folder, most = Path(sys.argv.pop(1)), int(sys.argv.pop(1))\n"
        # The first time functions are compiled, and kept in files, too.
        "generate_catalog(folder / 'before', products=1)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))\n"
        "sys.argv[1:] = ['catalog', 'generate', str(folder / 'out'), '--products', '600']\n"
        "main()"
    )
    told = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path), str(most)], capture_output=True, text=True
    )
    assert told.returncode == 2, told.stderr
    assert told.stderr == f"errands: {tmp_path / 'out'} cannot be written (File too large).\n"
    assert [path.name for path in tmp_path.iterdir()] == ["before"]


def test_more_goals_than_can_be_counted_are_one_sentence(tmp_path: Path) -> None:
    values = [{"value": f"v{number}"} for number in range(20)]
    options = {f"Option {number}": values for number in range(30)}
    records = [record("B1", customization_options=options)]
    told = {"attributes": ["a"], "instruction": "Find me", "instruction_attributes": ["a"]}
    with pytest.raises(DataError, match=r"combined in 4,294,967,296 ways or more"):
        built(tmp_path, records, {"B1": told})
    assert not (tmp_path / "out").exists()

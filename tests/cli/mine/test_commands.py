"""`errands mine`, as a user calls it."""

import csv
import json
import os
import pty
import select
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from command import in_process

from errands.cli import main
from errands.errors import GoalError
from errands.shop.catalog.catalog import Catalog
from errands.shop.rewards.registry import rules_named
from errands.shop.rewards.rules import Purchase
from errands.shop.synthetic.generator import make_product

pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'errands[mine]'")

COMMAND = (sys.executable, "-m", "errands", "mine")


def _mine(*words: object, status: int = 0, keys: str | None = None) -> str:
    done = in_process("mine", *words, keys=keys or "", COLUMNS="160")
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    if status:
        assert done.stderr.count("\n") == 1, done.stderr
        return done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of products, items, candidates."""
    made = tmp_path_factory.mktemp("mine")
    with (made / "products.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["sku", "name", "price", "category", "type", "description", "features"])
        for number in range(60):
            one = make_product(number, seed=2, products=60).record
            points = "|".join(one["small_description"])
            writer.writerow(
                [one["asin"], one["name"], one["pricing"], one["category"], one["query"],
                 one["full_description"], points]
            )  # fmt: skip
        writer.writerow(["twice", one["name"], "", "", "", "", ""])
    _mine("products", made / "products.csv", "--out", made / "items.json")
    told = _mine(
        "attributes", "--items", made / "items.json", "--out", made / "candidates.json", "--top", 30
    )
    assert "candidates of 60 products" in told
    return made


def _uses(path: Path) -> list[tuple[str, str | None]]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [(one["phrase"], one["use"]) for one in lines]


def _phrases(folder: Path) -> list[dict[str, Any]]:
    held: list[dict[str, Any]] = json.loads((folder / "candidates.json").read_text())["candidates"]
    return held


def test_products_are_counted_as_json(folder: Path, tmp_path: Path) -> None:
    told = json.loads(
        _mine("products", folder / "products.csv", "--out", tmp_path / "i.json", "--json")
    )
    assert (told["rows"], told["products"]) == (61, 60)
    assert told["dropped"] == {"title was there before": 1}
    assert told["columns"]["query"] == "type"
    assert len(json.loads((tmp_path / "i.json").read_text())) == 60


def test_a_map_to_begin_with(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "map.toml"
    _mine("map", folder / "products.csv", "--out", out)
    assert out.read_text() == _mine("map", folder / "products.csv")
    _mine("products", folder / "products.csv", "--map", out, "--out", tmp_path / "items.json")
    strange = tmp_path / "strange.csv"
    strange.write_text("a,b\n1,2\n")
    assert "# title =" in _mine("map", strange)


def test_attributes_as_json_and_against_a_list(folder: Path, tmp_path: Path) -> None:
    listed = tmp_path / "listed.json"
    entries = {
        one["asin"]: {"attributes": make_product(n, seed=2, products=60).attributes["attributes"]}
        for n, one in enumerate(json.loads((folder / "items.json").read_text()))
    }
    listed.write_text(json.dumps(entries))
    words = ("attributes", "--items", folder / "items.json", "--against", listed, "--common", 2)
    told = json.loads(_mine(*words, "--json"))
    assert told["products"] == 60
    assert told["against"]["common_found"] > 0.5 * told["against"]["common"]
    assert told["against"]["candidates"] == told["candidates"]
    assert "given pairs that are listed" in _mine(*words, "--by", "query", "--show", 0)


def test_attributes_go_beside_the_items_if_nothing_is_said(folder: Path, tmp_path: Path) -> None:
    items = tmp_path / "items.json"
    items.write_bytes((folder / "items.json").read_bytes())
    words = ("attributes", "--items", items)
    assert "candidates of 60 products" in _mine(*words)
    held = json.loads((tmp_path / "candidates.json").read_text())["candidates"]
    told = json.loads(_mine(*words, "--force", "--json"))
    assert told["file"] == str(tmp_path / "candidates.json")
    assert told["candidates"] == len(held) > 0


def test_a_review_through_a_pipe(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    words = ("review", folder / "candidates.json", "--decisions", path)
    said = _mine(*words, keys="1\n2\n3 4dx?u2q1")
    names = [one["phrase"] for one in _phrases(folder)]
    assert _uses(path) == [
        (names[0], "good for"),
        (names[1], "has"),
        (names[2], "which is"),
        (names[3], "drop"),
        (names[4], "is a"),
        (names[5], "drop"),
        (names[5], None),
        (names[5], "has"),
    ]
    assert "5 kept, 1 dropped" in said
    assert "taken back: " + names[5] in said
    # It goes on where it ended.
    assert f"] {names[6]}" in _mine(*words, keys="q")
    told = json.loads(_mine(*words, "--json"))
    assert told["left"] == len(names) - 6
    assert told["uses"] == {"good for": 1, "has": 2, "which is": 1, "drop": 1, "is a": 1}


def test_a_review_ends_with_its_input(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    said = _mine("review", folder / "candidates.json", "--decisions", path, keys="a")
    first = _phrases(folder)[0]
    assert _uses(path) == [(first["phrase"], first["proposal"]["use"])]
    assert "left." in said


def test_the_filters_word_is_taken(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    words = ("review", folder / "candidates.json", "--decisions", path, "--accept")
    drops = sum(one["proposal"]["use"] == "drop" for one in _phrases(folder))
    assert f"{drops:,} answers" in _mine(*words, "drops")
    assert ", 0 left." in _mine(*words, "all")
    assert "There is nothing left to ask." in _mine(*words[:-1])
    assert "drops or all" in _mine(*words, "some", status=2)


def test_the_filters_word_is_taken_as_json(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    group = _phrases(folder)[0]["groups"][0]["name"]
    some = [one for one in _phrases(folder) if any(held["name"] == group for held in one["groups"])]
    words = ("review", folder / "candidates.json", "--decisions", path, "--json")
    told = json.loads(_mine(*words, "--group", group, "--accept", "all"))
    assert told["accepted"] == told["candidates"] == len(some) == len(_uses(path))
    assert (told["left"], sum(told["uses"].values())) == (0, len(some))
    again = json.loads(_mine(*words, "--group", group))
    assert again == {**told, "accepted": 0}
    rest = json.loads(_mine(*words))
    assert rest["left"] == len(_phrases(folder)) - len(some) > 0


def test_keys_of_a_terminal(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "d.jsonl"
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [*COMMAND, "review", str(folder / "candidates.json"), "--decisions", str(path)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        close_fds=True,
        env={**os.environ, "COLUMNS": "120", "TERM": "dumb"},
    )
    os.close(theirs)
    deadline = time.monotonic() + 120

    def read() -> bytes:
        assert time.monotonic() < deadline, seen
        if not select.select([ours], [], [], 1)[0]:
            return b""
        try:
            return os.read(ours, 65536)
        except OSError:
            # The other end was closed.
            return b""

    seen = b""
    try:
        for pressed in (b"2", b"\r", b"q"):
            while b"? more" not in seen:
                seen += read()
            seen = b""
            os.write(ours, pressed)
        while child.poll() is None:
            seen += read()
        assert child.returncode == 0, seen
    finally:
        child.kill()
        child.wait()
        os.close(ours)
    one, other = _phrases(folder)[:2]
    assert _uses(path) == [
        (one["phrase"], "has"),
        (other["phrase"], other["proposal"]["use"]),
    ]


def test_attributes_are_given_out(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "attributes.json"
    words = ("assign", "--items", folder / "items.json", "--candidates", folder / "candidates.json")
    assert "errands mine review" in _mine(*words, "--out", out, status=2)
    told = json.loads(_mine(*words, "--out", out, "--accept-rest", "--json"))
    assert told["products"] == 60
    assert 0 < told["with_instruction"] <= told["with_attributes"] <= 60
    entries = json.loads(out.read_text())
    assert sum("instruction" in one for one in entries.values()) == told["with_instruction"]
    assert "--force" in _mine(*words, "--out", out, "--accept-rest", status=2)


def test_all_at_once(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "own"
    told = json.loads(_mine("shop", folder / "products.csv", "--out", out, "--json"))
    catalog = Catalog.open(out / "shop")
    assert len(catalog) == told["products"] == 60
    assert catalog.manifest.goals["synthetic"] == told["goals"]["synthetic"] > 0
    assert {"items.json", "candidates.json", "attributes.json"} <= {p.name for p in out.iterdir()}
    assert "--force" in _mine("shop", folder / "products.csv", "--out", out, status=2)
    assert "synthetic goals" in _mine("shop", folder / "products.csv", "--out", out, "--force")


TEN = """\
sku,title,price,category,description,color,size
1,Canvas Sneaker,39.90,shoes,"Light canvas, easy to clean, rubber sole.",black;blue,8;9;10
2,Leather Boot,89,shoes,Water resistant with rubber sole. Good for winter.,brown;black,8;9
3,Running Shoe,65,shoes,Breathable with memory foam.,red;white,9;10
4,Wool Sock,9.5,clothing,"Warm wool, machine washable.",grey,
5,Cotton Tee,15,clothing,"Soft cotton, machine washable.",white;black,S;M;L
6,Rain Jacket,75,clothing,"Water resistant with a hood, good for hiking.",yellow/green,M;L
7,Steel Mug,12,kitchen,"Stainless steel, dishwasher safe.",silver,
8,Glass Jug,18,kitchen,"Dishwasher safe, easy to clean.",,
9,Bamboo Board,22,kitchen,With a handle.,,
10,Chef Knife,45,kitchen,Stainless steel with a wooden handle.,,
"""


def test_a_shop_of_ten_rows_has_goals_that_can_be_bought(tmp_path: Path) -> None:
    (tmp_path / "ten.csv").write_text(TEN)
    said = _mine("shop", tmp_path / "ten.csv", "--out", tmp_path / "own")
    assert "10 products of 10 rows, 7 of them with an instruction" in said
    assert "Values of color are parted by ';'" in said
    assert "Of those taken 1: color is one value with '/' in it" in said
    assert "no kind" not in said
    assert "shows its product for 7 of 7 products, of 7 kinds" in said
    assert "instructions ask for one where there are no two" in said
    catalog = Catalog.open(tmp_path / "own" / "shop")
    assert catalog["1"].options == {"color": ("black", "blue"), "size": ("8", "9", "10")}
    goals, rules = catalog.goals("synthetic"), rules_named("released")
    for goal in map(goals.__getitem__, range(len(goals))):
        product, options = catalog[goal.asin], goal.goal_options
        assert isinstance(options, dict)
        assert rules(Purchase(product, options, goals.price(product)), goal).total == 1


def test_where_products_have_nothing_in_common_rare_attributes_are_asked_for(
    tmp_path: Path,
) -> None:
    (tmp_path / "rare.csv").write_text(
        "name,description\nTeapot,Glazed stoneware.\nHose,Flexible rubber with brass fittings.\n"
    )
    said = _mine("shop", tmp_path / "rare.csv", "--out", tmp_path / "own")
    assert "2 of them with an instruction" in said
    assert f"errands mine review {tmp_path}/own/candidates.json" in said
    entries = json.loads((tmp_path / "own" / "attributes.json").read_text()).values()
    instructions = sorted(entry["instruction"] for entry in entries)
    assert instructions == [
        "Find me hoses with flexible rubber, brass fittings",
        "Find me teapots with glazed stoneware",
    ]
    # Who says how many must be asked for is not overruled.
    said = _mine("shop", tmp_path / "rare.csv", "--out", tmp_path / "two", "--least", 2)
    assert "1 of them with an instruction" in said


def test_a_shop_without_goals_is_not_called_done_but_can_be_searched(tmp_path: Path) -> None:
    (tmp_path / "dumb.csv").write_text("title\nLamp\nChair\n")
    words = ("shop", tmp_path / "dumb.csv", "--out", tmp_path / "own")
    said = _mine(*words, status=2)
    assert "has no goals" in said
    assert f"errands serve --data {tmp_path}/own/shop" in said
    assert "has no goals" in _mine(*words, "--force", "--json", status=2)
    catalog = Catalog.open(tmp_path / "own" / "shop")
    assert [hit.asin for hit in catalog.search("lamp")]
    with pytest.raises(GoalError, match="errands mine assign"):
        catalog.goals("synthetic")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["products", "none.csv", "--out", "i.json"], "none.csv cannot be read"),
        (["products", "empty.csv", "--out", "i.json"], "is empty"),
        (["products", "bad.csv", "--out", "i.json"], "holds no products (no title: 1)"),
        (["products", "bad.csv", "--map", "none.toml", "--out", "i.json"], "errands mine map"),
        (["products", "headless.csv", "--out", "i.json"], "No column is known to hold the titles"),
        (["map", "none.csv"], "none.csv cannot be read"),
        (["attributes", "--items", "none.json", "--out", "c.json"], "errands mine products"),
        (["attributes", "--items", "none.json"], "errands mine products"),
        (["attributes", "--items", "beside/some.json"], "--force"),
        (["review", "none.json", "--web", "--json"], "leave it out"),
        (["review", "none.json", "--web", "--accept", "all"], "leave it out"),
        (["attributes", "--items", "none.json", "--out", "c.json", "--text", "x"], "title,"),
        (["attributes", "--items", "empty.json", "--out", "c.json"], "no products to mine"),
        (["attributes", "--items", "some.json", "--out", "c.json", "--by", "x"], "category or"),
        (["attributes", "--items", "some.json", "--against", "none.json"], "none.json"),
        (["review", "none.json"], "errands mine attributes"),
        (["assign", "--items", "some.json", "--candidates", "none.json", "--out", "a.json"],
         "errands mine attributes"),
        (["shop", "none.csv", "--out", "own"], "none.csv cannot be read"),
    ],
)  # fmt: skip
def test_mistakes_are_one_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["errands", "mine", *words])
    Path("empty.csv").write_text("")
    Path("bad.csv").write_text("title,price\n,5\n")
    Path("headless.csv").write_text("a,b\n1,2\n")
    Path("empty.json").write_text("[]")
    Path("beside").mkdir()
    Path("beside/some.json").write_text('[{"asin": "A", "name": "easy to clean"}]')
    Path("beside/candidates.json").write_text("kept")
    Path("some.json").write_text('[{"asin": "A", "name": "easy to clean"}]')
    before = set(tmp_path.iterdir())
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1
    assert set(tmp_path.iterdir()) == before
    assert Path("beside/candidates.json").read_text() == "kept"


def test_a_page_needs_its_port(folder: Path, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        said = _mine(
            "review", folder / "candidates.json", "--decisions", tmp_path / "d", "--web",
            "--port", taken.getsockname()[1], status=2,
        )  # fmt: skip
    assert "cannot be listened on" in said

"""The command itself: help, errors in one sentence, exit statuses."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from command import in_process as errands
from command import in_shell

from errands import __version__
from errands.shop.catalog.catalog import Catalog


def test_version_and_help() -> None:
    assert in_shell("--version").stdout == f"errands {__version__}\n"
    assert "demo" in in_shell("--help").stdout
    assert errands().returncode == 2 or "Usage" in errands().stdout


def test_errors_are_one_sentence_and_status_2() -> None:
    done = in_shell("catalog", "info", "nowhere")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("errands: There is no catalogue 'nowhere'")
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1


def test_build_info_verify_goals_search(tmp_path: Path, little: Catalog) -> None:
    out = str(tmp_path / "made")
    done = errands("catalog", "generate", out, "--products", "50", "--seed", "3")
    assert done.returncode == 0, done.stderr
    assert "50 products" in done.stdout
    assert "Nothing was left out." in done.stdout
    again = errands("catalog", "generate", out, "--products", "50")
    assert again.returncode == 2
    assert "exists already" in again.stderr
    facts = json.loads(errands("catalog", "info", out, "--json").stdout)
    assert facts["products"] == 50
    assert facts["made"] == {"by": "generate", "products": 50, "seed": 3, "difficulty": "paper"}
    assert "every file is as it was built" in errands("catalog", "verify", out).stdout
    frozen = tmp_path / "goals.json"
    done = errands(
        "catalog", "goals", out, "--goals", "human", "--limit", "3", "--out", str(frozen)
    )
    assert done.returncode == 0, done.stderr
    assert len(json.loads(frozen.read_text())["goals"]) == 3
    title = Catalog.open(out).product_at(0).title
    lines = errands("search", out, title, "-k", "2", "--json").stdout.splitlines()
    assert [set(json.loads(line)) for line in lines] == [{"asin", "score", "title", "price"}] * 2
    assert "Nothing in" in errands("search", out, "zzzzz").stdout
    (tmp_path / "made" / "cards.bin").write_bytes(b"")
    broken = errands("catalog", "verify", out, "--json")
    assert broken.returncode == 1
    assert json.loads(broken.stdout)["ok"] is False
    assert "cards.bin" in broken.stderr


def test_build_from_files(tmp_path: Path) -> None:
    record = {
        "asin": "B1", "name": "Lamp", "full_description": "", "small_description": [],
        "customization_options": "", "category": "c", "query": "q", "product_category": "",
        "images": ["x"], "pricing": "12",
    }  # fmt: skip
    good = {**record, "asin": "B2", "pricing": "$12"}
    (tmp_path / "i.json").write_text(json.dumps([record, good]))
    (tmp_path / "a.json").write_text('{"B2": {"attributes": []}}')
    arguments = ("catalog", "build", str(tmp_path / "c"), "--items", str(tmp_path / "i.json"),
                 "--attributes", str(tmp_path / "a.json"))  # fmt: skip
    done = errands(*arguments)
    assert "1 product, 0 synthetic goals, 0 human goals" in done.stdout
    assert "Left out 1: product: price without $" in done.stdout
    (tmp_path / "i.json").write_text("[{]")
    broken = errands(*arguments, "--force")
    assert broken.returncode == 2
    assert "at character 2" in broken.stderr
    assert len(Catalog.open(tmp_path / "c")) == 1


def test_export_and_build_again(little: Catalog, tmp_path: Path) -> None:
    files = [f"--{name}={tmp_path / name}.json" for name in ("items", "attributes", "human")]
    done = errands("catalog", "export", str(little.path), *files)
    assert done.returncode == 0, done.stderr
    command = shlex.split(done.stdout.splitlines()[-1])
    command = command[command.index("catalog") :]
    again = errands(*(str(tmp_path / "again") if word == "OUT" else word for word in command))
    assert again.returncode == 0, again.stderr
    assert Catalog.open(tmp_path / "again").manifest.checksum == little.manifest.checksum
    assert "exists already" in errands("catalog", "export", str(little.path), *files).stderr
    told = json.loads(
        errands("catalog", "export", str(little.path), *files[:2], "--force", "--json").stdout
    )
    assert told["files"]["items"] == {
        "path": str(tmp_path / "items.json"),
        "products": 300,
        "bytes": (tmp_path / "items.json").stat().st_size,
    }
    partly = errands("catalog", "export", str(little.path), *files[:2], "--force")
    assert "Left out: 150 human goals" in partly.stdout


def test_info_beside_the_paper(little: Catalog) -> None:
    told = json.loads(errands("catalog", "info", str(little.path), "--json").stdout)
    assert told["statistics"]["products"] == {"here": 300, "paper": 1_181_436}
    assert told["statistics"]["human goals"] == {"here": 150, "paper": 12_087}
    assert told["statistics"]["categories"]["paper"] is None
    table = errands("catalog", "info", str(little.path)).stdout
    assert "words per product" in table
    assert "262.9" in table
    quick = errands("catalog", "info", str(little.path), "--quick", "--json").stdout
    assert "statistics" not in json.loads(quick)


def test_pictures(little: Catalog, tmp_path: Path) -> None:
    product = next(p for p in little if any(p.option_images.values()))
    value = next(value for value, image in product.option_images.items() if image)
    place = ("--data", str(little.path))
    assert errands("catalog", "picture", product.asin, *place).stdout.startswith("<svg")
    out = tmp_path / "p.svg"
    errands("catalog", "picture", product.asin, *place, "--value", value, "--out", str(out))
    assert out.read_text().startswith("<svg")
    assert "no product" in errands("catalog", "picture", "B0", *place).stderr
    wrong = errands("catalog", "picture", product.asin, *place, "--value", "nothing")
    assert "has no option value" in wrong.stderr


def test_bench_prints_one_object_a_figure(little: Catalog) -> None:
    done = errands("bench", "shop", "--data", str(little.path), "--steps", "1000", "--json")
    figures = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(list(figure) == ["name", "value", "unit", "floor", "aim"] for figure in figures)
    assert {"steps per second", "reset, median", "memory of one more environment"} <= {
        figure["name"] for figure in figures
    }


def test_a_closed_pipe_is_no_failure(little: Catalog) -> None:
    program = f"{sys.executable} -c 'from errands.cli import main; main()'"
    command = f"{program} catalog info --json {little.path}"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", f"{command} | true"], capture_output=True, check=False
    )
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (("red", "shoes"), 'put it in quotes: `errands search "red shoes"`'),
        (("a", "b", "c"), "put it in quotes"),
        (("demo",), "What to search for is missing"),
    ],
)
def test_search_tells_catalogues_and_queries_apart(words: tuple[str, ...], advice: str) -> None:
    done = errands("search", *words)
    assert done.returncode == 2
    assert advice in done.stderr


def test_any_terminal_will_do(little: Catalog) -> None:
    product = little.product(0)
    for settings in ({"PYTHONIOENCODING": "latin-1"}, {"PYTHONIOENCODING": "ascii"}):
        done = in_shell("search", little.path, product.title, "-k", "3", **settings)
        assert done.returncode == 0, done.stderr


def test_files_that_belong_to_other_products_are_refused(tmp_path: Path) -> None:
    record = {
        "asin": "B1", "name": "Lamp", "full_description": "", "small_description": [],
        "customization_options": "", "category": "c", "query": "q", "product_category": "",
        "images": ["x"],
    }  # fmt: skip
    (tmp_path / "i.json").write_text(json.dumps([record]))
    (tmp_path / "a.json").write_text('{"B1": {"attributes": []}}')
    (tmp_path / "h.json").write_text('{"goals": [], "prices": {}}')
    files = {"items": "i.json", "attributes": "a.json", "human": "h.json"}
    named = [word for name, file in files.items() for word in (f"--{name}", str(tmp_path / file))]
    done = errands("catalog", "build", str(tmp_path / "c"), *named)
    assert done.returncode == 2
    assert "h.json says nothing about any of the products" in done.stderr
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize("words", [("catalog", "build"), ("bench", "shop"), ("search",)])
def test_every_command_shows_an_example(words: tuple[str, ...]) -> None:
    assert "Example" in errands(*words, "--help").stdout


def test_brackets_in_paths_are_no_markup(tmp_path: Path) -> None:
    out = str(tmp_path / "a[/b]c[red]")
    assert errands("catalog", "generate", out, "--products", "5").returncode == 0
    assert out in errands("catalog", "info", out).stdout.replace("\n", "")
    done = errands("catalog", "picture", "B0", "--data", out)
    assert done.stderr.startswith("errands: There is no product 'B0'")


def test_unwritable_pictures_are_one_sentence(little: Catalog) -> None:
    done = errands("catalog", "picture", little.product(0).asin, "--data", str(little.path),
                   "--out", "/no/such/place.svg")  # fmt: skip
    assert done.returncode == 2
    assert "cannot be written" in done.stderr

"""`errands transfer`, as a user calls it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from made_up_shops import GOODS, amazon_item, amazon_results, shop_item, shop_results
from typer.testing import CliRunner

from errands.cli import app
from errands.errors import ErrandsError

SAVED = Path(__file__).resolve().parents[4] / "shared" / "data" / "transfer-pages"


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "results.html").write_text(amazon_results(GOODS[:12], False))
    (folder / "item.html").write_text(amazon_item(GOODS[0]))
    return folder


def _run(*words: object, text: str | None = None, status: int = 0) -> str:
    done = CliRunner().invoke(app, ["transfer", *map(str, words)], input=text)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == status, done.output
    return done.stdout


def test_the_command_as_the_issue_writes_it(pages: Path, tmp_path: Path) -> None:
    """In a process of its own: what a shell would run, over a folder of saved pages."""
    command = [
        sys.executable, "-m", "errands", "transfer", "--site", "amazon", "--instruction",
        "a red shoe", "--agent", "rule", "--pages", str(pages),
    ]  # fmt: skip
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "COLUMNS": "120"}, capture_output=True,
        text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "search[a red shoe]" in done.stdout
    assert "purchase: Red Trail Runner 0" in done.stdout
    assert "1 searches and 1 items requested" in done.stdout
    assert "Table 6" in done.stdout
    assert "transfer score" in done.stdout
    assert list((tmp_path / "runs").glob("transfer-amazon-rule-*.jsonl"))


def test_recording_and_replaying(pages: Path, tmp_path: Path) -> None:
    tape, words = tmp_path / "tape.jsonl", ["--site", "amazon", "--instruction", "a red shoe"]
    told = json.loads(
        _run("play", *words, "--pages", pages, "--cassette", tape, "--record",
             "--out", tmp_path / "a.jsonl", "--json")
    )  # fmt: skip
    again = json.loads(_run(*words, "--cassette", tape, "--out", tmp_path / "b.jsonl", "--json"))
    for each in (told, again):
        (episode,) = each["episodes"]
        assert episode["actions"] == [
            "search[a red shoe]", "click[b0shoe0000]", "click[buy now]",
        ]  # fmt: skip
        assert [kind for kind, _ in episode["requests"]] == ["search", "item"]
        assert episode["bought"]["product"]["id"] == "B0SHOE0000"
    with pytest.raises(ErrandsError, match="is there already"):
        _run(*words, "--cassette", tape, "--out", tmp_path / "b.jsonl")
    # Another errand was not recorded: an error with a reason, and exit status 1.
    out = tmp_path / "c.jsonl"
    failed = json.loads(
        _run("--site", "amazon", "--instruction", "a hat", "--cassette", tape, "--out", out,
             "--json", status=1)
    )  # fmt: skip
    assert "Nobody was asked" in failed["episodes"][0]["error"]


def test_scoring_at_the_terminal_and_by_csv(pages: Path, tmp_path: Path) -> None:
    out, form = tmp_path / "run.jsonl", tmp_path / "form.csv"
    (tmp_path / "errands.txt").write_text("a red shoe\na blue shoe\na green shoe\n")
    _run("--site", "amazon", "--goals", tmp_path / "errands.txt", "--pages", pages, "--out", out)
    said = _run("score", out, text="1/2\n-\noops\n1\n1/2\n-\n1\n1\nquit\n")
    assert "1 scores entered" in said
    assert "That was not understood" in said
    assert "2 purchases" in _run("score", out, "--form", form)
    filled = form.read_text().replace("\n1,,,,,", "\n1,1/1,2/2,1,1,")
    form.write_text(filled)
    told = json.loads(_run("score", out, "--csv", form, "--by", "ada", "--json"))
    assert told["entered"] == 1
    (row,) = told["tables"]
    assert (row["episodes"], row["unscored"]) == (2, 1)
    assert row["score"] == pytest.approx(100 * (2 / 3 + 1) / 2)
    rows = json.loads(_run("table", out, "--paper", "--json"))
    assert len(rows) == 9
    assert "| rule | amazon | 83.3 |" in _run("table", out, "--markdown")
    assert "Table 9" in _run("table", out, "--paper")


def test_a_form_is_not_overwritten_by_mistake(pages: Path, tmp_path: Path) -> None:
    out, form = tmp_path / "run.jsonl", tmp_path / "form.csv"
    _run("--site", "amazon", "--instruction", "a shoe", "--pages", pages, "--out", out)
    form.write_text("filled in")
    with pytest.raises(ErrandsError, match="--force overwrites it"):
        _run("score", out, "--form", form)
    assert form.read_text() == "filled in"
    assert "1 purchases" in _run("score", out, "--form", form, "--force")
    with pytest.raises(ErrandsError, match="cannot be written"):
        _run("score", out, "--form", tmp_path / "none" / "form.csv")


def test_a_run_at_its_limit_says_what_goes_on(pages: Path, tmp_path: Path) -> None:
    words = ["--site", "amazon", "--instruction", "a shoe", "--instruction", "a hat", "--pages",
             str(pages), "--out", str(tmp_path / "run.jsonl")]  # fmt: skip
    done = CliRunner().invoke(app, ["transfer", *words, "--run-requests", "3"])
    assert done.exit_code == 1
    assert "--resume and a larger --run-requests goes on" in done.stderr
    _run(*words, "--resume", "--run-requests", "9")


def test_errands_with_goals(pages: Path, tmp_path: Path) -> None:
    goals = tmp_path / "errands.toml"
    goals.write_text(
        '[[errand]]\ninstruction = "a red trail runner"\nname = "Red Trail Runner"\n'
        'attributes = ["non slip"]\nprice = 40\n'
    )
    words = ["--site", "amazon", "--goals", goals, "--pages", pages]
    told = json.loads(_run(*words, "--out", tmp_path / "run.jsonl", "--json"))
    assert told["episodes"][0]["score"]["total"] == 1.0
    assert told["tables"][0]["success"] == 100
    resumed = [*words, "--out", tmp_path / "run.jsonl", "--resume", "--json"]
    assert json.loads(_run(*resumed))["requests"] == 2


def test_reading_one_page(pages: Path) -> None:
    told = json.loads(_run("read", pages / "item.html", "--site", "amazon", "--json"))
    assert (told["kind"], told["id"], told["missing"]) == ("item", "B0SHOE0000", [])
    assert "4.2 out of 5 stars" in _run("read", pages / "item.html", "--site", "amazon")
    assert "Red Trail Runner" in _run("read", pages / "results.html", "--site", "amazon")
    shown = _run("read", pages / "item.html", "--site", "amazon", "--as-page")
    assert "[button] Buy Now [button_]" in shown
    assert "night | blue" in shown
    with pytest.raises(ErrandsError, match="no page of ebay"):
        _run("read", pages / "item.html", "--site", "ebay")


def test_any_shop_with_schema_org_data(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "results.html").write_text(shop_results(GOODS[:3], False))
    (folder / "item.html").write_text(
        shop_item(GOODS[0]).replace("https://shop.example", "https://saved.invalid")
    )
    told = json.loads(
        _run("--site", "schema.org", "--instruction", "a red shoe", "--pages", folder,
             "--out", tmp_path / "run.jsonl", "--json")
    )  # fmt: skip
    (episode,) = told["episodes"]
    assert [kind for kind, _ in episode["requests"]] == ["search", "item"]
    assert episode["bought"]["product"]["options"]["size"] == ["8", "9", "10"]


@pytest.mark.shared
def test_the_saved_real_pages(tmp_path: Path) -> None:
    told = json.loads(_run("compare", SAVED, "--json"))
    prices = {fact["page"]: fact for fact in told if fact["part"] == "price"}
    assert prices["item_page_amz.html"]["original"] == "N/A"
    assert prices["item_page_amz.html"]["ours"] == "$112.94"
    assert prices["item_page_ebay.html"]["ours"] == "$0.01 (bid)"
    assert _run("compare", SAVED).startswith("| page | part | the original | errands |")
    with pytest.raises(ErrandsError, match="no page"):
        _run("compare", tmp_path)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--site", "etsy", "--instruction", "x"], "no site 'etsy'"),
        (["--site", "amazon"], "give one of --instruction, --goals, --data"),
        (["--site", "amazon", "--instruction", "x", "--data", "demo"], "give one of"),
        (["--site", "amazon", "--instruction", "x", "--record"], "--record needs --cassette"),
        (["--site", "amazon", "--instruction", "x", "--resume"], "--resume needs --out"),
        (["--site", "amazon", "--instruction", "x", "--pages", "none"], "not a folder"),
        (["--site", "amazon", "--instruction", "x", "--cassette", "none"], "no cassette"),
        (["--site", "amazon", "--instruction", "x", "--set", "y"], "expected NAME=VALUE"),
        (["--site", "amazon", "--instruction", "x", "--fetch", "y"], "module:attribute"),
        (["--site", "amazon", "--instruction", "x", "--service", "y"], "with {url} in it"),
        (["--site", "amazon", "--instruction", "x", "--service", "a", "--fetch", "b"], "both"),
        (["--site", "schema.org", "--instruction", "x"], "--search-url"),
        (["--site", "amazon", "--instruction", "x", "--agent", "rulee"], "no agent 'rulee'"),
        (["--site", "amazon", "--instruction", "x", "--agent", "il"], "needs its checkpoint"),
        (
            ["--site", "amazon", "--instruction", "x", "--fetch", "os:getcwd", "--ignore-robots"],
            "no effect",
        ),
        (["--site", "amazon", "--goals", "none.toml"], "cannot be read"),
        (["table", "none.jsonl"], "cannot be read"),
        (["score", "none.jsonl"], "cannot be read"),
        (["read", "none.html", "--site", "amazon"], "cannot be read"),
    ],
)
def test_one_sentence_for_each_mistake(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if "il" in words:
        pytest.importorskip("torch", reason="needs torch: pip install 'errands[train]'")
    with pytest.raises(ErrandsError) as mistake:
        _run(*words)
    assert said in str(mistake.value)
    assert "\n" not in str(mistake.value)
    assert not (tmp_path / "runs").exists()

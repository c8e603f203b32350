"""`errands run`, `report`, `replay`, `export` and their like, as a user calls them."""

import json
from pathlib import Path
from typing import Any

import pytest
from command import in_process, in_shell

from errands.shop.catalog.catalog import Catalog


def errands(*arguments: object, cwd: Path, status: int = 0, shell: bool = False) -> str:
    """What the command prints; its errors where it fails."""
    call = in_shell if shell else in_process
    done = call(*arguments, cwd=cwd, COLUMNS="120")
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if status in (0, 1) else done.stderr


@pytest.fixture(scope="module")
def place(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a protocol of one's own, and two runs of it."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "mine.toml").write_text(
        f'[mine]\nversion = 1\nhalf = "shop"\ndata = "{little.path}"\nsplit = "test"\n'
        "episodes = 40\nmax_steps = 20\n"
    )
    for agent in ("rule", "careful"):
        errands("run", "mine.toml", "--agent", agent, "--out", agent, cwd=folder)
    return folder


def test_a_run_says_what_it_reached_and_where_it_is(place: Path) -> None:
    told = json.loads(
        errands(
            "run",
            "mine.toml#mine",
            "--agent",
            "random",
            "--episodes",
            5,
            "--out",
            "five",
            "--json",
            cwd=place,
            shell=True,
        )
    )
    assert (told["place"], told["episodes"], told["errors"]) == ("five", 5, 0)
    assert told["protocol"].endswith("episodes=5")
    assert 0 <= told["score"]["low"] <= told["score"]["mean"] <= told["score"]["high"] <= 100


def test_a_report_is_written_in_three_forms(place: Path) -> None:
    said = errands("report", "rule", "careful", "--out", "both", cwd=place)
    assert "careful is better than rule" in said
    page = (place / "both" / "report.html").read_text()
    assert "http://" not in page.replace("http://www.w3.org", "").replace("http://127.0.0.1", "")
    assert (place / "both" / "report.md").read_text().startswith("# ")
    told: dict[str, Any] = json.loads((place / "both" / "report.json").read_text())
    assert [run["info"]["agent"] for run in told["runs"]] == ["rule", "careful"]
    one = errands("report", "rule", "--episode", 7, cwd=place)
    assert (place / "rule" / "episode-7.html").exists()
    assert "episode-7.html" in one
    assert "no episode 99" in errands("report", "rule", "--episode", 99, cwd=place, status=2)


def test_the_papers_figures_of_runs(place: Path) -> None:
    for agent in ("oracle", "do-nothing"):
        words = ("--agent", agent, "--data", "demo", "--driver", "dom", "--per-task", 1)
        errands("run", "turk-test", *words, "--out", agent, cwd=place)
    said = errands("report", "oracle", "do-nothing", "--figures", "--out", "turk", cwd=place)
    for text in ("Table 4.", "Figure 6.", "Figure 8.", "published", "Two Charts", "Written: "):
        assert text in said
    assert "Figure 7." not in said, "no run differs in its demonstrations"
    assert said.index("do-nothing") < said.index("oracle"), "in the paper's order"
    words = ("report", "oracle", "do-nothing", "--figures", "--json", "--out", "turk")
    tables = json.loads(errands(*words, cwd=place))["figures"]
    published = tables[0]["head"].index("published")
    assert [row[published] for row in tables[0]["rows"]] == ["7.8", "100.0"]
    assert "none of the runs is" in errands("report", "rule", "--figures", cwd=place, status=2)
    words = ("report", "oracle", "--figures", "--episode", 1)
    assert "--episode shows one episode" in errands(*words, cwd=place, status=2)


def test_replay_proves_sameness_and_notices_a_difference(place: Path) -> None:
    assert "40 episodes replayed" in errands("replay", "rule", cwd=place)
    line = json.loads(errands("replay", "rule", 3, "--json", cwd=place))
    assert line["same"]
    assert line["compared"] == line["pages"] == 4
    import shutil
    import sqlite3

    shutil.copytree(place / "rule", place / "forged")
    with sqlite3.connect(place / "forged" / "run.sqlite") as base:
        base.execute("UPDATE episodes SET reward = 0.123 WHERE number = 3")
    base.close()
    assert "not as they were recorded" in errands("replay", "forged", 3, cwd=place, status=1)


@pytest.mark.parametrize("form", ["jsonl", "atif", "parquet"])
def test_export(place: Path, form: str) -> None:
    if form == "parquet":
        pytest.importorskip("pyarrow", reason="parquet needs pip install 'errands[export]'")
    out = place / f"out-{form}"
    told = json.loads(errands("export", "careful", out, "--format", form, "--json", cwd=place))
    assert told["episodes"] == 40
    assert out.exists()
    assert "exists already" in errands(
        "export", "careful", out, "--format", form, cwd=place, status=2
    )


def test_lists(place: Path) -> None:
    named = [json.loads(line) for line in errands("protocols", "--json", cwd=place).splitlines()]
    assert {"webshop-paper", "turk-test"} <= {held["id"] for held in named}
    assert "mine" in errands("protocols", "mine.toml", cwd=place)
    agents = [json.loads(line) for line in errands("agents", "--json", cwd=place).splitlines()]
    assert {"rule", "oracle", "llm", "human"} <= {held["name"] for held in agents}


def test_a_protocol_becomes_tasks_for_harbor(place: Path) -> None:
    words = ["export", "shop-demo", "tasks", "--format", "harbor", "--episodes", "2", "--json"]
    told = json.loads(errands(*words, cwd=place))
    assert told["episodes"] == 2
    assert told["protocol"].startswith("shop-demo@2 ")
    assert sorted(path.name for path in (place / "tasks").iterdir()) == [
        "shop-demo-0000",
        "shop-demo-0001",
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run", "shop-dmo", "--agent", "rule"], "Did you mean 'shop-demo'"),
        (["run", "mine.toml", "--agent", "ruel"], "'rule'"),
        (["run", "mine.toml", "--agent", "rule", "--out", "rule"], "--resume"),
        (["run", "mine.toml", "--agent", "rule", "--resume"], "--out"),
        (["run", "mine.toml", "--agent", "rule", "--retry-errors"], "--resume"),
        (["run", "mine.toml", "--agent", "careful", "--out", "rule", "--resume"], "another run"),
        (["run", "mine.toml", "--agent", "rule", "--set", "speed"], "NAME=VALUE"),
        (["run", "mine.toml", "--agent", "rule", "--set", "speed=1"], "'speed'"),
        (["run", "mine.toml", "--agent", "rule", "--data", "nowhere"], "nowhere"),
        (["run", "mine.toml", "--agent", "rule", "--out", "mine.toml"], "mine.toml"),
        (["run", "mine.toml", "--agent", "rule", "--out", "/proc/none"], "/proc/none"),
        (["report", "nowhere"], "no run"),
        (["report", "rule", "--format", "pdf"], "'pdf'"),
        (["replay", "rule", "77"], "no episode 77"),
        (["export", "rule", "x", "--format", "csv"], "'csv'"),
        (["export", "rule", "x", "--episodes", "2"], "--episodes is for --format harbor"),
        (["export", "rule", "x", "--no-mcp"], "--no-mcp is for --format harbor"),
        (["export", "shop-demo", "x", "--format", "harbor", "--force"], "new directory"),
        (["export", "rule", "x", "--format", "harbor"], "no protocol 'rule'"),
        (["export", "shop-demo", "rule", "--format", "harbor"], "rule exists already"),
    ],
)
def test_mistakes_are_one_sentence(place: Path, arguments: list[str], sentence: str) -> None:
    said = errands(*arguments, cwd=place, status=2)
    assert sentence in said
    assert len(said.strip().splitlines()) == 1


def test_the_tour_ends_with_a_report(tmp_path: Path) -> None:
    told = json.loads(errands("demo", "tour", "--out", tmp_path / "tour", "--json", cwd=tmp_path))
    assert Path(told["report"]).stat().st_size > 100_000
    assert len(told["runs"]) == 7

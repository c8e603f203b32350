"""Errands of workers when the server ends: killed in the middle, on either database."""

import json
import os
import signal
from pathlib import Path

import pytest
from crowd_site import call, invited, open_paid_work
from serve_process import started
from shop_served import PASSWORD, shop_served
from shopping_served import ADMIN, OWN, begin, buy, goal_of, read
from typer.testing import CliRunner

from errands.cli import app
from errands.crowd.shopping.assignments import completion_code
from errands.crowd.shopping.steps import find_session, session_steps
from errands.crowd.store.database import open_read_only
from errands.shop.catalog.catalog import Catalog
from errands.shop.navigation import DONE, RESULTS
from errands.shop.urls import Address, build


def test_a_killed_server_goes_on_with_the_errand(
    little: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ERRANDS_ADMIN_PASSWORD", PASSWORD)
    place = str(tmp_path / "site.sqlite")
    words = ("--data", str(little.path), "--store", place)
    process, shop = started(*words)
    open_paid_work(shop)
    token, other = invited(shop, "Ann"), invited(shop, "Bob")
    name, bought = begin(shop, token), begin(shop, other)
    assert shop.ask(f"/{name}", {"search_query": "lamp"}).status == 200
    asin = next(iter(little)).asin
    assert shop.ask(build(Address(DONE, bought, asin=asin))).status == 200
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    with open_read_only(place) as reading:
        session = find_session(reading, name)
        assert session is not None
        assert [step.page for step in session_steps(reading, session.number)] == [
            "search",
            RESULTS,
        ]
    process, shop = started(*words)
    try:
        told = read(call(shop, "GET", OWN, token=other))
        assert (told["done"], told["earned"]) == (1, 0.7)
        [errand] = read(call(shop, "GET", OWN, token=token))["errands"]
        assert (errand["state"], errand["address"]) == ("open", f"/{name}")
        assert errand["instruction"] in shop.ask(f"/{name}").text.replace("&#x27;", "'")
        assert call(shop, "POST", OWN, token=token).status == 409
        assert shop.ask(build(Address(DONE, name, asin=asin))).status == 200
        code = {"code": completion_code(name)}
        assert read(call(shop, "POST", f"{OWN}/code", code, token=token))["earned"] == 0.7
        assert call(shop, "POST", f"{OWN}/code", code, token=token).status == 409
        # The command line reads while the server writes.
        info = CliRunner().invoke(app, ["crowd", "info", place, "--json"])
        assert info.exit_code == 0, info.output
        assert json.loads(info.stdout)["demonstrations"]["finished"] == 2
    finally:
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 0
    assert "Traceback" not in said


@pytest.fixture
def empty_postgres(postgres_url: str) -> str:
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS errands_site CASCADE")
    return postgres_url


def test_the_shop_and_its_workers_on_postgres(
    little: Catalog, empty_postgres: str, tmp_path: Path
) -> None:
    with shop_served(little, empty_postgres) as shop:
        token = invited(shop, "Ann")
        name = begin(shop, token)
        assert shop.ask(f"/{name}", {"search_query": "lamp"}).status == 200
        assert shop.ask("/visitor").status == 200
    with shop_served(little, empty_postgres) as shop:
        assert [step.page for step in shop.steps(name)] == ["search", RESULTS]
        assert buy(shop, little, name) == 1.0
        page = build(Address(DONE, "visitor", asin=next(iter(little)).asin))
        score = shop.ask(page)
        assert score.status == 200
        assert shop.ask(page).text == score.text
        told = read(call(shop, "GET", f"{ADMIN}?trials=1"))
        assert (told["finished"], told["visitors"], told["all"]["score"]) == (1, 1, 100.0)
        out = str(tmp_path / "run")
        words = ["crowd", "export", "demonstrations", empty_postgres, "--data", str(little.path)]
        made = CliRunner().invoke(app, [*words, "--out", out, "--include-trials", "--json"])
        assert made.exit_code == 0, made.output
        assert json.loads(made.stdout)["kept"] == 1
        assert goal_of(shop, begin(shop, token)) != goal_of(shop, name)


def test_the_commands(little: Catalog, tmp_path: Path) -> None:
    place = str(tmp_path / "site.sqlite")
    run = CliRunner().invoke
    with shop_served(little, place) as shop:
        token = invited(shop, "Ann")
        buy(shop, little, begin(shop, token))
        typed = begin(shop, token)
        asin = next(iter(little)).asin
        # Bought by typing an address: nobody could repeat that by clicking.
        assert shop.ask(build(Address(DONE, typed, asin=asin))).status == 200
    told = run(app, ["crowd", "info", place, "--include-trials"])
    assert told.exit_code == 0
    assert "2 assignments are finished, 0 open" in told.output
    out = str(tmp_path / "run")
    words = ["crowd", "export", "demonstrations", place, "--data", str(little.path), "--out"]
    made = run(app, [*words, out, "--include-trials"])
    assert made.exit_code == 0, made.output
    assert f"Left out: {typed} of w" in made.output
    assert "1 demonstrations of 1 person" in made.output
    played = ["run", f"{out}/protocol.toml", "--agent", "rule", "--out", str(tmp_path / "rule")]
    assert run(app, played).exit_code == 0
    assert run(app, ["report", out, str(tmp_path / "rule"), "--format", "md"]).exit_code == 0
    report = (Path(out) / "report.md").read_text()
    assert "human" in report
    assert "rule" in report
    for format in ("jsonl", "parquet", "atif"):
        sent = ["export", out, str(tmp_path / f"all.{format}"), "--format", format]
        assert run(app, sent).exit_code == 0
    again = run(app, ["replay", out])
    assert again.exit_code == 0, again.output
    for wrong in (
        [*words[:3], str(tmp_path / "none"), "--out", str(tmp_path / "x")],
        [*words, str(tmp_path / "y"), "--worker", "77"],
        [*words, str(tmp_path / "z"), "--experts", "--visitors"],
    ):
        failed = run(app, wrong)
        assert failed.exit_code != 0
        assert isinstance(failed.exception, Exception)
        assert type(failed.exception).__name__ in ("StorageError", "SettingError")

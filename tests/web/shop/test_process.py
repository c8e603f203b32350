"""`errands serve` as a process: what a killed website remembers."""

import os
import signal
import sqlite3
import threading
import time
from pathlib import Path

from serve_process import started

from errands.shop.catalog.catalog import Catalog
from errands.shop.navigation import DONE, ITEM, RESULTS
from errands.shop.urls import Address, build


def test_what_was_shown_is_in_the_log_after_a_kill(little: Catalog, tmp_path: Path) -> None:
    path = tmp_path / "log.sqlite"
    words = ("--catalog", str(little.path), "--store", str(path), "--seed", "7")
    asins = [product.asin for product in little][:40]
    process, shop = started(*words)
    seen: dict[str, list[str]] = {f"s{place}": [] for place in range(4)}

    def wander(name: str) -> None:
        here = Address(RESULTS, name, "lamp")
        try:
            for place in range(10_000):
                asin = asins[place % len(asins)]
                for address in (here, here._replace(page=ITEM, asin=asin)):
                    answer = shop.ask(build(address))
                    assert answer.status == 200
                    seen[name].append(build(address))
        except (OSError, EOFError, ValueError):
            return  # It was killed.
        except Exception as failure:
            if type(failure).__module__ != "http.client":
                raise

    shoppers = [threading.Thread(target=wander, args=[name]) for name in seen]
    for shopper in shoppers:
        shopper.start()
    bought = build(Address(DONE, "buyer", asin=asins[0]))
    page = shop.ask(bought).text
    while min(map(len, seen.values())) < 20:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    for shopper in shoppers:
        shopper.join()
    with sqlite3.connect(path) as log:
        logged = {
            name: [
                address
                for (address,) in log.execute(
                    "SELECT address FROM steps JOIN sessions s ON s.number = session"
                    " WHERE s.name = ? ORDER BY steps.number",
                    (name,),
                )
            ]
            for name in seen
        }
    log.close()
    for name, addresses in seen.items():
        # The last page may have been logged and not have arrived.
        assert logged[name][1:] in (addresses, [*addresses, *logged[name][-1:]])
    process, shop = started(*words)
    try:
        assert shop.ask(bought).text == page
        assert shop.ask(build(Address(DONE, "buyer", asin=asins[1]))).status == 409
        assert shop.ask("/s0").status == 200
    finally:
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == 0
    assert "Traceback" not in said


def test_a_website_and_environments_in_one_server(little: Catalog, tmp_path: Path) -> None:
    log = str(tmp_path / "log.sqlite")
    words = ("--environments", "--site", "--catalog", str(little.path), "--store", log)
    process, shop = started(*words)
    try:
        assert "Environment API" in shop.ask("/").text
        assert "search_input" in shop.ask("/shop/new").text
        made = shop.ask("/v1/sessions", b'{"environment": "shop"}')
        assert made.status == 200
        assert shop.ask("/v1/nothing").headers["content-type"] == "application/json"
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 0

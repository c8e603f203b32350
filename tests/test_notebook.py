"""What things show of themselves in a notebook."""

import contextlib
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

import errands
from errands.notebook import LONGEST, MOST_ROWS, notebook_facts, notebook_table
from errands.runs.store.places import open_run
from errands.shop.catalog.catalog import Catalog
from errands.shop.navigation import Shop, State

EVIL = "<script>alert(1)</script>"


@given(st.text(), st.lists(st.text()))
def test_texts_never_act_and_never_grow(text: str, values: list[str]) -> None:
    for shown in (
        notebook_table(text, [text], [[text, values, {text: values}]] * 100, 100),
        notebook_facts(text, {"name": text, "values": values, "both": {text: values}}),
    ):
        assert len(shown) < 100 * LONGEST
        tags = {node.tag for node in LexborHTMLParser(shown).css("body *")}
        assert tags <= {"table", "caption", "thead", "tbody", "tr", "th", "td", "p"}


def test_a_long_table_says_how_much_is_left() -> None:
    shown = notebook_table("Numbers", ["n"], ([n] for n in range(10**9)), 10**9)
    assert shown.count("<tr>") == MOST_ROWS + 1
    assert f"and {10**9 - MOST_ROWS:,} more" in shown
    assert "more" not in notebook_table("Numbers", ["n"], [[1]], 1)


def test_empty_facts_are_left_out() -> None:
    shown = notebook_facts("Thing", {"none": None, "empty": (), "zero": 0, "evil": EVIL})
    assert "none" not in shown
    assert "empty" not in shown
    assert "<td>0</td>" in shown
    assert EVIL not in shown


def test_a_catalogue_and_what_is_in_it(little: Catalog) -> None:
    assert f"{len(little):,} products" in little._repr_html_()
    product = next(one for one in little if one.options)
    shown = product._repr_html_()
    assert product.asin in shown
    assert next(iter(product.options)) in shown
    goals = little.goals("synthetic")
    assert f"{len(goals):,} goals (synthetic)" in goals._repr_html_()  # type: ignore[attr-defined]
    assert goals[0].asin in goals[0]._repr_html_()


def test_pages_show_what_can_be_done_there(little: Catalog) -> None:
    shop = Shop(little)
    page = shop.look(State())
    assert "search[...]" in page._repr_html_()
    results = shop.turn(page, "search[easy]")
    card = results.cards[0]
    assert card.asin in results._repr_html_()
    item = shop.turn(results, f"click[{card.asin.lower()}]")
    assert "click[buy now]" in item._repr_html_()


def test_a_run_and_a_report(little: Catalog, tmp_path: Path) -> None:
    made = [
        errands.run(
            "shop-demo", agent, data=str(little.path), goals="synthetic", split="", episodes=3,
            out=tmp_path / agent,
        )
        for agent in ("rule", "random")
    ]  # fmt: skip
    shown = made[0]._repr_html_()
    assert "3 of 3" in shown
    with contextlib.closing(open_run(made[0].place)) as store:
        assert store._repr_html_() == shown
    report = errands.report(made)._repr_html_()
    assert report.count("<tr>") >= 3
    assert "Success Rate (%)" in report


def test_a_run_that_is_gone_says_so(little: Catalog, tmp_path: Path) -> None:
    result = errands.run("shop-demo", "rule", data=str(little.path), episodes=1, out=tmp_path / "r")
    (tmp_path / "r" / "run.sqlite").unlink()
    assert "cannot be read" in result._repr_html_()

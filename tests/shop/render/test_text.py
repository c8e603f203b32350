"""Texts of pages, to the separator; the recordings in tests/test_recorded.py say the rest."""

import pytest

from errands.shop.navigation import DONE, ITEM, RESULTS, Page, State
from errands.shop.product import Card, Product
from errands.shop.render.text import script_json, text, text_rich


def product(**changes: object) -> Product:
    held = {
        "asin": "B1",
        "title": "A Lamp",
        "description": "Light.",
        "bullets": ("bright ", "small"),
        "prices": (5.0, 20.5),
        "options": {"color": ("red", 'the "big" one'), "size": ("red", "schön")},
        "option_images": {},
        "image": "",
        "category": "garden",
        "query": "lamps",
        "product_category": "Home › Lamps",
        "attributes": ("soft light",),
        "price": 7.0,
        **changes,
    }
    return Product(**held)  # type: ignore[arg-type]


def page(kind: str, shown: Product | None = None, **changes: object) -> Page:
    state = State(page=kind, query="big lamp", **changes)  # type: ignore[arg-type]
    return Page(state, [], shown or product(), {})


def test_search_page() -> None:
    front = Page(State(), [], None, {"search": None})
    assert text(front, "buy it") == "WebShop [SEP] Instruction: [SEP] buy it [SEP] Search"
    assert (
        text_rich(front, "buy it") == "WebShop\nInstruction: \nbuy it\n[button] Search [button_]\n"
    )


def test_results_page() -> None:
    cards = [Card("B1", "A Lamp", "$5.0"), Card("B2", " ", "$6.0"), Card("B3", "\n", "$7.0")]
    state = State(RESULTS, "lamp", 2, tuple(range(13)), visited=("B2",))
    results = Page(state, cards, None, {})
    assert text(results, "i") == (
        "Instruction: [SEP] i [SEP] Back to Search [SEP] Page 2 (Total results: 13) [SEP] < Prev"
        " [SEP] Next > [SEP] B1 [SEP] A Lamp [SEP] $5.0 [SEP] B2 [SEP]  [SEP] $6.0 [SEP] B3"
        " [SEP] $7.0"
    )
    assert text_rich(results, "i") == (
        "Instruction:\ni\n[button] Back to Search [button_]\nPage 2 (Total results: 13)\n"
        "[button] < Prev [button_]\n[button] Next > [button_]\n"
        "\n[button] B1 [button_]\nA Lamp\n$5.0\n"
        "\n[clicked button] B2 [clicked button_]\n \n$6.0\n"
        "\n[button] B3 [button_]\n$7.0\n"
    )


def test_item_page() -> None:
    assert text(page(ITEM), "i") == (
        "Instruction: [SEP] i [SEP] Back to Search [SEP] < Prev [SEP] color [SEP] red [SEP]"
        ' the "big" one [SEP] size [SEP] red [SEP] schön [SEP] A Lamp [SEP]'
        " Price: $5.0 to $20.5 [SEP] Rating: N.A. [SEP] Description [SEP] Features [SEP] Reviews"
        " [SEP] Buy Now"
    )


def marks(shown: str) -> list[str]:
    return [line for line in shown.splitlines() if "clicked" in line]


def test_marks_of_the_original() -> None:
    """It looks for the value in quotes in the address: a shared value is marked twice."""
    chosen = page(ITEM, options=(("size", "red"),))
    assert marks(text_rich(chosen, "i")) == [
        "You have clicked red.",
        "You have clicked red.",
        "  [clicked button] red [clicked button_]",
        "  [clicked button] red [clicked button_]",
    ]
    for value in ("schön", 'the "big" one'):
        assert marks(text_rich(page(ITEM, options=(("size", value),)), "i")) == []
    quoting = Page(State(ITEM, 'a "red" lamp'), [], product(), {})
    assert len(marks(text_rich(quoting, "i"))) == 4


def test_true_marks() -> None:
    chosen = page(ITEM, options=(("size", "schön"), ("color", "red")))
    assert marks(text_rich(chosen, "i", true_marks=True)) == [
        "You have clicked schön.",
        "You have clicked red.",
        "  [clicked button] red [clicked button_]",
        "  [clicked button] schön [clicked button_]",
    ]


def test_the_last_clicked_in_page_order_stands_on_top() -> None:
    shown = product(options={"a": ("x", "y"), "b": ("z",)})
    chosen = page(ITEM, shown, options=(("b", "z"), ("a", "y")))
    assert text_rich(chosen, "i").splitlines()[:2] == ["You have clicked z.", "You have clicked y."]


@pytest.mark.parametrize(
    ("kind", "changes", "end"),
    [
        ("description", {}, " [SEP] Light."),
        ("description", {"description": ""}, ""),
        ("description", {"description": " \n "}, ""),
        ("description", {"description": "  "}, " [SEP] "),
        ("features", {}, " [SEP] bright [SEP] small"),
        ("features", {"bullets": ("",)}, " [SEP] "),
        ("features", {"bullets": ()}, ""),
        ("features", {"bullets": ("a", "\n")}, " [SEP] a"),
        ("reviews", {}, ""),
        ("attributes", {}, " [SEP] soft light [SEP] garden [SEP] lamps [SEP] Home › Lamps"),
    ],
)
def test_detail_pages(kind: str, changes: dict[str, object], end: str) -> None:
    shown = page(kind, product(**changes))
    assert text(shown, "i") == f"Instruction: [SEP] i [SEP] Back to Search [SEP] < Prev{end}"


def test_bullets_keep_their_space_in_rich_text() -> None:
    assert text_rich(page("features"), "i").endswith("< Prev [button_]\n bright \n small\n")


def test_the_attributes_button() -> None:
    assert "Reviews [SEP] Buy Now" in text(page(ITEM), "i")
    shown = page(ITEM)._replace(show_attrs=True)
    assert text(shown, "i").endswith("Reviews [SEP] Attributes [SEP] Buy Now")


def test_done_page_prints_the_score_as_python_does() -> None:
    done = page(DONE, options=(("size", "it's <b>"), ("color", "é")))
    shown = text(done, "i", 1 / 3)
    assert shown.startswith(
        "Thank you for shopping with us! [SEP] Your code: [SEP] None [SEP] (Paste"
    )
    assert (
        ' [SEP] options [SEP] {"color": "\\u00e9", "size": "it\\u0027s \\u003cb\\u003e"} [SEP] '
        in shown
    )
    assert shown.endswith(
        "Your score (min 0.0, max 1.0) [SEP] 0.3333333333333333 [SEP] Reward Details [SEP] None"
    )
    assert "instuction text" in shown


def test_script_json() -> None:
    assert script_json({"b": "&", "a": ">"}) == '{"a": "\\u003e", "b": "\\u0026"}'

"""Each rule for written instructions, and the sentence that says it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.crowd.instructions.checks import (
    LONGEST_COMMENT,
    LONGEST_INSTRUCTION,
    InstructionDraft,
    ShownProduct,
    copied_words,
    problems,
    shown,
    tidied,
)
from errands.shop.product import parse_product

SEEN = ShownProduct(
    title="Velmora Cordless Electric Kettle, Stainless Steel, 1.7 L",
    category="Home › Kitchen",
    image="",
    attributes=("stainless steel", "easy clean"),
    options={"color": ("black", "white"), "size": ("1.7 l",)},
)
GOOD = InstructionDraft(
    "I want a black kettle of steel", ("stainless steel",), {"color": "black", "size": "1.7 l"}
)


def fields(**changes: object) -> list[str]:
    draft = InstructionDraft(
        **{**{name: getattr(GOOD, name) for name in GOOD.__struct_fields__}, **changes}
    )
    found = problems(SEEN, tidied(draft))
    assert all(problem.message.endswith(".") for problem in found)
    return [problem.field for problem in found]


def test_a_good_one_is_taken() -> None:
    assert fields() == []
    assert fields(attributes=SEEN.attributes, comment="What is a litre?") == []
    assert fields(instruction="a b c") == []
    assert fields(instruction="a b " + "c" * (LONGEST_INSTRUCTION - 4)) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("attributes", ()),
        ("attributes", ("gluten free",)),
        ("attributes", ("stainless steel", "gluten free")),
        ("options", {}),
        ("options", {"color": "black"}),
        ("options", {"color": "black", "size": ""}),
        ("options", {"color": "red", "size": "1.7 l"}),
        ("options", {"color": "black", "size": "1.7 l", "weight": "1 kg"}),
        ("instruction", ""),
        ("instruction", " \n\t "),
        ("instruction", "black kettle"),
        ("instruction", "... --- !!!"),
        ("instruction", "a b " + "c" * (LONGEST_INSTRUCTION - 3)),
        ("instruction", SEEN.title),
        ("instruction", f"Buy me the {SEEN.title.upper()} please"),
        ("instruction", "velmora   cordless, electric (kettle) stainless steel 1 7 l"),
        ("instruction", "get a cordless electric kettle stainless steel 1.7 l"),
        ("comment", "x" * (LONGEST_COMMENT + 1)),
    ],
)
def test_each_rule(field: str, value: object) -> None:
    assert fields(**{field: value}) == [field]


def test_all_that_is_wrong_is_said_at_once() -> None:
    found = problems(SEEN, InstructionDraft("", ()))
    assert [problem.field for problem in found] == ["attributes", "options", "instruction"]
    assert "color and size" in found[1].message


def test_titles_are_not_copied_whole() -> None:
    assert copied_words("Lamp", "I want a lamp") == 0
    assert copied_words("Desk Lamp", "I want a desk lamp") == 0
    assert copied_words("Red Desk Lamp", "I want a red desk lamp") == 3
    assert copied_words("Red Desk Lamp", "I want a red lamp for my desk") == 0
    assert copied_words("a b c d e", "b c d e f") == 0
    assert copied_words("a b c d e f", "x b c d e f") == 5
    assert copied_words("a b c d e f", "a b c d x e f") == 0
    assert copied_words("a b c d e f g h i j", "b c d e f g h i") == 8
    assert copied_words("a b c d e f g h i j", "b c d e f g h") == 0
    assert copied_words("ﬁne Ｓilk scarf", "a FINE silk SCARF") == 3
    assert copied_words("art of a b", "part of a bee") == 0


@given(st.text(), st.text(max_size=40), st.text(max_size=40))
def test_a_copied_title_is_always_found(title: str, before: str, after: str) -> None:
    said = f"{before} {title} {after}"
    assert copied_words(title, said) == copied_words(title, title)


def test_what_is_shown_of_a_product() -> None:
    record = {
        **dict.fromkeys(("full_description", "small_description", "query"), ""),
        "asin": "B000000001",
        "name": "A lamp",
        "category": "garden",
        "product_category": " ",
        "images": ["picture"],
        "customization_options": {
            "Color": [{"value": "Red/Blue"}, {"value": "red | blue"}, {"value": " "}],
            "Size": [{"value": ""}],
            "Fit": None,
        },
    }
    seen = shown(parse_product(record, ["bright", "bright", "", "small"]))
    assert seen.attributes == ("bright", "small")
    assert seen.options == {"color": ("red | blue",)}
    assert seen.category == "garden"
    assert shown(parse_product(record, None)).attributes == ()


def test_texts_that_no_database_holds_are_mended() -> None:
    draft = tidied(InstructionDraft("a\0b  c \ud800 d\n", (), comment=" \udfff\0 "))
    assert draft.instruction == "a\ufffdb c \ufffd d"
    draft.comment.encode()


def test_what_steers_terminals_and_readers_is_no_text() -> None:
    """Instructions are read by people, in files and on terminals."""
    draft = tidied(
        InstructionDraft(
            "buy\x1b]0;x\x07 a \u202elamp\u202c \U0001f469\u200d\U0001f52c",
            (),
            comment="\x9bok\r\nso",
        )
    )
    assert draft.instruction == "buy ]0;x a lamp \U0001f469\u200d\U0001f52c"
    assert draft.comment == "ok\nso"

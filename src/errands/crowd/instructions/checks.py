"""What a written instruction has to be, each rule with one sentence for who wrote it.

Pure functions of what was shown of a product and what was written about it. Attributes and
options may be said in other words, so nobody looks for them in the text.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Annotated, Final, NamedTuple

import msgspec

from errands.shop.product import UNMINED, Product

__all__ = [
    "FEWEST_WORDS",
    "LONGEST_COMMENT",
    "LONGEST_INSTRUCTION",
    "DraftProblem",
    "InstructionDraft",
    "ShownProduct",
    "copied_words",
    "problems",
    "shown",
    "tidied",
]

FEWEST_WORDS: Final = 3
LONGEST_INSTRUCTION: Final = 1_000
"""Characters."""
LONGEST_COMMENT: Final = 2_000
SHORT_TITLE: Final = 3
"""Words below which a title is just what a thing is called."""
LONG_TITLE: Final = 6
"""Words from which on four fifths of a title are as good as the whole."""
_Text = Annotated[str, msgspec.Meta(max_length=10_000)]
"""As it may be sent; the rules below are stricter."""
_WORD: Final = re.compile(r"\w+")
_CONTROL: Final = re.compile(r"[\x01-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""What steers terminals, or turns the reading direction of all that follows."""


class ShownProduct(msgspec.Struct, frozen=True):
    """What a writer sees of a product, as it was when they took it up."""

    title: str
    category: str
    """The chain of categories, or the coarse one where there is none."""
    image: str
    attributes: tuple[str, ...]
    options: dict[str, tuple[str, ...]]
    """Option name to the values one can choose from."""


class InstructionDraft(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What somebody wrote, and what they say they used."""

    instruction: _Text
    attributes: Annotated[tuple[_Text, ...], msgspec.Meta(max_length=1000)]
    options: dict[_Text, _Text] = {}
    comment: _Text = ""


class DraftProblem(NamedTuple):
    """Why a draft is not taken."""

    field: str
    """`attributes`, `options`, `instruction` or `comment`."""
    message: str


def shown(product: Product) -> ShownProduct:
    """A product as writers see it: without repeats, gaps, and attributes that nobody mined."""
    offered = {
        name: tuple(dict.fromkeys(value for value in values if value.strip()))
        for name, values in product.options.items()
    }
    real = (one for one in product.attributes if one.strip() and one not in UNMINED)
    return ShownProduct(
        title=product.title,
        category=product.product_category.strip() or product.category,
        image=product.image,
        attributes=tuple(dict.fromkeys(real)),
        options={name: values for name, values in offered.items() if values},
    )


def tidied(draft: InstructionDraft) -> InstructionDraft:
    """A draft with single spaces, repeats ticked once."""
    return InstructionDraft(
        instruction=_line(draft.instruction),
        attributes=tuple(dict.fromkeys(draft.attributes)),
        options=draft.options,
        comment=_clean(draft.comment).strip(),
    )


def problems(seen: ShownProduct, draft: InstructionDraft) -> list[DraftProblem]:
    """All that is wrong with a tidied draft; empty if it is taken."""
    messages = {
        "attributes": _attribute_problem(seen, draft.attributes),
        "options": _option_problem(seen, draft.options),
        "instruction": _instruction_problem(seen, draft.instruction),
        "comment": _comment_problem(draft.comment),
    }
    return [DraftProblem(field, message) for field, message in messages.items() if message]


def _attribute_problem(seen: ShownProduct, ticked: Sequence[str]) -> str:
    if not ticked:
        return "Tick at least one attribute that your instruction uses."
    if not set(ticked) <= set(seen.attributes):
        return "Tick only attributes that this product has."
    return ""


def _option_problem(seen: ShownProduct, chosen: dict[str, str]) -> str:
    missing = [name for name in seen.options if not chosen.get(name)]
    if missing:
        return f"Choose one value of each option; {_list(missing)} has none."
    if any(value not in seen.options.get(name, ()) for name, value in chosen.items()):
        return "Choose only options that this product has."
    return ""


def _instruction_problem(seen: ShownProduct, instruction: str) -> str:
    if not instruction:
        return "Write an instruction."
    if len(instruction) > LONGEST_INSTRUCTION:
        return f"Write at most {LONGEST_INSTRUCTION:,} characters; these are {len(instruction):,}."
    if len(_words(instruction)) < FEWEST_WORDS:
        return f"Write at least {FEWEST_WORDS} words."
    if copied_words(seen.title, instruction):
        return "Do not copy the title; say in your own words what kind of product you want."
    return ""


def _comment_problem(comment: str) -> str:
    if len(comment) > LONGEST_COMMENT:
        return f"Comment in at most {LONGEST_COMMENT:,} characters."
    return ""


def copied_words(title: str, instruction: str) -> int:
    """How many words of a title stand in an instruction in one row, if that is too much; else 0.

    Too much is the whole title, or four fifths of one with six words or more. Upper case,
    punctuation and spacing make no difference; titles of one or two words are mere names.

    >>> copied_words("Red Kettle, 2 Litres", "I want a red kettle 2 litres, please")
    4
    >>> copied_words("Red Kettle, 2 Litres", "I want a red kettle of 2 litres")
    0
    """
    words = _words(title)
    if len(words) < SHORT_TITLE:
        return 0
    most = len(words) if len(words) < LONG_TITLE else -(-len(words) * 4 // 5)
    text = f" {' '.join(_words(instruction))} "
    rows = (words[start : start + most] for start in range(len(words) - most + 1))
    return most if any(f" {' '.join(row)} " in text for row in rows) else 0


def _words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def _clean(text: str) -> str:
    """Without what no database holds (NUL and halves of surrogate pairs), and what is no text."""
    text = _CONTROL.sub(" ", text.replace("\r\n", "\n").replace("\0", "\ufffd"))
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _line(text: str) -> str:
    return " ".join(_clean(text).split())


def _list(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"

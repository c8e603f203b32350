"""Instructions for generated products: as people write them, and as a program would."""

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from errands.shop.synthetic.rng import Dice
from errands.shop.synthetic.wordbank import Attribute, Bank, Name, article

__all__ = ["Placed", "human_instruction", "synthetic_instruction"]

_NEEDS_OPTIONS = re.compile(r"[^}] \{opts\}")
_SPACES = re.compile(r"\s+(?=[.,?:]|\s|$)|^\s+")
_COMMAS = re.compile(r"[,:]\s*(?=[.?,]|$)")


class Placed(Protocol):
    """An attribute that is named `before` the query, or after it behind `with` or `for`."""

    @property
    def name(self) -> str: ...
    @property
    def place(self) -> str: ...


def synthetic_instruction(query: str, attributes: Sequence[Placed]) -> str:
    """An instruction in the style of the original's generated ones."""
    places: dict[str, list[str]] = {"before": [], "with": [], "for": []}
    for attribute in attributes:
        places[attribute.place].append(attribute.name)
    text = f"Find me {', '.join([*places['before']])} {query}".replace("  ", " ")
    for word in ("with", "for"):
        if places[word]:
            text += f" {word} {', '.join(places[word])}"
    return text


def human_instruction(
    dice: Dice,
    bank: Bank,
    name: Name,
    attributes: Sequence[Attribute],
    options: Mapping[str, str],
    brand: str,
) -> str:
    """What a person would write who wants these attributes and options (name to value)."""
    before: list[str] = []
    after: list[str] = []
    for attribute in attributes:
        if attribute.before and len(before) < 2 and dice.chance(0.65):
            before.append(dice.pick(attribute.before))
        else:
            ways = attribute.clauses_plural if name.plural else attribute.clauses
            after.append(dice.pick(ways))
    wishes: list[str] = []
    for option, value in options.items():
        said = value.replace(" | ", " and " if dice.chance(0.6) else " ")
        if option == "color" and not wishes and len(before) < 2 and dice.chance(0.3):
            before.insert(dice.below(len(before) + 1), said)
            continue
        ways = bank.option_phrases.get(option, ())
        wishes.append(dice.pick(ways).replace("{v}", said) if ways else f"with {option} {said}")
    thing = name.text
    if dice.chance(0.14):
        if dice.chance(0.7):
            before.append(brand)
        else:
            thing += f" by {brand}" if dice.chance(0.5) else f" from {brand}"
    joint = ", " if len(before) > 1 and dice.chance(0.6) else " "
    bare = " ".join((joint.join(before), thing)).strip()
    item = bare if dice.chance(0.06) else f"{name.article or article(bare)} {bare}"
    rest = (" and " if dice.chance(0.55) else ", ").join(after)
    template = dice.pick(bank.phrasing["templates"])
    while not wishes and _NEEDS_OPTIONS.search(template):
        template = dice.pick(bank.phrasing["templates"])
    opts = (" and " if dice.chance(0.45) else ", ").join(wishes)
    text = template.format(
        item=item,
        bare=bare,
        rest=rest,
        opts=opts,
        person=dice.pick(bank.phrasing["people"]),
        event=dice.pick(bank.phrasing["events"]),
        reason=dice.pick(bank.phrasing["reasons"]),
    )
    return _finished(dice, bank, text)


def _finished(dice: Dice, bank: Bank, text: str) -> str:
    """The text with its punctuation, now and then a closing remark, rarely a typo."""
    text = _COMMAS.sub("", _SPACES.sub("", text))
    if not text.endswith("?"):
        if dice.chance(0.07):
            text += (", " if dice.chance(0.5) else ". ") + dice.pick(bank.phrasing["tails"])
        if dice.chance(0.6):
            text += "."
    if dice.chance(0.04):
        words = text.split(" ")
        place = dice.below(len(words))
        word = words[place]
        if len(word) > 4 and word.isalpha():
            cut = dice.between(1, len(word) - 2)
            words[place] = word[:cut] + word[cut + 1] + word[cut] + word[cut + 2 :]
            text = " ".join(words)
    if dice.chance(0.12):
        text = text.replace("'", "")
    return text.lower()

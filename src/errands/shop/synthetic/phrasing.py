"""Instructions for generated products: as people write them, and as a program would."""

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

from errands.shop.synthetic.difficulty import EASY
from errands.shop.synthetic.rng import Rng
from errands.shop.synthetic.wordbank import Attribute, Bank, Name, article

__all__ = ["PlacedAttribute", "human_instruction", "synthetic_instruction"]

_NEEDS_OPTIONS = re.compile(r"[^}] \{opts\}")
_SPACES = re.compile(r"(?<!\s)\s+(?=[.,?:]|\s|$)|^\s+")
_COMMAS = re.compile(r"[,:]\s*(?=[.?,]|$)")


class PlacedAttribute(Protocol):
    """An attribute that is named `before` the query, or after it behind `with` or `for`."""

    @property
    def name(self) -> str: ...
    @property
    def place(self) -> str: ...


def synthetic_instruction(query: str, attributes: Sequence[PlacedAttribute]) -> str:
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
    rng: Rng,
    bank: Bank,
    name: Name,
    attributes: Sequence[Attribute],
    options: Mapping[str, str],
    brand: str,
    *,
    brand_share: float = EASY.brand,
    chatter: float = EASY.chatter,
    typos: float = EASY.typos,
) -> str:
    """What a person would write who wants these attributes and options (name to value).

    The brand is named in `brand_share` of the cases; `chatter` is the share of texts that may tell
    of the person, too; `typos` the share with a typing error.
    """
    before: list[str] = []
    after: list[str] = []
    for attribute in attributes:
        if attribute.before and len(before) < 2 and rng.bernoulli(0.65):
            before.append(rng.pick(attribute.before))
        else:
            ways = attribute.clauses_plural if name.plural else attribute.clauses
            after.append(rng.pick(ways))
    wanted_options: list[str] = []
    for option, value in options.items():
        said = value.replace(" | ", " and " if rng.bernoulli(0.6) else " ")
        if option == "color" and not wanted_options and len(before) < 2 and rng.bernoulli(0.3):
            before.insert(rng.below(len(before) + 1), said)
            continue
        ways = bank.option_phrases.get(option, ())
        wanted_options.append(
            rng.pick(ways).replace("{v}", said) if ways else f"with {option} {said}"
        )
    thing = name.text
    if brand and rng.bernoulli(brand_share):
        if rng.bernoulli(0.7):
            before.append(brand)
        else:
            thing += f" by {brand}" if rng.bernoulli(0.5) else f" from {brand}"
    joint = ", " if len(before) > 1 and rng.bernoulli(0.6) else " "
    bare = " ".join((joint.join(before), thing)).strip()
    item = bare if rng.bernoulli(0.06) else f"{name.article or article(bare)} {bare}"
    rest = (" and " if rng.bernoulli(0.55) else ", ").join(after)
    templates = bank.phrasing["templates"]
    if chatter < 1.0 and not rng.bernoulli(chatter):
        templates = bank.phrasing["plain"]
    template = rng.pick(templates)
    while not wanted_options and _NEEDS_OPTIONS.search(template):
        template = rng.pick(templates)
    opts = (" and " if rng.bernoulli(0.45) else ", ").join(wanted_options)
    text = template.format(
        item=item,
        bare=bare,
        rest=rest,
        opts=opts,
        person=rng.pick(bank.phrasing["people"]),
        event=rng.pick(bank.phrasing["events"]),
        reason=rng.pick(bank.phrasing["reasons"]),
    )
    return _finished(rng, bank, text, typos)


def _finished(rng: Rng, bank: Bank, text: str, typos: float) -> str:
    """The text with its punctuation, now and then a closing remark, rarely a typo."""
    text = _COMMAS.sub("", _SPACES.sub("", text))
    if not text.endswith("?"):
        if rng.bernoulli(0.07):
            text += (", " if rng.bernoulli(0.5) else ". ") + rng.pick(bank.phrasing["tails"])
        if rng.bernoulli(0.6):
            text += "."
    if rng.bernoulli(typos):
        words = text.split(" ")
        place = rng.below(len(words))
        word = words[place]
        if len(word) > 4 and word.isalpha():
            cut = rng.between(1, len(word) - 2)
            words[place] = word[:cut] + word[cut + 1] + word[cut] + word[cut + 2 :]
            text = " ".join(words)
    if rng.bernoulli(0.12):
        text = text.replace("'", "")
    return text.lower()

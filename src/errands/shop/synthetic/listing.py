"""The text of a generated product: title, bullets and description.

The writer knows what is hidden in the product and says most of it somewhere, in plain words or
in others; what it leaves out can only be guessed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from errands.shop.synthetic.rng import Rng
from errands.shop.synthetic.wordbank import (
    FRAMES,
    WORDINGS,
    Attribute,
    Bank,
    Name,
    Subcategory,
    title_case,
)

__all__ = ["ListingText", "write_listing"]

_BULLETS = (0, 2, 3, 4, 4, 5, 5, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 8)
_COPRIME = (1, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)


@dataclass(frozen=True, slots=True)
class ListingText:
    """What a product page says."""

    title: str
    bullets: list[str]
    description: str


def write_listing(
    rng: Rng,
    bank: Bank,
    kind: Subcategory,
    name: Name,
    attributes: Sequence[Attribute],
    coined: Mapping[str, str],
    motifs: Sequence[str] = (),
) -> ListingText:
    """Write a title, bullets and a description.

    `coined` are the invented words of the product: brand, series, place, tech and code. `motifs`
    are three nouns of its own for the title, or none.
    """
    writer = _Writer(rng, bank, kind, name, coined)
    in_title: list[Attribute] = []
    in_bullets: list[Attribute] = []
    in_description: list[Attribute] = []
    described = rng.bernoulli(0.7)
    for attribute in attributes:
        said = False
        if rng.bernoulli(0.3) and len(in_title) < 3:
            in_title.append(attribute)
            said = True
        if rng.bernoulli(0.55 if described else 0.8):
            in_bullets.append(attribute)
            said = True
        if described and rng.bernoulli(0.15 if said else 0.8):
            in_description.append(attribute)
    title = writer.title(in_title, motifs)
    bullets = writer.bullets(in_bullets)
    return ListingText(title, bullets, writer.description(in_description) if described else "")


class _Writer:
    """Fills templates with the words of one product, turning to other words at each sentence."""

    __slots__ = ("bank", "frames", "kind", "rng", "sentences", "step", "stride", "turn", "values")

    def __init__(
        self, rng: Rng, bank: Bank, kind: Subcategory, name: Name, coined: Mapping[str, str]
    ) -> None:
        self.rng = rng
        self.bank = bank
        self.kind = kind
        self.turn = rng.below(FRAMES)
        self.frames = kind.family.frames
        self.sentences = kind.family.sentences
        self.step = rng.below(len(self.sentences))
        stride = rng.pick(_COPRIME)
        self.stride = stride if len(self.sentences) % stride or stride == 1 else 1
        self.turn = (self.turn + 1) % FRAMES
        self.values = {
            **coined,
            "noun": name.text,
            "kind": kind.family.kind,
            **self.frames[self.turn],
        }

    def sentence(self) -> str:
        """The next general sentence."""
        self.turn = turn = (self.turn + 1) % FRAMES
        values, sentences = self.values, self.sentences
        values.update(self.frames[turn])
        self.step = step = (self.step + self.stride) % len(sentences)
        text = sentences[step][turn % WORDINGS] % values
        return text if text[0].isupper() else text[0].upper() + text[1:]

    def fill(self, templates: Sequence[str]) -> str:
        """One of the templates, filled."""
        self.turn = turn = (self.turn + 1) % FRAMES
        text = self.rng.pick(templates)
        if "%" in text:
            # Each frame has all words, so that one which is passed over leaves nothing behind.
            values = self.values
            values.update(self.frames[turn])
            text = text % values
        return text if text[0].isupper() else text[0].upper() + text[1:]

    def title(self, attributes: Sequence[Attribute], motifs: Sequence[str]) -> str:
        """A title that shows these attributes, and these nouns if there are any."""
        rng, values = self.rng, self.values
        frames = self.frames
        later, last = frames[(self.turn + 2) % FRAMES], frames[(self.turn + 3) % FRAMES]
        words = {
            "Brand": values["brand"],
            "BRAND": values["brand"].upper(),
            "Series": values["series"],
            "Tech": values["tech"],
            "Code": values["code"],
            "code": values["code"],
            "n": str(20 + rng.below(5)),
            "Noun": title_case(values["noun"]),
            "Style": title_case(values["style"]),
            "Style2": title_case(frames[(self.turn + 1) % FRAMES]["style"]),
            "Style3": title_case(later["style"]),
            "Style4": title_case(last["style"]),
            "Material": title_case(values["material"]),
            "Use": title_case(values["use"]),
            "Use2": title_case(values["use2"]),
            "Use3": title_case(later["use"]),
            "Part": title_case(values["part"]),
            "Part2": title_case(later["part"]),
            "Material2": title_case(later["material"]),
        }
        words["Attr"] = (
            ", ".join([rng.pick(attribute.shows) for attribute in attributes]) or words["Style4"]
        )
        words["Extra"] = rng.pick(self.bank.extras) % words
        titles = self.bank.titles
        if motifs:
            titles = self.bank.own_titles
            words["Noun2"] = title_case(rng.pick(self.kind.names).text)
            words["Motif"], words["Motif2"], words["Motif3"] = map(title_case, motifs)
        title = rng.pick(titles) % words
        if attributes and words["Attr"] not in title:
            title += f", {words['Attr']}"
        return title

    def bullets(self, attributes: Sequence[Attribute]) -> list[str]:
        """Bullets, of which some say these attributes."""
        rng = self.rng
        count = max(rng.pick(_BULLETS), min(len(attributes), 8))
        look = rng.below(6)
        places = rng.shuffled(range(count))
        said = dict(zip(places, attributes, strict=False))
        bullets = []
        for place in range(count):
            attribute = said.get(place)
            heads = self.bank.heads
            text = ""
            if attribute:
                heads = attribute.heads
                text = self.fill(attribute.says) + " "
            alone = rng.bernoulli(0.5)
            text += self.sentence()
            if not alone:
                text += " " + self.sentence()
            bullets.append(_headed(look, self.fill(heads) if look else "", text))
        return bullets

    def description(self, attributes: Sequence[Attribute]) -> str:
        """Running text that says these attributes."""
        rng = self.rng
        parts = [self.sentence() for _ in range(rng.between(4, 10))]
        for attribute in attributes:
            parts.insert(rng.below(len(parts) + 1), self.fill(attribute.says))
        if rng.bernoulli(0.4):
            parts.append(self.fill(self.bank.closers))
        return " ".join(parts)


def _headed(look: int, head: str, text: str) -> str:
    if look == 0:
        return text
    if look == 1:
        return f"{head.upper()}: {text}"
    if look == 2:
        return f"【{title_case(head)}】{text}"
    if look == 3:
        return f"{head} - {text}"
    if look == 4:
        return f"✔ {head.upper()} - {text}"
    return f"{title_case(head)}: {text}"

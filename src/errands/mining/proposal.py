"""The built-in filter: for each candidate a proposed use, or why it should be dropped.

It knows English shop words (`shop_words.toml`), the part of speech of words by the shop's lexicon,
and what the products around tell: what kinds of things they are, who makes them, which words begin
titles (brands), who says a phrase, what longer phrase it is cut from, of which two phrases it takes
a word each, what specifications are called ("Fabric: cotton"), and what nearly all products say. It
only proposes; a person decides.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

import msgspec

from errands.mining.phrases import parts as texts_of
from errands.mining.phrases import shop_words, words
from errands.shop.rewards.noun_lexicon import load_lexicon, tag
from errands.stemming import lucene_stem

__all__ = ["DROP", "PLACES", "USES", "Proposal", "Surroundings", "propose"]

USES: Final = ("good for", "has", "which is", "is a")
"""Why the paper kept a phrase (A.2): a hat that is good for dry hair, has a wide brim, which is
machine washable, is a sun hat."""

DROP: Final = "drop"

PLACES: Final[Mapping[str, str]] = {"good for": "for", "has": "with", "which is": "before"}
"""Where an instruction names it. What a product is, its query says already: nobody asks for it."""

_MEASURE: Final = re.compile(
    r"\d+(?:oz|ml|in|inch|inches|cm|mm|ft|feet|lb|lbs|g|kg|mg|w|v|mah|pcs|pc|pack|pk|ct|count|l|x\d+)"
)
_ABSTRACT: Final = ("ness", "ship", "ism", "hood", "tude", "ance", "ence", "ication")
"""How words end that nobody can have or see: elegance, sophistication."""
_LETTERED: Final = re.compile(r"[a-z]{1,3}[0-9]+|[b-df-hj-np-tv-xz]{1,3}")
"""A word that rather is the name of a model."""
_CODE: Final = re.compile(r"(?:[a-z]*+[0-9]){3}[a-z0-9]*+")
_ONE_VOICE: Final = 0.75
"""The share of a phrase's products that begin with one brand, from which on it is that brand's."""
_FEW: Final = 4
"""Products below which shares say nothing."""
_FRAGMENT: Final = 0.8
_TITLES: Final = 3
"""Titles that make two words a phrase."""
_TOGETHER: Final = 0.15
"""The share of the products with the rarer of two words, below which they meet by chance."""
_EVERYWHERE: Final = 0.4
_NEARLY_ALL: Final = 0.8
"""Shares of all products: from the first on what people hardly say tells none from the others,
from the second on nothing does."""
_MANY: Final = 40
"""Products below which that share says nothing."""
_LONGEST_LABEL: Final = 40
_SHORT_VALUE: Final = 4
"""Words of what a specification says, at most."""
_MANY_VALUES: Final = 1_000


class Proposal(msgspec.Struct, frozen=True):
    """What the filter would do."""

    use: str
    """One of the four uses, or `drop`."""
    reason: str
    rank: int = 0
    """How likely people would say it: 0 what its words are known for, 1 what only its parts of
    speech tell, 2 what has a word that no lexicon knows."""


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What the products around tell about words and phrases."""

    kinds: frozenset[str]
    """Stems of what the products are: the heads of their queries and categories."""
    brands: frozenset[str]
    """Words that mostly stand at the beginning of titles."""
    voices: Mapping[str, float]
    """Phrase to the share of its products that begin with the same word; few products: none."""
    longer: Mapping[str, str]
    """Phrase to the longer one of which it nearly always is a part."""
    crossing: Mapping[str, str] = {}
    """Phrase to a commoner one that ends in its first word: "sleeve striped" to "full sleeve"."""
    makers: frozenset[str] = frozenset()
    """Phrases out of the names of brands."""
    labels: frozenset[str] = frozenset()
    """What specifications are called: `style code`."""
    labelled: frozenset[str] = frozenset()
    """The end of a label and the beginning of what it says: `fabric cotton`."""
    everywhere: frozenset[str] = frozenset()
    """Phrases that a large part of all products has."""
    names: frozenset[str] = frozenset()
    """What titles begin with and nobody writes small: names of products and series."""
    loose: frozenset[str] = frozenset()
    """Phrases of words that mostly stand beside other words."""
    nearly_all: frozenset[str] = frozenset()
    """Phrases that nearly all products have."""

    @classmethod
    def of(
        cls,
        records: Sequence[Mapping[str, Any]],
        texts: Sequence[Sequence[Sequence[str]]],
        where: Mapping[str, Sequence[int]],
    ) -> "Surroundings":
        """Of the products that were mined: their records, their words clause by clause, and the
        places of those with each phrase."""
        kinds = frozenset(head for record in records for head in _heads(record))
        firsts = [_first_word(record) for record in records]
        begins = Counter(filter(None, firsts))
        around: Counter[str] = Counter()
        neighbours: dict[str, Counter[str]] = {phrase: Counter() for phrase in where}
        totals: Counter[str] = Counter()
        for product in texts:
            for clause in product:
                _count_neighbours(clause, neighbours, totals)
            around.update({word for clause in product for word in clause})
        known = load_lexicon()
        brands = {
            word
            for word, count in begins.items()
            if count >= 2 and count >= 0.5 * around[word] and word not in known and len(word) > 2
        }
        named = {tuple(words(brand)) for record in records if (brand := _brand(record))}
        brands.update(
            word for name in named for word in name if len(word) > 2 and word not in known
        )
        labels, labelled = _labels(records)
        return cls(
            kinds=kinds,
            brands=frozenset(brands),
            crossing=_crossing(neighbours, totals),
            names=_names(records, where),
            loose=frozenset(_loose(around, where, records)),
            makers=frozenset(phrase for name in named for phrase in _inside(name)),
            labels=labels,
            labelled=labelled,
            everywhere=_said_by(_EVERYWHERE, where, len(records)),
            nearly_all=_said_by(_NEARLY_ALL, where, len(records)),
            voices={
                phrase: _one_voice([firsts[place] for place in places], begins, len(records))
                for phrase, places in where.items()
                if len(places) >= _FEW
            },
            longer=_longer(neighbours, totals),
        )


def _first_word(record: Mapping[str, Any]) -> str:
    """The word that a title begins with, unless it says for whom the product is."""
    people = shop_words()["people"]
    return next((word for word in _title_words(record) if word not in people), "")


def _title_words(record: Mapping[str, Any]) -> tuple[str, ...]:
    title = record.get("name")
    return words(title[:200]) if isinstance(title, str) else ()


def _one_voice(firsts: Sequence[str], begins: Mapping[str, int], products: int) -> float:
    """The share of the commonest voice among some; what most of all products say has none."""
    voice, count = Counter(firsts).most_common(1)[0]
    return count / len(firsts) if 2 * begins[voice] < products else 0.0


def _said_by(share: float, where: Mapping[str, Sequence[int]], products: int) -> frozenset[str]:
    if products < _MANY:
        return frozenset()
    return frozenset(one for one, places in where.items() if len(places) > share * products)


def _brand(record: Mapping[str, Any]) -> str:
    brand = record.get("brand")
    return brand[:100] if isinstance(brand, str) else ""


def _inside(name: Sequence[str]) -> list[str]:
    """The phrases of two words and more in a name."""
    places = range(len(name) + 1)
    return [" ".join(name[a:b]) for a in places for b in places if b - a > 1]


def _labels(records: Sequence[Mapping[str, Any]]) -> tuple[frozenset[str], frozenset[str]]:
    """What specifications among the features are called, and where each goes on to what it says.

    A specification is a few words behind a label that other products have, too; what is said in
    sentences behind a heading is none.
    """
    said: dict[tuple[str, ...], list[tuple[str, ...]]] = defaultdict(list)
    for record in records:
        features = record.get("small_description")
        for feature in features if isinstance(features, list) else []:
            label, colon, value = feature.partition(":") if isinstance(feature, str) else ("",) * 3
            name = words(label) if colon and len(label) <= _LONGEST_LABEL else ()
            if name and len(said[name]) < _MANY_VALUES:
                said[name].append(words(value[: 2 * _LONGEST_LABEL]))
    labels: set[str] = set()
    labelled: set[str] = set()
    for name, values in said.items():
        short = sum(len(value) <= _SHORT_VALUE for value in values)
        if len(values) >= _FEW and short > _FRAGMENT * len(values):
            labels.add(" ".join(name))
            labels.update(_inside(name))
            labelled.update(f"{name[-1]} {value[0]}" for value in values if value)
    return frozenset(labels), frozenset(labelled)


def _names(
    records: Sequence[Mapping[str, Any]], where: Mapping[str, Sequence[int]]
) -> frozenset[str]:
    """Phrases that half of their titles begin with, and that no product writes small."""
    begins: Counter[str] = Counter()
    for record in records:
        title = _title_words(record)
        maker = words(_brand(record))
        title = title[len(maker) :] if title[: len(maker)] == maker else title
        begins.update({" ".join(title[at : at + 2]) for at in (0, 1)})
    often = [one for one in where if 2 * begins[one] >= len(where[one])]
    return frozenset(one for one in often if not _is_written_small(one, where[one], records))


def _is_written_small(
    phrase: str, places: Sequence[int], records: Sequence[Mapping[str, Any]]
) -> bool:
    texts = (text for place in places for text in texts_of(records[place]))
    return any(phrase in text or phrase.replace(" ", "-") in text for text in texts)


def _loose(
    around: Mapping[str, int],
    where: Mapping[str, Sequence[int]],
    records: Sequence[Mapping[str, Any]],
) -> Iterator[str]:
    """Phrases of titles whose two words each stand in many products without the other."""
    for phrase, places in where.items():
        least = min((around[word] for word in phrase.split(" ")), default=0)
        if " " in phrase and (len(places) < _TITLES or len(places) < _TOGETHER * least):
            titles = [" ".join(_title_words(records[place])) for place in places]
            if 2 * sum(phrase in title for title in titles) > len(titles):
                yield phrase


def _crossing(neighbours: Mapping[str, Counter[str]], totals: Counter[str]) -> dict[str, str]:
    """Phrases that mostly stand where a commoner phrase ends in their first word."""
    made: dict[str, str] = {}
    for phrase, around in neighbours.items():
        before: Counter[str] = Counter()
        for longer, count in around.items():
            left = longer.rpartition(" ")[0]
            if left != phrase and longer.endswith(phrase) and totals[left] > totals[phrase]:
                before[left] += count
        if before and sum(before.values()) >= _FRAGMENT * totals[phrase]:
            made[phrase] = min(before, key=lambda one: (-before[one], one))
    return made


def _heads(record: Mapping[str, Any]) -> set[str]:
    """Stems of the last words of what the product is called in its query and its path."""
    path = record.get("product_category")
    last = path.rsplit("›", 1)[-1] if isinstance(path, str) else ""
    heads: set[str] = set()
    for text in (record.get("query"), last):
        if not isinstance(text, str):
            continue
        for name in re.split(r"[&,/]|\band\b", text.lower()):
            name_words = words(name)
            if name_words:
                heads.add(lucene_stem(name_words[-1]))
    return heads - {lucene_stem(word) for word in shop_words()["people"]}


def _count_neighbours(
    clause: Sequence[str], neighbours: Mapping[str, Counter[str]], totals: Counter[str]
) -> None:
    for at in range(len(clause) - 1):
        phrase = f"{clause[at]} {clause[at + 1]}"
        if phrase in neighbours:
            totals[phrase] += 1
            if at:
                neighbours[phrase][f"{clause[at - 1]} {phrase}"] += 1
            if at + 2 < len(clause):
                neighbours[phrase][f"{phrase} {clause[at + 2]}"] += 1


def _longer(neighbours: Mapping[str, Counter[str]], totals: Counter[str]) -> dict[str, str]:
    made: dict[str, str] = {}
    for phrase, around in neighbours.items():
        if around and totals[phrase] >= _FEW:
            best, count = min(around.items(), key=lambda one: (-one[1], one[0]))
            if count >= _FRAGMENT * totals[phrase]:
                made[phrase] = best
    return made


def propose(phrase: str, around: Surroundings) -> Proposal:
    """What to do with a candidate."""
    parts = phrase.split(" ")
    made = _use(parts, around)
    reason = _objection(phrase, parts, around)
    if not reason and made.rank:
        reason = _doubt(phrase, parts, around)
    return Proposal(DROP, reason) if reason else made


def _doubt(phrase: str, parts: list[str], around: Surroundings) -> str:
    """Why a phrase without a word that shops are known to say is no attribute."""
    first, last = parts[0], parts[-1]
    if phrase in around.everywhere:
        return "a large part of all products say it"
    if phrase in around.names:
        return "a name that titles begin with"
    if phrase in around.loose:
        return "its words meet by chance"
    if _is_verb(first) or tag(last) == "VB":
        return f"a piece of a sentence: {first if _is_verb(first) else last}"
    if last.endswith(_ABSTRACT) and last not in shop_words()["kinds"]:
        return f"what sellers praise: {last}"
    if (tag(first) == "RB" or first.endswith("ly")) and tag(last) in ("VBN", "VBD", "JJ"):
        return f"how it was done: {first}"
    if tag(first) in ("NN", "NNS", "") and tag(last) == "JJ":
        return f"an adjective of something else: {last}"
    if _LETTERED.fullmatch(first) or _LETTERED.fullmatch(last):
        return "a number or a code"
    return ""


@cache
def _opening() -> frozenset[str]:
    return frozenset(map(lucene_stem, shop_words()["openers"]))


def _is_verb(word: str) -> bool:
    """Whether a word is what something does: "brightens", "moisturizes"."""
    if tag(word):
        return tag(word) == "VB"
    bare = word.removesuffix("s")
    return bare != word and (tag(bare) == "VB" or bare.endswith(("ize", "ify", "ise")))


def _objection(phrase: str, parts: list[str], around: Surroundings) -> str:
    """Why a phrase is no attribute; nothing where it may be one."""
    known = shop_words()
    first, last = parts[0], parts[-1]
    for word in parts:
        if _MEASURE.fullmatch(word) or word in known["units"]:
            return f"measures something: {word}"
        if _CODE.fullmatch(word) and word not in known["codes"]:
            return f"a number or a code: {word}"
        if word in around.brands:
            return f"the name of a brand or a series: {word}"
        if word in known["boilerplate"]:
            return f"about the sale, not the product: {word}"
        if word in known["praise"]:
            return f"praise says nothing: {word}"
    if phrase in around.makers:
        return "the name of a brand"
    if phrase in around.labels:
        return "what a specification is called"
    if phrase in around.labelled:
        return "what a specification is called, and what it says"
    if phrase in around.nearly_all:
        return "nearly all products say it"
    if len({lucene_stem(word) for word in parts}) < len(parts):
        return "the same word twice"
    if all(word in known["people"] for word in parts):
        return "a list of people"
    if all(word in known["colors"] for word in parts):
        return "a list of colours"
    if last in known["vague"]:
        return f"not specific: {last}"
    if first in known["openers"] or (
        tag(first) in ("VBZ", "VBD", "MD") and first not in known["wanted"]
    ):
        return f"a piece of a sentence: {first}"
    if phrase in known["lone"]:
        return ""
    if first.endswith("ly") and last in known["wanted"] and first not in known["surely_first"]:
        return f"how it is done: {first}"
    # "Brightens skin", "stay dry"; but "slip resistant", and "carry bag".
    stated = last in known["surely_for"] or (tag(last) == "JJ" and last not in known["surely_last"])
    if stated and _is_verb(first) and first not in known["wanted"]:
        return f"a piece of a sentence: {first}"
    if first.endswith("ing") and lucene_stem(first) in _opening():
        return f"a piece of a sentence: {first}"
    if tag(first) == "JJ" == tag(last) and not _quality(first, last):
        return f"two adjectives of something: {phrase}"
    if last in known["closers"] or (
        tag(last) in ("RB", "MD", "IN", "VBP", "VBZ") and last not in known["wanted"]
    ):
        return f"a piece of a sentence: {last}"
    if around.voices.get(phrase, 0) >= _ONE_VOICE:
        return "only one brand says it"
    if last in known["people"] and first not in known["people"] and first.endswith("ed"):
        return f"a piece of a title: {phrase}"
    if first in known["people"] and tag(last) in ("JJ", "VBN") and last not in known["wanted"]:
        return f"a piece of a title: {phrase}"
    if phrase in around.crossing:
        return f"goes on from another phrase: {around.crossing[phrase]}"
    if phrase in around.longer:
        return f"part of a longer phrase: {around.longer[phrase]}"
    return ""


def _quality(first: str, last: str) -> bool:
    """Whether shops are known to say so of what a product is like, or is made of."""
    known = shop_words()
    ends = known["qualities_last"] | known["surely_last"] | known["materials"]
    return first in known["qualities_first"] or last in ends


def _use(parts: list[str], around: Surroundings) -> Proposal:
    known = shop_words()
    first, last = parts[0], parts[-1]
    if parts == [first] and first in known["lone"]:
        return Proposal("which is", f"a quality: {first}")
    if first in known["surely_first"] or last in known["surely_last"]:
        word = first if first in known["surely_first"] else last
        return Proposal("which is", f"a quality: {word}")
    if last in known["surely_for"]:
        return Proposal("good for", f"whom or what it is for: {last}")
    if last in known["materials"]:
        return Proposal("has", f"a part or a material: {last}")
    if lucene_stem(last) in around.kinds:
        return Proposal("is a", f"products are called so: {last}")
    if last in known["people"] and lucene_stem(first) in around.kinds:
        return Proposal("is a", f"products are called so: {first}")
    if last in known["things"]:
        return Proposal("is a", f"a thing: {last}")
    if first in known["qualities_first"]:
        return Proposal("which is", f"a quality: {first}")
    if last in known["qualities_last"] or last.endswith(("able", "ible", "less", "proof")):
        return Proposal("which is", f"a quality: {last}")
    if last in known["occasions"] or last in known["people"]:
        return Proposal("good for", f"whom or what it is for: {last}")
    rank = 1 if all(map(tag, parts)) else 2
    if tag(last) in ("JJ", "VBN", "VBG") or (not tag(last) and last.endswith(("ed", "ing"))):
        return Proposal("which is", f"ends in an adjective: {last}", rank)
    return Proposal("has", f"ends in a noun: {last}", rank)

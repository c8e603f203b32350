"""The rules `synonym`: the released reward, and what a person would count besides.

After appendix A.7 of the paper: a synonym or a lexically similar word counts where the wanted value
is nowhere verbatim. So everything starts from the released reward and can only grow:

- an attribute counts if another way to say it stands in the title, a bullet, the description or
  the hidden attributes;
- an option counts if the chosen value is the wanted one word for word, or another way to say it
  while the product does not offer the wanted one: whoever had that beside it gains nothing, however
  near the two are (`in ear`, `on ear`);
- the type counts head nouns, queries and categories that mean the same, where head noun and
  audience agree (`errands.shop.rewards.kinds`).

`second_look` also says what counted for what.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from errands.shop.goals import Goal
from errands.shop.product import Product
from errands.shop.rewards.kinds import ProductKind, head_words, kind_of, same_audience, same_kind
from errands.shop.rewards.listings import is_listing
from errands.shop.rewards.nouns import EMPTY_GOAL_SCORE
from errands.shop.rewards.rules import (
    Purchase,
    Reward,
    Type,
    category_path,
    matched_options,
    missing_attributes,
    released_type,
    reward_of,
    type_reward,
)
from errands.shop.rewards.thesaurus import (
    SMALL,
    Sayings,
    Words,
    all_words,
    found_words,
    phrase,
    plain,
    singular,
    stem_of,
    thesaurus,
)

__all__ = ["Credit", "second_look", "synonym"]

Part = Literal["type", "attribute", "option"]
_STOPS: Final = re.compile(r"[!?;:,()\[\]{}|•\n\r\t]|\.\s|\b(?:and|or)\b")
_REFUSING: Final = frozenset(
    "not never cannot cant dont doesnt didnt isnt arent wasnt werent wont wouldnt couldnt shouldnt"
    " hasnt havent hardly unlike different".split()
)
"""Deny what follows them, with a word between: `not fully waterproof`."""
_DENYING: Final = _REFUSING | {"no", "non", "without"}

_OTHER: Final = ("er", "or", "ful")
_NAME: Final = 4
"""Words of the longest name of a part that is looked at."""
_PARTS: Final = re.compile(r"[|/]")
_NONE: Final = frozenset({"no", "zero", "without"})
_JOINING: Final = frozenset("for of to with by in on".split())
_BEING: Final = frozenset({"is", "are", "be"})
_LISTING: Final = frozenset({"bullets", "description"})
"""Where search words stand; a title is full of them, but all are said of the product."""

_SIZING: Final = frozenset("x xx xxx 2x 3x 4x 5x extra plus wide narrow big tall petite".split())
"""Beside one of these, another size is meant."""

_SMALL_STEMS: Final = frozenset(map(stem_of, SMALL))


class Credit(NamedTuple):
    """What counted for a wanted thing that is not there verbatim."""

    part: Part
    wanted: str
    found: str
    place: str
    """Where it was found: title, bullets, description, attributes, option, ..."""


class _Texts(NamedTuple):
    """What is said of a product."""

    title: str
    bullets: tuple[str, ...]
    description: str
    attributes: tuple[str, ...]


def synonym(purchase: Purchase, goal: Goal) -> Reward:
    """What a person would give, as far as a thesaurus can tell; never below `released`."""
    return second_look(purchase, goal)[0]


def second_look(purchase: Purchase, goal: Goal) -> tuple[Reward, tuple[Credit, ...]]:
    """The reward with synonyms, and each synonym that counted."""
    product = purchase.product
    missing = missing_attributes(product, goal)
    attributes = list(_attributes(product, missing))
    matched = matched_options(purchase.options.values(), goal)
    options = list(_options(purchase, goal, matched))
    kind, kinds = _type(product, goal)
    reward = reward_of(
        type_=kind,
        attributes=len(goal.attributes) - len(missing) + len(attributes),
        options=sum(matched) + len(options),
        affordable=purchase.price <= goal.price_upper,
        goal=goal,
    )
    return reward, (*kinds, *attributes, *options)


def _attributes(product: Product, missing: Iterable[str]) -> Iterator[Credit]:
    texts = _Texts(product.title, product.bullets, product.description, product.attributes)
    for attribute in missing:
        credit = _in_texts(texts, attribute)
        if credit is not None:
            yield credit


@lru_cache(1 << 14)
def _in_texts(texts: _Texts, target: str) -> Credit | None:
    ways = _longer(thesaurus().ways(target))
    sayings = thesaurus().sayings(target)
    for place, said in zip(texts._fields, texts, strict=True):
        for text in (said,) if isinstance(said, str) else said:
            for found in _places(text, ways):
                if (
                    _stands(found, sayings)
                    and not _is_of_part(found, texts.title)
                    and all(singular(w) in sayings.words for w in found.words if _is_other(w))
                    and not (place in _LISTING and is_listing(plain(text), *found.span))
                ):
                    return Credit("attribute", target, found.text, place)
    return None


def _is_other(word: str) -> bool:
    """Whether a word says something else than its stem: who cleans is not what is clean, a
    comforter gives no comfortable fit, and a powerful amplifier need not be a power amplifier."""
    single, stem = singular(word), stem_of(word)
    return any(single.endswith(end) and not stem.endswith(end) for end in _OTHER)


def _is_of_part(found: "_Wording", title: str) -> bool:
    """Whether one word is said of a part: of the zipper in `a durable zipper`, unless the title is
    that of a zipper."""
    if len(found.words) > 1:
        return False
    name: list[str] = []
    for word in found.following:
        if word in SMALL or not (thesaurus().is_noun(word) or word.endswith("ed")):
            break
        name.append(word)
    sold = {singular(one.word) for one in all_words(plain(title))}
    return bool(name) and thesaurus().is_object(name[-1]) and singular(name[-1]) not in sold


def _stands(found: "_Wording", sayings: Sayings) -> bool:
    """Whether words that say it stand in an order that says it, too."""
    stems = found.stems
    if len(stems) < 2 or stems in sayings.in_order or stems in sayings.turned:
        return True
    between = {one.word for one in all_words(found.text)} - set(found.words)
    if stems in sayings.joined and not _JOINING.isdisjoint(between):
        return True
    adverb = any(word.endswith("ly") and not thesaurus().is_noun(word) for word in found.words)
    return stems in sayings.adverbs and adverb == _BEING.isdisjoint(between)


def _options(purchase: Purchase, goal: Goal, matched: list[bool]) -> Iterator[Credit]:
    options = goal.goal_options
    values = list(options.values()) if isinstance(options, dict) else list(options)
    offered = {value for group in purchase.product.options.values() for value in group}
    chosen = sorted(set(purchase.options.values()))
    for target, is_there in zip(values, matched, strict=True):
        if is_there or not phrase(target):
            continue
        # The released code may miss the very value: it takes `rectangular` for the colour tan.
        right = {_spelled(value) for value in offered if _spelled(value) == _spelled(target)}
        right = right or {_spelled(value) for value in offered if phrase(value) == phrase(target)}
        for value in chosen:
            if _spelled(value) in right if right else _means(value, target):
                yield Credit("option", target, value, "option")
                break


def _spelled(value: str) -> str:
    """A value word for word: only its capitals and spaces do not matter."""
    return " ".join(value.casefold().split())


@lru_cache(1 << 14)
def _means(chosen: str, target: str) -> bool:
    """Whether a chosen value is another way to say a wanted one, sizes and counts included."""
    shades = thesaurus().shades(target)
    if shades:
        chosen = _PARTS.split(chosen, maxsplit=1)[0]  # Of several colours the first is its colour.
    whole = phrase(chosen)
    ways = thesaurus().ways(target) | shades
    if whole in ways:
        return True
    if not _SIZING.isdisjoint(span.word for span in found_words(plain(chosen))):
        return False  # An extra large one is not a large one.
    figures = _figures(whole)
    same = frozenset(way for way in _longer(ways) if _figures(way) == figures)
    return any(_places(chosen, same))


def _longer(ways: frozenset[Words]) -> frozenset[Words]:
    """Without letters alone (s, m, l; A for vitamin A), which say nothing within a text."""
    return frozenset(way for way in ways if len("".join(way)) > 1)


def _figures(way: Words) -> list[str]:
    return [word for word in way if any(letter.isdigit() for letter in word)]


def _type(product: Product, goal: Goal) -> tuple[Type, list[Credit]]:
    """The type, with what means the same counted as the same, where it is the same kind of thing
    for the same people."""
    before = released_type(product, goal)
    if before.value == 1.0:
        return before, []
    wanted, bought = _kinds(product, goal)
    if not (same_audience(wanted, bought) and same_kind(wanted, bought, _same_thing)):
        return before, []
    credits: list[Credit] = []
    verbatim = set(product.nouns)
    wanted_heads, bought_heads = head_words(wanted), head_words(bought)
    heads = {singular(noun): noun for noun in reversed(product.nouns) if noun in bought_heads}
    common = 0
    for noun in dict.fromkeys(goal.nouns):
        if noun in verbatim:
            common += 1
            continue
        near = sorted(thesaurus().synonyms(noun) & heads.keys()) if noun in wanted_heads else []
        if near:
            common += 1
            credits.append(Credit("type", noun, heads[near[0]], "title"))
    score = common / len(goal.nouns) if goal.nouns else EMPTY_GOAL_SCORE
    query = product.query == goal.query
    if not query and _alike(product.query, goal.query):
        query = True
        credits.append(Credit("type", goal.query, product.query, "query"))
    path, target = category_path(product.product_category), category_path(goal.product_category)
    category = len(path & target) >= 2
    if not category and "" not in (path | target):
        pairs = [(w, p) for w in sorted(target) for p in sorted(path) if _alike(p, w)]
        if len({w for w, _ in pairs}) >= 2 and len({p for _, p in pairs}) >= 2:
            category = True
            credits += [Credit("type", w, p, "category") for w, p in pairs if w != p]
    kind = type_reward(query, category, score)
    # What did not help is not told.
    return (kind, credits) if kind.value > before.value else (before, [])


def _kinds(product: Product, goal: Goal) -> tuple[ProductKind, ProductKind]:
    """Of what was wanted and of what was bought."""
    return (
        kind_of(goal.name, frozenset(goal.nouns), goal.query, goal.product_category),
        kind_of(product.title, frozenset(product.nouns), product.query, product.product_category),
    )


@lru_cache(1 << 14)
def _same_thing(one: str, other: str) -> bool:
    if " " in one or " " in other:
        return _alike(one, other)
    return singular(one) in thesaurus().synonyms(other)


@lru_cache(1 << 14)
def _alike(one: str, other: str) -> bool:
    return bool(phrase(one)) and phrase(one) in thesaurus().ways(other)


class _Wording(NamedTuple):
    """Where a text says something."""

    text: str
    words: tuple[str, ...]
    stems: tuple[str, ...]
    following: tuple[str, ...]
    """The next few words of the clause, small ones included."""
    span: tuple[int, int]


def _places(text: str, ways: frozenset[Words]) -> Iterator[_Wording]:
    """Where a text says it one of these ways, in any order, and does not deny it."""
    with_small = frozenset(way for way in ways if not _SMALL_STEMS.isdisjoint(way))
    for clause in _clauses(text):
        fitting = with_small if clause.is_whole else ways
        for length in sorted({len(way) for way in fitting}, reverse=True):
            for at in range(len(clause.words) - length + 1):
                if _way(clause, at, length) in fitting and not _denied(clause.words, at, length):
                    start, end = clause.starts[at], clause.ends[at + length - 1]
                    yield _Wording(
                        clause.text[start:end],
                        clause.words[at : at + length],
                        clause.stems[at : at + length],
                        tuple(one.word for one in all_words(clause.text[end:])[:_NAME]),
                        (clause.offset + start, clause.offset + end),
                    )


def _denied(words: tuple[str, ...], at: int, length: int) -> bool:
    """`not washable`, `not fully washable`; `alcohol free` where alcohol was wanted; `scents
    without` for scentless; `no sugar added`, which is not free of it."""
    phrase_words = words[at : at + length]
    before = [word for word in words[:at] if word not in SMALL][-2:]
    after = words[at + length] if at + length < len(words) else ""
    return (
        not _DENYING.isdisjoint(before[-1:])
        or not _REFUSING.isdisjoint(before)
        or (after == "free" and "free" not in phrase_words)
        or any(word in _DENYING for word in phrase_words[1:])
        or (after == "added" and phrase_words[0] in _NONE)
    )


class _Clause(NamedTuple):
    text: str
    offset: int
    """Where it begins in the plain text."""
    words: tuple[str, ...]
    """In their order, small ones left out; and where each of them stands."""
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    stems: tuple[str, ...]
    is_whole: bool
    """With its small words, for the few ways that need one: `glides on`."""


def _way(clause: _Clause, at: int, length: int) -> Words:
    """Some words of a clause as they are compared; the same as `key`, without its work."""
    if length == 1:
        return (singular(clause.words[at]),)
    return tuple(sorted(clause.stems[at : at + length]))


@lru_cache(1 << 12)
def _clauses(text: str) -> tuple[_Clause, ...]:
    """A text between its stops, by words: a phrase does not go on after a comma or an `and`."""
    said = plain(text)
    clauses = []
    begin = 0
    for stop in (
        *((found.start(), found.end()) for found in _STOPS.finditer(said)),
        (len(said),) * 2,
    ):
        clause, offset, begin = said[begin : stop[0]], begin, stop[1]
        few, whole = found_words(clause), all_words(clause)
        for spans in (few, whole) if len(few) < len(whole) else (few,):
            if spans:
                stems = tuple(stem_of(one.word) for one in spans)
                words, starts, ends = zip(*spans, strict=True)
                clauses.append(_Clause(clause, offset, words, starts, ends, stems, spans is whole))
    return tuple(clauses)

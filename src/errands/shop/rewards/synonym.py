"""The rules `synonym`: the released reward, and what a person would count besides.

After appendix A.7 of the paper: a synonym or a lexically similar word counts where the wanted value
is nowhere verbatim. So everything starts from the released reward and can only grow:

- an attribute counts if another way to say it stands in the title, a bullet, the description or
  the hidden attributes;
- an option counts if the chosen value is the wanted one word for word, or another way to say it
  while the product does not offer the wanted one: whoever had that beside it gains nothing, however
  near the two are (`in ear`, `on ear`);
- the type counts nouns, queries and categories that mean the same.

`second_look` also says what counted for what.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from errands.shop.goals import Goal
from errands.shop.product import Product
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
    " hasnt havent hardly".split()
)
"""Deny what follows them, with a word between: `not fully waterproof`."""
_DENYING: Final = _REFUSING | {"no", "non", "without"}

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
    for place, said in zip(texts._fields, texts, strict=True):
        for text in (said,) if isinstance(said, str) else said:
            words = _said(text, ways)
            if words is not None:
                return Credit("attribute", target, words, place)
    return None


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
    whole = phrase(chosen)
    ways = thesaurus().ways(target) | thesaurus().shades(target)
    if whole in ways:
        return True
    if not _SIZING.isdisjoint(span.word for span in found_words(plain(chosen))):
        return False  # An extra large one is not a large one.
    figures = _figures(whole)
    same = frozenset(way for way in _longer(ways) if _figures(way) == figures)
    return _said(chosen, same) is not None


def _longer(ways: frozenset[Words]) -> frozenset[Words]:
    """Without letters alone (s, m, l; A for vitamin A), which say nothing within a text."""
    return frozenset(way for way in ways if len("".join(way)) > 1)


def _figures(way: Words) -> list[str]:
    return [word for word in way if any(letter.isdigit() for letter in word)]


def _type(product: Product, goal: Goal) -> tuple[Type, list[Credit]]:
    """The type, with what means the same counted as the same."""
    credits: list[Credit] = []
    bought = {singular(noun): noun for noun in reversed(product.nouns)}
    verbatim = set(product.nouns)
    common = 0
    for noun in dict.fromkeys(goal.nouns):
        if noun in verbatim:
            common += 1
            continue
        near = sorted(thesaurus().synonyms(noun) & bought.keys())
        if near:
            common += 1
            credits.append(Credit("type", noun, bought[near[0]], "title"))
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
    before = released_type(product, goal)
    # What did not help is not told.
    return kind, credits if kind.value > before.value else []


@lru_cache(1 << 14)
def _alike(one: str, other: str) -> bool:
    return bool(phrase(one)) and phrase(one) in thesaurus().ways(other)


def _said(text: str, ways: frozenset[Words]) -> str | None:
    """The first place of a text that says it one of these ways, and does not deny it."""
    with_small = frozenset(way for way in ways if not _SMALL_STEMS.isdisjoint(way))
    for clause in _clauses(text):
        fitting = with_small if clause.is_whole else ways
        for length in sorted({len(way) for way in fitting}, reverse=True):
            for at in range(len(clause.words) - length + 1):
                if _way(clause, at, length) in fitting and not _denied(clause.words, at, length):
                    return clause.text[clause.starts[at] : clause.ends[at + length - 1]]
    return None


def _denied(words: tuple[str, ...], at: int, length: int) -> bool:
    """`not washable`, `not fully washable`; `alcohol free` where alcohol was wanted; `scents
    without` for scentless."""
    phrase_words = words[at : at + length]
    before = [word for word in words[:at] if word not in SMALL][-2:]
    after = words[at + length] if at + length < len(words) else ""
    return (
        not _DENYING.isdisjoint(before[-1:])
        or not _REFUSING.isdisjoint(before)
        or (after == "free" and "free" not in phrase_words)
        or any(word in _DENYING for word in phrase_words[1:])
    )


class _Clause(NamedTuple):
    text: str
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
    clauses = []
    for clause in _STOPS.split(plain(text)):
        few, whole = found_words(clause), all_words(clause)
        for spans in (few, whole) if len(few) < len(whole) else (few,):
            if spans:
                stems = tuple(stem_of(one.word) for one in spans)
                words, starts, ends = zip(*spans, strict=True)
                clauses.append(_Clause(clause, words, starts, ends, stems, spans is whole))
    return tuple(clauses)

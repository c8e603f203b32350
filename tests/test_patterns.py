"""No regular expression of the package takes more than linear time, whatever the text."""

import re

import pytest
from pattern_growth import suspicion
from patterns import UsedPattern, used_patterns

from errands.agents.llm import presets
from errands.shop.search.tokenizer import _grammar

MADE_WHEN_USED: dict[str, list[str]] = {
    "agents/careful.py: _mentioned()": [r"(?<![a-z0-9])black\ and\ black(?![a-z0-9])"],
    "mining/table/separators.py: _is_list()": [r"\d,\d"],
    "shop/search/tokenizer.py: _grammar()": [pattern.pattern for pattern in _grammar()],
    # Of an address that the user gives, not the site.
    "transfer/sites/schema_org.py: __init__()": [r"/search/[^/]*/[^/]*/?"],
    "turk/actions/literal.py: possible": [r"\\.|[”“\"]"],
    "turk/actions/literal.py: _close_triple()": [r"\\.|'''"],
    "turk/tasks/markup.py: close": [r"</textarea(?=[\s/>])"],
}
"""Patterns that are put together at run time, each as it then is."""

ANCHORED: dict[str, list[str]] = {
    "turk/actions/literal.py: _close()": [r"[^'\n(]{0,1000}+[']\s*+\)"],
}
"""The same, where they are tried at one place only."""

CAPPED = {"agents/llm/presets.py: preset_of()"}
"""The same, where what they are tried on is cut to a length before; each has a test below."""

PATTERNS = list(used_patterns())


def _id(used: UsedPattern) -> str:
    return used.place


@pytest.mark.parametrize("used", [each for each in PATTERNS if each.pattern is not None], ids=_id)
def test_it_is_linear(used: UsedPattern) -> None:
    assert used.pattern is not None
    assert suspicion(used.pattern, used.flags, anchored=used.anchored, whole=used.whole) is None


def test_what_is_made_when_used_is_linear_too() -> None:
    made = {used.place for used in PATTERNS if used.pattern is None}
    assert made == MADE_WHEN_USED.keys() | ANCHORED.keys() | CAPPED
    for pattern in (one for some in MADE_WHEN_USED.values() for one in some):
        assert suspicion(pattern, re.IGNORECASE) is None, pattern
    for pattern in (one for some in ANCHORED.values() for one in some):
        assert suspicion(pattern, anchored=True) is None, pattern


def test_of_a_models_name_the_beginning_is_looked_at() -> None:
    seen: list[int] = []

    class Searched:
        def search(self, pattern: str, text: str, flags: int) -> re.Match[str] | None:
            seen.append(len(text))
            return re.search(pattern, text, flags)

        IGNORECASE = re.IGNORECASE

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(presets, "re", Searched())
        assert presets.preset_of("qwen3" * 10_000) == presets.preset_of("qwen3")
    assert max(seen) == 200


def test_the_patterns_are_found() -> None:
    places = {used.place for used in PATTERNS}
    assert len(PATTERNS) > 250
    assert {"browser/libraries.py: _LOADS", "turk/dom/css.py: _SIMPLE"} <= places
    by_place = {used.place: used for used in PATTERNS}
    assert by_place["web/shop/site.py: _INDEX"].whole
    assert not by_place["mining/plain_text.py: _LINES"].anchored


# The analysis itself, by patterns of which it is known.


@pytest.mark.parametrize(
    "pattern",
    [
        r"\s+x",
        r"\s*\n\s*",
        r"(_name|_\d+)+$",
        r"<meta[^>]+charset=",
        r"(<(?:script|link)\b[^>]*?)\sintegrity\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s>]+)",
        r"""<form(?=[\s/>])((?:[^>"']|"[^"]{0,4000}"|'[^']{0,4000}'){0,4000}+)>""",
        r"(?:-->|/\*\s*\]\]>\s*\*/|//\s*\]\]>)?\s*;?\s*$",
        r"a{1,2000}b",
        r"/\*.*?\*/",
        r"(?=\s*x)\s",
    ],
)
def test_it_suspects_what_is_begun_anew_everywhere(pattern: str) -> None:
    assert suspicion(pattern) is not None


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a*)*b",
        r"(?:ab|ab)*c",
        r"(?:(?:ac|[ab]c)x)*y",
        r"a*a*b",
        r"(\s*,\s*)*x",
        r"(.+)\[(.+)\]",
        r"(?:a(?:a*b)?)*c",
        r"(?:(?>a*c|a))*d",
        r"(['\"]).*\1.*\1$",
    ],
)
def test_it_suspects_what_can_be_shared_out(pattern: str) -> None:
    assert suspicion(pattern, anchored=True) is not None


@pytest.mark.parametrize(
    "pattern",
    [
        r"\s+",
        r"(?<!\s)\s+x",
        r"^\s*x",
        r"\$\{(\w+)\}",
        r"[a-z0-9]+(?:[.'-][a-z0-9]+)*",
        r"/\*.*?(?:\*/|\Z)(?s:)",
        r"a{1,20}b",
        r"\b\w+;",
        r"[^>]+>?|>",
        r"(['\"])x*\1",
    ],
)
def test_it_lets_pass_what_is_linear(pattern: str) -> None:
    assert suspicion(pattern, re.DOTALL) is None


def test_atomic_groups_keep_what_they_took() -> None:
    assert suspicion(r"a*+a*b", anchored=True) is None
    assert suspicion(r"(?>a*)a*b", anchored=True) is None
    assert suspicion(r"(?:a++)+b", anchored=True) is None

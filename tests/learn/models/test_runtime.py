"""Models where they are told to be.

There is no GPU here: the device `meta` stands in, which knows shapes alone and, as a GPU does,
refuses to compute with a tensor that was left on the processor.
"""

import pytest
import torch

from errands.errors import SettingError
from errands.learn.data.batch import TokenLimits, encode, pack
from errands.learn.data.demonstrations import DemonstratedQuery
from errands.learn.data.view import ChoiceView
from errands.learn.data.vocabulary import Vocabulary
from errands.learn.models.choice import ChoiceConfig, ChoiceModel
from errands.learn.models.runtime import device_of, find_device, to_device
from errands.learn.models.search import SearchConfig, SearchModel
from errands.learn.search import example
from errands.learn.search import pack as pack_examples

META = torch.device("meta")
WORDS = Vocabulary(("red", "hat", "buy"))


@pytest.mark.parametrize("name", ["cuda:99", "nothing", "meta", "cpu:0:0"])
def test_a_device_that_is_not_there_is_one_sentence(name: str) -> None:
    with pytest.raises(SettingError, match="expected cpu, cuda"):
        find_device(name)


def test_devices_by_name() -> None:
    assert find_device("cpu") == torch.device("cpu")
    assert find_device("auto").type in ("cpu", "cuda")


@pytest.mark.filterwarnings("ignore")
def test_a_choice_model_takes_all_it_needs_along() -> None:
    view = ChoiceView("red hat", ("opened 1",), "a hat", ("buy", "back to search"), ("buy", "back"))
    batch = to_device(pack([encode(view, WORDS, TokenLimits())] * 2), META)
    assert all(part.device == META for part in batch)
    model = ChoiceModel(ChoiceConfig(width=16), len(WORDS)).to(META)
    assert device_of(model) == META
    output = model(batch)
    assert output.scores.device == output.values.device == META
    assert output.scores.shape == (2, 2)
    output.scores.sum().backward()


@pytest.mark.filterwarnings("ignore")
def test_a_search_model_takes_all_it_needs_along() -> None:
    config = SearchConfig(width=16)
    one = example(DemonstratedQuery("a red hat", "red hat"), WORDS, config)
    batch = to_device(pack_examples([one, one], WORDS), META)
    model = SearchModel(config, WORDS).to(META)
    log_probs = model(batch.sources, batch.prefixes)
    assert log_probs.device == META
    assert batch.sources.unknown == 1
    log_probs.sum().backward()

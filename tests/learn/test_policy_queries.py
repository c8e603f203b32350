"""What a trained agent searches for, search after search."""

from pathlib import Path

import msgspec
import pytest

pytest.importorskip("torch", reason="needs PyTorch: pip install 'errands[train]'")

from errands.agents.registry import make_factory
from errands.envs.shop import ShopEnv
from errands.errors import DataError, SettingError
from errands.learn.checkpoint import CheckpointInfo, save
from errands.learn.data.queries import own_words
from errands.learn.data.vocabulary import Vocabulary
from errands.learn.imitation import ImitationConfig
from errands.learn.models.choice import ChoiceConfig, ChoiceModel
from errands.learn.models.runtime import seeded_torch
from errands.learn.policy import QueryPicker
from errands.learn.rollout import QuerySource
from errands.shop.catalog.catalog import Catalog


def five(instruction: str) -> list[str]:
    """Five queries for everything."""
    return [f"query {place}" for place in range(1, 6)]


def nothing(instruction: str) -> list[str]:
    """Has nothing to say."""
    return []


def asked(queries: QueryPicker, count: int) -> list[str]:
    queries.begin("I need a red hat, and price lower than 20.00 dollars")
    return [queries.next() for _ in range(count)]


def test_each_further_search_takes_the_next_best() -> None:
    found = asked(QueryPicker(five, 0, is_sampled=False), 6)
    assert found == [f"query {place}" for place in (1, 2, 3, 4, 5, 1)]


def test_sampling_takes_any_of_the_five_by_its_seed() -> None:
    found = asked(QueryPicker(five, 7, is_sampled=True), 100)
    assert set(found) == {f"query {place}" for place in range(1, 6)}
    assert min(found.count(query) for query in set(found)) >= 8
    assert asked(QueryPicker(five, 7, is_sampled=True), 100) == found
    assert asked(QueryPicker(five, 8, is_sampled=True), 100) != found


@pytest.mark.parametrize("source", [own_words, nothing])
def test_without_a_query_the_instructions_own_words_are_searched(source: QuerySource) -> None:
    assert asked(QueryPicker(source, 0, is_sampled=False), 2) == ["red hat", "red hat"]


def test_settings_that_cannot_be_are_one_sentence(little: Catalog, tmp_path: Path) -> None:
    env = ShopEnv(little, observation="text_rich")
    checkpoint = tmp_path / "choice"
    with seeded_torch(0):
        weights = ChoiceModel(ChoiceConfig(), len(Vocabulary([]))).state_dict()
    plan = msgspec.to_builtins(ImitationConfig())
    save(checkpoint, CheckpointInfo(kind="choice", trained="imitation", config=plan), weights, {})
    given = {"checkpoint": str(checkpoint)}
    assert make_factory("il", "shop", env, given).settings["queries"] == "top"
    with pytest.raises(SettingError, match="queries=best: expected top, sample"):
        make_factory("il", "shop", env, {**given, "queries": "best"})
    with pytest.raises(DataError, match="is a choice model; expected a search model"):
        make_factory("il", "shop", env, {**given, "search": str(checkpoint)})

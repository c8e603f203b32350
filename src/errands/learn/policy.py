"""Trained models as agents: `errands run shop-learn --agent il --set checkpoint=DIR`.

Searching is done by the search model if there is one (`--set search=DIR`), else with the
instruction's own words; all other choices by the choice model: greedily (the best action, of those
that were not taken twice already where the page looked the same, unless `cycle_breaker=off`), or
sampled.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final

import msgspec
import torch
from torch import nn

from errands.agents.agent import AgentFactory, Teaching
from errands.agents.factory import SimpleFactory, need_observation, one_of
from errands.agents.rule import search_action
from errands.errors import DataError, SettingError
from errands.learn.checkpoint import ABOUT, CheckpointInfo, load_weights, read_info, stamp
from errands.learn.data.pictures import load_pictures
from errands.learn.data.queries import own_words, with_queries
from errands.learn.data.view import OBSERVATION, ChoiceView, EpisodeMemory, action_of
from errands.learn.models.builder import ViewReader, load_builder
from errands.learn.models.choice import ChoiceConfig
from errands.learn.models.runtime import device_of, seeded_torch, to_device
from errands.learn.rollout import CHOSEN, QuerySource
from errands.learn.search import open_search_model
from errands.shop.fingerprints import read_fingerprints

__all__ = [
    "LearnedAgent",
    "Policy",
    "QueryPicker",
    "choice_config",
    "make",
    "make_il",
    "make_rl",
    "make_rnn",
    "open_policy",
]

_BEAMS: Final = 5
_OFTEN: Final = 2
"""So often the best action is taken on a page that looks the same; then the next best."""


class Policy(msgspec.Struct, frozen=True):
    """A choice model, and how views become what it takes."""

    model: nn.Module
    reader: ViewReader
    config: ChoiceConfig
    chooses_queries: bool = False
    """Whether searching is its own choice, too."""

    def batch(self, views: Sequence[ChoiceView]) -> Any:
        """What the model takes, on its device."""
        packed = self.reader.pack([self.reader.encode(view) for view in views])
        return to_device(packed, device_of(self.model))

    def scores(self, view: ChoiceView) -> torch.Tensor:
        """Of every action of one page."""
        with torch.inference_mode():
            scores: torch.Tensor = self.model(self.batch([view])).scores[0].cpu()
        return scores[: len(view.names)]  # A model may see more than what can be done.


class QueryPicker:
    """What to search for in one episode, search after search.

    Greedy: the best query first, and with each further search the next best. Sampled: any of them.
    """

    def __init__(self, source: QuerySource, seed: int, is_sampled: bool) -> None:
        self._source = source
        self._rng = random.Random(f"{seed} queries")
        self._is_sampled = is_sampled
        self._candidates: list[str] = []
        self._searches = 0

    def begin(self, instruction: str) -> None:
        self._candidates = list(self._source(instruction))[:_BEAMS] or own_words(instruction)
        self._searches = 0

    def next(self) -> str:
        if self._is_sampled:
            return self._rng.choice(self._candidates)
        query = self._candidates[self._searches % len(self._candidates)]
        self._searches += 1
        return query


class LearnedAgent:
    """One episode of a trained model."""

    def __init__(
        self,
        policy: Policy,
        seed: int,
        is_sampled: bool,
        queries: QueryPicker | None = None,
        breaks_cycles: bool = True,
    ) -> None:
        self._policy = policy
        self._queries = queries or QueryPicker(own_words, seed, is_sampled=False)
        self._rng = torch.Generator().manual_seed(seed % 2**63)
        self._is_sampled = is_sampled
        self._breaks_cycles = breaks_cycles

    def begin(self, observation: str, info: Mapping[str, Any]) -> None:
        self._memory = EpisodeMemory()
        self._clicked: Counter[tuple[str, str]] = Counter()
        self._queries.begin(info["instruction"])

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        view = self._memory.view(observation)
        action = None
        if self._policy.chooses_queries:
            view = with_queries(view, info["instruction"])
        elif info["available_actions"]["has_search_bar"]:
            action = search_action(self._queries.next())
        if action is None:
            action = action_of(view, self._choose(view, observation))
        self._memory.record(view, action)
        return action

    def _choose(self, view: ChoiceView, observation: str) -> str:
        scores = self._policy.scores(view)
        if self._is_sampled:
            drawn = torch.multinomial(scores.softmax(0), 1, generator=self._rng)
            return view.names[int(drawn)]
        order: list[int] = scores.argsort(descending=True).tolist()
        ranked = [view.names[place] for place in order]
        if not self._breaks_cycles:
            return ranked[0]
        # A policy that is always greedy would go round in circles for ever.
        fresh = (name for name in ranked if self._clicked[observation, name] < _OFTEN)
        chosen = next(fresh, ranked[0])
        self._clicked[observation, chosen] += 1
        return chosen


def open_policy(folder: str) -> Policy:
    """A trained choice model, for use; opened but once, until it is written again."""
    return _open_policy(folder, stamp(Path(folder)))


def choice_config(info: CheckpointInfo, folder: Path) -> ChoiceConfig:
    """What the choice model of a checkpoint is made of."""
    try:
        return msgspec.convert(info.config["choice"], ChoiceConfig)
    except (KeyError, msgspec.ValidationError) as failure:
        raise DataError(f"{folder} is of another architecture ({failure}).") from None


@lru_cache(4)
def _open_policy(folder: str, written: tuple[int, int]) -> Policy:
    info = read_info(Path(folder), "choice")
    config = choice_config(info, Path(folder))
    builder = load_builder(Path(folder), config, info.words)
    with seeded_torch(0):
        model = builder.model(config)
    load_weights(Path(folder), model)
    model.eval()
    return Policy(
        model,
        builder.reader(config, load_pictures(Path(folder))),
        config,
        info.config.get("queries_from") == CHOSEN.name,
    )


def make(name: str, domain: str, env: Any, settings: Mapping[str, Any]) -> AgentFactory:
    """A trained agent under the name it is asked for by."""
    need_observation(env, OBSERVATION, "Trained agents read")
    folder = str(settings["checkpoint"])
    if not folder:
        raise SettingError("A trained agent needs its checkpoint; add --checkpoint DIR.")
    choose = one_of("choose", str(settings["choose"]), ("best", "sample"))
    search = str(settings["search"])
    queries = one_of("queries", str(settings["queries"]), ("top", "sample"))
    breaker = one_of("cycle_breaker", str(settings.get("cycle_breaker", "on")), ("on", "off"))
    torch.set_num_threads(1)
    policy = open_policy(str(Path(folder).absolute()))
    _check_name(name, folder, policy.config.encoder)
    if search:
        policy = msgspec.structs.replace(policy, chooses_queries=False)
    place = str(Path(search).absolute()) if Path(search).is_dir() else search
    source = partial(open_search_model(place).queries, beams=_BEAMS) if search else own_words
    return SimpleFactory(
        name,
        lambda seed: LearnedAgent(
            policy,
            seed,
            choose == "sample",
            QueryPicker(source, seed, queries == "sample"),
            breaker == "on",
        ),
        settings={
            "checkpoint": folder,
            "choose": choose,
            "search": search,
            "queries": queries,
            "cycle_breaker": breaker,
        },
        taught=tuple(
            Teaching(place, read_fingerprints(Path(place)))
            for place in (folder, search)
            if (Path(place) / ABOUT).is_file()  # A model of Hugging Face's knows nothing of goals.
        ),
    )


make_il = partial(make, "il")
make_rl = partial(make, "rl")
make_rnn = partial(make, "rnn")


def _check_name(name: str, folder: str, encoder: str) -> None:
    """Whether a checkpoint is what it is to be played as: results go by the agent's name."""
    trained = read_info(Path(folder), "choice").trained
    fitting = ["il" if trained == "imitation" else "rl", *(["rnn"] if encoder == "gru" else [])]
    if name not in fitting:
        raise SettingError(
            f"{folder} is a {encoder} model trained by {trained}; play it with --agent"
            f" {' or '.join(fitting)}, not {name}."
        )

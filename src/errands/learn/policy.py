"""Trained models as agents: `errands run shop-learn --agent il --set checkpoint=DIR`.

Searching is done by the search model if there is one (`--set search=DIR`), else with the
instruction's own words; all other choices by the choice model: the best one (of those that were
not taken twice already where the page looked the same), or one drawn by its probability.
"""

import random
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import msgspec
import torch

from errands.agents.agent import AgentFactory
from errands.agents.factory import SimpleFactory, need_observation, one_of
from errands.agents.page_reading import read_instruction
from errands.agents.rule import search_action
from errands.errors import SettingError
from errands.learn.checkpoint import load_weights, read_about, stamp
from errands.learn.data.batch import encode, pack
from errands.learn.data.pictures import Pictures, kept_pictures
from errands.learn.data.view import Memory, View
from errands.learn.data.vocabulary import Words
from errands.learn.models.choice import ChoiceConfig, ChoiceModel
from errands.learn.models.device import device_of, moved
from errands.learn.models.reading import kept_reading
from errands.learn.models.rng import private_chance
from errands.learn.models.search import QueryModel
from errands.learn.search_training import open_search_model

__all__ = [
    "LearnedShopper",
    "Policy",
    "Queries",
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
    """A trained choice model with its words."""

    model: ChoiceModel
    words: Words
    config: ChoiceConfig
    pictures: Pictures | None = None

    def scores(self, view: View) -> torch.Tensor:
        with torch.inference_mode():
            batch = pack([encode(view, self.words, self.config.lengths, self.pictures)])
            judged = self.model(moved(batch, device_of(self.model)))
            scores: torch.Tensor = judged.scores[0].cpu()
        return scores


class Queries:
    """What to search for in one episode, search after search.

    The best query first, and with each further search the next best; or, by chance, any of them.
    """

    def __init__(self, model: QueryModel | None, seed: int, is_sampling: bool) -> None:
        self._model = model
        self._chance = random.Random(f"{seed} queries")
        self._is_sampling = is_sampling
        self._held: list[str] = []
        self._asked = 0

    def begin(self, instruction: str) -> None:
        asked = read_instruction(instruction)
        own = " ".join(asked.words) or asked.text
        self._held = (self._model.queries(instruction, _BEAMS) if self._model else []) or [own]
        self._asked = 0

    def next(self) -> str:
        if self._is_sampling:
            return self._chance.choice(self._held)
        query = self._held[self._asked % len(self._held)]
        self._asked += 1
        return query


class LearnedShopper:
    """One episode of a trained model."""

    def __init__(
        self, policy: Policy, seed: int, is_sampling: bool, queries: Queries | None = None
    ) -> None:
        self._policy = policy
        self._queries = queries or Queries(None, seed, is_sampling=False)
        self._chance = torch.Generator().manual_seed(seed % 2**63)
        self._is_sampling = is_sampling

    def begin(self, observation: str, info: Mapping[str, Any]) -> None:
        self._memory = Memory()
        self._clicked: Counter[tuple[str, str]] = Counter()
        self._queries.begin(info["instruction"])

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        view = self._memory.look(observation)
        action = None
        if info["available_actions"]["has_search_bar"]:
            action = search_action(self._queries.next())
        if action is None:
            action = f"click[{self._choose(view, observation)}]"
        self._memory.note(view, action)
        return action

    def _choose(self, view: View, observation: str) -> str:
        scores = self._policy.scores(view)
        if self._is_sampling:
            drawn = torch.multinomial(scores.softmax(0), 1, generator=self._chance)
            return view.names[int(drawn)]
        order: list[int] = scores.argsort(descending=True).tolist()
        ranked = [view.names[place] for place in order]
        # Whoever always does the best would go round in circles for ever.
        fresh = (name for name in ranked if self._clicked[observation, name] < _OFTEN)
        chosen = next(fresh, ranked[0])
        self._clicked[observation, chosen] += 1
        return chosen


def open_policy(folder: str) -> Policy:
    """A trained choice model, for use; opened but once, until it is written again."""
    return _open_policy(folder, stamp(Path(folder)))


@lru_cache(4)
def _open_policy(folder: str, written: tuple[int, int]) -> Policy:
    about = read_about(Path(folder), "choice")
    try:
        config = msgspec.convert(about.config["choice"], ChoiceConfig)
    except (KeyError, msgspec.ValidationError) as failure:
        raise SettingError(f"{folder} is of another architecture ({failure}).") from None
    reading = kept_reading(Path(folder), config, about.words)
    with private_chance(0):
        model = reading.model(config)
    load_weights(Path(folder), model)
    model.eval()
    return Policy(model, reading.words, config, kept_pictures(Path(folder)))


def make_il(domain: str, env: Any, settings: Mapping[str, Any]) -> AgentFactory:
    return make("il", env, settings)


def make_rl(domain: str, env: Any, settings: Mapping[str, Any]) -> AgentFactory:
    return make("rl", env, settings)


def make_rnn(domain: str, env: Any, settings: Mapping[str, Any]) -> AgentFactory:
    return make("rnn", env, settings)


def make(name: str, env: Any, settings: Mapping[str, Any]) -> AgentFactory:
    """A trained agent under the name it is asked for by."""
    hint = "; the protocol shop-learn has it"
    need_observation(env, "text_rich", "Trained agents read", hint)
    folder = str(settings["checkpoint"])
    if not folder:
        raise SettingError("A trained agent needs its checkpoint; add --checkpoint DIR.")
    choose = one_of("choose", str(settings["choose"]), ("best", "sample"))
    search = str(settings["search"])
    queries = one_of("queries", str(settings["queries"]), ("top", "sample"))
    torch.set_num_threads(1)
    policy = open_policy(str(Path(folder).absolute()))
    _check_name(name, folder, policy.config.encoder)
    place = str(Path(search).absolute()) if Path(search).is_dir() else search
    model = open_search_model(place) if search else None
    return SimpleFactory(
        name,
        lambda seed: LearnedShopper(
            policy, seed, choose == "sample", Queries(model, seed, queries == "sample")
        ),
        settings={"checkpoint": folder, "choose": choose, "search": search, "queries": queries},
    )


def _check_name(name: str, folder: str, encoder: str) -> None:
    """Whether a checkpoint is what it is to be played as: results go by the agent's name."""
    trained = read_about(Path(folder), "choice").trained
    fitting = ["il" if trained == "imitation" else "rl", *(["rnn"] if encoder == "gru" else [])]
    if name not in fitting:
        raise SettingError(
            f"{folder} is a {encoder} model trained by {trained}; play it with --agent"
            f" {' or '.join(fitting)}, not {name}."
        )

"""Before reinforcement begins: what a training starts from, and whether it may be resumed.

A training that is resumed in another world (other goals, rules, catalogue, demonstrations) would
be neither the old nor a new one, so it is refused.
"""

import hashlib
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from errands.errors import DataError, SettingError
from errands.learn.a2c_config import ReinforcementConfig
from errands.learn.checkpoint import About
from errands.learn.data.demonstrations import Demonstrations
from errands.learn.models.choice import ChoiceConfig
from errands.learn.models.reading import Reading, new_reading
from errands.learn.rollout import Shoppers, VectorShop

__all__ = ["check", "check_resumed", "goals_mark", "new_words", "with_choice"]

_WORD_STEPS: Final = 100
"""Steps of random play, by everyone, from which words are learnt where nothing else has them."""
_WORLD: Final = ("protocol", "goals")
"""What a plan tells of the world; checkpoints of earlier versions do not have it."""


def goals_mark(goals: Sequence[int]) -> str:
    """Tells goals of one catalogue apart from others of it."""
    return hashlib.sha256(repr(list(map(int, goals))).encode()).hexdigest()[:16]


def check(
    env: VectorShop,
    goals: Sequence[int],
    config: ReinforcementConfig,
    shown: Demonstrations | None,
) -> None:
    """Whether shops, goals and settings fit together."""
    if env.num_envs != config.environments:
        raise SettingError(
            f"The vector environment has {env.num_envs} shops, and the settings say"
            f" environments={config.environments}; make both the same."
        )
    if not goals:
        raise SettingError("There are no goals to train on; name another split.")
    if config.imitation and shown is None:
        raise SettingError("An imitation part needs demonstrations; add --demonstrations RUN.")


def check_resumed(
    folder: Path, about: About, plan: Mapping[str, Any], *, checksum: str, lesson: str, done: int
) -> None:
    """Refuse to go on with a training under another plan; `done` are its steps so far. Only
    `steps` may be others, as long as they are not fewer than that."""
    old = {name: about.config.get(name, plan[name]) for name in _WORLD}
    same = {**about.config, **old, "steps": plan["steps"]}
    for is_other, what in (
        (about.checksum != checksum, "on another catalogue"),
        (any(old[name] != plan[name] for name in _WORLD), "on other goals, or by other rules"),
        (same != plan, "with other settings"),
        (about.lesson and about.lesson != lesson, "on other demonstrations"),
    ):
        if is_other:
            raise SettingError(
                f"{folder} was trained {what}; resume it with the same, or name another."
            )
    if plan["steps"] < min(done, about.config.get("steps", done)):
        raise SettingError(
            f"{folder} has done {done:,} steps already; resume it with --steps {done} or more."
        )


def with_choice(config: ReinforcementConfig, about: About, folder: Path) -> ReinforcementConfig:
    """The settings with the choice model of a checkpoint."""
    try:
        choice = msgspec.convert(about.config["choice"], ChoiceConfig)
    except (KeyError, msgspec.ValidationError) as failure:
        raise DataError(f"{folder} is of another architecture ({failure}).") from None
    return msgspec.structs.replace(config, choice=choice)


def new_words(
    env: VectorShop,
    goals: Sequence[int],
    config: ReinforcementConfig,
    shown: Demonstrations | None,
) -> tuple[Reading, str]:
    """The words of demonstrations, else of pages that random play comes to."""
    if config.choice.encoder == "pretrained":
        return new_reading(config.choice, (), config.words, config.seed), "its encoder"
    if shown is not None:
        views = [view for view, _ in shown.choices]
    else:
        views = []
        dice = random.Random(f"{config.seed} words")
        shoppers = Shoppers(env, goals, config.seed)
        for _ in range(_WORD_STEPS):
            now = shoppers.views()
            views += now
            clicks = [f"click[{dice.choice(view.names)}]" for view in now]
            shoppers.act(
                now,
                [
                    search or click
                    for search, click in zip(shoppers.searches(), clicks, strict=True)
                ],
            )
    texts = (text for view in views for text in (view.wanted, view.page, *view.actions))
    found = new_reading(config.choice, texts, config.words, config.seed)
    return found, "random play" if shown is None else "demonstrations"

"""What trainings in the shop share: the model they begin with, what is resumed, the best so far,
and what they tell."""

import hashlib
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import msgspec

from errands.errors import SettingError
from errands.learn.checkpoint import CheckpointInfo, differing, read_info, save
from errands.learn.data.dataset import texts_of, wanted_products
from errands.learn.data.demonstrations import Demonstrations
from errands.learn.data.pictures import Pictures, checkpoint_pictures, save_pictures
from errands.learn.data.view import ChoiceView
from errands.learn.environments import TrainingEnv
from errands.learn.evaluation import EvalConfig, EvalResult, evaluate
from errands.learn.models.builder import ModelBuilder, load_builder, new_builder
from errands.learn.models.choice import ChoiceConfig, with_pictures
from errands.learn.policy import Policy, choice_config
from errands.learn.rollout import QuerySource, Rollout, SearchPolicy
from errands.shop.fingerprints import GoalFingerprints, read_fingerprints

__all__ = [
    "BestCheckpoint",
    "ModelSource",
    "RLProgress",
    "RLResult",
    "check_env",
    "check_resumed",
    "curve",
    "goals_key",
    "model_source",
    "reinforcement_info",
]

BEST: Final = "best"
"""The folder of a checkpoint that holds the best one so far."""
_VOCABULARY_STEPS: Final = 100
"""Steps of random play in every environment, from which words are taken where nothing else has
them."""
_EPISODES: Final = ("protocol", "goals")
"""What a checkpoint's config says of episodes; checkpoints of earlier versions do not have it."""
_LATER: Final = ("mean_entropy",)
"""Settings that checkpoints of earlier versions do not have."""


Config = TypeVar("Config", bound="PlayingConfig")


class PlayingConfig(Protocol):
    """What is asked of the hyperparameters of a training that plays."""

    @property
    def choice(self) -> ChoiceConfig: ...
    @property
    def vocabulary_size(self) -> int: ...
    @property
    def seed(self) -> int: ...


class RLProgress(NamedTuple):
    """How far a training is."""

    step: int
    steps: int
    score: float
    """Means of the last finished episodes: of 100 x the reward, and of rewards of 1."""
    success: float


class RLResult(NamedTuple):
    """How a training ended."""

    folder: Path
    steps: int
    episodes: int
    score: float
    success: float
    steps_per_second: float
    steps_per_cpu_second: float
    shares: dict[str, float]
    """Of the time: environment, encoding, model, learning, saving, evaluation."""
    words_from: str
    evaluated: EvalResult | None
    """The last evaluation, if there was one, and the best."""
    best: EvalResult | None


class ModelSource(NamedTuple):
    """What a model is built from."""

    builder: ModelBuilder
    words_from: str
    pictures: Pictures | None
    goals: GoalFingerprints | None
    """What it will have learnt from; None where an earlier training did not say."""

    def save(self, folder: Path) -> None:
        save_pictures(folder, self.pictures)
        self.builder.save(folder)


def model_source(
    training_env: TrainingEnv,
    checkpoint: Path | None,
    config: Config,
    demonstrations: Demonstrations | None,
    pictures: Pictures | None = None,
    *,
    is_resumed: bool = False,
) -> tuple[Config, ModelSource]:
    """The model of a checkpoint, or a new one, and the config with it; `is_resumed` if the
    checkpoint is this training's own."""
    if checkpoint is not None:
        info = read_info(checkpoint, "choice")
        choice = choice_config(info, checkpoint)
        builder = load_builder(checkpoint, choice, info.words)
        words_from = info.config.get("words_from", "") if is_resumed else "checkpoint"
        pictures = checkpoint_pictures(checkpoint, pictures)
    else:
        builder, words_from = _new_builder(training_env, config, demonstrations)
        choice = with_pictures(config.choice, pictures)
    changed: Any = msgspec.structs.replace(config, choice=choice)  # type: ignore[type-var]
    goals = training_env.fingerprints
    if goals is not None and demonstrations is not None:
        goals |= demonstrations.goals
    if goals is not None and checkpoint is not None:
        before = read_fingerprints(checkpoint)
        goals = None if before is None else goals | before
    return changed, ModelSource(builder, words_from, pictures, goals)


def reinforcement_info(
    training_env: TrainingEnv,
    config: PlayingConfig,
    source: ModelSource,
    search: SearchPolicy,
    demonstrations: str,
) -> CheckpointInfo:
    """What the checkpoint of a training is that learns from rewards; `demonstrations` are the
    fingerprint of those it learns from, too."""
    return CheckpointInfo(
        kind="choice",
        trained="reinforcement",
        config={
            **msgspec.to_builtins(config),
            "words_from": source.words_from,
            "queries_from": search.name,
            "protocol": dict(training_env.protocol),
            "goals": goals_key(training_env.goals),
        },
        words=source.builder.reader(config.choice).words,
        checksum=training_env.checksum,
        fingerprint=demonstrations,
    )


def _new_builder(
    training_env: TrainingEnv, config: PlayingConfig, demonstrations: Demonstrations | None
) -> tuple[ModelBuilder, str]:
    """With the words of demonstrations, else of pages that random play comes to."""
    wanted: list[tuple[str, str]] = []
    if config.choice.encoder == "pretrained":
        views, words_from = [], "its encoder"
    elif demonstrations is not None:
        views, words_from = [view for view, _ in demonstrations.choices], "demonstrations"
        wanted = wanted_products(demonstrations.choices)
    elif config.choice.encoder == "matching":
        views, words_from = [], "pages as they are"
    else:
        views, words_from = _random_views(training_env, config.seed), "random play"
    texts = texts_of(views)
    builder = new_builder(config.choice, texts, config.vocabulary_size, config.seed, wanted)
    return builder, words_from


def _random_views(training_env: TrainingEnv, seed: int) -> list[ChoiceView]:
    rng = random.Random(f"{seed} words")
    rollout = Rollout(training_env.env, training_env.goals, seed)
    seen = []
    for _ in range(_VOCABULARY_STEPS):
        views = rollout.views()
        seen += views
        clicks = [f"click[{rng.choice(view.names)}]" for view in views]
        searches = rollout.searches()
        rollout.step(
            views, [search or click for search, click in zip(searches, clicks, strict=True)]
        )
    return seen


def goals_key(goals: Sequence[int]) -> str:
    """Tells goals of one catalogue apart from others of it."""
    return hashlib.sha256(repr(list(map(int, goals))).encode()).hexdigest()[:16]


def check_env(training_env: TrainingEnv, num_envs: int) -> None:
    """Whether an environment is what the hyperparameters say, and there is something to play."""
    if training_env.env.num_envs != num_envs:
        raise SettingError(
            f"The vector environment has num_envs={training_env.env.num_envs}, and the"
            f" hyperparameters say num_envs={num_envs}; make both the same."
        )
    if not training_env.goals:
        raise SettingError("There are no goals to train on; name another split.")


def check_resumed(
    folder: Path, info: CheckpointInfo, done: int, option: str = "--total-timesteps"
) -> None:
    """Refuse to resume a training with anything else than before; `done` are its steps so far.
    Only the number of steps may be another, as long as it is not less than that; `option` is what
    sets it."""
    stored, config = read_info(folder, "choice"), info.config
    episodes = {name: stored.config.get(name, config[name]) for name in _EPISODES}
    later = {name: config[name] for name in _LATER if name in config}
    expected = {**later, **stored.config, **episodes, "steps": config["steps"]}
    for is_other, what in (
        (stored.checksum != info.checksum, "on another catalogue"),
        (
            any(episodes[name] != config[name] for name in _EPISODES),
            "on other goals, or by other rules",
        ),
        (expected != config, "with other settings"),
        (
            stored.fingerprint and stored.fingerprint != info.fingerprint,
            "on other demonstrations",
        ),
    ):
        if is_other:
            which = differing(expected, config) if what == "with other settings" else ""
            raise SettingError(
                f"{folder} was trained {what}{which}; resume it with the same, or name another."
            )
    if config["steps"] < min(done, stored.config.get("steps", done)):
        raise SettingError(
            f"{folder} has done {done:,} already; resume it with {option} {done} or more."
        )


class BestCheckpoint:
    """Evaluates a policy as it learns, and keeps the best in the folder `best` of a checkpoint."""

    def __init__(
        self,
        folder: Path,
        source: ModelSource,
        evaluation: EvalConfig | None,
        stored: Mapping[str, Any] | None = None,
    ) -> None:
        self._folder, self._source = folder / BEST, source
        self.evaluation = evaluation
        self.evaluated: tuple[float, ...] | None = None
        self.best: tuple[float, ...] | None = None
        # Results of another evaluation are not to be compared with.
        self._key = (
            None if evaluation is None else [goals_key(evaluation.goals), evaluation.is_sampled]
        )
        self._best_key: Any = self._key
        self._is_begun = False
        if stored is not None:
            self.evaluated, self.best = stored.get("evaluated"), stored.get("best")
            self._best_key = stored.get("exam", self._key)

    def state(self) -> dict[str, Any]:
        """For a checkpoint's progress."""
        return {"best": self.best, "evaluated": self.evaluated, "exam": self._best_key}

    def evaluate(
        self, evaluation: EvalConfig, policy: Policy, queries: QuerySource, info: CheckpointInfo
    ) -> dict[str, float]:
        """Evaluate the model, and keep it if it is the best so far; its figures, for the log."""
        self.evaluated = tuple(evaluate(evaluation, policy, queries))
        is_comparable = self.best is not None and self._best_key == self._key
        if not is_comparable or self.evaluated > (self.best or ()):
            self.best, self._best_key = self.evaluated, self._key
            if not self._is_begun:
                self._source.save(self._folder)
                self._is_begun = True
            figures = {**info.figures, **self.figures()}
            save(
                self._folder,
                msgspec.structs.replace(info, figures=figures),
                policy.model.state_dict(),
                None,
                self._source.goals,
            )
        return _figures("eval", self.evaluated)

    def figures(self) -> dict[str, float]:
        return {**_figures("eval", self.evaluated), **_figures("best", self.best)}

    def results(self) -> tuple[EvalResult | None, EvalResult | None]:
        """The last evaluation, if there was one, and the best."""
        return (
            None if self.evaluated is None else EvalResult(*self.evaluated),
            None if self.best is None else EvalResult(*self.best),
        )


def curve(rewards: Sequence[float]) -> dict[str, float]:
    """Means of some finished episodes: of 100 x the reward, and of rewards of 1."""
    count = max(len(rewards), 1)
    return {
        "score": 100 * sum(rewards) / count,
        "success": sum(reward >= 1 for reward in rewards) / count,
    }


def _figures(name: str, result: Sequence[float] | None) -> dict[str, float]:
    return {} if result is None else {f"{name}_score": result[0], f"{name}_success": result[1]}

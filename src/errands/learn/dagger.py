"""DAgger: a choice model learns what a teacher would do wherever the model itself comes to.

    training_env = open_training_env("shop-learn-train", num_envs=32)
    train_dagger(training_env, Path("il"), PRESETS["small"])

Ross et al. (2011). In the first iteration the teacher plays, in the later ones more and more the
model; on every page the teacher says what it would do, and the model is trained on all that was
said so far. The teacher knows the goals it advises on (`learn.teacher`), so these are training
goals. All randomness comes from the seed. What was played is kept as actions, from which a
training that was killed builds its examples again, and goes on to the same weights.
"""

import math
import random
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import torch
from torch import Tensor, nn
from torch.nn import functional

from errands.envs.shop_vector import ShopVectorEnv
from errands.errors import SettingError
from errands.learn.checkpoint import (
    CheckpointInfo,
    load_state,
    read_info,
    read_progress,
    save,
    versions,
)
from errands.learn.data.view import ChoiceView, action_of
from errands.learn.environments import TrainingEnv
from errands.learn.evaluation import EvalConfig, EvalResult
from errands.learn.models.builder import ModelBuilder, load_builder, new_builder
from errands.learn.models.choice import ChoiceConfig, check_width
from errands.learn.models.runtime import find_device, seeded_torch, to_device
from errands.learn.policy import Policy, choice_config
from errands.learn.rollout import Rollout, SearchPolicy, default_search
from errands.learn.source import (
    BestCheckpoint,
    ModelSource,
    check_env,
    check_resumed,
    curve,
    goals_key,
)
from errands.learn.teacher import LookingTeacher
from errands.learn.timing import EVALUATION, Speed, Stopwatch
from errands.learn.tracker import Log, open_log
from errands.learn.trainer import TrainingOptions

__all__ = ["PRESETS", "DAggerConfig", "DAggerProgress", "DAggerResult", "train_dagger"]

ALGORITHM: Final = "dagger"
"""What `errands train` calls it."""
_RECENT: Final = 400
"""Finished episodes that a curve's points are means of."""


class DAggerConfig(msgspec.Struct, frozen=True, kw_only=True, rename={"num_iterations": "steps"}):
    """The hyperparameters."""

    choice: ChoiceConfig = ChoiceConfig(encoder="matching", layers=2)
    num_iterations: int = 4
    """The first of them is played by the teacher."""
    num_envs: int = 32
    num_steps: int = 500
    """Of every environment in each iteration."""
    beta: float = 0.2
    """The share of actions that the teacher takes: this to the power of the iteration, from 0."""
    looks: int = 10
    """How many products the teacher opens before it buys the best of them."""
    worth_coef: float = 1.0
    """How much it counts what every product that was seen could earn, which the teacher tells, too
    (models that tell products apart)."""
    epochs: int = 2
    """Passes over all examples in each iteration."""
    batch_size: int = 64
    learning_rate: float = 2e-3
    """At the beginning of each iteration; it falls to 0 in a straight line."""
    warmup_steps: int = 50
    max_grad_norm: float = 1.0
    vocabulary_size: int = 8_000
    seed: int = 0
    threads: int = 1


PRESETS: Final = {"small": DAggerConfig()}


class DAggerProgress(NamedTuple):
    """How far a training is: in updates and steps of the environments, by iteration."""

    step: int
    steps: int
    score: float
    success: float


class DAggerResult(NamedTuple):
    """How a training ended."""

    folder: Path
    iterations: int
    examples: int
    episodes: int
    score: float
    """Of the last episodes played in training, and the share of rewards of 1."""
    success: float
    loss: float
    accuracy: float
    steps_per_cpu_second: float
    shares: dict[str, float]
    evaluated: EvalResult | None
    best: EvalResult | None


class _Example(NamedTuple):
    """A page to learn from."""

    view: Any
    """What the model sees, in numbers."""
    label: int
    """The place of the teacher's advice."""
    worths: dict[str, float]
    """What the products seen so far could earn."""


class _Advice(NamedTuple):
    """What the teacher says of a page."""

    view: ChoiceView
    label: int
    worths: dict[str, float]


class _Played(NamedTuple):
    """What was played in one iteration."""

    begin: list[Any]
    """The state of the environments before it."""
    actions: list[list[str]]
    """Step by step, of every environment."""
    labels: list[list[int]]
    """The places of the teacher's advice, likewise; -1 where there is no choice."""


def train_dagger(
    training_env: TrainingEnv,
    folder: Path,
    config: DAggerConfig,
    *,
    search: SearchPolicy | None = None,
    evaluation: EvalConfig | None = None,
    options: TrainingOptions | None = None,
) -> DAggerResult:
    """Train, or go on training; the checkpoint in `folder` is written as it goes. With an
    `evaluation` the model is evaluated after every iteration, and the best is kept."""
    search = search or default_search(config.choice.encoder)
    options = options or TrainingOptions()
    check_env(training_env, config.num_envs)
    check_width(config.choice)
    if not isinstance(training_env.env, ShopVectorEnv):
        raise SettingError("The teacher must know the goals; expected a ShopVectorEnv of ours.")
    stored = read_progress(folder, options.resume, ALGORITHM)
    info = CheckpointInfo(
        kind="choice",
        trained="imitation",
        config={
            **msgspec.to_builtins(config),
            "queries_from": search.name,
            "protocol": dict(training_env.protocol),
            "goals": goals_key(training_env.goals),
        },
        checksum=training_env.checksum,
    )
    first = 0
    if stored is not None:
        first = stored["step"]
        check_resumed(folder, info, stored["iteration"], "--num-iterations")
    watch = Stopwatch()
    find_device(options.device)  # Before there is anything of this training.
    with (
        seeded_torch(config.seed, config.threads),
        open_log(folder, options.track, folder.name, info.config, first) as log,
    ):
        trainer = _DAggerTrainer(
            training_env, folder, config, info, search, evaluation, options, watch
        )
        if stored is not None:
            trainer.restore(stored)
        return trainer.train(log)


@dataclass(eq=False)
class _DAggerTrainer:
    """A training under way."""

    training_env: TrainingEnv
    folder: Path
    config: DAggerConfig
    info: CheckpointInfo
    search: SearchPolicy
    evaluation: EvalConfig | None
    options: TrainingOptions
    watch: Stopwatch

    def __post_init__(self) -> None:
        config = self.config
        env = self.training_env.env
        assert isinstance(env, ShopVectorEnv)
        self.env = env
        self.teacher = LookingTeacher(
            env.context,
            config.looks,
            *((self.search.queries,) if self.search.is_chosen else ()),
        )
        self.device = find_device(self.options.device)
        self.rng = torch.Generator().manual_seed(config.seed)
        self.iteration = 0
        """Iterations whose pages were played."""
        self.step = 0
        """Updates so far, and those in this iteration."""
        self.update = 0
        self.is_evaluated = True
        """Whether the model of this iteration was."""
        self.episodes = 0
        self.recent = deque[float](maxlen=_RECENT)
        self.played: list[_Played] = []
        self.examples: list[_Example] = []
        self.loss = self.accuracy = 0.0
        self.rollout_state: Any = None
        self._order_of: tuple[int, int] | None = None
        """The iteration and the epoch whose batches are in order."""

    def restore(self, stored: dict[str, Any]) -> None:
        """The model, and its examples from what was played."""
        info = read_info(self.folder, "choice")
        self._build(load_builder(self.folder, choice_config(info, self.folder), info.words))
        load_state(self.model, stored["weights"], self.folder)
        self.optimizer.load_state_dict(stored["optimizer"])
        self.rng.set_state(stored["rng"])
        torch.set_rng_state(stored["torch_rng"])
        self.iteration, self.step, self.update = (
            stored[name] for name in ("iteration", "step", "update")
        )
        self.is_evaluated = stored["is_evaluated"]
        self.episodes = stored["episodes"]
        self.recent.extend(stored["recent"])
        self.loss, self.accuracy = stored["loss"], stored["accuracy"]
        self.rollout_state = stored["rollout"]
        self.kept = BestCheckpoint(self.folder, self.source, self.evaluation, stored)
        for part in stored["played"]:
            self.played.append(_Played(*part))
            self.examples += self._examples(self._again(self.played[-1]))

    def train(self, log: Log) -> DAggerResult:
        config = self.config
        speed, first = Speed(self.watch), self._steps_played()
        saved = time.monotonic()
        while True:
            if self.update == self._updates():
                self._evaluate(log)
                if self.iteration == config.num_iterations:
                    break
                choices = self._play()
                if not self.played:
                    return self._result(speed, first)  # Stopped before there was anything to keep.
                if self.iteration == 1:
                    self._new_model(choices)
                self.examples += self._examples(choices)
                self.update = 0
                self.is_evaluated = False
                self.optimizer = self._new_optimizer()
            self._learn()
            if self.update % 50 == 0 or self.update == self._updates():
                figures = {"loss": self.loss, "accuracy": self.accuracy}
                log(self.step, curve(self.recent) | figures | self.watch.figures())
                self._report()
            if self.options.stop():
                break
            if time.monotonic() - saved > self.options.save_every:
                self._save()
                saved = time.monotonic()
        self._save()
        return self._result(speed, first)

    def _evaluate(self, log: Log) -> None:
        """After an iteration, once."""
        if self.evaluation is None or self.is_evaluated:
            return
        with self.watch.on(EVALUATION):
            figures = self.kept.evaluate(
                self.evaluation, self.policy, self.search.queries, self._info()
            )
        log(self.step, figures)
        self.is_evaluated = True

    def _updates(self) -> int:
        """Of this iteration."""
        return self.config.epochs * -(-len(self.examples) // self.config.batch_size)

    def _new_model(self, choices: Sequence[_Advice]) -> None:
        """With the words of the pages that the teacher came to."""
        config = self.config
        with self.watch.on("encoding"):
            texts = (text for one in choices for text in (one.view.page, *one.view.actions))
            wanted = self.teacher.wanted(self.training_env.goals)
            self._build(
                new_builder(config.choice, texts, config.vocabulary_size, config.seed, wanted)
            )
        self.source.save(self.folder)
        self.kept = BestCheckpoint(self.folder, self.source, self.evaluation)

    def _build(self, builder: ModelBuilder) -> None:
        choice = self.config.choice
        goals = self.training_env.fingerprints
        self.source = ModelSource(builder, "the teacher's pages", None, goals)
        self.model: Any = builder.model(choice).to(self.device).eval()
        self.reader = builder.reader(choice)
        self.info = msgspec.structs.replace(self.info, words=self.reader.words)
        self.policy = Policy(self.model, self.reader, choice, self.search.is_chosen)
        self.optimizer = self._new_optimizer()

    def _new_optimizer(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.model.parameters(), lr=self.config.learning_rate)

    def _play(self) -> list[_Advice]:
        """One iteration of pages, with the teacher's advice."""
        config = self.config
        rollout = self._rollout(self.rollout_state)
        share = config.beta**self.iteration
        played = _Played(rollout.state(), [], [])
        choices: list[_Advice] = []
        for step in range(config.num_steps):
            views, searches = rollout.views(), rollout.searches()
            labels = [
                view.names.index(self.teacher.click(episode, view)) if search is None else -1
                for view, search, episode in zip(views, searches, self.env.episodes, strict=True)
            ]
            taken = labels if share == 1.0 else self._taken(views, labels, share)
            actions = [
                search or action_of(view, view.names[place])
                for view, search, place in zip(views, searches, taken, strict=True)
            ]
            choices += self._advice(views, labels)
            played.actions.append(actions)
            played.labels.append(labels)
            results = rollout.step(views, actions)
            finished = [result.reward for result in results if result.is_over]
            self.recent.extend(finished)
            self.episodes += len(finished)
            if step % 10 == 0:
                self._report(step / config.num_steps)
                if self.options.stop() and not self.played:
                    return []
        self.rollout_state = rollout.state()
        self.played.append(played)
        self.iteration += 1
        return choices

    def _advice(self, views: Sequence[ChoiceView], labels: Sequence[int]) -> list[_Advice]:
        """The advice on every page where there was any."""
        return [
            _Advice(view, label, self.teacher.worths(episode, view))
            for view, label, episode in zip(views, labels, self.env.episodes, strict=True)
            if label >= 0
        ]

    def _taken(self, views: Sequence[Any], labels: Sequence[int], share: float) -> list[int]:
        """The teacher's advice now and then, else what the model samples."""
        with self.watch.on("encoding"):
            batch = self.policy.batch(views)
        with self.watch.on("model"), torch.no_grad():
            chances = functional.softmax(self.model(batch).scores, dim=1).cpu()
        own = torch.multinomial(chances, 1, generator=self.rng)[:, 0].tolist()
        advised = (torch.rand(len(views), generator=self.rng) < share).tolist()
        return [
            label if is_advised else place
            for label, is_advised, place in zip(labels, advised, own, strict=True)
        ]

    def _again(self, played: _Played) -> list[_Advice]:
        """The choices of an iteration, from its actions."""
        rollout = self._rollout(played.begin)
        choices = []
        for actions, labels in zip(played.actions, played.labels, strict=True):
            views = rollout.views()
            choices += self._advice(views, labels)
            rollout.step(views, actions)
        return choices

    def _rollout(self, state: Any) -> Rollout:
        return Rollout(
            self.env,
            self.training_env.goals,
            self.config.seed,
            search=self.search,
            watch=self.watch,
            state=state,
        )

    def _examples(self, advice: Sequence[_Advice]) -> list[_Example]:
        with self.watch.on("encoding"):
            return [_Example(self.reader.encode(one.view), one.label, one.worths) for one in advice]

    def _learn(self) -> None:
        """One update."""
        config = self.config
        examples = [self.examples[place] for place in self._batch()]
        self.update += 1
        self.step += 1
        falling = 1 - (self.update - 1) / self._updates()
        rising = min(1.0, self.update / config.warmup_steps) if config.warmup_steps else 1.0
        for group in self.optimizer.param_groups:
            group["lr"] = config.learning_rate * rising * falling
        batch = to_device(self.reader.pack([one.view for one in examples]), self.device)
        label = torch.tensor([one.label for one in examples], device=self.device)
        with self.watch.on("model"):
            self.model.train()
            output = self.model(batch)
            self.model.eval()
            scores = output.scores
            loss = functional.cross_entropy(scores, label)
            if output.worths is not None:
                loss = loss + config.worth_coef * _worth_loss(output.worths, examples)
        with self.watch.on("learning"):
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(self.model.parameters(), config.max_grad_norm)
            self.optimizer.step()
        right = float((scores.argmax(dim=1) == label).float().mean())
        self.loss = 0.98 * self.loss + 0.02 * loss.item() if self.step > 1 else loss.item()
        self.accuracy = 0.98 * self.accuracy + 0.02 * right if self.step > 1 else right
        if not math.isfinite(self.loss):
            raise SettingError(
                f"The loss is no number any more after {self.step} updates; train with a lower"
                " --learning-rate."
            )

    def _batch(self) -> list[int]:
        """The examples of the next update: of about the same size, which saves padding."""
        size = self.config.batch_size
        per_epoch = -(-len(self.examples) // size)
        epoch, place = divmod(self.update, per_epoch)
        key = (self.iteration, epoch)
        if self._order_of != key:
            rng = random.Random(f"{self.config.seed} order {self.iteration} {epoch}")
            keyed = sorted(
                (len(one.view[0]) + 8 * rng.random(), at) for at, one in enumerate(self.examples)
            )
            order = [at for _, at in keyed]
            self._order = [order[at : at + size] for at in range(0, len(order), size)]
            rng.shuffle(self._order)
            self._order_of = key
        return self._order[place]

    def _report(self, share: float | None = None) -> None:
        """Of every iteration, half is playing and half is learning."""
        total = 100 * self.config.num_iterations
        if share is None:
            step = 100 * (self.iteration - 1) + 50 + 50 * self.update / max(self._updates(), 1)
        else:
            step = 100 * self.iteration + 50 * share
        self.options.on_progress(DAggerProgress(int(step), total, **curve(self.recent)))

    def _steps_played(self) -> int:
        return sum(len(part.actions) for part in self.played) * self.config.num_envs

    def _result(self, speed: Speed, first: int) -> DAggerResult:
        """`first` are the steps that were played before `speed` was taken."""
        kept = getattr(self, "kept", None)
        evaluated, best = kept.results() if kept is not None else (None, None)
        return DAggerResult(
            self.folder,
            self.iteration,
            len(self.examples),
            self.episodes,
            **curve(self.recent),
            loss=self.loss,
            accuracy=self.accuracy,
            steps_per_cpu_second=speed.whole(self._steps_played() - first).per_cpu_second,
            shares=self.watch.shares(),
            evaluated=evaluated,
            best=best,
        )

    def _info(self) -> CheckpointInfo:
        config = self.config
        is_done = self.iteration == config.num_iterations and self.update == self._updates()
        return msgspec.structs.replace(
            self.info,
            is_done=is_done,
            figures={
                **curve(self.recent),
                "loss": self.loss,
                "accuracy": self.accuracy,
                "examples": float(len(self.examples)),
                **self.kept.figures(),
            },
            versions=versions(),
        )

    def _save(self) -> None:
        progress = {
            "algorithm": ALGORITHM,
            "iteration": self.iteration,
            "step": self.step,
            "update": self.update,
            "is_evaluated": self.is_evaluated,
            "optimizer": self.optimizer.state_dict(),
            "rng": self.rng.get_state(),
            "torch_rng": torch.get_rng_state(),
            "rollout": self.rollout_state,
            "played": [tuple(part) for part in self.played],
            "recent": list(self.recent),
            "episodes": self.episodes,
            "loss": self.loss,
            "accuracy": self.accuracy,
            **self.kept.state(),
        }
        with self.watch.on("saving"):
            save(self.folder, self._info(), self.model.state_dict(), progress, self.source.goals)


def _worth_loss(worths: Tensor, examples: Sequence[_Example]) -> Tensor:
    """How far the model is from what the products could earn."""
    known = torch.full(worths.shape, torch.nan)
    for row, one in enumerate(examples):
        for place, name in enumerate(one.view.products):
            if name in one.worths:
                known[row, place] = one.worths[name]
    known = known.to(worths.device)
    there = ~known.isnan()
    return (worths[there] - known[there]).square().sum() / there.sum().clamp(min=1)

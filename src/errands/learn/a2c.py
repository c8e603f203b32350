"""Advantage actor-critic: a choice model learns from the rewards of its own choices.

    training_env = open_training_env("shop-learn-train", num_envs=4)
    train_rl(training_env, Path("rl"), PRESETS["small"], start=Path("il"))

A few environments are played side by side; after every few steps the model is updated. Searching
is done by a fixed source of queries, unless the model is one that chooses among them. Running out
of steps ends an episode without reward, as it does when agents are tested. All randomness comes
from the seed and is kept in the checkpoint with the state of every environment, so a training that
was killed goes on to the same weights.
"""

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

from errands.errors import SettingError
from errands.learn.checkpoint import (
    CheckpointInfo,
    check_start,
    digest,
    load_state,
    load_weights,
    read_info,
    read_progress,
    save,
    versions,
)
from errands.learn.data.dataset import fingerprint
from errands.learn.data.demonstrations import Demonstrations
from errands.learn.data.pictures import Pictures
from errands.learn.data.view import ChoiceView, action_of
from errands.learn.environments import TrainingEnv
from errands.learn.evaluation import EvalConfig
from errands.learn.models.choice import ChoiceConfig
from errands.learn.models.runtime import find_device, seeded_torch, to_device
from errands.learn.policy import Policy
from errands.learn.rollout import Rollout, SearchPolicy, default_search
from errands.learn.source import (
    BestCheckpoint,
    ModelSource,
    RLProgress,
    RLResult,
    check_env,
    check_resumed,
    curve,
    model_source,
    reinforcement_info,
)
from errands.learn.timing import EVALUATION, Speed, Stopwatch
from errands.learn.tracker import Log, open_log
from errands.learn.trainer import TrainingOptions

__all__ = ["PRESETS", "A2CConfig", "RLProgress", "RLResult", "returns", "train_rl"]

ALGORITHM: Final = "rl"
"""What `errands train` calls it."""
_RECENT: Final = 100
"""Finished episodes that a curve's points are means of."""


class A2CConfig(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    # Checkpoints spell these as they did before.
    rename={
        "total_timesteps": "steps",
        "num_envs": "environments",
        "num_steps": "bptt",
        "learning_rate": "rate",
        "max_grad_norm": "clip",
        "policy_coef": "policy",
        "vf_coef": "value",
        "ent_coef": "entropy",
        "imitation_coef": "imitation",
        "imitation_batch_size": "imitation_batch",
        "critic_warmup_updates": "critic_first",
        "vocabulary_size": "words",
    },
):
    """The hyperparameters; the defaults are the paper's for its transformer."""

    choice: ChoiceConfig = ChoiceConfig()
    """Of a model from scratch; one from a checkpoint stays what it is."""
    total_timesteps: int = 100_000
    """Of all environments together."""
    num_envs: int = 4
    num_steps: int = 8
    """Steps of every environment between updates."""
    gamma: float = 0.9
    learning_rate: float = 1e-5
    max_grad_norm: float = 10.0
    reward_scale: float = 10.0
    policy_coef: float = 1.0
    """Weights of the parts of the loss, this one and the next three."""
    vf_coef: float = 1.0
    ent_coef: float = 1.0
    mean_entropy: bool = False
    """Whether a page's entropy is averaged over its actions, as in the original's program, instead
    of added up. A training that is resumed stays what it was."""
    imitation_coef: float = 0.0
    imitation_batch_size: int = 16
    """Demonstrated choices beside every update, where `imitation_coef` is not 0."""
    critic_warmup_updates: int = 0
    """Updates at the beginning in which only the value is learnt, by its own layers: the
    advantages of a critic that knows nothing would spoil a policy that knows something."""
    vocabulary_size: int = 8_000
    seed: int = 0
    threads: int = 1

    @property
    def batch_size(self) -> int:
        """Timesteps of one update."""
        return self.num_steps * self.num_envs

    @property
    def num_updates(self) -> int:
        return -(-self.total_timesteps // self.batch_size)


PRESETS: Final = {
    "small": A2CConfig(
        total_timesteps=20_000,
        gamma=0.99,
        learning_rate=2e-4,
        max_grad_norm=1.0,
        reward_scale=1.0,
        vf_coef=0.5,
        ent_coef=0.003,
        critic_warmup_updates=20,
    ),
    "paper": A2CConfig(mean_entropy=True),
    "paper-rnn": A2CConfig(
        choice=ChoiceConfig(encoder="gru", hidden=512, word_attention=True),
        learning_rate=5e-4,
        mean_entropy=True,
    ),
}


def train_rl(
    training_env: TrainingEnv,
    folder: Path,
    config: A2CConfig,
    *,
    start: Path | None = None,
    demonstrations: Demonstrations | None = None,
    pictures: Pictures | None = None,
    search: SearchPolicy | None = None,
    evaluation: EvalConfig | None = None,
    options: TrainingOptions | None = None,
) -> RLResult:
    """Train, or go on training; the checkpoint in `folder` is written as it goes.

    `start` is the checkpoint of a choice model, `demonstrations` are for an imitation part of the
    loss (and for words, where there is no `start`); `pictures` are seen on products' pages by a
    model from scratch. With an `evaluation` the model is evaluated as it goes, before the first
    update too, and the best is kept in the folder `best`; weights are the same without. A resumed
    training may have more `total_timesteps` than before; all else is the same.
    """
    options = options or TrainingOptions()
    check_env(training_env, config.num_envs)
    if config.imitation_coef and demonstrations is None:
        raise SettingError("An imitation part needs demonstrations; add --demonstrations RUN.")
    stored = read_progress(folder, options.resume, ALGORITHM)
    watch = Stopwatch()
    is_resumed = stored is not None
    config, source = model_source(
        training_env,
        folder if is_resumed else start,
        config,
        demonstrations,
        pictures,
        is_resumed=is_resumed,
    )
    search = search or default_search(config.choice.encoder)
    if stored is not None:
        earlier = read_info(folder, "choice").config
        config = msgspec.structs.replace(
            config, mean_entropy=bool(earlier.get("mean_entropy", False))
        )
    imitated = demonstrations.choices if demonstrations and config.imitation_coef else ()
    info = reinforcement_info(training_env, config, source, search, fingerprint(imitated))
    first = 0
    if stored is not None:
        first = stored["update"] * config.batch_size
        check_resumed(folder, info, first)
        check_start(folder, stored, start)
    reader = source.builder.reader(config.choice, source.pictures)
    examples = [(reader.encode(view), taken) for view, taken in imitated]
    find_device(options.device)  # Before there is anything of this training.
    with (
        seeded_torch(config.seed, config.threads),
        open_log(folder, options.track, folder.name, info.config, first) as log,
    ):
        if stored is None:
            source.save(folder)
        trainer = _A2CTrainer(
            folder, config, info, source, search, examples, evaluation, options, watch,
            digest(start) if stored is None else stored.get("start", ""),
        )  # fmt: skip
        if stored is not None:
            trainer.restore(stored)
        elif start is not None:
            load_weights(start, trainer.model)
        rollout = Rollout(
            training_env.env,
            training_env.goals,
            config.seed,
            search=search,
            watch=watch,
            state=None if stored is None else stored["shoppers"],
        )
        return trainer.train(rollout, log)


class _Transition(NamedTuple):
    """One step of all environments; gradients flow back from it."""

    log_prob: Tensor
    """Of what was chosen."""
    value: Tensor
    entropy: Tensor
    is_choice: Tensor
    """1 where the model chose, 0 where a search was due."""
    reward: Tensor
    goes_on: Tensor
    """0 where the episode ended with this step."""


@dataclass(eq=False)
class _A2CTrainer:
    """A training under way."""

    folder: Path
    config: A2CConfig
    info: CheckpointInfo
    source: ModelSource
    search: SearchPolicy
    examples: Sequence[tuple[Any, int]]
    evaluation: EvalConfig | None
    options: TrainingOptions
    watch: Stopwatch
    begun_from: str
    """The digest of the model it began from."""

    def __post_init__(self) -> None:
        config, source, evaluation = self.config, self.source, self.evaluation
        self.model: Any = source.builder.model(config.choice).to(find_device(self.options.device))
        # Dropout would make what is learnt from another policy than the one that played.
        self.model.eval()
        reader = source.builder.reader(config.choice, source.pictures)
        self.policy = Policy(self.model, reader, config.choice, self.search.is_chosen)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=config.learning_rate)
        self.rng = torch.Generator().manual_seed(config.seed)
        self.update = 0
        self.episodes = 0
        self.recent = deque[float](maxlen=_RECENT)
        self.kept = BestCheckpoint(self.folder, source, evaluation)

    def restore(self, stored: dict[str, Any]) -> None:
        load_state(self.model, stored["weights"], self.folder)
        self.optimizer.load_state_dict(stored["optimiser"])
        self.rng.set_state(stored["chance"])
        self.update = stored["update"]
        self.episodes = stored["episodes"]
        self.recent.extend(stored["recent"])
        self.kept = BestCheckpoint(self.folder, self.source, self.evaluation, stored)

    @property
    def step(self) -> int:
        return self.update * self.config.batch_size

    def train(self, rollout: Rollout, log: Log) -> RLResult:
        config, options = self.config, self.options
        first = self.step
        if self.evaluation is not None and not first:
            log(0, self._evaluate(self.evaluation))
        saved = time.monotonic()
        speed = Speed(self.watch)
        for update in range(self.update + 1, config.num_updates + 1):
            self.update = update
            transitions = [self._play(rollout) for _ in range(config.num_steps)]
            with self.watch.on("encoding"):
                batch = self.policy.batch(rollout.views())
            with self.watch.on("model"), torch.no_grad():
                next_value = self.model(batch).values
            with self.watch.on("learning"):
                figures = self._learn(transitions, next_value)
            is_evaluated = self.evaluation is not None and self._is_due(self.evaluation.every)
            if self.evaluation is not None and is_evaluated:
                figures |= self._evaluate(self.evaluation)
            if update % 10 == 0 or update == config.num_updates or is_evaluated:
                figures |= speed.lately(self.step - first).figures("steps") | self.watch.figures()
                log(self.step, curve(self.recent) | figures)
                total = config.num_updates * config.batch_size
                options.on_progress(RLProgress(self.step, total, **curve(self.recent)))
            if options.stop():
                break
            if time.monotonic() - saved > options.save_every:
                self._save(rollout)
                saved = time.monotonic()
        rate = speed.whole(self.step - first)
        self._save(rollout)
        evaluated, best = self.kept.results()
        return RLResult(
            self.folder,
            self.step,
            self.episodes,
            **curve(self.recent),
            steps_per_second=rate.per_second,
            steps_per_cpu_second=rate.per_cpu_second,
            shares=self.watch.shares(),
            words_from=self.source.words_from,
            evaluated=evaluated,
            best=best,
        )

    def _play(self, rollout: Rollout) -> _Transition:
        """One step of every environment."""
        with self.watch.on("encoding"):
            views = rollout.views()
            searches = rollout.searches()
            batch = self.policy.batch(views)
        with self.watch.on("model"):
            output = self.model(batch)
            log_probs = functional.log_softmax(output.scores, dim=1)
            if not bool(log_probs.isfinite().all()):
                raise SettingError(
                    "The model's scores are no numbers any more; train with a lower"
                    " --learning-rate."
                )
            choices = torch.multinomial(log_probs.detach().exp().cpu(), 1, generator=self.rng)
            log_prob = log_probs.gather(1, choices.to(log_probs.device)).squeeze(1)
            entropy = self._entropy(log_probs, views)
        actions = [
            search or action_of(view, view.names[choice])
            for search, view, choice in zip(searches, views, choices[:, 0].tolist(), strict=True)
        ]
        results = rollout.step(views, actions)
        finished = [result.reward for result in results if result.is_over]
        self.recent.extend(finished)
        self.episodes += len(finished)

        def tensor(values: list[float]) -> Tensor:
            return torch.tensor(values, device=log_probs.device)

        return _Transition(
            log_prob,
            output.values,
            entropy,
            is_choice=tensor([float(search is None) for search in searches]),
            reward=tensor([self.config.reward_scale * result.reward for result in results]),
            goes_on=tensor([float(not result.is_over) for result in results]),
        )

    def _entropy(self, log_probs: Tensor, views: Sequence[ChoiceView]) -> Tensor:
        """Of every page's policy."""
        entropy = -(log_probs.exp() * log_probs).sum(dim=1)
        if not self.config.mean_entropy:
            return entropy
        return entropy / torch.tensor([len(view.names) for view in views], device=entropy.device)

    def _learn(self, transitions: Sequence[_Transition], next_value: Tensor) -> dict[str, float]:
        """One update of the model."""
        config = self.config
        log_prob, value, entropy, is_choice, reward, goes_on = map(
            torch.stack, zip(*transitions, strict=True)
        )
        advantage = returns(reward, goes_on, next_value, config.gamma) - value
        choices = is_choice.sum().clamp(min=1)
        losses = {
            "policy_loss": -(log_prob * advantage.detach() * is_choice).sum() / choices,
            "value_loss": advantage.square().mean(),
            "entropy": (entropy * is_choice).sum() / choices,
        }
        loss = (
            config.policy_coef * losses["policy_loss"]
            + config.vf_coef * losses["value_loss"]
            - config.ent_coef * losses["entropy"]
        )
        if self.examples:
            losses["imitation_loss"] = self._imitation_loss(loss.device)
            loss = loss + config.imitation_coef * losses["imitation_loss"]
        self.optimizer.zero_grad(set_to_none=True)
        if self.update <= config.critic_warmup_updates:
            critic = list(self.model.value.parameters())
            gradients = torch.autograd.grad(losses["value_loss"], critic)
            for weight, gradient in zip(critic, gradients, strict=True):
                weight.grad = gradient
        else:
            loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.model.parameters(), config.max_grad_norm)
        self.optimizer.step()
        return {name: part.item() for name, part in losses.items()}

    def _imitation_loss(self, device: torch.device) -> Tensor:
        """Of some demonstrated choices."""
        rng = random.Random(f"{self.config.seed} lesson {self.update}")
        chosen = rng.choices(self.examples, k=self.config.imitation_batch_size)
        batch = to_device(self.policy.reader.pack([view for view, _ in chosen]), device)
        scores = self.model(batch).scores
        return functional.cross_entropy(
            scores, torch.tensor([place for _, place in chosen], device=device)
        )

    def _is_due(self, every: int) -> bool:
        """Whether an update crosses a multiple of `every` steps, or is the last one."""
        before = self.step - self.config.batch_size
        return self.update == self.config.num_updates or self.step // every > before // every

    def _evaluate(self, evaluation: EvalConfig) -> dict[str, float]:
        with self.watch.on(EVALUATION):
            return self.kept.evaluate(evaluation, self.policy, self.search.queries, self._info())

    def _info(self) -> CheckpointInfo:
        return msgspec.structs.replace(
            self.info,
            is_done=self.update == self.config.num_updates,
            figures={
                **curve(self.recent),
                "episodes": float(self.episodes),
                "step": float(self.step),
                **self.kept.figures(),
            },
            versions=versions(),
        )

    def _save(self, rollout: Rollout) -> None:
        progress = {
            "algorithm": ALGORITHM,
            "start": self.begun_from,
            "update": self.update,
            "optimiser": self.optimizer.state_dict(),
            "chance": self.rng.get_state(),
            "shoppers": rollout.state(),
            "recent": list(self.recent),
            "episodes": self.episodes,
            **self.kept.state(),
        }
        with self.watch.on("saving"):
            save(self.folder, self._info(), self.model.state_dict(), progress, self.source.goals)


def returns(rewards: Tensor, goes_on: Tensor, next_value: Tensor, gamma: float) -> Tensor:
    """What follows each step, later rewards counting less: T x N, of rewards and of 1 or 0 for
    whether an episode went on after the step (both T x N), and of what the pages after the last
    step are worth (N)."""
    following = next_value
    backwards = []
    for reward, on in zip(rewards.flip(0), goes_on.flip(0), strict=True):
        following = reward + gamma * on * following
        backwards.append(following)
    return torch.stack(backwards[::-1])

"""Proximal policy optimisation: a choice model learns from the rewards of its own choices.

    training_env = open_training_env("shop-learn-train", num_envs=64)
    train_ppo(training_env, Path("il-rl"), PRESETS["small"], start=Path("il"))

Schulman et al. (2017), with the details that CleanRL lists: generalised advantages, normalised in
every batch; the clipped objective; several epochs over minibatches of each batch; a learning
rate that falls to 0. In our own shop the critic knows the goals of training (`learn.critic`); in
any other environment the model itself tells what pages are worth. Searching is done by a fixed
source of queries, unless the model is one that chooses among them. All randomness comes from the
seed and is kept in the checkpoint with the state of every environment, so a training that was
killed goes on to the same weights.
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

from errands.envs.shop_vector import ShopVectorEnv
from errands.errors import SettingError
from errands.learn.checkpoint import (
    CheckpointInfo,
    check_start,
    digest,
    load_state,
    load_weights,
    read_progress,
    save,
    versions,
)
from errands.learn.critic import GoalKnowledge, InformedCritic
from errands.learn.data.dataset import fingerprint
from errands.learn.data.demonstrations import Demonstrations
from errands.learn.data.view import ChoiceView, action_of
from errands.learn.environments import TrainingEnv
from errands.learn.evaluation import EvalConfig
from errands.learn.models.choice import ChoiceConfig
from errands.learn.models.runtime import find_device, seeded_torch, to_device
from errands.learn.policy import Policy
from errands.learn.rollout import Rollout, SearchPolicy, VectorShop, default_search
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

__all__ = ["PRESETS", "PPOConfig", "advantages", "train_ppo"]

ALGORITHM: Final = "ppo"
"""What `errands train` calls it."""
_RECENT: Final = 400
"""Finished episodes that a curve's points are means of."""


class PPOConfig(msgspec.Struct, frozen=True, kw_only=True, rename={"total_timesteps": "steps"}):
    """The hyperparameters, by the names of CleanRL."""

    choice: ChoiceConfig = ChoiceConfig(encoder="matching", layers=2)
    """Of a model from scratch; one from a checkpoint stays what it is."""
    total_timesteps: int = 250_000
    """Of all environments together."""
    num_envs: int = 64
    num_steps: int = 32
    """Steps of every environment between updates."""
    gamma: float = 1.0
    """A purchase late is worth as much as one soon: with 0.999 models read less than would pay."""
    gae_lambda: float = 0.95
    learning_rate: float = 3e-4
    critic_learning_rate: float = 1e-3
    """Of an informed critic; it does not fall."""
    update_epochs: int = 3
    minibatch_size: int = 256
    clip_coef: float = 0.2
    ent_coef: float = 0.003
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5
    critic_warmup_updates: int = 4
    """Updates at the beginning in which only the value is learnt, by its own layers: the
    advantages of a critic that knows nothing would spoil a policy that knows something."""
    vocabulary_size: int = 8_000
    seed: int = 0
    threads: int = 1

    @property
    def batch_size(self) -> int:
        return self.num_steps * self.num_envs

    @property
    def num_updates(self) -> int:
        return -(-self.total_timesteps // self.batch_size)


PRESETS: Final = {"small": PPOConfig()}


def train_ppo(
    training_env: TrainingEnv,
    folder: Path,
    config: PPOConfig,
    *,
    start: Path | None = None,
    demonstrations: Demonstrations | None = None,
    search: SearchPolicy | None = None,
    evaluation: EvalConfig | None = None,
    options: TrainingOptions | None = None,
) -> RLResult:
    """Train, or go on training; the checkpoint in `folder` is written as it goes.

    `start` is the checkpoint of a choice model, `demonstrations` tell a model from scratch what
    words mean the same. With an `evaluation` the model is evaluated as it goes, before the first
    update too, and the best is kept in the folder `best`; weights are the same without.
    """
    options = options or TrainingOptions()
    check_env(training_env, config.num_envs)
    if start is not None and demonstrations is not None:
        raise SettingError(
            "Demonstrations tell a model from scratch what words mean the same; this one begins"
            f" from {start}, which knows. Leave out one of both."
        )
    stored = read_progress(folder, options.resume, ALGORITHM)
    watch = Stopwatch()
    is_resumed = stored is not None
    config, source = model_source(
        training_env, folder if is_resumed else start, config, demonstrations, is_resumed=is_resumed
    )
    search = search or default_search(config.choice.encoder)
    shown = fingerprint(demonstrations.choices) if demonstrations else ""
    info = reinforcement_info(training_env, config, source, search, shown)
    first = 0
    if stored is not None:
        first = stored["update"] * config.batch_size
        check_resumed(folder, info, first)
        check_start(folder, stored, start)
    find_device(options.device)  # Before there is anything of this training.
    with (
        seeded_torch(config.seed, config.threads),
        open_log(folder, options.track, folder.name, info.config, first) as log,
    ):
        if stored is None:
            source.save(folder)
        trainer = _PPOTrainer(
            training_env.env, folder, config, info, source, search, evaluation, options, watch,
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
            state=None if stored is None else stored["rollout"],
        )
        return trainer.train(rollout, log)


class _Step(NamedTuple):
    """One step of all environments."""

    views: list[Any]
    """What the model saw, in numbers."""
    action: Tensor
    log_prob: Tensor
    value: Tensor
    known: Tensor
    """What an informed critic knows of every environment."""
    is_choice: Tensor
    """1 where the model chose, 0 where a search was due."""
    reward: Tensor
    goes_on: Tensor
    """0 where the episode ended with this step."""


class _Sample(NamedTuple):
    """One step of one environment, to learn from."""

    view: Any
    action: Tensor
    log_prob: Tensor
    advantage: Tensor
    target: Tensor
    is_choice: Tensor
    known: Tensor


@dataclass(eq=False)
class _PPOTrainer:
    """A training under way."""

    env: VectorShop
    folder: Path
    config: PPOConfig
    info: CheckpointInfo
    source: ModelSource
    search: SearchPolicy
    evaluation: EvalConfig | None
    options: TrainingOptions
    watch: Stopwatch
    begun_from: str
    """The digest of the model it began from."""

    def __post_init__(self) -> None:
        config, source = self.config, self.source
        self.device = find_device(self.options.device)
        self.model: Any = source.builder.model(config.choice).to(self.device)
        # Dropout would make what is learnt from another policy than the one that played.
        self.model.eval()
        self.reader = source.builder.reader(config.choice, source.pictures)
        self.policy = Policy(self.model, self.reader, config.choice, self.search.is_chosen)
        self.critic: InformedCritic | None = None
        groups = [{"params": list(self.model.parameters()), "lr": config.learning_rate}]
        if isinstance(self.env, ShopVectorEnv):
            self.knowledge = GoalKnowledge(self.env.context)
            self.critic = InformedCritic().to(self.device)
            groups.append(
                {"params": list(self.critic.parameters()), "lr": config.critic_learning_rate}
            )
        self.optimizer = torch.optim.Adam(groups, eps=1e-5)
        self.rng = torch.Generator().manual_seed(config.seed)
        self.update = 0
        self.episodes = 0
        self.recent = deque[float](maxlen=_RECENT)
        self.kept = BestCheckpoint(self.folder, source, self.evaluation)

    def restore(self, stored: dict[str, Any]) -> None:
        load_state(self.model, stored["weights"], self.folder)
        if self.critic is not None:
            load_state(self.critic, stored["critic"], self.folder)
        self.optimizer.load_state_dict(stored["optimizer"])
        self.rng.set_state(stored["rng"])
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
            falling = 1 - (update - 1) / config.num_updates
            self.optimizer.param_groups[0]["lr"] = config.learning_rate * falling
            steps = [self._play(rollout) for _ in range(config.num_steps)]
            next_value = self._next_value(rollout)
            with self.watch.on("learning"):
                figures = self._learn(self._samples(steps, next_value))
            is_evaluated = self.evaluation is not None and self._is_due(self.evaluation.every)
            if self.evaluation is not None and is_evaluated:
                figures |= self._evaluate(self.evaluation)
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

    def _next_value(self, rollout: Rollout) -> Tensor:
        """What the pages after the last step are worth."""
        views = rollout.views()
        with self.watch.on("encoding"):
            known = self._known(views)
            batch = None if self.critic is not None else self.policy.batch(views)
        with self.watch.on("model"), torch.no_grad():
            values: Tensor = self.model(batch).values if self.critic is None else self.critic(known)
        return values.cpu()

    def _known(self, views: Sequence[ChoiceView]) -> Tensor:
        """What an informed critic knows; nothing where there is none."""
        if self.critic is None:
            return torch.zeros(len(views), 0)
        assert isinstance(self.env, ShopVectorEnv)
        rows = [
            self.knowledge.features(episode, view)
            for episode, view in zip(self.env.episodes, views, strict=True)
        ]
        return torch.tensor(rows).to(self.device)

    def _play(self, rollout: Rollout) -> _Step:
        """One step of every environment."""
        with self.watch.on("encoding"):
            views = rollout.views()
            searches = rollout.searches()
            encoded = [self.reader.encode(view) for view in views]
            batch = to_device(self.reader.pack(encoded), self.device)
            known = self._known(views)
        with self.watch.on("model"), torch.no_grad():
            output = self.model(batch)
            values = output.values if self.critic is None else self.critic(known)
            log_probs = functional.log_softmax(output.scores, dim=1)
            if not bool(log_probs.isfinite().all()):
                raise SettingError(
                    "The model's scores are no numbers any more; train with a lower"
                    " --learning-rate."
                )
            action = torch.multinomial(log_probs.exp().cpu(), 1, generator=self.rng)
            log_prob = log_probs.gather(1, action.to(self.device)).squeeze(1)
        names = [
            view.names[place] for view, place in zip(views, action[:, 0].tolist(), strict=True)
        ]
        actions = [
            search or action_of(view, name)
            for view, search, name in zip(views, searches, names, strict=True)
        ]
        results = rollout.step(views, actions)
        finished = [result.reward for result in results if result.is_over]
        self.recent.extend(finished)
        self.episodes += len(finished)
        return _Step(
            encoded,
            action[:, 0],
            log_prob.cpu(),
            values.cpu(),
            known.cpu(),
            is_choice=torch.tensor([float(search is None) for search in searches]),
            reward=torch.tensor([result.reward for result in results]),
            goes_on=torch.tensor([float(not result.is_over) for result in results]),
        )

    def _samples(self, steps: Sequence[_Step], next_value: Tensor) -> list[_Sample]:
        """Every step of every environment by itself."""
        config = self.config
        reward, goes_on, value = (
            torch.stack([getattr(step, part) for step in steps])
            for part in ("reward", "goes_on", "value")
        )
        advantage = advantages(reward, goes_on, value, next_value, config.gamma, config.gae_lambda)
        target = advantage + value
        # What was searched for a model that does not search is not its own.
        is_choice = torch.stack([step.is_choice for step in steps]) > 0
        chosen = advantage[is_choice] if is_choice.any() else advantage
        # Of the whole batch: minibatches are of pages of one size, and so of one kind, and what
        # matters little on some kind must not be blown up.
        advantage = (advantage - chosen.mean()) / (chosen.std(correction=0) + 1e-8)
        return [
            _Sample(
                view, step.action[i], step.log_prob[i], advantage[t, i], target[t, i],
                step.is_choice[i], step.known[i],
            )
            for t, step in enumerate(steps)
            for i, view in enumerate(step.views)
        ]  # fmt: skip

    def _learn(self, samples: Sequence[_Sample]) -> dict[str, float]:
        """Several passes over what was played, in minibatches."""
        sums: dict[str, float] = {}
        count = 0
        for epoch in range(self.config.update_epochs):
            for chosen in self._minibatches(samples, epoch):
                for name, value in self._step_on(chosen).items():
                    sums[name] = sums.get(name, 0.0) + value
                count += 1
        return {name: value / count for name, value in sums.items()}

    def _minibatches(self, samples: Sequence[_Sample], epoch: int) -> list[list[_Sample]]:
        """In a random order; samples of about the same size together, which saves padding."""
        rng = random.Random(f"{self.config.seed} minibatches {self.update} {epoch}")
        size = self.config.minibatch_size
        keyed = sorted(
            (len(sample.view[0]) + rng.random() * 12, place) for place, sample in enumerate(samples)
        )
        order = [place for _, place in keyed]
        parts = [order[at : at + size] for at in range(0, len(order), size)]
        rng.shuffle(parts)
        return [[samples[place] for place in part] for part in parts]

    def _step_on(self, samples: Sequence[_Sample]) -> dict[str, float]:
        """One step of the optimizer."""
        config = self.config
        views, *parts = zip(*samples, strict=True)
        batch = to_device(self.reader.pack(views), self.device)
        action, log_prob, advantage, target, is_choice, known = (
            torch.stack(part).to(self.device) for part in parts
        )
        output = self.model(batch)
        values = output.values if self.critic is None else self.critic(known)
        log_probs = functional.log_softmax(output.scores, dim=1)
        ratio = (log_probs.gather(1, action.unsqueeze(1)).squeeze(1) - log_prob).exp()
        clipped = ratio.clamp(1 - config.clip_coef, 1 + config.clip_coef)
        choices = is_choice.sum().clamp(min=1)
        entropy = -(log_probs.exp() * log_probs).sum(dim=1)
        losses = {
            "policy_loss": -(torch.min(ratio * advantage, clipped * advantage) * is_choice).sum()
            / choices,
            "value_loss": (values - target).square().mean(),
            "entropy": (entropy * is_choice).sum() / choices,
        }
        loss = (
            losses["policy_loss"]
            + config.vf_coef * losses["value_loss"]
            - config.ent_coef * losses["entropy"]
        )
        self.optimizer.zero_grad(set_to_none=True)
        if self.update <= config.critic_warmup_updates:
            critic = list((self.critic or self.model.value).parameters())
            gradients = torch.autograd.grad(losses["value_loss"], critic)
            for weight, gradient in zip(critic, gradients, strict=True):
                weight.grad = gradient
        else:
            loss.backward()
        for group in self.optimizer.param_groups:
            nn.utils.clip_grad_norm_(group["params"], config.max_grad_norm)
        self.optimizer.step()
        off = (((ratio - 1).abs() > config.clip_coef).float() * is_choice).sum() / choices
        return {**{name: part.item() for name, part in losses.items()}, "clip_frac": off.item()}

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
            "optimizer": self.optimizer.state_dict(),
            "critic": self.critic.state_dict() if self.critic is not None else {},
            "rng": self.rng.get_state(),
            "rollout": rollout.state(),
            "recent": list(self.recent),
            "episodes": self.episodes,
            **self.kept.state(),
        }
        with self.watch.on("saving"):
            save(self.folder, self._info(), self.model.state_dict(), progress, self.source.goals)


def advantages(
    rewards: Tensor,
    goes_on: Tensor,
    values: Tensor,
    next_value: Tensor,
    gamma: float,
    gae_lambda: float,
) -> Tensor:
    """Generalised advantages (Schulman et al. 2016): T x N, of rewards, of 1 or 0 for whether an
    episode went on after the step, and of what the pages were worth (all T x N); `next_value` is
    what the pages after the last step are worth (N)."""
    following, ahead = torch.zeros_like(next_value), next_value
    backwards = []
    for reward, on, value in zip(rewards.flip(0), goes_on.flip(0), values.flip(0), strict=True):
        following = reward + gamma * on * ahead - value + gamma * gae_lambda * on * following
        backwards.append(following)
        ahead = value
    return torch.stack(backwards[::-1])

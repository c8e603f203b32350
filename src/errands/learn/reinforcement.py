"""Reinforcement: a choice model learns from what its own choices earn (advantage actor-critic).

    shop = ShopVectorEnv(4, autoreset="disabled", observation="text_rich", goals="human", ...)
    train_rl(shop, goals, Path("rl"), PRESETS["small"], start=Path("il"))

A few shoppers play side by side; after every few steps the model is updated. Searching is done
by a fixed source of queries: the model chooses everything else. Running out of steps is an end
without reward, as it is when agents are judged. Chance comes from the seed alone and is kept in
the checkpoint with where every shopper stands, so a training that was killed goes on to the same
weights.
"""

import random
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import torch
from torch import Tensor, nn
from torch.nn import functional

from errands import __version__
from errands.errors import DataError, SettingError
from errands.learn.batch import Encoded, encode, pack
from errands.learn.checkpoint import About, fit, load_weights, read_about, read_progress, save
from errands.learn.choice_model import ChoiceConfig, ChoiceModel
from errands.learn.demonstrations import Demonstrations
from errands.learn.private_chance import private_chance
from errands.learn.reading import Reading, kept_reading, new_reading
from errands.learn.shoppers import Queries, Shoppers, VectorShop, own_words
from errands.learn.stopwatch import Stopwatch
from errands.learn.tracker import open_trackers
from errands.learn.view import View
from errands.learn.vocabulary import Words

__all__ = ["PRESETS", "Reached", "ReinforcementConfig", "Schooled", "returns", "train_rl"]

_SAVE_SECONDS: Final = 30.0
_RECENT: Final = 100
"""Finished episodes that a curve's points are means of."""
_WORD_STEPS: Final = 100
"""Steps of random play, by everyone, from which words are learnt where nothing else has them."""


class ReinforcementConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How a choice model is trained; the defaults are the paper's for its transformer."""

    choice: ChoiceConfig = ChoiceConfig()
    """Of a model from scratch; one from a checkpoint stays what it is."""
    steps: int = 100_000
    """Transitions, of all shoppers together."""
    environments: int = 4
    bptt: int = 8
    """Steps of every shopper between updates."""
    gamma: float = 0.9
    rate: float = 1e-5
    clip: float = 10.0
    reward_scale: float = 10.0
    policy: float = 1.0
    """Weights of the parts of the loss, this one and the next three."""
    value: float = 1.0
    entropy: float = 1.0
    imitation: float = 0.0
    imitation_batch: int = 16
    """Demonstrated choices beside every update, where `imitation` is not 0."""
    critic_first: int = 0
    """Updates at the beginning in which only the value is learnt, by its own layers: the
    advantages of a critic that knows nothing would spoil a policy that knows something."""
    words: int = 8_000
    seed: int = 0
    threads: int = 1


_RNN: Final = ChoiceConfig(encoder="gru", hidden=512, word_attention=True)
PRESETS: Final = {
    "small": ReinforcementConfig(
        steps=20_000,
        gamma=0.99,
        rate=2e-4,
        clip=1.0,
        reward_scale=1.0,
        value=0.5,
        entropy=0.003,
        critic_first=20,
    ),
    "paper": ReinforcementConfig(),
    "paper-rnn": ReinforcementConfig(choice=_RNN, rate=5e-4),
}


class Reached(NamedTuple):
    """How far a training is."""

    step: int
    steps: int
    score: float
    """Means of the last finished episodes: of 100 x the reward, and of rewards of 1."""
    success: float


class Schooled(NamedTuple):
    """How a training ended."""

    folder: Path
    steps: int
    episodes: int
    score: float
    success: float
    steps_per_second: float
    steps_per_cpu_second: float
    shares: dict[str, float]
    """Of the time: environment, encoding, model, learning."""
    words_from: str


class _Moment(NamedTuple):
    """One step of all shoppers; gradients flow back from it."""

    likelihood: Tensor
    """The log-probability of what was chosen."""
    value: Tensor
    entropy: Tensor
    is_free: Tensor
    """1 where the model chose, 0 where a search was due."""
    reward: Tensor
    goes_on: Tensor
    """0 where the episode ended with this step."""


def train_rl(
    env: VectorShop,
    goals: Sequence[int],
    folder: Path,
    config: ReinforcementConfig,
    *,
    start: Path | None = None,
    shown: Demonstrations | None = None,
    queries: Queries = own_words,
    checksum: str = "",
    resume: bool = False,
    track: str | None = None,
    on_progress: Callable[[Reached], None] = lambda reached: None,
    stop: Callable[[], bool] = lambda: False,
) -> Schooled:
    """Train, or go on training; the checkpoint in `folder` is written as it goes.

    `env` has `autoreset="disabled"` and shows text_rich; `goals` are those to be drawn from.
    `start` is the checkpoint of a choice model, `shown` the demonstrations for an imitation part
    of the loss (and for words, where there is no `start`). `stop` is asked after every update.
    A resumed training may have more `steps` than before.
    """
    _check(env, goals, config, shown)
    left = read_progress(folder) if folder.exists() else None
    if left is not None and not resume:
        raise SettingError(f"{folder} has a checkpoint already; add --resume, or name another.")
    watch = Stopwatch()
    if left is not None:
        about = read_about(folder, "choice")
        config = _with_choice(config, about, folder)
        reading = kept_reading(folder, config.choice, about.words)
        words_from = about.config.get("words_from", "")
    elif start is not None:
        about = read_about(start, "choice")
        config = _with_choice(config, about, start)
        reading, words_from = kept_reading(start, config.choice, about.words), "checkpoint"
    else:
        reading, words_from = _new_reading(env, goals, config, shown)
    words = reading.words
    plan = {**msgspec.to_builtins(config), "words_from": words_from}
    if left is not None and {**about.config, "steps": config.steps} != plan:
        raise SettingError(
            f"{folder} was trained with other settings; resume it with the same, or name another."
        )
    lesson = [
        (encode(view, words, config.choice.lengths), taken)
        for view, taken in (shown.choices if shown is not None and config.imitation else ())
    ]
    updates = -(-config.steps // (config.bptt * config.environments))
    first: int = 0 if left is None else left["update"]
    recent = deque[float]([] if left is None else left["recent"], maxlen=_RECENT)
    episodes: int = 0 if left is None else left["episodes"]
    threads = torch.get_num_threads()
    torch.set_num_threads(config.threads)
    at_once = config.bptt * config.environments
    try:
        with (
            private_chance(config.seed),
            open_trackers(folder, track, folder.name, plan, first * at_once) as log,
        ):
            model = reading.model(config.choice)
            # Dropout would make what is learnt from another policy than the one that played.
            model.eval()
            chance = torch.Generator().manual_seed(config.seed)
            optimiser = torch.optim.Adam(model.parameters(), lr=config.rate)
            if left is not None:
                fit(model, left["weights"], folder)
                optimiser.load_state_dict(left["optimiser"])
                chance.set_state(left["chance"])
            elif start is not None:
                load_weights(start, model)
            if left is None:
                reading.keep(folder)
            shoppers = Shoppers(
                env,
                goals,
                config.seed,
                queries=queries,
                watch=watch,
                kept=None if left is None else left["shoppers"],
            )

            def keep(update: int) -> None:
                about = About(
                    kind="choice",
                    trained="reinforcement",
                    config=plan,
                    words=words.words,
                    checksum=checksum,
                    is_done=update == updates,
                    figures={**_curve(recent), "episodes": float(episodes)},
                    versions={"errands": __version__, "torch": str(torch.__version__)},
                )
                progress = {
                    "update": update,
                    "optimiser": optimiser.state_dict(),
                    "chance": chance.get_state(),
                    "shoppers": shoppers.kept(),
                    "recent": list(recent),
                    "episodes": episodes,
                }
                save(folder, about, model.state_dict(), progress)

            began = saved = time.monotonic()
            cpu = time.process_time()
            update = first
            for update in range(first + 1, updates + 1):
                moments = []
                for _ in range(config.bptt):
                    moment, ended = _play(model, words, shoppers, chance, config, watch)
                    moments.append(moment)
                    recent.extend(ended)
                    episodes += len(ended)
                with watch.on("encoding"):
                    batch = pack(_encoded(shoppers.views(), words, config))
                with watch.on("model"), torch.no_grad():
                    last = model(batch).values
                with watch.on("learning"):
                    figures = _update(model, optimiser, moments, last, config, lesson, update)
                if update % 10 == 0 or update == updates:
                    shares = {f"time_{name}": share for name, share in watch.shares().items()}
                    log.log(update * at_once, {**_curve(recent), **figures, **shares})
                    on_progress(Reached(update * at_once, updates * at_once, **_curve(recent)))
                if stop() or time.monotonic() - saved > _SAVE_SECONDS:
                    keep(update)
                    saved = time.monotonic()
                    if stop():
                        break
            keep(update)
            done = (update - first) * at_once
            return Schooled(
                folder,
                update * at_once,
                episodes,
                **_curve(recent),
                steps_per_second=done / max(time.monotonic() - began, 1e-9),
                steps_per_cpu_second=done / max(time.process_time() - cpu, 1e-9),
                shares=watch.shares(),
                words_from=words_from,
            )
    finally:
        torch.set_num_threads(threads)


def returns(rewards: Tensor, goes_on: Tensor, last: Tensor, gamma: float) -> Tensor:
    """What follows each step, later rewards counting less: T x N, of rewards and of 1 or 0 for
    whether an episode went on after the step (both T x N), and of what the pages after the last
    step are worth (N)."""
    following = last
    found = []
    for reward, on in zip(rewards.flip(0), goes_on.flip(0), strict=True):
        following = reward + gamma * on * following
        found.append(following)
    return torch.stack(found[::-1])


def _play(
    model: ChoiceModel,
    words: Words,
    shoppers: Shoppers,
    chance: torch.Generator,
    config: ReinforcementConfig,
    watch: Stopwatch,
) -> tuple[_Moment, list[float]]:
    """One step of everyone, and the rewards of those who came to an end."""
    with watch.on("encoding"):
        views = shoppers.views()
        searches = shoppers.searches()
        batch = pack(_encoded(views, words, config))
    with watch.on("model"):
        judged = model(batch)
        spread = functional.log_softmax(judged.scores, dim=1)
        drawn = torch.multinomial(spread.detach().exp(), 1, generator=chance)
        likelihood = spread.gather(1, drawn).squeeze(1)
        entropy = -(spread.exp() * spread).sum(dim=1)
    actions = [
        search or f"click[{view.names[place]}]"
        for search, view, place in zip(searches, views, drawn[:, 0].tolist(), strict=True)
    ]
    done = shoppers.act(views, actions)
    moment = _Moment(
        likelihood,
        judged.values,
        entropy,
        torch.tensor([float(search is None) for search in searches]),
        torch.tensor([config.reward_scale * one.reward for one in done]),
        torch.tensor([float(not one.is_over) for one in done]),
    )
    return moment, [one.reward for one in done if one.is_over]


def _update(
    model: ChoiceModel,
    optimiser: torch.optim.Optimizer,
    moments: Sequence[_Moment],
    last: Tensor,
    config: ReinforcementConfig,
    lesson: Sequence[tuple[Encoded, int]],
    update: int,
) -> dict[str, float]:
    likelihood, value, entropy, is_free, reward, goes_on = map(
        torch.stack, zip(*moments, strict=True)
    )
    advantage = returns(reward, goes_on, last, config.gamma) - value
    chosen = is_free.sum().clamp(min=1)
    losses = {
        "policy_loss": -(likelihood * advantage.detach() * is_free).sum() / chosen,
        "value_loss": advantage.square().mean(),
        "entropy": (entropy * is_free).sum() / chosen,
    }
    loss = (
        config.policy * losses["policy_loss"]
        + config.value * losses["value_loss"]
        - config.entropy * losses["entropy"]
    )
    if lesson:
        dice = random.Random(f"{config.seed} lesson {update}")
        shown = dice.choices(lesson, k=config.imitation_batch)
        scores = model(pack([view for view, _ in shown])).scores
        taken = torch.tensor([place for _, place in shown])
        losses["imitation_loss"] = functional.cross_entropy(scores, taken)
        loss = loss + config.imitation * losses["imitation_loss"]
    optimiser.zero_grad(set_to_none=True)
    if update <= config.critic_first:
        only = list(model.value.parameters())
        for weight, gradient in zip(
            only, torch.autograd.grad(losses["value_loss"], only), strict=True
        ):
            weight.grad = gradient
    else:
        loss.backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_(model.parameters(), config.clip)
    optimiser.step()
    return {name: part.item() for name, part in losses.items()}


def _encoded(views: Sequence[View], words: Words, config: ReinforcementConfig) -> list[Encoded]:
    return [encode(view, words, config.choice.lengths) for view in views]


def _curve(recent: Sequence[float]) -> dict[str, float]:
    count = max(len(recent), 1)
    return {
        "score": 100 * sum(recent) / count,
        "success": sum(reward >= 1 for reward in recent) / count,
    }


def _check(
    env: VectorShop,
    goals: Sequence[int],
    config: ReinforcementConfig,
    shown: Demonstrations | None,
) -> None:
    if env.num_envs != config.environments:
        raise SettingError(
            f"The vector environment has {env.num_envs} shops, and the settings say"
            f" environments={config.environments}; make both the same."
        )
    if not goals:
        raise SettingError("There are no goals to train on; name another split.")
    if config.imitation and shown is None:
        raise SettingError("An imitation part needs demonstrations; add --demonstrations RUN.")


def _with_choice(config: ReinforcementConfig, about: About, folder: Path) -> ReinforcementConfig:
    try:
        choice = msgspec.convert(about.config["choice"], ChoiceConfig)
    except (KeyError, msgspec.ValidationError) as failure:
        raise DataError(f"{folder} is of another architecture ({failure}).") from None
    return msgspec.structs.replace(config, choice=choice)


def _new_reading(
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

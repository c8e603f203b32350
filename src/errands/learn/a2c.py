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
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import torch
from torch import Tensor, nn
from torch.nn import functional

from errands import __version__
from errands.errors import SettingError
from errands.learn.a2c_config import PRESETS, ReinforcementConfig
from errands.learn.a2c_start import (
    check,
    check_resumed,
    goals_mark,
    new_words,
    with_choice,
)
from errands.learn.checkpoint import About, fit, load_weights, read_about, read_progress, save
from errands.learn.data.batch import Batch, Encoded, Lengths, encode, pack
from errands.learn.data.dataset import fingerprint
from errands.learn.data.demonstrations import Demonstrations
from errands.learn.data.pictures import Pictures, keep_pictures, pictures_of
from errands.learn.data.view import View
from errands.learn.data.vocabulary import Words
from errands.learn.evaluation import Exam, Mark, sit
from errands.learn.models.choice import ChoiceModel, seeing
from errands.learn.models.device import find_device, moved
from errands.learn.models.reading import kept_reading
from errands.learn.models.rng import private_chance
from errands.learn.policy import Policy
from errands.learn.rollout import Queries, Shoppers, VectorShop, own_words
from errands.learn.timing import ASIDE, Speed, Stopwatch
from errands.learn.tracker import open_trackers
from errands.learn.trainer import SAVE_SECONDS

__all__ = ["PRESETS", "Reached", "ReinforcementConfig", "Schooled", "returns", "train_rl"]

BEST: Final = "best"
"""The folder of a checkpoint that holds the best one so far."""
_RECENT: Final = 100
"""Finished episodes that a curve's points are means of."""


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
    """Of the time: environment, encoding, model, learning, saving, evaluation."""
    words_from: str
    evaluated: Mark | None
    """The last evaluation, if there was one, and the best."""
    best: Mark | None


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
    pictures: Pictures | None = None,
    queries: Queries = own_words,
    queries_from: str = "own words",
    sample_queries: bool = False,
    exam: Exam | None = None,
    checksum: str = "",
    device: str = "cpu",
    protocol: Mapping[str, Any] | None = None,
    resume: bool = False,
    track: str | None = None,
    on_progress: Callable[[Reached], None] = lambda reached: None,
    stop: Callable[[], bool] = lambda: False,
    save_every: float = SAVE_SECONDS,
) -> Schooled:
    """Train, or go on training; the checkpoint in `folder` is written as it goes.

    `env` has `autoreset="disabled"` and shows text_rich; `goals` are those to be drawn from.
    `start` is the checkpoint of a choice model, `shown` the demonstrations for an imitation part
    of the loss (and for words, where there is no `start`); `pictures` are seen on products' pages
    by a model from scratch. With an `exam` the model is evaluated
    as it goes, before the first update too, and the best is kept in the folder `best`; weights are
    the same without. Several `queries` are searched for one after the other, or by chance
    (`sample_queries`). `checksum` and `protocol` say which world this is. `stop` is asked after
    every update. A resumed training may have more `steps` than before; all else is the same.
    """
    check(env, goals, config, shown)
    left = read_progress(folder) if folder.exists() else None
    if left is not None and not resume:
        raise SettingError(f"{folder} has a checkpoint already; add --resume, or name another.")
    watch = Stopwatch()
    if left is not None:
        about = read_about(folder, "choice")
        config = with_choice(config, about, folder)
        reading = kept_reading(folder, config.choice, about.words)
        words_from = about.config.get("words_from", "")
        pictures = pictures_of(folder, pictures)
    elif start is not None:
        about = read_about(start, "choice")
        config = with_choice(config, about, start)
        reading, words_from = kept_reading(start, config.choice, about.words), "checkpoint"
        pictures = pictures_of(start, pictures)
    else:
        reading, words_from = new_words(env, goals, config, shown)
        config = msgspec.structs.replace(config, choice=seeing(config.choice, pictures))
    words = reading.words
    plan = {
        **msgspec.to_builtins(config),
        "words_from": words_from,
        "queries_from": queries_from,
        "protocol": dict(protocol or {}),
        "goals": goals_mark(goals),
    }
    mark = fingerprint(shown.choices if shown is not None and config.imitation else ())
    at_once = config.bptt * config.environments
    if left is not None:
        done = left["update"] * at_once
        check_resumed(folder, about, plan, checksum=checksum, lesson=mark, done=done)
    lesson = [
        (encode(view, words, config.choice.lengths, pictures), taken)
        for view, taken in (shown.choices if shown is not None and config.imitation else ())
    ]
    on = find_device(device)
    see = partial(_see, words=words, lengths=config.choice.lengths, pictures=pictures, device=on)
    updates = -(-config.steps // at_once)
    first: int = 0 if left is None else left["update"]
    recent = deque[float]([] if left is None else left["recent"], maxlen=_RECENT)
    episodes: int = 0 if left is None else left["episodes"]
    best, evaluated = ((left or {}).get(name) for name in ("best", "evaluated"))
    threads = torch.get_num_threads()
    torch.set_num_threads(config.threads)
    # Marks of another exam are not to be compared with.
    sat = None if exam is None else [goals_mark(exam.goals), exam.is_sampling]
    best_sat = (left or {}).get("exam", sat)
    is_best_begun = False
    try:
        with (
            private_chance(config.seed),
            open_trackers(folder, track, folder.name, plan, first * at_once) as log,
        ):
            if left is None:
                keep_pictures(folder, pictures)
                reading.keep(folder)
            model = reading.model(config.choice).to(on)
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
            shoppers = Shoppers(
                env,
                goals,
                config.seed,
                queries=queries,
                is_sampling=sample_queries,
                watch=watch,
                kept=None if left is None else left["shoppers"],
            )

            def described(update: int) -> About:
                return About(
                    kind="choice",
                    trained="reinforcement",
                    config=plan,
                    words=words.words,
                    checksum=checksum,
                    lesson=mark,
                    is_done=update == updates,
                    figures={
                        **_curve(recent),
                        "episodes": float(episodes),
                        "step": float(update * at_once),
                        **_evaluated("eval", evaluated),
                        **_evaluated("best", best),
                    },
                    versions={"errands": __version__, "torch": str(torch.__version__)},
                )

            def evaluate(update: int) -> dict[str, float]:
                nonlocal best, best_sat, evaluated, is_best_begun
                assert exam is not None
                with watch.on(ASIDE):
                    evaluated = tuple(
                        sit(exam, Policy(model, words, config.choice, pictures), queries)
                    )
                    if best is None or best_sat != sat or evaluated > best:
                        best, best_sat = evaluated, sat
                        if not is_best_begun:
                            keep_pictures(folder / BEST, pictures)
                            reading.keep(folder / BEST)
                            is_best_begun = True
                        save(folder / BEST, described(update), model.state_dict(), None)
                return _evaluated("eval", evaluated)

            def keep(update: int) -> None:
                progress = {
                    "update": update,
                    "optimiser": optimiser.state_dict(),
                    "chance": chance.get_state(),
                    "shoppers": shoppers.kept(),
                    "recent": list(recent),
                    "episodes": episodes,
                    "best": best,
                    "evaluated": evaluated,
                    "exam": best_sat,
                }
                with watch.on("saving"):
                    save(folder, described(update), model.state_dict(), progress)

            if exam is not None and not first:
                log.log(0, evaluate(0))
            saved = time.monotonic()
            speed = Speed(watch)
            update = first
            for update in range(first + 1, updates + 1):
                moments = []
                for _ in range(config.bptt):
                    moment, ended = _play(model, see, shoppers, chance, config, watch)
                    moments.append(moment)
                    recent.extend(ended)
                    episodes += len(ended)
                with watch.on("encoding"):
                    batch = see(shoppers.views())
                with watch.on("model"), torch.no_grad():
                    last = model(batch).values
                with watch.on("learning"):
                    figures = _update(model, optimiser, moments, last, config, lesson, update)
                is_due = exam is not None and _is_due(update, updates, at_once, exam.every)
                if is_due:
                    figures |= evaluate(update)
                if update % 10 == 0 or update == updates or is_due:
                    rate = speed.lately((update - first) * at_once)
                    figures |= {f"steps_{name}": held for name, held in rate._asdict().items()}
                    figures |= {f"time_{name}": held for name, held in watch.shares().items()}
                    log.log(update * at_once, {**_curve(recent), **figures})
                    on_progress(Reached(update * at_once, updates * at_once, **_curve(recent)))
                if stop():
                    break
                if time.monotonic() - saved > save_every:
                    keep(update)
                    saved = time.monotonic()
            whole = speed.whole((update - first) * at_once)
            keep(update)
            return Schooled(
                folder,
                update * at_once,
                episodes,
                **_curve(recent),
                steps_per_second=whole.per_second,
                steps_per_cpu_second=whole.per_cpu_second,
                shares=watch.shares(),
                words_from=words_from,
                evaluated=None if evaluated is None else Mark(*evaluated),
                best=None if best is None else Mark(*best),
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


def _see(
    views: Sequence[View],
    *,
    words: Words,
    lengths: Lengths,
    pictures: Pictures | None,
    device: torch.device,
) -> Batch:
    return moved(pack([encode(view, words, lengths, pictures) for view in views]), device)


def _play(
    model: ChoiceModel,
    see: Callable[[Sequence[View]], Batch],
    shoppers: Shoppers,
    chance: torch.Generator,
    config: ReinforcementConfig,
    watch: Stopwatch,
) -> tuple[_Moment, list[float]]:
    """One step of everyone, and the rewards of those who came to an end."""
    with watch.on("encoding"):
        views = shoppers.views()
        searches = shoppers.searches()
        batch = see(views)
    with watch.on("model"):
        judged = model(batch)
        spread = functional.log_softmax(judged.scores, dim=1)
        if not bool(spread.isfinite().all()):
            raise SettingError(
                "The model's scores are no numbers any more; train with a lower --rate."
            )
        drawn = torch.multinomial(spread.detach().exp().cpu(), 1, generator=chance)
        likelihood = spread.gather(1, drawn.to(spread.device)).squeeze(1)
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
        *(
            torch.tensor(told, device=spread.device)
            for told in (
                [float(search is None) for search in searches],
                [config.reward_scale * one.reward for one in done],
                [float(not one.is_over) for one in done],
            )
        ),
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
        batch = moved(pack([view for view, _ in shown]), loss.device)
        scores = model(batch).scores
        taken = torch.tensor([place for _, place in shown], device=loss.device)
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


def _curve(recent: Sequence[float]) -> dict[str, float]:
    count = max(len(recent), 1)
    return {
        "score": 100 * sum(recent) / count,
        "success": sum(reward >= 1 for reward in recent) / count,
    }


def _is_due(update: int, updates: int, at_once: int, every: int) -> bool:
    """Whether an update crosses a multiple of `every` steps, or is the last one."""
    return update == updates or update * at_once // every > (update - 1) * at_once // every


def _evaluated(name: str, mark: Sequence[float] | None) -> dict[str, float]:
    return {} if mark is None else {f"{name}_score": mark[0], f"{name}_success": mark[1]}

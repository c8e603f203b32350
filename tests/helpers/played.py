"""A store in memory, filled by really playing: what the tests of reports look at."""

import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import msgspec
import numpy as np

import errands.envs
from errands.agents.careful import CarefulShopper
from errands.agents.random_agent import RandomShopper, random_action
from errands.envs.shop import ShopEnv
from errands.envs.turk import TurkEnv
from errands.errors import SettingError
from errands.reports.content import gather
from errands.reports.html.replay import PageView, Watch
from errands.reports.statistics.columns import STATUSES
from errands.reports.writing import FORMATS, write
from errands.runs.episode import Episode, RunInfo, Step, Summary, digest
from errands.turk.actions.action import Action
from errands.turk.actions.grammar import format_action
from errands.turk.oracle.field_oracle import oracle_actions
from errands.turk.pages.field import Field
from errands.turk.scoring.instance_score import score_page

assert errands.envs


class MemoryStore:
    """The contract of a store, in a dictionary."""

    def __init__(self, info: RunInfo, episodes: Iterable[Episode] = ()) -> None:
        self.info = info
        self.place = "memory"
        self._held = {episode.summary.number: episode for episode in episodes}

    def add(self, episode: Episode) -> bool:
        return self._held.setdefault(episode.summary.number, episode) is episode

    def numbers(self) -> set[int]:
        return set(self._held)

    def summaries(self) -> Iterator[Summary]:
        return (self._held[number].summary for number in sorted(self._held))

    def episode(self, number: int) -> Episode:
        return self._held[number]

    def episodes(self, numbers: Iterable[int] | None = None) -> Iterator[Episode]:
        wanted = set(self._held if numbers is None else numbers)
        return (self._held[number] for number in sorted(wanted & set(self._held)))

    def columns(self) -> dict[str, np.ndarray[Any, Any]]:
        held = list(self.summaries())
        kept = {
            name: np.array([getattr(one, name) for one in held], float)
            for name in ("seconds", "cost")
        } | {
            name: np.array([getattr(one, name) for one in held], int)
            for name in ("number", "steps", "states", "items", "searches", "tokens_in",
                         "tokens_out")
        }  # fmt: skip
        kept["status"] = np.array([STATUSES.index(one.status) for one in held], np.int8)
        rewards = [one.reward if one.status != "error" else None for one in held]
        kept["reward"] = np.array([np.nan if r is None else r for r in rewards], float)
        return kept

    def parts(self) -> Iterator[tuple[int, dict[str, Any]]]:
        return ((one.number, one.parts) for one in self.summaries())

    def details(self) -> Iterator[tuple[int, str, dict[str, Any]]]:
        return ((one.number, one.key, one.parts) for one in self.summaries())

    def drop(self, numbers: Iterable[int]) -> int:
        return sum(self._held.pop(number, None) is not None for number in list(numbers))

    def close(self) -> None:
        pass


def run_info(half: str, agent: str, episodes: int, **more: Any) -> RunInfo:
    """The description of a run on demo data."""
    names = {"shop": "demo-shop", "turk": "demo-turk"}
    titles = {"shop": "Demo of the shop", "turk": "Demo of the form pages"}
    protocol = {
        "id": names[half], "version": 1, "title": titles[half], "half": half, "data": "demo",
        "goals": "human", "observation": "text" if half == "shop" else "html", "max_steps": 20,
    }  # fmt: skip
    given: dict[str, Any] = {
        "id": f"{names[half]}-{agent}",
        "protocol": protocol,
        "protocol_key": f"{names[half]}/1",
        "domain": half,
        "agent": agent,
        "agent_settings": {},
        "episodes": episodes,
        "seed": 0,
        "observations": "full",
        "checksum": "0" * 16,
        "versions": {"errands": "test", "python": "3"},
        "started": "2026-01-02T03:04:05Z",
    }
    return RunInfo(**(given | more))


def made(number: int, reward: float | None, **more: Any) -> Episode:
    """An episode of one step, for cases that no play would give."""
    error = {"status": "error", "owner": "agent", "error": "It gave up."}
    given: dict[str, Any] = {
        "number": number,
        "key": f"goal {number}",
        "status": "done",
        "reward": reward,
        "success": None if reward is None else reward >= 1,
        "steps": 1,
        "seconds": 0.5,
        **(error if reward is None else {}),
        **more,
    }
    return Episode(summary=Summary(**given), steps=(Step("click[buy now]"),))


def play_shop(agent: str, episodes: int, max_steps: int = 20, *, keep: bool = True) -> MemoryStore:
    """Goals 0 to N of the demo catalogue, played by a shopper."""
    env = gymnasium.make("errands/Shop-v0", goals="human", max_steps=max_steps)
    shop = env.unwrapped
    assert isinstance(shop, ShopEnv)
    info = run_info("shop", agent, episodes, observations="full" if keep else "hash")
    store = MemoryStore(info)
    queries = ["red shoes", "beef jerky", "table lamp", "wireless headphones"]
    for number in range(episodes):
        player: Any = RandomShopper(queries, number) if agent == "random" else CarefulShopper()
        seen, facts = env.reset(options={"goal": number})
        player.begin(seen, facts)
        steps, pages, items, over = [], {seen}, set[str](), False
        while not over:
            action = player.act(seen, facts)
            before = seen
            seen, reward, done, stopped, facts = env.step(action)
            over = done or stopped
            pages.add(seen)
            if shop.episode.page.product is not None:
                items.add(shop.episode.page.product.asin)
            steps.append(
                Step(action, float(reward), digest(before), before if keep else None,
                     getattr(player, "reason", ""), seconds=0.001)
            )  # fmt: skip
        total = steps[-1].reward
        summary = Summary(
            number=number, key=f"goal {number}", status="truncated" if stopped else "done",
            reward=total, success=total >= 1, steps=len(steps), seconds=0.001 * len(steps),
            states=len(pages), items=len(items),
            searches=sum(step.action.startswith("search[") for step in steps),
            parts=dict(facts.get("reward_parts", {})),
        )  # fmt: skip
        store.add(Episode(summary=summary, steps=tuple(steps), last_digest=digest(seen),
                          last=seen if keep else None))  # fmt: skip
    return store


def play_turk(agent: str, per_task: int = 3, **more: Any) -> MemoryStore:
    """Instances of every demo task, played by a baseline."""
    env = TurkEnv("demo", driver="dom")
    store = MemoryStore(run_info("turk", agent, 0, privileged=agent == "oracle", **more))
    number = 0
    for name in env.tasks.names:
        for row in range(min(per_task, len(env.tasks.task(name).instances))):
            store.add(_form(env, agent, number, name, row))
            number += 1
    env.close()
    store.info = msgspec.structs.replace(store.info, episodes=number)
    return store


def _form(env: TurkEnv, agent: str, number: int, name: str, row: int) -> Episode:
    seen, _ = env.reset(options={"task": name, "row": row})
    page, instance = env._page, env.instance
    assert page is not None
    assert instance is not None
    chars = len(seen)
    answers: list[Action] = []
    fields: list[Field] = page.fields(list(instance.labels))
    if agent == "random":
        rng = random.Random(f"{name}/{row}")
        drawn = (random_action(field, rng) for field in fields if field.visible)
        answers = [action for action in drawn if action is not None]
    elif agent == "oracle":
        values = {field.name: page.values(field.name) for field in fields}
        answers = [a for a in oracle_actions(fields, instance.labels, values) if a.name != "submit"]
    steps, reward = [], 0.0
    for action in [*map(format_action, answers), "submit()"]:
        before = seen
        seen, reward, _, _, facts = env.step(action)
        steps.append(Step(action, reward, digest(before), before, message=facts["message"]))
    scored = score_page(page, instance)
    parts = {
        "task": name, "row": row, "page_chars": chars,
        "fields": [[f.name, f.type, f.scores.get("paper"), f.scores.get("released"), None]
                   for f in scored],
    }  # fmt: skip
    summary = Summary(
        number=number, key=f"{name}/{row}", status="done", reward=reward, success=reward >= 1,
        steps=len(steps), seconds=0.01, states=len(steps), parts=parts,
    )  # fmt: skip
    return Episode(summary=summary, steps=tuple(steps), last_digest=digest(seen), last=seen)


def watch_shop(info: RunInfo, episode: Episode) -> list[PageView]:
    """Play an episode of the shop again, for its pages as people see them."""
    if info.domain != "shop":
        raise SettingError("This only watches the shop.")
    env = ShopEnv(goals="human", max_steps=20)
    seen, _ = env.reset(options={"goal": int(episode.summary.key.split()[1])})
    views = [PageView(env.episode.html(), seen, None)]
    for step in episode.steps:
        same = digest(seen) == step.digest
        views[-1] = PageView(views[-1].html, views[-1].text, same)
        seen, *_ = env.step(step.action)
        views.append(PageView(env.episode.html(), seen, digest(seen) == episode.last_digest))
    views[-1] = views[-1]._replace(same=digest(seen) == episode.last_digest)
    return views


def write_report(
    stores: Sequence[MemoryStore],
    out: Path,
    *,
    formats: Iterable[str] = FORMATS,
    watch: Watch | None = None,
    **options: Any,
) -> list[Path]:
    """The files of a report on these runs."""
    return write(gather(stores, **options), stores, out, formats=formats, watch=watch)

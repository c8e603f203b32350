"""Pieces of work: a training, a run, a table of pictures, each in its own place below a folder.

Every piece can be stopped and taken up again, because the trainings and runs it is made of can.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from errands.errors import DataError
from errands.experiments.plan import Plan
from errands.learn.a2c import train_rl
from errands.learn.data.demonstrations import read_demonstrations
from errands.learn.data.pictures import Pictures
from errands.learn.data.query_file import predict_queries, write_queries
from errands.learn.environments import open_floor
from errands.learn.imitation import train_choice
from errands.learn.models.picture_encoder import train_pictures
from errands.learn.search_training import open_search_model, train_search
from errands.runs.episode_source import ShopSource, open_source
from errands.runs.protocol import find_protocol
from errands.runs.runner import run
from errands.runs.store.places import open_run
from errands.shop.catalog.catalog import Catalog

__all__ = ["Ask", "Demonstrate", "Draw", "Imitate", "Play", "Reinforce", "Search", "Work", "do"]

Tell = Callable[[float], None]
"""Takes how much of a piece of work is done, from 0 to 1."""


class Demonstrate(msgspec.Struct, frozen=True, tag=True):
    """The scripted shopper plays: the training goals, or those that judge."""

    name: str
    goals: Literal["train", "test"] = "train"
    needs: tuple[str, ...] = ()


class Draw(msgspec.Struct, frozen=True, tag=True):
    """Vectors of pictures."""

    name: str
    needs: tuple[str, ...] = ()


class Search(msgspec.Struct, frozen=True, tag=True):
    """A search model learns from demonstrations."""

    name: str
    seed: int
    demonstrations: str
    needs: tuple[str, ...] = ()


class Imitate(msgspec.Struct, frozen=True, tag=True):
    """A choice model learns from demonstrations."""

    name: str
    seed: int
    demonstrations: str
    pictures: str = ""
    needs: tuple[str, ...] = ()


class Reinforce(msgspec.Struct, frozen=True, tag=True):
    """A choice model learns from rewards."""

    name: str
    seed: int
    how: Literal["further", "scratch", "rnn"]
    search: str
    start: str = ""
    needs: tuple[str, ...] = ()


class Ask(msgspec.Struct, frozen=True, tag=True):
    """A file of queries for the goals that judge: a search model's, or those of a run."""

    name: str
    search: str = ""
    run: str = ""
    needs: tuple[str, ...] = ()


class Play(msgspec.Struct, frozen=True, tag=True):
    """An agent is judged. Settings in braces are places: `{il-0}`."""

    name: str
    agent: str
    settings: dict[str, str]
    seed: int = 0
    needs: tuple[str, ...] = ()


Work = Demonstrate | Draw | Search | Imitate | Reinforce | Ask | Play


def do(work: Work, folder: Path, plan: Plan, tell: Tell) -> None:
    """Do a piece of work, or what is left of it."""
    place = folder / work.name
    match work:
        case Demonstrate():
            train = work.goals == "train"
            _run(
                place,
                plan,
                tell,
                plan.train if train else plan.test,
                "shopper",
                episodes=plan.demonstrations if train else plan.episodes,
                observations="full",
            )
        case Draw():
            table = train_pictures(
                Catalog.open(plan.catalog or find_protocol(plan.train).data),
                plan.pictures,
                lambda epoch, loss: tell(epoch / plan.pictures.epochs),
            ).pictures
            table.write(place)
        case Search():
            shown = read_demonstrations(str(folder / work.demonstrations))
            train_search(
                shown.queries,
                place,
                msgspec.structs.replace(plan.search, seed=work.seed),
                checksum=shown.checksum,
                resume=True,
                on_progress=lambda reached: tell(reached.step / reached.steps),
            )
        case Imitate():
            train_choice(
                read_demonstrations(str(folder / work.demonstrations)),
                place,
                msgspec.structs.replace(plan.imitation, seed=work.seed),
                pictures=_pictures(folder, work.pictures),
                resume=True,
                on_progress=lambda reached: tell(reached.step / reached.steps),
            )
        case Reinforce():
            _reinforce(work, folder, plan, tell)
        case Ask():
            _ask(work, folder, plan, tell)
        case Play():
            _run(
                place,
                plan,
                tell,
                plan.test,
                work.agent,
                episodes=plan.episodes,
                settings={name: _placed(value, folder) for name, value in work.settings.items()},
                seed=work.seed,
            )


def _run(place: Path, plan: Plan, tell: Tell, protocol: str, agent: str, **how: Any) -> None:
    """Play a run to its end."""
    total = done = 0

    def start(info: Any, pending: Any) -> None:
        nonlocal total
        total = len(pending)

    def count(summary: Any) -> None:
        nonlocal done
        done += 1
        tell(done / total)

    ended = run(
        protocol,
        agent,
        out=place,
        data=plan.catalog or None,
        resume=place.exists(),
        retry_errors=place.exists(),
        on_start=start,
        on_episode=count,
        **how,
    )
    store = open_run(ended.place)
    try:
        failed = [one for one in store.summaries() if one.status == "error"]
    finally:
        store.close()
    if failed:
        raise DataError(
            f"{len(failed)} episodes ended in an error, as episode {failed[0].number}"
            f" ({failed[0].error}); the same command plays them again."
        )


def _reinforce(work: Reinforce, folder: Path, plan: Plan, tell: Tell) -> None:
    config = {"further": plan.further, "scratch": plan.scratch, "rnn": plan.rnn}[work.how]
    floor = open_floor(plan.train, config.environments, plan.catalog or None)
    model = open_search_model(str(folder / work.search))
    train_rl(
        floor.env,
        floor.goals,
        folder / work.name,
        msgspec.structs.replace(config, seed=work.seed),
        start=folder / work.start if work.start else None,
        # Goals come again; what is searched for them is the same each time.
        queries=cache(lambda instruction: model.queries(instruction)[:1]),
        queries_from=work.search,
        checksum=floor.checksum,
        protocol=floor.protocol,
        resume=True,
        on_progress=lambda reached: tell(reached.step / reached.steps),
    )


def _ask(work: Ask, folder: Path, plan: Plan, tell: Tell) -> None:
    found: dict[str, list[str]] = {}
    if work.run:
        for wanted, query in read_demonstrations(str(folder / work.run), least=0).queries:
            found.setdefault(wanted, []).append(query)
    else:
        instructions = _instructions(plan)
        done = 0

        def count() -> None:
            nonlocal done
            done += 1
            tell(done / len(instructions))

        model = open_search_model(str(folder / work.search))
        found = predict_queries(model, instructions, on_text=count)
    write_queries(folder / work.name, found, replace=True)


def _instructions(plan: Plan) -> list[str]:
    """What the goals that judge ask for."""
    protocol = find_protocol(plan.test)
    changed = msgspec.structs.replace(
        protocol,
        data=plan.catalog or protocol.data,
        episodes=plan.episodes or protocol.episodes,
    )
    source = open_source(changed)
    try:
        assert isinstance(source, ShopSource)
        return [source.goals[index].instruction_text for index in source.indices]
    finally:
        source.close()


def _placed(value: str, folder: Path) -> str:
    if value.startswith("{"):
        return str(folder / value.strip("{}"))
    return value


def _pictures(folder: Path, name: str) -> Pictures | None:
    return Pictures.read(folder / name) if name else None

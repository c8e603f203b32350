"""Jobs: a training, a run, a table of pictures, each in its own place below a folder.

Every job can be stopped and resumed, because the trainings and runs it is made of can.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from errands.errors import DataError
from errands.experiments.config import ExperimentConfig
from errands.learn.a2c import train_rl
from errands.learn.data.demonstrations import read_demonstrations
from errands.learn.data.pictures import Pictures
from errands.learn.environments import open_training_env
from errands.learn.imitation import train_choice
from errands.learn.models.picture_encoder import train_pictures
from errands.learn.rollout import SearchPolicy
from errands.learn.search import open_search_model, predict_queries, train_search, write_queries
from errands.learn.trainer import TrainingOptions
from errands.runs.episode_source import ShopSource, open_source
from errands.runs.protocol import find_protocol
from errands.runs.runner import run
from errands.runs.store.places import open_run
from errands.shop.catalog.catalog import Catalog

__all__ = [
    "Demonstrate",
    "Draw",
    "Imitate",
    "Job",
    "Play",
    "Reinforce",
    "Search",
    "WriteQueries",
    "run_job",
]

Report = Callable[[float], None]
"""Takes how much of a job is done, from 0 to 1."""


class Demonstrate(msgspec.Struct, frozen=True):
    """The scripted shopper plays: the training goals, or the test goals."""

    name: str
    goals: Literal["train", "test"] = "train"
    needs: tuple[str, ...] = ()


class Draw(msgspec.Struct, frozen=True):
    """Vectors of pictures."""

    name: str
    needs: tuple[str, ...] = ()


class Search(msgspec.Struct, frozen=True):
    """A search model learns from demonstrations."""

    name: str
    seed: int
    demonstrations: str
    needs: tuple[str, ...] = ()


class Imitate(msgspec.Struct, frozen=True):
    """A choice model learns from demonstrations."""

    name: str
    seed: int
    demonstrations: str
    pictures: str = ""
    needs: tuple[str, ...] = ()


class Reinforce(msgspec.Struct, frozen=True):
    """A choice model learns from rewards."""

    name: str
    seed: int
    how: Literal["further", "scratch", "rnn"]
    search: str
    start: str = ""
    needs: tuple[str, ...] = ()


class WriteQueries(msgspec.Struct, frozen=True):
    """A file of queries for the test goals: a search model's, or those of a run."""

    name: str
    search: str = ""
    run: str = ""
    needs: tuple[str, ...] = ()


class Play(msgspec.Struct, frozen=True):
    """An agent plays the test goals. Settings in braces are places: `{il-0}`."""

    name: str
    agent: str
    settings: dict[str, str]
    seed: int = 0
    needs: tuple[str, ...] = ()


Job = Demonstrate | Draw | Search | Imitate | Reinforce | WriteQueries | Play


def run_job(job: Job, folder: Path, config: ExperimentConfig, report: Report) -> None:
    """Do a job, or what is left of it."""
    place = folder / job.name
    match job:
        case Demonstrate():
            train = job.goals == "train"
            _run(
                place,
                config,
                report,
                config.train if train else config.test,
                "shopper",
                episodes=config.demonstrations if train else config.episodes,
                observations="full",
            )
        case Draw():
            table = train_pictures(
                Catalog.open(config.catalog or find_protocol(config.train).data),
                config.pictures,
                lambda epoch, loss: report(epoch / config.pictures.epochs),
            ).pictures
            table.write(place)
        case Search():
            demonstrations = read_demonstrations(str(folder / job.demonstrations))
            train_search(
                demonstrations.queries,
                place,
                msgspec.structs.replace(config.search, seed=job.seed),
                checksum=demonstrations.checksum,
                options=_options(report),
            )
        case Imitate():
            train_choice(
                read_demonstrations(str(folder / job.demonstrations)),
                place,
                msgspec.structs.replace(config.imitation, seed=job.seed),
                pictures=_pictures(folder, job.pictures),
                options=_options(report),
            )
        case Reinforce():
            _reinforce(job, folder, config, report)
        case WriteQueries():
            _write_queries(job, folder, config, report)
        case Play():
            _run(
                place,
                config,
                report,
                config.test,
                job.agent,
                episodes=config.episodes,
                settings={name: _placed(value, folder) for name, value in job.settings.items()},
                seed=job.seed,
            )


def _run(
    place: Path, config: ExperimentConfig, report: Report, protocol: str, agent: str, **how: Any
) -> None:
    """Play a run to its end."""
    total = done = 0

    def start(info: Any, pending: Any) -> None:
        nonlocal total
        total = len(pending)

    def count(summary: Any) -> None:
        nonlocal done
        done += 1
        report(done / total)

    finished = run(
        protocol,
        agent,
        out=place,
        data=config.catalog or None,
        resume=place.exists(),
        retry_errors=place.exists(),
        on_start=start,
        on_episode=count,
        **how,
    )
    store = open_run(finished.place)
    try:
        failed = [one for one in store.summaries() if one.status == "error"]
    finally:
        store.close()
    if failed:
        raise DataError(
            f"{len(failed)} episodes ended in an error, as episode {failed[0].number}"
            f" ({failed[0].error}); the same command plays them again."
        )


def _options(report: Report) -> TrainingOptions:
    return TrainingOptions(
        resume=True, on_progress=lambda progress: report(progress.step / progress.steps)
    )


def _reinforce(job: Reinforce, folder: Path, config: ExperimentConfig, report: Report) -> None:
    a2c = {"further": config.further, "scratch": config.scratch, "rnn": config.rnn}[job.how]
    model = open_search_model(str(folder / job.search))
    train_rl(
        open_training_env(config.train, a2c.num_envs, config.catalog or None),
        folder / job.name,
        msgspec.structs.replace(a2c, seed=job.seed),
        start=folder / job.start if job.start else None,
        # Goals come again; what is searched for them is the same each time.
        search=SearchPolicy(
            cache(lambda instruction: model.queries(instruction)[:1]), name=job.search
        ),
        options=_options(report),
    )


def _write_queries(
    job: WriteQueries, folder: Path, config: ExperimentConfig, report: Report
) -> None:
    queries: dict[str, list[str]] = {}
    if job.run:
        for instruction, query in read_demonstrations(str(folder / job.run), least=0).queries:
            queries.setdefault(instruction, []).append(query)
    else:
        instructions = _instructions(config)
        done = 0

        def count() -> None:
            nonlocal done
            done += 1
            report(done / len(instructions))

        model = open_search_model(str(folder / job.search))
        queries = predict_queries(model, instructions, on_text=count)
    write_queries(folder / job.name, queries, replace=True)


def _instructions(config: ExperimentConfig) -> list[str]:
    """Of the test goals."""
    protocol = find_protocol(config.test)
    protocol = msgspec.structs.replace(
        protocol,
        data=config.catalog or protocol.data,
        episodes=config.episodes or protocol.episodes,
    )
    source = open_source(protocol)
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

"""Jobs: a training, a run, a table of pictures, each in its own place below a folder.

Every job can be stopped and resumed, because the trainings and runs it is made of can.
"""

import itertools
from collections.abc import Callable
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal

import msgspec

from errands.errors import DataError
from errands.experiments.config import ExperimentConfig
from errands.experiments.fresh import write_test_goals
from errands.learn.a2c import train_rl
from errands.learn.dagger import train_dagger
from errands.learn.data.demonstrations import read_demonstrations
from errands.learn.data.pictures import Pictures
from errands.learn.environments import open_training_env
from errands.learn.imitation import PRESETS as IMITATION
from errands.learn.imitation import train_choice, with_encoder
from errands.learn.models.picture_encoder import train_pictures
from errands.learn.ppo import train_ppo
from errands.learn.rollout import SearchPolicy
from errands.learn.search import open_search_model, predict_queries, train_search, write_queries
from errands.learn.trainer import TrainingOptions
from errands.runs.episode_source import ShopSource, open_source
from errands.runs.protocol import find_protocol
from errands.runs.runner import run
from errands.runs.store.places import FILE as RUN_FILE
from errands.runs.store.places import open_run
from errands.shop.build.builder import generate_catalog
from errands.shop.catalog.catalog import Catalog
from errands.shop.catalog.library import DEMO_PRODUCTS

__all__ = [
    "Advise",
    "Demonstrate",
    "Draw",
    "ExperimentJob",
    "Imitate",
    "Improve",
    "OtherShop",
    "Play",
    "Reinforce",
    "Search",
    "Weights",
    "WriteQueries",
]

Weights = Literal["small", "matching", "pretrained", "drawn"]
"""Of a small model from scratch, the matching model, a checkpoint of Hugging Face's, or of that
one's architecture alone."""
Report = Callable[[float], None]
"""Takes how much of a job is done, from 0 to 1."""


class ExperimentJob(msgspec.Struct, frozen=True):
    """Something to be done, which makes what `name` is called below the experiment's folder."""

    name: str
    uses: ClassVar[tuple[str, ...]] = ()
    """The fields that name other jobs, whose results this one reads."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The jobs that are to be done before."""
        return tuple(name for field in self.uses if (name := getattr(self, field)))

    def run(self, folder: Path, config: ExperimentConfig, report: Report) -> None:
        """Do the job, or what is left of it."""
        raise NotImplementedError


class Demonstrate(ExperimentJob, frozen=True):
    """The scripted shopper plays: the training goals, or the test goals."""

    goals: Literal["train", "test"] = "train"

    def run(self, folder: Path, config: ExperimentConfig, report: Report) -> None:
        train = self.goals == "train"
        _run(
            folder / self.name,
            config,
            report,
            config.train if train else config.test,
            "shopper",
            episodes=config.demonstrations if train else config.episodes,
            observations="full",
        )


class Draw(ExperimentJob, frozen=True):
    """Vectors of pictures."""

    def run(self, folder: Path, config: ExperimentConfig, report: Report) -> None:
        result = train_pictures(
            Catalog.open(config.catalog or find_protocol(config.train).data, verify="quick"),
            config.pictures,
            lambda epoch, loss: report(epoch / config.pictures.epochs),
        )
        result.pictures.write(folder / self.name)


class Search(ExperimentJob, frozen=True):
    """A search model learns from demonstrations."""

    seed: int
    demonstrations: str
    weights: Weights = "small"
    uses = ("demonstrations",)

    def run(self, folder: Path, config: ExperimentConfig, report: Report) -> None:
        demonstrations = read_demonstrations(str(folder / self.demonstrations))
        training = config.search
        if self.weights != "small":
            training = msgspec.structs.replace(
                config.pretrained_search,
                model=config.search_model,
                from_scratch=self.weights == "drawn",
            )
        train_search(
            demonstrations.queries,
            folder / self.name,
            msgspec.structs.replace(training, seed=self.seed),
            checksum=demonstrations.checksum,
            goals=demonstrations.goals,
            options=_options(report),
        )


class Imitate(ExperimentJob, frozen=True):
    """A choice model learns from demonstrations."""

    seed: int
    demonstrations: str
    pictures: str = ""
    weights: Weights = "small"
    uses = ("demonstrations", "pictures")

    def run(self, folder: Path, config: ExperimentConfig, report: Report) -> None:
        training = config.imitation
        if self.weights == "matching":
            training = msgspec.structs.replace(
                IMITATION["matching"], choice=config.dagger.choice, threads=1
            )
        elif self.weights != "small":
            training = with_encoder(
                config.pretrained,
                config.encoder,
                from_scratch=self.weights == "drawn",
                lengths=config.pretrained.choice.lengths,
            )
        train_choice(
            read_demonstrations(str(folder / self.demonstrations)),
            folder / self.name,
            msgspec.structs.replace(training, seed=self.seed),
            pictures=Pictures.read(folder / self.pictures) if self.pictures else None,
            options=_options(report),
        )


class Advise(ExperimentJob, frozen=True):
    """A choice model learns from a teacher's advice (IL of the main table)."""

    seed: int

    def run(self, folder: Path, config: ExperimentConfig, report: Report) -> None:
        train_dagger(
            open_training_env(config.train, config.dagger.num_envs, config.catalog or None),
            folder / self.name,
            msgspec.structs.replace(config.dagger, seed=self.seed),
            options=_options(report),
        )


class Improve(ExperimentJob, frozen=True):
    """A choice model learns from rewards, by PPO: from nothing, or from where another one is."""

    seed: int
    start: str = ""
    uses = ("start",)

    def run(self, folder: Path, config: ExperimentConfig, report: Report) -> None:
        ppo = config.further if self.start else config.scratch
        train_ppo(
            open_training_env(config.train, ppo.num_envs, config.catalog or None),
            folder / self.name,
            msgspec.structs.replace(ppo, seed=self.seed),
            start=folder / self.start if self.start else None,
            options=_options(report),
        )


class Reinforce(ExperimentJob, frozen=True):
    """The paper's RNN learns from rewards, from nothing, by A2C."""

    seed: int
    search: str
    uses = ("search",)

    def run(self, folder: Path, config: ExperimentConfig, report: Report) -> None:
        model = open_search_model(str(folder / self.search))
        train_rl(
            open_training_env(config.train, config.rnn.num_envs, config.catalog or None),
            folder / self.name,
            msgspec.structs.replace(config.rnn, seed=self.seed),
            # Goals come again; what is searched for them is the same each time.
            search=SearchPolicy(
                cache(lambda instruction: model.queries(instruction)[:1]), name=self.search
            ),
            options=_options(report),
        )


class WriteQueries(ExperimentJob, frozen=True):
    """A file of queries for the test goals: a search model's, or those of a run."""

    search: str = ""
    demonstrations: str = ""
    uses = ("search", "demonstrations")

    def run(self, folder: Path, config: ExperimentConfig, report: Report) -> None:
        queries: dict[str, list[str]] = {}
        if self.demonstrations:
            played = read_demonstrations(str(folder / self.demonstrations), least=0)
            for instruction, query in played.queries:
                queries.setdefault(instruction, []).append(query)
        else:
            instructions = _instructions(config)
            queries = predict_queries(
                open_search_model(str(folder / self.search)),
                instructions,
                on_text=_count(lambda: len(instructions), report),
            )
        write_queries(folder / self.name, queries, replace=True)


class OtherShop(ExperimentJob, frozen=True):
    """Fresh goals to test on in another shop: one that is there, or one that is generated."""

    catalog: str = ""
    seed: int = 0
    """What the shop is generated from, where none is named."""

    def run(self, folder: Path, config: ExperimentConfig, report: Report) -> None:
        place = folder / self.name
        catalog = self.catalog
        if not catalog:
            shop = place / "shop"
            generate_catalog(
                shop,
                products=DEMO_PRODUCTS,
                seed=self.seed,
                difficulty=config.difficulty,
                workers=1,
                replace=shop.exists(),
            )
            catalog = str(shop.absolute())
        learnt = folder / "goals" / "train.json"
        apart = [learnt] if learnt.exists() else []
        write_test_goals(place, catalog, config.goals, config.difficulty, apart)


class Play(ExperimentJob, frozen=True):
    """An agent plays the test goals. Settings in braces are places: `{il-0}`."""

    agent: str
    settings: dict[str, str] = {}
    seed: int = 0
    protocol: str = ""
    """Of other goals than the experiment's: a protocol, or `{name}`, the job that writes one."""
    data: str = ""
    """And of another catalogue than that protocol names."""

    @property
    def needs(self) -> tuple[str, ...]:
        named = (*self.settings.values(), self.protocol)
        return tuple(value.strip("{}") for value in named if value[:1] == "{")

    def run(self, folder: Path, config: ExperimentConfig, report: Report) -> None:
        protocol = self.protocol or config.test
        if protocol[:1] == "{":
            protocol = str(folder / protocol.strip("{}") / "test.toml")
        if self.protocol:
            config = msgspec.structs.replace(config, catalog=self.data)
        _run(
            folder / self.name,
            config,
            report,
            protocol,
            self.agent,
            episodes=config.episodes,
            settings={
                name: str(folder / value.strip("{}")) if value[:1] == "{" else value
                for name, value in self.settings.items()
            },
            seed=self.seed,
        )


def _run(
    place: Path, config: ExperimentConfig, report: Report, protocol: str, agent: str, **how: Any
) -> None:
    """Play a run to its end."""
    # A kill may leave the folder with its lock alone: then there is nothing to go on with yet.
    begun = (place / RUN_FILE).is_file()
    pending: list[Any] = []
    count = _count(lambda: len(pending), report)
    finished = run(
        protocol,
        agent,
        out=place,
        data=config.catalog or None,
        resume=begun,
        retry_errors=begun,
        on_start=lambda info, episodes: pending.extend(episodes),
        on_episode=lambda summary: count(),
        **how,
    )
    with closing(open_run(finished.place)) as store:
        failed = [one for one in store.summaries() if one.status == "error"]
    if failed:
        raise DataError(
            f"{len(failed)} episodes ended in an error, as episode {failed[0].number}"
            f" ({failed[0].error}); the same command plays them again."
        )


def _count(total: Callable[[], int], report: Report) -> Callable[[], None]:
    """Reports a larger share with every call."""
    done = itertools.count(1)
    return lambda: report(next(done) / total())


def _options(report: Report) -> TrainingOptions:
    return TrainingOptions(
        resume=True, on_progress=lambda progress: report(progress.step / progress.steps)
    )


def _instructions(config: ExperimentConfig) -> list[str]:
    """Of the test goals."""
    protocol = find_protocol(config.test)
    protocol = msgspec.structs.replace(
        protocol,
        data=config.catalog or protocol.data,
        episodes=config.episodes or protocol.episodes,
    )
    with closing(open_source(protocol)) as source:
        assert isinstance(source, ShopSource)
        return [source.goals[index].instruction_text for index in source.indices]

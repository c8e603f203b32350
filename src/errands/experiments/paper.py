"""The experiments of the paper: which jobs each needs, and which rows its table has.

EXPERIMENTS["table"].jobs(config)  # in an order that can be followed
EXPERIMENTS["table"].read(folder, config)  # the table, when they are done
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from errands.errors import SettingError
from errands.experiments.config import ExperimentConfig
from errands.experiments.jobs import (
    Advise,
    Demonstrate,
    Draw,
    ExperimentJob,
    Imitate,
    Improve,
    Play,
    Reinforce,
    Search,
    Weights,
    WriteQueries,
)
from errands.experiments.real_data import real_notes
from errands.experiments.table import (
    Claim,
    ExperimentRow,
    ExperimentTable,
    above,
    highest,
    read_row,
)
from errands.learn.models.pretrained_encoder import check_encoder
from errands.learn.models.pretrained_search import check_searcher
from errands.runs.protocol import find_protocol
from errands.shop.catalog.catalog import Catalog
from errands.shop.splits import split_indices

__all__ = [
    "EXPERIMENTS",
    "LEAST_TEST_GOALS",
    "LEAST_TRAINING_GOALS",
    "Experiment",
    "RowSpec",
]

_DEMONSTRATIONS: Final = "demonstrations"
_PICTURES: Final = "pictures.npz"
LEAST_TEST_GOALS: Final = 100
"""Fewer would call anything shown, or nothing: a success rate of 50 % is then known to 10 %."""
LEAST_TRAINING_GOALS: Final = 100
_INTERVALS: Final = (
    "Intervals are 95 % intervals by cluster bootstrap: over products, each with all its goals and"
    " seeds (Wilson's where fewer than 10 products have a success, or a failure); what another seed"
    " would have given is the spread over seeds.",
)


class RowSpec(NamedTuple):
    """A row: its name, its runs, and what the paper reports."""

    name: str
    runs: Sequence[Play]
    paper: str = ""


def _no_claims(rows: Mapping[str, ExperimentRow]) -> list[Claim]:
    return []


class Experiment(NamedTuple):
    """A table of the paper's."""

    title: str
    rows: Callable[[ExperimentConfig], list[RowSpec]]
    before: Callable[[ExperimentConfig], list[ExperimentJob]]
    """What has to be done before its rows can be played."""
    claims: Callable[[Mapping[str, ExperimentRow]], list[Claim]] = _no_claims
    notes: Callable[[ExperimentConfig], list[str]] = lambda config: []
    needs: Callable[[ExperimentConfig], None] = lambda config: None
    """Refuses a config that lacks what is compared."""

    def check(self, config: ExperimentConfig) -> None:
        """Refuse goals that are too few for a claim, before hours are spent on them."""
        self.needs(config)
        if self.claims is _no_claims:
            return
        for name, what, least in (
            (config.test, "test", LEAST_TEST_GOALS),
            (config.train, "training", LEAST_TRAINING_GOALS),
        ):
            protocol = find_protocol(name)
            data = config.catalog or protocol.data
            found = len(
                split_indices(protocol.split or None, Catalog.open(data).goals(protocol.goals))
            )
            if found < least:
                raise SettingError(
                    f"{data} has {found:,} {what} goals (of {protocol.split or protocol.goals});"
                    f" this experiment needs {least} or more to show anything."
                    " A larger catalogue has more; on the 1,000 real products train on"
                    " webshop-1k-train and test on webshop-1k."
                )

    def jobs(self, config: ExperimentConfig) -> list[ExperimentJob]:
        """All jobs, in an order that can be followed."""
        return [*self.before(config), *(play for row in self.rows(config) for play in row.runs)]

    def read(self, folder: Path, config: ExperimentConfig) -> ExperimentTable:
        """The table, when all is done."""
        read = {
            row.name: read_row(row.name, [folder / play.name for play in row.runs], row.paper)
            for row in self.rows(config)
        }
        return ExperimentTable(
            title=self.title,
            rows=tuple(read.values()),
            claims=tuple(self.claims(read)),
            notes=(*self.notes(config), *real_notes(config), *_INTERVALS),
        )


def _basics(config: ExperimentConfig) -> list[ExperimentJob]:
    """What all experiments need."""
    searches = [Search(f"search-{seed}", seed, _DEMONSTRATIONS) for seed in config.seeds]
    return [Demonstrate(_DEMONSTRATIONS), *searches]


def _before_imitation(config: ExperimentConfig) -> list[ExperimentJob]:
    imitations = [Imitate(f"il-{seed}", seed, _DEMONSTRATIONS) for seed in config.seeds]
    return [*_basics(config), *imitations]


def _trained(
    config: ExperimentConfig, agent: str, model: str, label: str = "", **changes: str
) -> list[Play]:
    """A trained model, tested with each seed; by default with the search model of that seed."""
    return [
        Play(
            f"run-{label or model}-{seed}",
            agent,
            {"checkpoint": f"{{{model}-{seed}}}", "search": f"{{search-{seed}}}", **changes},
            seed,
        )
        for seed in config.seeds
    ]


_ORACLE: Final = Play("run-oracle", "choice-oracle")
_SHOPPER: Final = Play("run-unerring", "shopper", {"errors": "0"})
"""At its best: it errs in demonstrations alone."""


def _main_rows(config: ExperimentConfig) -> list[RowSpec]:
    def own(agent: str, model: str) -> list[Play]:
        """A trained model that searches as it was trained to, without a search model."""
        return _trained(config, agent, model, search="")

    return [
        RowSpec("rule", [Play("run-rule", "rule")], "45.6 / 9.6 %"),
        RowSpec("careful", [Play("run-careful", "careful")]),
        RowSpec("shopper", [_SHOPPER]),
        RowSpec("IL", own("il", "dagger"), "59.9 / 29.1 %"),
        *([RowSpec("IL of the shopper", own("il", "matching"))] if config.real else []),
        RowSpec("RL", own("rl", "ppo"), "52.5 / 11.2 %"),
        RowSpec("IL+RL", own("rl", "dagger-ppo"), "62.4 / 28.7 %"),
        RowSpec("RNN", _trained(config, "rnn", "rnn"), "55.2 / 17.6 %"),
        RowSpec("choice oracle", [_ORACLE], "79.7 / 52.6 %"),
    ]


def _main_claims(rows: Mapping[str, ExperimentRow]) -> list[Claim]:
    oracle = rows["choice oracle"]
    return [
        above(rows["IL"], rows["shopper"]),
        above(rows["IL+RL"], rows["IL"]),
        above(rows["IL+RL"], rows["careful"]),
        highest(oracle, [row for row in rows.values() if row is not oracle]),
    ]


def _main_notes(config: ExperimentConfig) -> list[str]:
    rnn, dagger = config.rnn.choice, config.dagger
    return [
        "All agents are greedy (but take an action at most twice where the page looks the same)."
        " Rule and oracle search with the whole instruction, `careful` and `shopper`, which are"
        " written by hand, with its own words (`shopper` errs in demonstrations alone), the RNN"
        " with a model trained on the shopper's demonstrations; IL, RL and IL+RL choose among a"
        " few queries made of the instruction.",
        f"IL: DAgger, {dagger.num_iterations} rounds of {dagger.num_steps * dagger.num_envs:,}"
        f" steps. IL+RL: PPO, {config.further.total_timesteps:,} steps from there. RL:"
        f" {config.scratch.total_timesteps:,} from scratch. RNN: A2C,"
        f" {config.rnn.total_timesteps:,} from scratch, hidden size {rnn.hidden}"
        + ("." if rnn.hidden >= 512 else " (the paper's 512 takes hours: `--rnn paper`)."),
    ]


def _before_main(config: ExperimentConfig) -> list[ExperimentJob]:
    jobs = _basics(config)
    for seed in config.seeds:
        jobs += [
            Advise(f"dagger-{seed}", seed),
            *_before_shown(config, seed),
            Improve(f"dagger-ppo-{seed}", seed, f"dagger-{seed}"),
            Improve(f"ppo-{seed}", seed),
            Reinforce(f"rnn-{seed}", seed, f"search-{seed}"),
        ]
    return jobs


def _before_shown(config: ExperimentConfig, seed: int) -> list[ExperimentJob]:
    """Of the real products: the scripted teacher beside the one that knows the goal."""
    if not config.real:
        return []
    return [Imitate(f"matching-{seed}", seed, _DEMONSTRATIONS, weights="matching")]


def _query_rows(config: ExperimentConfig) -> list[RowSpec]:
    seed = config.seeds[0]

    def oracle(name: str, kind: str, file: str) -> Play:
        return Play(name, "choice-oracle", {"query": kind, "queries": f"{{{file}}}"})

    predicted = [
        oracle(f"run-oracle-predicted-{each}", "predicted", f"predicted-{each}.json")
        for each in config.seeds
    ]
    first = oracle(f"run-oracle-first-{seed}", "human-first", "shopper-queries.json")
    last = oracle(f"run-oracle-last-{seed}", "human-last", "shopper-queries.json")
    return [
        RowSpec("the instruction", [_ORACLE], "79.7 / 52.6 %"),
        RowSpec("the search model's best", predicted, "83.0 / 57.6 %"),
        RowSpec("the shopper's first", [first], "82.1 / 57.9 % (people)"),
        RowSpec("the shopper's last", [last], "84.4 / 61.0 % (people)"),
    ]


def _before_queries(config: ExperimentConfig) -> list[ExperimentJob]:
    return [
        *_basics(config),
        Demonstrate("shopper-on-test", "test"),
        WriteQueries("shopper-queries.json", demonstrations="shopper-on-test"),
        *(WriteQueries(f"predicted-{seed}.json", search=f"search-{seed}") for seed in config.seeds),
    ]


def _sampling_rows(config: ExperimentConfig) -> list[RowSpec]:
    def il(label: str, choose: str, queries: str, **more: str) -> list[Play]:
        return _trained(config, "il", "il", label, choose=choose, queries=queries, **more)

    published = il("il-published-choice", "best", "sample", cycle_breaker="off")
    circling = il("il-circling", "best", "top", cycle_breaker="off")

    return [
        RowSpec("both sampled", il("il-chance", "sample", "sample"), "60.6 / 29.0 %"),
        RowSpec("greedy search", il("il-best-search", "sample", "top"), "62.0 / 30.8 %"),
        RowSpec("greedy choice, as published", published, "45.1 / 24.9 %"),
        RowSpec("greedy choice, circles broken", il("il-best-choice", "best", "sample")),
        RowSpec("both greedy, as published", circling),
        RowSpec("both greedy, circles broken", _trained(config, "il", "il")),
    ]


def _sampling_notes(config: ExperimentConfig) -> list[str]:
    return [
        "As published: the best action is taken however often it was taken on a page that looks the"
        " same (`--set cycle_breaker=off`). Circles broken: the next best after twice, as agents"
        " play unless told."
    ]


def _picture_rows(config: ExperimentConfig) -> list[RowSpec]:
    return [
        RowSpec("IL with pictures", _trained(config, "il", "il-seeing"), "60.6 / 29.0 %"),
        RowSpec("IL without pictures", _trained(config, "il", "il"), "60.3 / 28.4 %"),
    ]


def _search_rows(config: ExperimentConfig) -> list[RowSpec]:
    own = _trained(config, "il", "il", "il-own-words", search="")
    return [
        RowSpec("IL with the learnt search", _trained(config, "il", "il")),
        RowSpec("IL that searches with the instruction's own words", own),
    ]


def _before_pretrained(config: ExperimentConfig) -> list[ExperimentJob]:
    jobs: list[ExperimentJob] = [Demonstrate(_DEMONSTRATIONS)]
    for seed in config.seeds:
        for name, weights in _searches(config).items():
            jobs.append(Search(f"{name}-{seed}", seed, _DEMONSTRATIONS, weights))
        for name, weights in _readers(config).items():
            jobs.append(Imitate(f"{name}-{seed}", seed, _DEMONSTRATIONS, weights=weights))
    return jobs


def _searches(config: ExperimentConfig) -> dict[str, Weights]:
    """The search models of the experiment `pretrained`, the first one for all other rows."""
    if not config.search_model:
        return {"search": "small"}
    return {"search-pretrained": "pretrained", "search-drawn": "drawn"}


def _readers(config: ExperimentConfig) -> dict[str, Weights]:
    """Its choice models, likewise."""
    if not config.encoder:
        return {"il": "small"}
    return {"il-pretrained": "pretrained", "il-drawn": "drawn"}


def _pretrained_rows(config: ExperimentConfig) -> list[RowSpec]:
    (search, *other_searches), (reader, *other_readers) = _searches(config), _readers(config)

    def il(model: str, found: str) -> list[Play]:
        return [
            Play(
                f"run-{model}-by-{found}-{seed}",
                "il",
                {"checkpoint": f"{{{model}-{seed}}}", "search": f"{{{found}-{seed}}}"},
                seed,
            )
            for seed in config.seeds
        ]

    return [
        RowSpec("rule", [Play("run-rule", "rule")], "45.6 / 9.6 %"),
        RowSpec("IL", il(reader, search), "59.9 / 29.1 %"),
        *(
            RowSpec("IL without pretrained choice", il(name, search), "45.8 / 10.6 %")
            for name in other_readers
        ),
        *(
            RowSpec("IL without pretrained search", il(reader, name), "56.0 / 26.3 %")
            for name in other_searches
        ),
    ]


def _pretrained_notes(config: ExperimentConfig) -> list[str]:
    how = config.pretrained
    choice = f"the encoder {config.encoder}" if config.encoder else "the small encoder"
    search = f"the search model {config.search_model}" if config.search_model else "the small one"
    return [
        f"IL reads pages with {choice} and searches with {search}. Without pretraining: the same"
        " architecture and training, its weights drawn at random. The paper's models are BERT base"
        f" and BART base, 10 passes over 1,012 demonstrations by people; here {how.epochs} passes"
        f" over those of the shopper, {how.choice.lengths.page} tokens of a page, a learning rate"
        f" of {how.learning_rate:g}.",
    ]


def _check_pretrained(config: ExperimentConfig) -> None:
    if not config.encoder and not config.search_model:
        raise SettingError(
            "This experiment compares a pretrained model with one of its architecture alone; name"
            " one with --encoder or --search-model."
        )
    if config.encoder:
        check_encoder(config.encoder)
    if config.search_model:
        check_searcher(config.search_model)


def _before_pictures(config: ExperimentConfig) -> list[ExperimentJob]:
    seeing = [
        Imitate(f"il-seeing-{seed}", seed, _DEMONSTRATIONS, _PICTURES) for seed in config.seeds
    ]
    return [*_before_imitation(config), Draw(_PICTURES), *seeing]


EXPERIMENTS: Final = {
    "table": Experiment(
        "Scripts, imitation, reinforcement, oracle",
        _main_rows,
        _before_main,
        _main_claims,
        _main_notes,
    ),
    "queries": Experiment(
        "The choice oracle with four sources of queries", _query_rows, _before_queries
    ),
    "chance": Experiment(
        "Greedy against sampled", _sampling_rows, _before_imitation, notes=_sampling_notes
    ),
    "pictures": Experiment("With and without pictures", _picture_rows, _before_pictures),
    "search": Experiment("With and without a learnt search", _search_rows, _before_imitation),
    "pretrained": Experiment(
        "With and without pretrained weights",
        _pretrained_rows,
        _before_pretrained,
        notes=_pretrained_notes,
        needs=_check_pretrained,
    ),
}

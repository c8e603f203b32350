"""The experiments: which work each needs, and which rows its table has.

EXPERIMENTS["table"].works(plan)  # pieces of work, in an order that can be followed
EXPERIMENTS["table"].read(folder, plan)  # the table, when they are done
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from errands.experiments.jobs import (
    Ask,
    Demonstrate,
    Draw,
    Imitate,
    Play,
    Reinforce,
    Search,
    Work,
)
from errands.experiments.plan import Plan
from errands.experiments.table import Claim, Row, Table, above, highest, not_below, read_row

__all__ = ["EXPERIMENTS", "Experiment", "Line"]

_SHOWN: Final = "demonstrations"
_PICTURES: Final = "pictures.npz"
_INTERVALS: Final = (
    "Intervals are a bootstrap over goals, each with its mean over seeds; what another seed would"
    " have given is the spread over seeds.",
)


class Line(NamedTuple):
    """A row to be: its name, the runs of it, and what the paper says."""

    name: str
    runs: Sequence[Play]
    paper: str = ""


class Experiment(NamedTuple):
    """A table of the paper's."""

    title: str
    lines: Callable[[Plan], list[Line]]
    before: Callable[[Plan], list[Work]]
    """What has to be done before its rows can be played."""
    claims: Callable[[Mapping[str, Row]], list[Claim]] = lambda rows: []
    notes: Callable[[Plan], list[str]] = lambda plan: []

    def works(self, plan: Plan) -> list[Work]:
        """All pieces of work, in an order that can be followed."""
        return [*self.before(plan), *(play for line in self.lines(plan) for play in line.runs)]

    def read(self, folder: Path, plan: Plan) -> Table:
        """The table, when all is done."""
        rows = {
            line.name: read_row(line.name, [folder / play.name for play in line.runs], line.paper)
            for line in self.lines(plan)
        }
        return Table(
            title=self.title,
            rows=tuple(rows.values()),
            claims=tuple(self.claims(rows)),
            notes=(*self.notes(plan), *_INTERVALS),
        )


def _ground(plan: Plan) -> list[Work]:
    """What everything else is built on."""
    return [
        Demonstrate(_SHOWN),
        *(Search(f"search-{seed}", seed, _SHOWN, needs=(_SHOWN,)) for seed in plan.seeds),
    ]


def _imitators(plan: Plan) -> list[Work]:
    return [Imitate(f"il-{seed}", seed, _SHOWN, needs=(_SHOWN,)) for seed in plan.seeds]


def _learners(plan: Plan) -> list[Work]:
    """Everyone in the main table."""
    works: list[Work] = []
    for seed in plan.seeds:
        search, start = f"search-{seed}", f"il-{seed}"
        works += [
            Reinforce(f"rnn-{seed}", seed, "rnn", search, needs=(search,)),
            Reinforce(f"rl-{seed}", seed, "scratch", search, needs=(search,)),
            Reinforce(f"il-rl-{seed}", seed, "further", search, start, needs=(search, start)),
        ]
    return [*_imitators(plan), *works]


def _trained(plan: Plan, agent: str, model: str, label: str = "", **settings: str) -> list[Play]:
    """A trained model, judged with each seed; by default with the search model of that seed."""
    plays = []
    for seed in plan.seeds:
        given = {"search": f"{{search-{seed}}}", **settings}
        needs = [f"{model}-{seed}"]
        if given["search"]:
            needs.append(f"search-{seed}")
        plays.append(
            Play(
                f"run-{label or model}-{seed}",
                agent,
                {"checkpoint": f"{{{model}-{seed}}}", **given},
                seed,
                tuple(needs),
            )
        )
    return plays


def _oracle(plan: Plan) -> list[Play]:
    return [Play("run-oracle", "choice-oracle", {})]


def _main_lines(plan: Plan) -> list[Line]:
    return [
        Line("rule", [Play("run-rule", "rule", {})], "45.6 / 9.6 %"),
        Line("IL", _trained(plan, "il", "il"), "59.9 / 29.1 %"),
        Line("RL", _trained(plan, "rl", "rl"), ""),
        Line("IL+RL", _trained(plan, "rl", "il-rl"), "62.4 / 28.7 %"),
        Line("RNN", _trained(plan, "rnn", "rnn"), ""),
        Line("choice oracle", _oracle(plan), "79.7 / 52.6 %"),
    ]


def _main_claims(rows: Mapping[str, Row]) -> list[Claim]:
    oracle = rows["choice oracle"]
    return [
        above(rows["IL"], rows["rule"]),
        not_below(rows["IL+RL"], rows["IL"]),
        highest(oracle, [row for row in rows.values() if row is not oracle]),
    ]


def _main_notes(plan: Plan) -> list[str]:
    rnn = plan.rnn.choice
    return [
        "Everyone does what seems best (at most twice where the page looks the same), and searches"
        " with a model that has learnt it from the demonstrations; rule and oracle search with the"
        " whole instruction.",
        f"IL: {plan.imitation.epochs} epochs. IL+RL: {plan.further.steps:,} steps from there. RL:"
        f" {plan.scratch.steps:,} from scratch. RNN: {plan.rnn.steps:,} from scratch, hidden size"
        f" {rnn.hidden} (the paper's 512 would take hours on a processor).",
    ]


def _before_main(plan: Plan) -> list[Work]:
    return [*_ground(plan), *_learners(plan)]


def _query_lines(plan: Plan) -> list[Line]:
    seed = plan.seeds[0]

    def oracle(name: str, kind: str, asked: str) -> Play:
        settings = {"query": kind, "queries": f"{{{asked}}}"}
        return Play(name, "choice-oracle", settings, needs=(asked,))

    predicted = [
        oracle(f"run-oracle-predicted-{each}", "predicted", f"predicted-{each}.json")
        for each in plan.seeds
    ]
    first = oracle(f"run-oracle-first-{seed}", "human-first", "shopper-queries.json")
    last = oracle(f"run-oracle-last-{seed}", "human-last", "shopper-queries.json")
    return [
        Line("the instruction", _oracle(plan), "79.7 / 52.6 %"),
        Line("the search model's best", predicted, "83.0 / 57.6 %"),
        Line("the shopper's first", [first], "82.1 / 57.9 % (people)"),
        Line("the shopper's last", [last], "84.4 / 61.0 % (people)"),
    ]


def _before_queries(plan: Plan) -> list[Work]:
    return [
        *_ground(plan),
        Demonstrate("shopper-on-test", "test"),
        Ask("shopper-queries.json", run="shopper-on-test", needs=("shopper-on-test",)),
        *(
            Ask(f"predicted-{seed}.json", search=f"search-{seed}", needs=(f"search-{seed}",))
            for seed in plan.seeds
        ),
    ]


def _chance_lines(plan: Plan) -> list[Line]:
    def il(label: str, choose: str, queries: str) -> list[Play]:
        return _trained(plan, "il", "il", label, choose=choose, queries=queries)

    return [
        Line("both by chance", il("il-chance", "sample", "sample"), "60.6 / 29.0 %"),
        Line("best search", il("il-best-search", "sample", "top"), "62.0 / 30.8 %"),
        Line("best choice", il("il-best-choice", "best", "sample"), "45.1 / 24.9 %"),
        Line("both best", _trained(plan, "il", "il")),
    ]


def _picture_lines(plan: Plan) -> list[Line]:
    return [
        Line("IL with pictures", _trained(plan, "il", "il-seeing"), "60.6 / 29.0 %"),
        Line("IL without pictures", _trained(plan, "il", "il"), "60.3 / 28.4 %"),
    ]


def _search_lines(plan: Plan) -> list[Line]:
    own = _trained(plan, "il", "il", "il-own-words", search="")
    return [
        Line("IL with the learnt search", _trained(plan, "il", "il")),
        Line("IL that searches with the instruction's own words", own),
    ]


def _before_imitation(plan: Plan) -> list[Work]:
    return [*_ground(plan), *_imitators(plan)]


def _before_pictures(plan: Plan) -> list[Work]:
    needs = _SHOWN, _PICTURES
    seeing = [
        Imitate(f"il-seeing-{seed}", seed, _SHOWN, _PICTURES, needs=needs) for seed in plan.seeds
    ]
    return [*_before_imitation(plan), Draw(_PICTURES), *seeing]


EXPERIMENTS: Final = {
    "table": Experiment(
        "Rule, imitation, reinforcement, oracle",
        _main_lines,
        _before_main,
        _main_claims,
        _main_notes,
    ),
    "queries": Experiment(
        "The choice oracle with four sources of queries", _query_lines, _before_queries
    ),
    "chance": Experiment("The best one against chance", _chance_lines, _before_imitation),
    "pictures": Experiment("With and without pictures", _picture_lines, _before_pictures),
    "search": Experiment("With and without a learnt search", _search_lines, _before_imitation),
}

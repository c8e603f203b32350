"""A whole report as data: the figures of one or more runs, what they mean beside each other.

`gather` reads stores; the page, the Markdown and the JSON are three ways of writing down what
it returns, so they can never disagree.
"""

import itertools
import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from errands import __version__
from errands.agents.llm.turk.conditions import published_table, usual_settings
from errands.agents.registry import AgentKind, kinds
from errands.envs.observations import DEFAULT_OBSERVATIONS
from errands.envs.screenshots import PICTURED
from errands.errors import SettingError
from errands.notebook import notebook_table
from errands.reports.statistics.columns import STATUSES, Columns, read_columns
from errands.reports.statistics.comparison import (
    Contestant,
    RunComparison,
    compare,
    corrected,
)
from errands.reports.statistics.estimate import METHODS, Estimate
from errands.reports.statistics.figures import RunFigures, run_figures
from errands.reports.statistics.ranks import Ranks, run_ranks
from errands.reports.statistics.sample import MOST, EpisodeSample, pick
from errands.reports.statistics.seeds import SeedGroup, grouped_by_seed, seed_group
from errands.reports.statistics.training import Training, training_of
from errands.reports.statistics.turk_figures import (
    DemonstrationCurve,
    Table4Row,
    agent_name,
    demonstrations,
    table_row,
)
from errands.runs.episode import RunInfo
from errands.runs.protocol import named_protocols
from errands.runs.store.base import Store

__all__ = ["DOMAINS", "SCHEMA", "SCORES", "Report", "Run", "command_of", "gather", "to_json"]

SCHEMA: Final = 3
"""Raised whenever a name in the JSON report changes its meaning or goes away."""
ALL_PAIRS_UP_TO: Final = 4
DOMAINS: Final = {"shop": "WebShop", "turk": "TurkingBench"}
SCORES: Final = {"shop": "Task Score", "turk": "Score, mean over tasks"}
"""What the figure is called that a run is known by."""
_NO_SETTING: Final = object()
_WITHOUT: Final = re.compile(r" without:(\d+)\b")
_UNTOLD: Final = {"demonstrations", "preset", "prompt_sha256", "prompt_version"}
"""Settings that a label leaves out: others say enough of them."""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a report."""

    label: str
    """What it is called in this report; no two are the same."""
    info: RunInfo
    figures: RunFigures
    listed: EpisodeSample
    remarks: tuple[str, ...]
    command: str
    """What repeats it."""
    row4: Table4Row | None = None
    training: Training | None = None
    """Of the checkpoint that it played with."""

    @property
    def failed(self) -> str:
        """Why the run has no score; empty where it has one."""
        answers = self.figures.answers
        return "" if answers is None else answers.failed

    @property
    def name(self) -> str:
        """Its label, with a mark for agents that knew the answers."""
        return f"{self.label} (shown the answers)" if self.info.privileged else self.label


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a report says."""

    schema: int = SCHEMA
    errands: str
    """The version that made the report."""
    title: str
    runs: tuple[Run, ...]
    seeds: tuple[SeedGroup, ...]
    """Agents that were played with several seeds."""
    comparisons: tuple[RunComparison, ...]
    ranks: tuple[Ranks, ...]
    demonstrations: tuple[DemonstrationCurve, ...]
    notes: tuple[str, ...]
    """How the figures are made, for the reader."""

    def _repr_html_(self) -> str:
        rows = (
            (
                run.name,
                run.info.protocol_key,
                run.figures.episodes,
                run.figures.errors,
                run.failed or _mean(run.figures.score),
                _mean(run.figures.success),
            )
            for run in self.runs
        )
        head = ["run", "protocol", "episodes", "errors", "score", "Success Rate (%)"]
        shown = notebook_table(self.title, head, rows, len(self.runs))
        if not self.comparisons:
            return shown
        compared = ((one.meaning,) for one in self.comparisons)
        return shown + notebook_table("", ["compared"], compared, len(self.comparisons))


def _mean(estimate: Estimate) -> str:
    if estimate.mean is None:
        return "none"
    bounds = f" [{estimate.low:.1f}, {estimate.high:.1f}]" if estimate.low is not None else ""
    return f"{estimate.mean:.1f}{bounds}"


_CHANGES: Final[Mapping[str, tuple[str, ...]]] = {
    "shop": ("data", "episodes", "max_steps", "rules", "goals", "split", "repeat"),
    "turk": ("data", "episodes", "max_steps", "rules", "split", "per_task", "repeat"),
}
"""The settings of a protocol that `errands run` can change."""


def command_of(info: RunInfo) -> str:
    """The command that repeats a run: the protocol, and all that departs from it."""
    name = str(info.protocol.get("id", "PROTOCOL"))
    if name == "demonstrations" and info.agent == "human":
        data = str(info.protocol.get("data", ""))
        return shlex.join(
            [
                "errands",
                "crowd",
                "export",
                "demonstrations",
                "STORE",
                "--data",
                data,
                "--out",
                "RUN",
            ]
        )
    usual = named_protocols().get(name)
    version = info.protocol.get("version")
    if usual is not None and usual.version != version and f"{name}@{version}" in named_protocols():
        name = f"{name}@{version}"
        usual = named_protocols()[name]
    if " own:" in info.protocol_key:  # All of it is said then: what its file says is not known.
        usual = None
        name = f"FILE.toml#{name}"
    words = ["errands", "run", name, "--agent", info.agent]
    model = info.agent_settings.get("model")
    if isinstance(model, str) and model:
        words += ["--model", model]
    for setting in _CHANGES[info.domain]:
        value = info.protocol.get(setting)
        if value not in (None, "") and value != getattr(usual, setting, None):
            words += [f"--{setting.replace('_', '-')}", str(value)]
    driver = _driver(info.protocol.get("settings"))
    if driver and driver != _driver(getattr(usual, "settings", None)):
        words += ["--driver", driver]
    if info.shown_as and info.shown_as != _declared(info):
        words += ["--observation", info.shown_as]
    if info.observations != _kept_by_default(info):
        words += ["--observations", info.observations]
    if info.seed != info.protocol.get("seed", 0):
        words += ["--seed", str(info.seed)]
    if info.seconds is not None:
        words += ["--seconds", str(info.seconds)]
    if " overlap=" in info.protocol_key:
        words.append("--allow-overlap")
    if info.verified == "off":
        words += ["--verify", "off"]
    return shlex.join([*words, *_set_words(info)])


def _driver(settings: object) -> str:
    return str(settings.get("driver") or "") if isinstance(settings, Mapping) else ""


def _kind(info: RunInfo) -> AgentKind | None:
    """The agent in the list of those that have a name."""
    return next((kind for kind in kinds() if kind.name == info.agent), None)


def _kept_by_default(info: RunInfo) -> str:
    """What is kept of pages where nobody says; empty where only the agent knows."""
    kind = _kind(info)
    if info.domain == "turk" or info.shown_as in PICTURED:
        return "full"
    if kind is None or kind.factory.partition(":")[0].partition(".")[0] != "errands":
        return ""
    return "hash" if kind.mode == "compute" else "full"


def _declared(info: RunInfo) -> str:
    """What an agent is shown where nobody asks for anything else."""
    kind = _kind(info)
    declared = () if kind is None else kind.observations.get(info.domain, ())
    return declared[0] if declared else DEFAULT_OBSERVATIONS.get(info.domain, "")


def _set_words(info: RunInfo) -> list[str]:
    """Settings of the agent that are not the usual ones, as `--set` takes them."""
    kind = _kind(info)
    is_known = kind is not None and (not kind.own_settings or info.agent == "llm")
    usual = {} if kind is None else {name: one.default for name, one in kind.settings.items()}
    if info.agent == "llm":
        usual = usual_settings(info.domain, info.agent_settings)
    words = []
    for name, value in info.agent_settings.items():
        # Of an agent of somebody else's nobody knows what is usual.
        if value != usual[name] if name in usual else not is_known:
            words += ["--set", f"{name}={value if isinstance(value, str) else json.dumps(value)}"]
    return words


def gather(
    stores: Sequence[Store],
    *,
    title: str = "",
    compare_anyway: bool = False,
    most_listed: int = MOST,
    seed: int = 0,
    command: Callable[[RunInfo], str] = command_of,
) -> Report:
    """Read runs and compute all that a report says about them."""
    if not stores:
        raise SettingError("A report needs at least one run; give the directory of one.")
    infos = [store.info for store in stores]
    groups = grouped_by_seed(infos)
    names = _labels([infos[places[0]] for places in groups])
    labels = _seed_labels(infos, groups, names)
    runs: list[Run] = []
    read: list[Columns] = []
    ranks: dict[str, Ranks] = {}
    for label, store in zip(labels, stores, strict=True):
        info = store.info
        columns = read_columns(store)
        figures = run_figures(store, columns, seed=seed)
        read.append(columns)
        # Runs of one protocol share their goals, so one histogram serves them.
        if info.domain == "shop" and len(columns.number) and info.protocol_key not in ranks:
            ranks[info.protocol_key] = run_ranks(store, columns, seed=seed)
        runs.append(
            Run(
                label=label,
                info=info,
                figures=figures,
                listed=pick(
                    columns,
                    most=most_listed,
                    seed=seed,
                    causes={cause.name: cause.episodes for cause in figures.causes},
                ),
                remarks=_remarks(info, figures),
                command=command(info),
                row4=_row4(info, figures, columns),
                training=_training(label, info),
            )
        )
    forms = [(run.info, run.figures.turk) for run in runs]
    return Report(
        errands=__version__,
        title=title or _title(runs),
        runs=tuple(runs),
        seeds=tuple(
            made
            for name, places in zip(names, groups, strict=True)
            if len(places) > 1
            and (
                made := seed_group(
                    name,
                    [(labels[at], infos[at], runs[at].figures, read[at]) for at in places],
                    seed=seed,
                )
            )
        ),
        comparisons=_comparisons(
            [
                Contestant(name, [(stores[at], read[at]) for at in places])
                for name, places in zip(names, groups, strict=True)
                # What has no score cannot be compared.
                if not any(runs[at].failed for at in places)
            ],
            anyway=compare_anyway,
            seed=seed,
        ),
        ranks=tuple(ranks.values()),
        demonstrations=demonstrations([(info, work) for info, work in forms if work is not None]),
        notes=_notes(runs),
    )


def to_json(report: Report) -> bytes:
    """The report as JSON, indented, its keys in a fixed order."""
    return msgspec.json.format(msgspec.json.encode(_clean(msgspec.to_builtins(report))), indent=1)


def _clean(value: Any) -> Any:
    """Without lone surrogates, which no file of text can hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode() if not _writable(value) else value
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    return value


def _writable(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= char <= "\udfff" for char in text)


def _row4(info: RunInfo, figures: RunFigures, columns: Columns) -> Table4Row | None:
    if figures.turk is None:
        return None
    played = columns.status != STATUSES.index("error")
    tokens, steps = (int(column[played].sum()) for column in (columns.tokens_in, columns.steps))
    return table_row(info, figures.turk, tokens, steps)


def _training(label: str, info: RunInfo) -> Training | None:
    training = training_of(info.agent_settings, info.started)
    return None if training is None else msgspec.structs.replace(training, label=label)


def _labels(infos: Sequence[RunInfo]) -> list[str]:
    """Short names that tell the runs of this report apart."""
    names = [agent_name(info) for info in infos]
    for details in (
        [DOMAINS.get(info.domain, info.domain) for info in infos],
        _settings(infos),
        [info.shown_as for info in infos],
        [str(info.protocol.get("id", "")) for info in infos],
        [info.id for info in infos],
    ):
        if len(set(names)) == len(names):
            break
        labels = list(zip(names, details, strict=True))
        # Only what tells the runs of one name apart is worth saying.
        names = [
            f"{name} ({more})" if more and len({m for n, m in labels if n == name}) > 1 else name
            for name, more in labels
        ]
    seen: dict[str, int] = {}
    for at, name in enumerate(names):
        seen[name] = seen.get(name, 0) + 1
        if seen[name] > 1:
            names[at] = f"{name} #{seen[name]}"
    return names


def _seed_labels(
    infos: Sequence[RunInfo], groups: Sequence[Sequence[int]], names: Sequence[str]
) -> list[str]:
    """The label of each run: its agent's, with the seed where there are several."""
    labels = [""] * len(infos)
    for name, places in zip(names, groups, strict=True):
        for at in places:
            labels[at] = name if len(places) == 1 else f"{name} (seed {infos[at].seed})"
    return labels


def _settings(infos: Sequence[RunInfo]) -> list[str]:
    """The settings in which runs of the same name differ."""
    labels = []
    for info in infos:
        alike = [other for other in infos if agent_name(other) == agent_name(info)]
        names = sorted({name for other in alike for name in other.agent_settings} - _UNTOLD)
        labels.append(
            ", ".join(
                f"{name} {info.agent_settings.get(name, '-')}"
                for name in names
                if len({repr(other.agent_settings.get(name, _NO_SETTING)) for other in alike}) > 1
            )[:60]
        )
    return labels


def _title(runs: Sequence[Run]) -> str:
    titles = {f"{_protocol_title(run.info)}{_without(run.info)}": None for run in runs}
    title = (
        " and ".join(titles) if len(titles) <= 2 else f"{len(runs)} runs, {len(titles)} protocols"
    )
    failed = [run.label for run in runs if run.failed]
    return f"{title} (failed: {', '.join(failed)})" if failed else title


def _protocol_title(info: RunInfo) -> str:
    return str(info.protocol.get("title") or info.protocol_key)


def _without(info: RunInfo) -> str:
    """How many tasks the protocol asks for and the run had not: its figures are of the others."""
    absent = _WITHOUT.search(info.protocol_key)
    if absent is None:
        return ""
    return f" (without {'1 task' if absent[1] == '1' else absent[1] + ' tasks'})"


def _remarks(info: RunInfo, figures: RunFigures) -> tuple[str, ...]:
    """What a reader must know before the figures."""
    remarks = list(info.remarks)
    warning = str(info.protocol.get("warning") or "")
    if warning and warning not in remarks:
        remarks.append(warning)
    if info.privileged:
        remarks.append("This agent was shown the answers: its score is a ceiling, not a result.")
    if figures.answers is not None and figures.answers.failed:
        remarks.append(f"This run has failed, and has no score: {figures.answers.failed}.")
    missing = figures.planned - figures.episodes
    if missing > 0:
        remarks.append(
            f"The run is not finished: {missing:,} of {figures.planned:,} episodes are missing."
        )
    if figures.errors:
        remarks.append(
            f"{figures.errors:,} of {figures.episodes:,} episodes failed; they are not in the"
            " scores. The lower bound takes them as 0."
        )
    return tuple(remarks)


def _comparisons(
    agents: Sequence[Contestant], *, anyway: bool, seed: int
) -> tuple[RunComparison, ...]:
    made = []
    domains = [agent.runs[0][0].info.domain for agent in agents]
    for domain in dict.fromkeys(domains):
        some = [agent for agent, own in zip(agents, domains, strict=True) if own == domain]
        pairs = list(itertools.combinations(some, 2))
        if len(some) > ALL_PAIRS_UP_TO:
            # All pairs of many agents are more than anyone reads: each against the first given.
            pairs = [(some[0], agent) for agent in some[1:]]
        made += [compare(first, second, anyway=anyway, seed=seed) for first, second in pairs]
    return corrected(made)


def _sampled(run: Run) -> str:
    """What a run's intervals are over."""
    figures, unit = run.figures, run.figures.unit
    if figures.clusters == 1:
        return f"the episode, since all are of one {unit}"
    episodes = "one episode" if figures.clusters == figures.episodes else "all its episodes"
    alike = ", each counting alike" if figures.weights == "cluster" else ""
    return f"the {unit} with {episodes} ({figures.clusters:,} {unit}s{alike})"


def _notes(runs: Sequence[Run]) -> tuple[str, ...]:
    sampled: dict[str, list[str]] = {}
    for run in runs:
        if run.figures.episodes:
            sampled.setdefault(_sampled(run), []).append(run.label)
    notes = [
        *(
            f"Intervals are 95 % intervals: what other draws of {unit} could have given"
            f"{' (' + ', '.join(labels) + ')' if len(sampled) > 1 else ''}."
            for unit, labels in sampled.items()
        ),
        *(f"Interval by {name}: {METHODS[name]}." for name in METHODS),
        "Errors are never a reward: scores leave them out, lower bounds take them as 0.",
        "Comparisons pair the episodes that both agents played, and keep those of a cluster"
        " together: the interval is a paired cluster bootstrap, p is a sign-flip permutation test"
        " by cluster, for successes too (McNemar's exact test where every cluster has one episode)."
        " p (Holm) is raised for the number of comparisons, and decides what is called better.",
    ]
    if len(runs) > ALL_PAIRS_UP_TO:
        notes.append(
            f"Of more than {ALL_PAIRS_UP_TO} runs on one domain each is compared with the first"
            " that was given."
        )
    beside = [run for run in runs if run.row4 is not None and run.row4.published is not None]
    if beside:
        notes.append(
            f"Published scores: {published_table().source}; 20 tasks, up to 20 instances each drawn"
            " without a seed, models of early 2024, released rules."
        )
    # A key has the protocol, the data, and all that departs from the protocol.
    if others := [run.label for run in beside if len(run.info.protocol_key.split()) > 2]:
        notes.append(
            f"Not all of the published pages, or others: {', '.join(others)}; the protocol keys say"
            " what departs."
        )
    if any(run.info.domain == "turk" for run in runs):
        notes.append(
            "TurkingBench scores are means over tasks of their pooled fields, with intervals over"
            " tasks, each with all its instances (of a single task: over its instances); the"
            " headline is under the rules of the protocol. Success Rate and comparisons count every"
            " page once."
        )
    return tuple(notes)

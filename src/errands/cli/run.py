"""`errands run`, `errands protocols` and `errands agents`: playing agents under protocols."""

import contextlib
import json
import re
import shlex
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec
import typer
from typer.core import TyperCommand

from errands.agents.registry import kinds
from errands.cli.completion import agent_names, data_names, protocol_names
from errands.cli.options import agent_settings, takes_records
from errands.cli.output import (
    Json,
    counting,
    json_lines,
    print_json,
    program,
    remarks,
    results,
    table,
)
from errands.errors import SettingError
from errands.reports.statistics.columns import read_columns
from errands.reports.statistics.figures import RunFigures, run_figures
from errands.reports.statistics.turk_figures import TaskFigures, estimate_of, task_figures
from errands.runs.answers import AnswerFigures
from errands.runs.episode import RunInfo, Summary
from errands.runs.protocol import Protocol, find_protocol, named_protocols, read_protocols
from errands.runs.runner import DEFAULT_SECONDS, RunResult, default_place, run
from errands.runs.store.places import open_run
from errands.turk.proofs import PROOF_SECONDS
from errands.turk.scoring.metrics import DISPLAYED, SUBMITTED

__all__ = ["app"]


app = typer.Typer()


class _RunCommand(TyperCommand):
    """`--ray` may stand alone: what follows is its address only if it looks like one."""

    stand_alone: Final = frozenset({"ray"})
    _ADDRESS: Final = re.compile(r"auto|local|ray://.*|[^\s/#]+:\d+")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        told = []
        for place, word in enumerate(args):
            following = args[place + 1] if place + 1 < len(args) else ""
            alone = word == "--ray" and not self._ADDRESS.fullmatch(following)
            told.append("--ray=" if alone else word)
        return super().parse_args(ctx, told)


@dataclass(frozen=True)
class _PlayOptions:
    """What `errands.run` takes under the same names."""

    episodes: int | None = typer.Option(None, min=1, help="Only the first so many.")
    workers: int | None = typer.Option(
        None, min=1, help="Episodes at once (default: 1; with --ray: every CPU)."
    )
    ray: str | None = typer.Option(
        None,
        metavar="[ADDRESS]",
        help="Play on a Ray cluster: HOST:PORT, auto, or local (the default without RAY_ADDRESS).",
    )
    out: str | None = typer.Option(
        None, help="A new directory (default: below runs/), or a PostgreSQL address."
    )
    resume: bool = typer.Option(False, "--resume", help="Go on with the run that --out holds.")
    retry_errors: bool = typer.Option(
        False, "--retry-errors", help="With --resume: play failed episodes once more."
    )
    data: str | None = typer.Option(
        None, help="Another catalogue or folder of tasks.", autocompletion=data_names
    )
    max_steps: int | None = typer.Option(None, min=1, help="Another limit of steps.")
    rules: str | None = typer.Option(
        None,
        help="Other rules of the reward: released, paper, synonym, an installed name, or"
        " module:attribute of your own (docs/explanation/reward.md); for form pages released,"
        " paper or submitted (docs/guides/form-pages.md).",
    )
    observation: str | None = typer.Option(
        None,
        help="How the agent is shown pages (default: what it declares to read): text, html, ..."
        " (docs/guides/environments.md), an installed format, or module:attribute of your own.",
    )
    goals: str | None = typer.Option(
        None, help="WebShop: other goals: human, synthetic, or a goal file (`catalog goals`)."
    )
    split: str | None = typer.Option(
        None,
        help="Another split: disjoint-test, disjoint-eval, disjoint-train (the original's test,"
        " eval, train share products); of tasks test, train, ...",
    )
    per_task: int | None = typer.Option(
        None, min=1, help="TurkingBench: so many instances of each task."
    )
    repeat: int | None = typer.Option(None, min=1, help="Play each episode so many times.")
    driver: str | None = typer.Option(
        None, help="TurkingBench: auto, dom, browser, an installed one, or module:attribute."
    )
    prove: float = typer.Option(
        PROOF_SECONDS,
        metavar="SECONDS",
        help="TurkingBench: so long it may take to find out, once and for all, whether a new task"
        " with scripts needs the browser; 0: it takes it.",
    )
    verify: str = typer.Option(
        "quick",
        help="Compare a catalogue's files with its checksums first: full, off, or quick: those that"
        " changed since they were last compared here.",
    )
    observations: str = typer.Option(
        "auto", help="What is kept of pages: full, hash, none; auto: full for models and forms."
    )
    seed: int | None = typer.Option(None, min=0, help="Of the agent's chance.")
    allow_overlap: bool = typer.Option(
        False,
        "--allow-overlap",
        help="Play goals that a trained agent has learnt from; title and key say so.",
    )
    fsync: bool = typer.Option(False, "--fsync", help="Survive a power cut, not only a kill.")


@app.command("run", cls=_RunCommand)
@takes_records
def run_command(
    play: _PlayOptions,
    protocol: str = typer.Argument(
        help="A protocol's id, or FILE.toml#id of your own.", autocompletion=protocol_names
    ),
    agent: str = typer.Option(
        ...,
        help="An agent's name (`errands agents`), or module:attribute.",
        autocompletion=agent_names,
    ),
    model: str | None = typer.Option(None, help="The model of `--agent llm`."),
    checkpoint: str | None = typer.Option(
        None, help="What a trained agent was saved in (`errands train`)."
    ),
    setting: list[str] = typer.Option(
        [], "--set", metavar="NAME=VALUE", help="A setting of the agent; may be repeated."
    ),
    seconds: float = typer.Option(DEFAULT_SECONDS, help="An episode's time; 0: no limit."),
    as_json: bool = Json,
) -> None:
    """Play an agent under a protocol; every finished episode is kept at once.

    Exit status 1 where the run ended early, every episode failed, or too many of a model's answers
    came to nothing (--set max_empty=0.5), 130 where it was stopped.

    Examples:

      errands run shop-demo --agent rule

      errands run webshop-1k --data shop-1k --agent random --workers 2 --out runs/random

      errands run turk --data TASKS --split test --agent oracle --workers 2

      errands run turk-test --agent llm --model gpt-5-mini --set demos=3 --workers 16

      errands run webshop-1k --data shop-1k --agent random --out runs/random --resume

      errands run webshop-1k --data shop-1k --agent random --ray head:6379
    """
    settings = agent_settings(setting, model, checkpoint)
    if play.retry_errors and not play.resume:
        raise SettingError("--retry-errors goes with --resume and the --out of a run.")
    if play.resume and play.out is None:
        raise SettingError("--resume needs --out, the directory of the run to go on with.")
    show = _Show()
    try:
        with show.progress, _interruptible():
            finished = run(
                protocol,
                agent,
                settings=settings,
                seconds=seconds or None,
                progress=show.proving,
                on_start=show.start,
                on_episode=show.episode,
                on_remark=lambda text: remarks.print(f"Note: {text}."),
                **vars(play),
            )
    except KeyboardInterrupt:
        _tell_how_to_go_on(show.info, play.out)
        raise typer.Exit(130) from None
    with contextlib.closing(open_run(play.out or finished.place)) as store:
        figures = run_figures(store, read_columns(store))
        tasks = [] if figures.turk is None else task_figures(store.summaries())
    if as_json:
        print_json(
            {
                "place": finished.place,
                "protocol": finished.info.protocol_key,
                "agent": finished.info.agent,
                "observation": finished.info.observation,
                "episodes": finished.kept,
                "played": finished.played,
                "ended": finished.ended,
                "failed": finished.failed,
                "errors": figures.errors,
                "score": figures.score,
                "success": figures.success,
                **({} if figures.answers is None else {"answers": figures.answers}),
                **({"tasks": tasks} if tasks else {}),
            }
        )
    else:
        _print_tasks(tasks)
        _conclude(finished, figures)
    if finished.ended or finished.failed or figures.errors == figures.episodes:
        # A script must notice that there is no result, or not all of it.
        raise typer.Exit(1)


def _conclude(finished: RunResult, figures: RunFigures) -> None:
    _print_figures(finished.info, figures)
    place = shlex.quote(finished.place)
    if finished.ended:
        remarks.print(
            f"The run ended early: {finished.ended.rstrip('.')}. {finished.kept} of"
            f" {finished.info.episodes} episodes are kept; the same command with --out {place}"
            " --resume goes on."
        )
    if finished.failed:
        remarks.print(f"The run has failed and has no score: {finished.failed}.")
    results.print(f"Kept in {finished.place}. Look at it: {program()} report {place}")
    if figures.answers is not None:
        results.print(_answers_line(figures.answers))
        usage = figures.usage
        results.print(
            f"Tokens: {usage.tokens_in:,} in, {usage.tokens_out:,} out. Cost: ${usage.cost:,.4f}."
        )


def _answers_line(answers: AnswerFigures) -> str:
    """What became of a model's answers."""
    rest = answers.listed()
    invalid = answers.outcomes["invalid"]
    return (
        f"Model answers: {answers.answers:,}, {answers.nothing_share:.1%} came to nothing"
        f"{f' ({rest})' if rest else ''}; {invalid:,} invalid actions; valid actions:"
        f" {'-' if answers.valid_share is None else f'{answers.valid_share:.1%}'}."
    ).replace("%", " %")


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """SIGTERM ends a run as Ctrl-C does; a second one ends it in any case."""

    def stop(number: int, frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _tell_how_to_go_on(info: RunInfo | None, out: str | None) -> None:
    if info is None:
        remarks.print("Stopped before the first episode.")
        return
    place = out or str(default_place(info))
    with contextlib.closing(open_run(place)) as store:
        kept = len(store.numbers())
    remarks.print(
        f"Stopped: {kept} of {info.episodes} episodes are kept; the same command with --out"
        f" {shlex.quote(place)} --resume goes on."
    )


class _Show:
    """The progress bar, with the score so far."""

    def __init__(self) -> None:
        self.progress = counting(transient=False)
        self.info: RunInfo | None = None
        self._task: Any = None
        self._proving: Any = None
        self._sum = 0.0
        self._scored = 0
        self._full = 0
        self._errors = 0

    def start(self, info: RunInfo, pending: Sequence[int]) -> None:
        self.info = info
        for remark in info.remarks:
            remarks.print(f"Note: {remark}.")
        self._task = self.progress.add_task(
            f"{info.agent} on {info.protocol['id']}",
            total=info.episodes,
            completed=info.episodes - len(pending),
            remark="",
        )

    def proving(self, stage: str, done: int, total: int | None) -> None:
        if self._proving is None:
            self._proving = self.progress.add_task(f"{stage} new tasks", total=total, remark="")
        self.progress.update(self._proving, completed=done)

    def episode(self, summary: Summary) -> None:
        if summary.reward is None:
            self._errors += 1
        else:
            self._sum += summary.reward
            self._scored += 1
            self._full += bool(summary.success)
        score = ""
        if self._scored:
            # The score of form pages is a mean over tasks, and so for the end.
            what = "score" if self.info is None or self.info.domain == "shop" else "mean of pages"
            score = f"{what} {100 * self._sum / self._scored:.1f}"
            score += f", success {100 * self._full / self._scored:.1f} %"
        if self._errors:
            score += f", {self._errors} failed"
        self.progress.update(self._task, advance=1, remark=score)


def _print_tasks(tasks: Sequence[TaskFigures]) -> None:
    if not tasks:
        return
    rows = []
    submitted = any(task.submitted is not None for task in tasks)
    rules = (*DISPLAYED, SUBMITTED) if submitted else DISPLAYED
    for task in tasks:
        figures = (*task.instance_figure.values(), *(getattr(task, each) for each in rules))
        shares = ("-" if value is None else f"{value:.3f}" for value in figures)
        rows.append((task.task, str(task.instances), str(task.errors), *shares))
    headings = ("task", "instances", "failed", "per instance", "worst", *rules)
    results.print(table(*headings, rows=rows))


def _print_figures(info: RunInfo, figures: RunFigures) -> None:
    title = f"{info.agent} on {info.protocol_key}"
    shown = table("figure", "value", "95 % interval", title=title)
    shown.columns[1].justify = "right"
    rows = [("task score", figures.score), ("success rate, %", figures.success)]
    if figures.turk is not None:
        rules = info.protocol["rules"]
        rows = [(f"score: mean over tasks, {rules} rules", figures.score)]
        rows += [
            (f"mean over {over}, {summary.rules} rules", estimate_of(figure))
            for summary in figures.turk.rules.values()
            for over, figure in (("tasks", summary.macro), ("fields", summary.micro))
            if (over, summary.rules) != ("tasks", rules)
        ]
    for name, figure in rows:
        if figure.mean is None or figure.low is None or figure.high is None:
            shown.add_row(name, "-", "")
        else:
            shown.add_row(name, f"{figure.mean:.1f}", f"{figure.low:.1f} to {figure.high:.1f}")
    shown.add_row("episodes", f"{figures.episodes:,}", "")
    shown.add_row("failed, in no figure above", f"{figures.errors:,}", "")
    results.print(shown)
    for failures in figures.failures:
        for example in failures.examples[:1]:
            such = "" if failures.count == 1 else "for example, "
            remarks.print(f"{failures.count} failed ({failures.owner}): {such}{example.reason}")


@app.command("protocols")
def protocols_command(
    file: str | None = typer.Argument(None, help="A TOML file with protocols of your own."),
    show: str | None = typer.Option(
        None, help="One protocol's every setting.", autocompletion=protocol_names
    ),
    as_json: bool = json_lines("protocol"),
) -> None:
    """List the protocols: what is played, by which rules, how often.

    Examples:

      errands protocols

      errands protocols --show webshop-1k

      errands protocols mine.toml
    """
    if show is not None:
        name = show if file is None else f"{file}#{show}"
        protocols = [find_protocol(name)]
    else:
        known = named_protocols() if file is None else read_protocols(Path(file))
        protocols = list(known.values())
    if as_json:
        for protocol in protocols:
            print_json(protocol)
        return
    if show is not None:
        typer.echo(json.dumps(msgspec.to_builtins(protocols[0]), indent=2, ensure_ascii=False))
        return
    rows = []
    for protocol in protocols:
        title = protocol.title + (" (LEAKS)" if "leaks" in protocol.warning else "")
        steps = "" if protocol.max_steps is None else str(protocol.max_steps)
        name = f"{protocol.id}@{protocol.version}"
        rows.append((name, protocol.data, _episodes_of(protocol), title, steps))
    results.print(table("id", "data", "episodes", "what is played", "steps", rows=rows, whole=True))
    if file is None:
        remarks.print(
            "Other data than a protocol means (--data) changes title and key of a result."
            f" `{program()} protocols --show ID` tells a protocol in full, its data's identity too."
        )


def _episodes_of(protocol: Protocol) -> str:
    """Which episodes a protocol plays, a line for each thing it says of them."""
    kind = protocol.goals if protocol.domain == "shop" else "tasks"
    lines = [f"{kind} {protocol.split}".rstrip()]
    if protocol.episodes is not None:
        lines.append(f"the first {protocol.episodes:,}")
    for most, of in ((protocol.per_product, "product"), (protocol.per_task, "task")):
        if most is not None:
            lines.append(f"up to {most} a {of}")
    if protocol.weights == "cluster":
        lines.append("products count alike" if protocol.domain == "shop" else "tasks count alike")
    if protocol.repeat > 1:
        lines.append(f"{protocol.repeat} times each")
    return "\n".join(lines)


@app.command("agents")
def agents_command(as_json: bool = json_lines("agent")) -> None:
    """List the agents, what they play and what can be set.

    Example: errands agents
    """
    if as_json:
        for kind in kinds():
            print_json(
                {
                    "name": kind.name,
                    "summary": kind.summary,
                    "halves": list(kind.domains),
                    "mode": kind.mode,
                    "insider": kind.privileged,
                    "observations": kind.observations,
                    "settings": {
                        name: {"type": one.type.__name__, "default": one.default, "help": one.help}
                        for name, one in kind.settings.items()
                    },
                }
            )
        return
    rows = []
    for kind in kinds():
        settings = "\n".join(f"{name}: {one.help}" for name, one in kind.settings.items())
        if kind.own_settings:
            settings = "model, base_url, ...: see docs/guides/language-models.md"
        reads = "\n".join(", ".join(names) for names in kind.observations.values()) or "anything"
        rows.append((kind.name, ", ".join(kind.domains), reads, kind.summary, settings))
    results.print(
        table("agent", "plays", "reads", "what it does", "settings", rows=rows, whole=True)
    )

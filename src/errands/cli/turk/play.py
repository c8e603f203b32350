"""`errands turk play`: the baselines over a set of tasks, with a table for each task."""

import concurrent.futures
import functools
from collections.abc import Iterator

import msgspec
import typer
from rich.table import Table

from errands.cli.output import Json, print_json, progress_bar, remarks, results
from errands.cli.turk.info import group
from errands.cli.turk.verify import register, show_summaries
from errands.errors import ErrandsError, SettingError
from errands.turk.drivers import Pages
from errands.turk.effects.verify import evenly_spaced
from errands.turk.oracle.baselines import BASELINES, ScoredInstance, field_scores, play
from errands.turk.scoring.metrics import RULES
from errands.turk.scoring.summary import ScoreSummary, summarize
from errands.turk.tasks.loader import load_tasks

__all__ = ["register"]


@group.command("play")
def play_command(
    tasks: str = typer.Argument("demo", metavar="[DIR]", help="A folder of tasks, or demo."),
    agent: str = typer.Option("oracle", help=f"One of {', '.join(BASELINES)}."),
    split: str = typer.Option("all", help="train, test, test_challenge, subjective or all."),
    instances: int = typer.Option(0, min=0, help="Instances of each task, evenly; 0: all."),
    driver: str = typer.Option("auto", help="auto, dom or browser."),
    seed: int = typer.Option(0, help="Of the random agent."),
    workers: int = typer.Option(1, min=1, help="Processes; each has its own driver."),
    as_json: bool = Json,
) -> None:
    """Play a baseline and show its scores under both rules, for each task and in all.

    Example: errands turk play tasks --split test --agent do-nothing --instances 20
    """
    if agent not in BASELINES:
        raise SettingError(f"There is no baseline {agent!r}; expected {', '.join(BASELINES)}.")
    opened = load_tasks(tasks, split)
    job = functools.partial(_play_task, tasks, split, agent, instances, driver, seed)
    played: dict[str, list[ScoredInstance]] = {}
    with progress_bar() as bar:
        for number, (name, done) in enumerate(_all(job, opened.names, workers), 1):
            played[name] = done
            bar("playing tasks", number, len(opened))
            if as_json:
                _print_task(name, done)
    everything = [one for done in played.values() for one in done]
    summaries = [summarize(field_scores(everything), rules) for rules in RULES]
    if as_json:
        print_json({s.rules: msgspec.to_builtins(s.macro) for s in summaries})
        return
    _show_tasks(played, summaries)
    show_summaries(summaries)
    failed = [one for one in everything if one.error is not None]
    for one in failed[:20]:
        remarks.print(f"{one.task} row {one.row}: {one.error}")
    results.print(f"{len(everything):,} instances, {len(failed)} of them failed.")


def _all(
    job: functools.partial[list[ScoredInstance]], names: tuple[str, ...], workers: int
) -> Iterator[tuple[str, list[ScoredInstance]]]:
    if workers == 1:
        for name in names:
            yield name, job(name)
        return
    with concurrent.futures.ProcessPoolExecutor(workers) as pool:
        yield from zip(names, pool.map(job, names), strict=True)


@functools.cache
def _pages(driver: str) -> Pages:
    """One set of drivers for each process."""
    return Pages(driver)


def _play_task(
    tasks: str, split: str, agent: str, instances: int, driver: str, seed: int, name: str
) -> list[ScoredInstance]:
    try:
        task = load_tasks(tasks, split).task(name)
    except ErrandsError as failure:
        return [ScoredInstance(name, 0, error=str(failure))]
    count = len(task.instances)
    return list(
        play(agent, task, evenly_spaced(count, instances or count), _pages(driver), seed=seed)
    )


def _figures(done: list[ScoredInstance]) -> dict[str, float | None]:
    """The original's per-instance figure: the mean, and the worst."""
    figures = [one.figure("released", ranges_count_as_one=True) for one in done]
    counted = [figure for figure in figures if figure is not None]
    mean = sum(counted) / len(counted) if counted else None
    return {"mean": mean, "worst": min(counted, default=None)}


def _print_task(name: str, done: list[ScoredInstance]) -> None:
    summaries = {rules: summarize(field_scores(done), rules).macro.mean for rules in RULES}
    print_json(
        {
            "task": name,
            "instances": len(done),
            "errors": sum(one.error is not None for one in done),
            **summaries,
            "instance_figure": _figures(done),
        }
    )


def _show_tasks(played: dict[str, list[ScoredInstance]], summaries: list[ScoreSummary]) -> None:
    pooled = {s.rules: {task.task: task.all.mean for task in s.tasks} for s in summaries}
    table = Table("task", "instances", "failed", "per instance", "worst", *pooled)
    for name, done in played.items():
        figures = _figures(done)
        table.add_row(
            name,
            str(len(done)),
            str(sum(one.error is not None for one in done)),
            *(_share(value) for value in figures.values()),
            *(_share(pooled[rules].get(name)) for rules in pooled),
        )
    results.print(table)


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"

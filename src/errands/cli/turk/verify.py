"""`errands turk verify|score|oracle-actions`: check tasks, score answers, export the oracle's."""

from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import typer

from errands.cli.options import TasksData
from errands.cli.output import (
    Force,
    Json,
    json_lines,
    print_json,
    progress_bar,
    refuse_to_replace,
    remarks,
    results,
    table,
)
from errands.cli.turk.info import app
from errands.errors import DataError, ErrandsError, SettingError
from errands.turk.drivers import Pages, start_browser
from errands.turk.effects.equivalence import ProofConfig
from errands.turk.effects.verify import TaskVerification, verify_task
from errands.turk.oracle.predictions import (
    field_scores,
    oracle_lines,
    read_predictions,
    score_prediction,
)
from errands.turk.pages.driver import Driver, DriverError
from errands.turk.proofs import Proof, kept_proof, write_proofs
from errands.turk.scoring.metrics import DISPLAYED
from errands.turk.scoring.summary import ScoreEstimate, ScoreSummary, summarize
from errands.turk.tasks.loader import load_tasks

__all__ = ["app", "figure_pair", "shard_of"]

_TASKS = typer.Argument("demo", metavar="[TASKS]", help="A folder of tasks, or demo.")
_DRIVER = typer.Option(
    "auto", help="auto, dom, browser, one that is installed, or module:attribute."
)
_SHARD = typer.Option("1/1", metavar="K/N", help="Only every N-th task, from the K-th on.")
_SPLIT = typer.Option("all", help="train, test, test_challenge, subjective or all.")


@app.command()
def verify(
    tasks: str = _TASKS,
    instances: int = typer.Option(
        6, min=1, help="At most so many instances of each task are played by the oracle."
    ),
    rows: int = typer.Option(
        ProofConfig().rows, min=1, help="A proof takes at least so many rows of each task."
    ),
    seconds: float = typer.Option(
        ProofConfig().seconds, min=1, max=86_400, help="A proof may take so long."
    ),
    driver: str = _DRIVER,
    split: str = _SPLIT,
    task: str | None = typer.Option(None, help="Only this task."),
    shard: str = _SHARD,
    resume: bool = typer.Option(
        False,
        "--resume",
        help="Pass over tasks with a proof in home, unless less time was not enough for it.",
    ),
    out: Path | None = typer.Option(
        None, help="Also write all proofs of these tasks into a file, without the pages' text."
    ),
    force: bool = Force,
    as_json: bool = json_lines("task"),
) -> None:
    """Prove which tasks look the same without a browser, and play oracle and do-nothing.

    A page on which nothing could act by itself is the same by construction. Any other is proven by
    going through every value of every field and every pair of values in both orders, and by random
    walks; where the two drivers differ, the action is named after which they do. The proofs are
    kept by the template's hash, so that `auto` needs no browser afterwards: seconds to minutes a
    task.

    Example: errands turk verify tasks --shard 1/2 --resume
    """
    refuse_to_replace(out, force)
    opened = load_tasks(tasks, split)
    if task is not None:
        opened.folder(task)
    of_shard = shard_of(opened.names, shard)
    names = [task] if task is not None else of_shard
    most_rows = max(rows, ProofConfig().most_rows)
    config = ProofConfig(rows=rows, most_rows=most_rows, seconds=seconds)
    verifications: list[TaskVerification] = []
    with ExitStack() as stack:
        browser = None if driver == "dom" else _browser(required=driver == "browser")
        if browser is not None:
            stack.enter_context(closing(browser))
        own = None if browser is None else (lambda: browser)
        pages = stack.enter_context(closing(Pages(driver, browser=own)))
        bar = stack.enter_context(progress_bar())
        for number, name in enumerate(names, 1):
            verified = _verified(opened, name, pages, instances, browser, config, resume)
            verifications.append(verified)
            if as_json:
                print_json(verified)
            bar("verifying", number, len(names))
    if out is not None:
        write_proofs(out, [row.proof for row in verifications if row.proof is not None])
    if not as_json:
        _show(verifications)
    if opened.left_out:
        remarks.print(f"Note: {opened.left_out}.")


def shard_of(names: Sequence[str], shard: str) -> list[str]:
    """Every n-th name, beginning with the k-th, for `k/n`."""
    try:
        number, count = map(int, shard.split("/"))
    except ValueError:
        number, count = 0, 0
    if not 1 <= number <= count:
        raise SettingError(f"--shard {shard}: expected K/N with K from 1 to N, such as 1/2.")
    return list(names[number - 1 :: count])


def _browser(*, required: bool) -> Driver | None:
    """A browser to compare with; without one only proven tasks can be judged."""
    try:
        return start_browser(pictures=False)
    except DriverError as failure:
        if required:
            raise
        remarks.print(f"No comparison with a browser: {failure}")
        return None


def _verified(
    opened: Any,
    name: str,
    pages: Pages,
    instances: int,
    browser: Driver | None,
    config: ProofConfig,
    resume: bool,
) -> TaskVerification:
    split = opened.split_of(name)
    try:
        task = opened.task(name)
    except ErrandsError as failure:
        return TaskVerification(name, split, 0, 0, None, "none", {}, {}, 0.0, str(failure))
    known = kept_proof(task.template_hash) if resume else None
    kept = known is not None and not 0 < known.undecided < config.seconds
    return verify_task(
        task, split, pages, browser=None if kept else browser, config=config, instances=instances
    )


def _show(verifications: list[TaskVerification]) -> None:
    rows = [
        (
            *(row.task, row.split, row.driver, *_equality(row.proof)),
            figure_pair(row.oracle),
            figure_pair(row.do_nothing),
            f"{row.seconds:.1f}",
            row.error or (row.proof.reason if row.proof else ""),
        )
        for row in verifications
    ]
    headings = ("task", "split", "driver", "equal", "covered", "oracle", "do nothing", "seconds")
    results.print(table(*headings, "remark", rows=rows))
    equal = sum(row.proof is not None and row.proof.equal for row in verifications)
    results.print(
        f"{equal} of {len(verifications)} tasks look the same without a browser. Covered: rows,"
        " values and ordered pairs of values, actions, walks."
    )


def _equality(proof: Proof | None) -> tuple[str, str]:
    """How a proof decided, and what it covered."""
    if proof is None:
        return "?", ""
    equal = f"by {proof.method}" if proof.equal else "not decided" if proof.undecided else "no"
    if proof.equal and proof.effect_rules:
        equal += f", {len(proof.effect_rules)} effects"
    done = proof.coverage
    if done is None:
        return equal, ""
    counts = (done.rows, done.values, done.pairs, done.actions, done.walks)
    return equal, " ".join(f"{count:,}" for count in counts)


def figure_pair(figures: dict[str, float | None]) -> str:
    """A figure under both rules."""
    return " / ".join("-" if v is None else f"{v:.2f}" for v in figures.values())


@app.command("oracle-actions")
def oracle_actions(
    tasks: str = _TASKS,
    out: Path = typer.Option(..., help="The file of JSON lines to write."),
    driver: str = _DRIVER,
    split: str = _SPLIT,
    limit: int | None = typer.Option(None, min=1, help="Only so many instances of each task."),
    force: bool = Force,
) -> None:
    """Write, for every instance, the actions that a perfect worker would take.

    Example: errands turk oracle-actions demo --split train --out actions.jsonl
    """
    refuse_to_replace(out, force)
    opened = load_tasks(tasks, split)
    count = 0
    try:
        with (
            closing(Pages(driver)) as pages,
            out.open("w", encoding="utf-8") as file,
            progress_bar() as bar,
        ):
            for count, line in enumerate(oracle_lines(opened, pages, limit), 1):
                file.write(f"{line}\n")
                bar("instances", count, None)
    except OSError as failure:
        raise DataError(f"{out} cannot be written ({failure.strerror}).") from None
    results.print(f"{out}: the oracle's actions on {count:,} instances.")


@app.command()
def score(
    predictions: Path = typer.Argument(help="Lines of JSON: task, row, and answers or actions."),
    tasks: str = TasksData,
    driver: str = _DRIVER,
    as_json: bool = Json,
) -> None:
    """Score answers or actions that were made elsewhere, under both rules.

    Example: errands turk score predictions.jsonl --data tasks
    """
    opened = load_tasks(tasks)
    with closing(Pages(driver)) as pages:
        scored = [score_prediction(line, opened, pages) for line in read_predictions(predictions)]
    if not scored:
        raise SettingError(f"{predictions} has no predictions.")
    failures = [row for row in scored if row.error is not None]
    summaries = [summarize(field_scores(scored), rules) for rules in DISPLAYED]
    if as_json:
        print_json(
            {
                "instances": len(scored),
                "errors": failures,
                "failed_actions": sum(row.failed_actions for row in scored),
                **{summary.rules: summary for summary in summaries},
            }
        )
        return
    for row in failures:
        remarks.print(f"{row.task} row {row.row}: {row.error}")
    _show_summaries(summaries)


def _show_summaries(summaries: Sequence[ScoreSummary]) -> None:
    """Both rules beside each other: the headline, the micro average, and each field type."""
    rows = [
        ("all tasks (macro)", *(_shown(summary.macro) for summary in summaries)),
        ("all fields (micro)", *(_shown(summary.micro) for summary in summaries)),
    ]
    for kind in sorted({kind.type for summary in summaries for kind in summary.types}):
        figures = ({t.type: t.macro for t in summary.types}.get(kind) for summary in summaries)
        rows.append((kind, *map(_shown, figures)))
    results.print(table("figure", *(summary.rules for summary in summaries), rows=rows))
    results.print("Per cent, with 95 % intervals over instances.")


def _shown(figure: ScoreEstimate | None) -> str:
    if figure is None or figure.mean is None or figure.low is None or figure.high is None:
        return "-"
    return f"{100 * figure.mean:.1f} ({100 * figure.low:.1f} to {100 * figure.high:.1f})"

"""The figures as Markdown: for a README, an issue or a results page."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from errands.reports.content import DOMAINS, Report, Run
from errands.reports.formatting import DASH, points, share
from errands.reports.statistics.turk_figures import scores_side_by_side
from errands.reports.tables import (
    CauseCount,
    Cell,
    Explained,
    MeanAndGreatest,
    Table,
    Value,
    answers_table,
    cause_table,
    comparison_table,
    headline_table,
    repeat_table,
    seed_table,
    shop_tables,
    table_4,
    usage_table,
)

__all__ = ["to_markdown"]

_ACTIVE: Final = re.compile(r"([\\`*_{}\[\]#|~$!])")
_UNSEEN: Final = re.compile("[\x00-\x1f\x7f\ud800-\udfff]+")


def to_markdown(report: Report) -> str:
    """The report as a Markdown document."""
    return "\n\n".join(_blocks(report)) + "\n"


def _blocks(report: Report) -> Iterator[str]:
    yield f"# {text(report.title)}"
    yield from _table(headline_table(report.runs))
    if report.seeds:
        yield from _table(seed_table(report.seeds, report.runs))
    if any(run.figures.repeats for run in report.runs):
        yield from _table(repeat_table(report.runs))
    for domain, blocks in (("shop", _shop), ("turk", _turk)):
        runs = [
            run
            for run in report.runs
            if run.info.domain == domain and not (domain == "turk" and run.figures.turk is None)
        ]
        if runs:
            yield f"## {DOMAINS[domain]}"
            yield from blocks(report, runs)
            if any(run.figures.causes for run in runs):
                yield from _table(cause_table(runs))
    yield from _trainings(report.runs)
    yield from _comparisons(report)
    if any(run.figures.answers for run in report.runs):
        yield "## Model answers"
        yield from _table(answers_table(report.runs))
    yield "## Tokens, cost and time"
    yield from _table(usage_table(report.runs))
    failures = "\n".join(_failures(report.runs))
    if failures:
        yield f"## Errors\n\n{failures}"
    yield "## Runs"
    yield "\n".join(_runs(report.runs))
    yield "## How the figures are made"
    yield "\n".join(f"- {text(note)}" for note in report.notes)
    yield f"Made by errands {text(report.errands)}."


def text(content: object) -> str:
    """Anything, as text that Markdown shows and does not act on."""
    clean = _UNSEEN.sub(" ", str(content)).replace("&", "&amp;")
    return _ACTIVE.sub(r"\\\1", clean.replace("<", "&lt;").replace(">", "&gt;"))


def code(command: str) -> str:
    """A command, in a run of backticks longer than any inside."""
    clean = _UNSEEN.sub(" ", command)
    longest = max((len(run) for run in re.findall("`+", clean)), default=0)
    fence = "`" * (longest + 1)
    room = " " if longest else ""
    return f"{fence}{room}{clean}{room}{fence}"


def table(head: Sequence[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """A table; the first column to the left, figures to the right. Cells are written already."""
    yield f"| {' | '.join(head)} |"
    yield f"|{'|'.join(['---', *['---:'] * (len(head) - 1)])}|"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _table(content: Table) -> Iterator[str]:
    """A table below its caption."""
    if content.caption:
        yield f"{text(content.caption)}."
    lines = table(list(map(text, content.head)), (map(_cell, row) for row in content.rows))
    yield "\n".join(lines).rstrip()
    if content.note:
        yield text(content.note)


def _cell(content: Cell) -> str:
    if isinstance(content, Run):
        return text(content.name)
    if isinstance(content, Value):
        return points(content.estimate, content.digits)
    if isinstance(content, MeanAndGreatest):
        least = f"{content.least} to" if content.least else "max"
        return f"{content.mean} ({least} {content.greatest})"
    if isinstance(content, CauseCount):
        shown = ", ".join(map(str, content.shown))
        return f"{content.cause.count:,} ({share(content.share)}): {shown}"
    if isinstance(content, Explained):
        return f"{text(content.name)}: {text(content.meaning)}"
    return text(content)


def _shop(report: Report, runs: Sequence[Run]) -> Iterator[str]:
    for each in shop_tables(runs):
        yield from _table(each)
    for ranks in report.ranks:
        where = f"{ranks.goals} goals of {ranks.data}"
        if ranks.remark:
            yield text(f"Item ranks ({where}): {ranks.remark}")
            continue
        sampled = " sampled" if ranks.drawn else ""
        caption = (
            "Rank of the wanted product when the instruction is the query"
            f" ({ranks.counted:,}{sampled} {where})"
        )
        shares = ["share", *(share(one.share) for one in ranks.bins)]
        yield from _table(Table(caption, ["rank", *(one.title for one in ranks.bins)], [shares]))


def _trainings(runs: Sequence[Run]) -> Iterator[str]:
    trainings = [run.training for run in runs if run.training is not None]
    if not trainings:
        return
    yield "## Training"
    names = list(dict.fromkeys(name for one in trainings for name in one.figures if name != "step"))
    head = ["run", "trained", "steps", *(name.replace("_", " ") for name in names)]
    rows = [
        [
            one.label,
            f"{one.kind}, {one.trained}" if one.kind else DASH,
            f"{one.step:,}",
            *(f"{one.figures[name]:.4g}" if name in one.figures else DASH for name in names),
        ]
        for one in trainings
    ]
    yield from _table(Table("", head, rows))
    remarks = [
        f"- {text(one.label)}: {text(remark)}" for one in trainings for remark in one.remarks
    ]
    if remarks:
        yield "\n".join(remarks)


def _turk(report: Report, runs: Sequence[Run]) -> Iterator[str]:
    yield from _table(table_4(runs))
    works = [(run, run.figures.turk) for run in runs if run.figures.turk]
    for title, scores in scores_side_by_side([work for _, work in works]).items():
        if scores:
            rows: list[list[Cell]] = [
                [name, *(DASH if one is None else Value(one) for one in each)]
                for name, each in scores.items()
            ]
            head = [title, *(run.label for run, _ in works)]
            unit = "instance" if title == "task" else "task"
            yield from _table(Table("", head, rows, [unit]))
    yield "Score against page length (quarters of the instances, short pages first):"
    lengths = []
    for run, work in works:
        if work.lengths.bands:
            bands = "; ".join(
                f"{band.shortest:,} to {band.longest:,} characters {points(band.score)}"
                for band in work.lengths.bands
            )
            rho = work.lengths.correlation
            rank = "" if rho is None else f" (rank correlation {rho:+.2f})"
            lengths.append(f"- {text(run.name)}{rank}: {bands}")
    if lengths:
        yield "\n".join(lengths)
    for line in report.demonstrations:
        head = ["demonstrations", *(str(number) for number, _ in line.points)]
        row: list[Cell] = ["score", *(Value(score) for _, score in line.points)]
        caption = f"{line.agent}, by number of demonstrations"
        yield from _table(Table(caption, head, [row], ["task"]))


def _comparisons(report: Report) -> Iterator[str]:
    if not report.comparisons:
        return
    yield "## Comparisons"
    table = comparison_table(report.comparisons, report.runs)
    if table.rows:
        yield from _table(table)
    yield "\n".join(
        f"- {text(one.second)} and {text(one.first)} are not compared: {text(one.refused)}"
        if one.refused
        else f"- {text(one.meaning)}{' ' + text(one.remark) if one.remark else ''}"
        for one in report.comparisons
    )


def _failures(runs: Sequence[Run]) -> Iterator[str]:
    for run in runs:
        for failures in run.figures.failures:
            yield f"- {text(run.name)}, {text(failures.owner)}: {failures.count:,}"
            for example in failures.examples:
                yield f"  - episode {example.number} ({text(example.key)}): {text(example.reason)}"


def _runs(runs: Sequence[Run]) -> Iterator[str]:
    for run in runs:
        versions = ", ".join(f"{name} {version}" for name, version in run.info.versions.items())
        yield f"- {text(run.name)}: {code(run.command)}"
        verified = f" (verified: {run.info.verified})" if run.info.verified else ""
        checksum = f"{run.info.checksum or DASH}{verified}"
        yield f"  - {text(run.info.protocol_key)}, checksum {text(checksum)}"
        yield f"  - shown as {text(run.info.shown_as or DASH)}"
        if versions:
            yield f"  - {text(versions)}"
        yield from (f"  - {text(remark)}" for remark in run.remarks)

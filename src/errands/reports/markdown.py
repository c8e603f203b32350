"""The figures as Markdown: for a README, an issue or a results page."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from errands.reports.content import Report, Run
from errands.reports.formatting import DASH, dash, dollars, duration, points, share, whole
from errands.reports.statistics.comparison import format_p
from errands.reports.statistics.turk_figures import estimate_of

__all__ = ["to_markdown"]

_ACTIVE: Final = re.compile(r"([\\`*_{}\[\]#|~$!])")
_UNSEEN: Final = re.compile("[\x00-\x1f\x7f\ud800-\udfff]+")


def to_markdown(report: Report) -> str:
    """The report as a Markdown document."""
    lines: list[str] = [f"# {text(report.title)}", ""]
    lines += _headlines(report.runs)
    for domain, title in (("shop", "WebShop"), ("turk", "TurkingBench")):
        runs = [run for run in report.runs if run.info.domain == domain]
        if runs:
            lines += [f"## {title}", "", *(_shop(runs) if domain == "shop" else _turk(runs))]
            lines += _ranks(report) if domain == "shop" else _demonstrations(report)
    lines += _trainings(report.runs)
    lines += _comparisons(report)
    lines += _usage(report.runs)
    lines += _failures(report.runs)
    lines += _remarks(report)
    lines += ["## How the figures are made", "", *(f"- {text(note)}" for note in report.notes), ""]
    lines.append(f"Made by errands {text(report.errands)}.")
    return "\n".join(lines) + "\n"


def text(given: object) -> str:
    """Anything, as text that Markdown shows and does not act on."""
    clean = _UNSEEN.sub(" ", str(given)).replace("&", "&amp;")
    return _ACTIVE.sub(r"\\\1", clean.replace("<", "&lt;").replace(">", "&gt;"))


def code(given: str) -> str:
    """A command, in a run of backticks longer than any inside."""
    clean = _UNSEEN.sub(" ", given)
    longest = max((len(run) for run in re.findall("`+", clean)), default=0)
    fence = "`" * (longest + 1)
    room = " " if longest else ""
    return f"{fence}{room}{clean}{room}{fence}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table; the first column to the left, figures to the right. Cells are written already."""
    yield f"| {' | '.join(head)} |"
    yield f"|{'|'.join(['---', *['---:'] * (len(head) - 1)])}|"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _named(run: Run) -> str:
    return f"{text(run.label)}{' (shown the answers)' if run.info.privileged else ''}"


def _headlines(runs: Sequence[Run]) -> Iterator[str]:
    yield from table(
        ("run", "protocol", "episodes", "errors", "Task Score", "Success Rate (%)",
         "score, errors as 0"),
        (
            (
                _named(run),
                text(run.info.protocol_key),
                f"{run.figures.episodes:,}",
                f"{run.figures.errors:,}",
                points(run.figures.score),
                points(run.figures.success),
                points(run.figures.score_at_least),
            )
            for run in runs
        ),
    )  # fmt: skip


def _shop(runs: Sequence[Run]) -> Iterator[str]:
    names = [part.title for part in runs[0].figures.parts]
    yield "The reward's parts, over purchases:"
    yield ""
    yield from table(
        ("run", "bought (%)", *names),
        (
            (
                _named(run),
                points(run.figures.bought) if run.figures.bought else DASH,
                *(points(part.mean, 2) for part in run.figures.parts),
            )
            for run in runs
        ),
    )
    yield "Trajectories, mean / max:"
    yield ""
    yield from table(
        ("run", *(spread.title for spread in runs[0].figures.trajectory)),
        (
            (_named(run), *(f"{dash(s.mean)} / {whole(s.max)}" for s in run.figures.trajectory))
            for run in runs
        ),
    )


def _trainings(runs: Sequence[Run]) -> Iterator[str]:
    trainings = [run.training for run in runs if run.training is not None]
    if not trainings:
        return
    yield "## Training"
    yield ""
    names = list(dict.fromkeys(name for one in trainings for name in one.figures if name != "step"))
    yield from table(
        ("run", "trained", "steps", *(text(name.replace("_", " ")) for name in names)),
        (
            (
                text(one.label),
                text(f"{one.kind}, {one.trained}" if one.kind else DASH),
                f"{one.step:,}",
                *(f"{one.figures[name]:.4g}" if name in one.figures else DASH for name in names),
            )
            for one in trainings
        ),
    )
    for one in trainings:
        yield from (f"- {text(one.label)}: {text(remark)}" for remark in one.remarks)
    yield ""


def _ranks(report: Report) -> Iterator[str]:
    for ranks in report.ranks:
        where = f"{text(ranks.goals)} goals of {text(ranks.data)}"
        if ranks.remark:
            yield f"Item ranks ({where}): {text(ranks.remark)}"
            yield ""
            continue
        counted = f"{ranks.counted:,}"
        if ranks.drawn:
            counted += " sampled"
        yield f"Rank of the wanted product when the instruction is the query ({counted} {where}):"
        yield ""
        yield from table(
            ("rank", *(one.title for one in ranks.bins)),
            [("share", *(share(one.share) for one in ranks.bins))],
        )


def _turk(runs: Sequence[Run]) -> Iterator[str]:
    rows = [run.row4 for run in runs]
    yield from table(
        ("model", "modalities", "text encoding", "demonstrations", "input tokens",
         "score (paper's rules)", "score (released rules)", "over fields"),
        (
            (
                _named(run),
                text(row.modalities or DASH),
                text(row.encoding or DASH),
                DASH if row.demonstrations is None else str(row.demonstrations),
                whole(row.input_tokens),
                points(row.paper),
                points(row.released),
                points(row.micro),
            )
            for run, row in zip(runs, rows, strict=True)
            if row is not None
        ),
    )  # fmt: skip
    works = [run.figures.turk for run in runs]
    tasks = {t.task: None for work in works if work for t in work.rules["paper"].tasks}
    kinds = {t.type: None for work in works if work for t in work.rules["paper"].types}
    for title, names in (("task", tasks), ("field type", sorted(kinds))):
        if names:
            yield from table(
                (title, *(text(run.label) for run in runs)),
                ((text(name), *(_of(run, title, name) for run in runs)) for name in names),
            )
    yield "Score against page length (quarters of the instances, short pages first):"
    yield ""
    for run, work in zip(runs, works, strict=True):
        if work and work.lengths.bands:
            bands = "; ".join(
                f"{band.shortest:,} to {band.longest:,} characters {points(band.score)}"
                for band in work.lengths.bands
            )
            rho = work.lengths.correlation
            rank = "" if rho is None else f" (rank correlation {rho:+.2f})"
            yield f"- {_named(run)}{rank}: {bands}"
    yield ""


def _of(run: Run, title: str, name: str) -> str:
    if run.figures.turk is None:
        return DASH
    summary = run.figures.turk.rules["paper"]
    if title == "task":
        scores = [task.all for task in summary.tasks if task.task == name]
    else:
        scores = [kind.macro for kind in summary.types if kind.type == name]
    return points(estimate_of(scores[0])) if scores else DASH


def _demonstrations(report: Report) -> Iterator[str]:
    for line in report.demonstrations:
        yield f"{text(line.agent)}, by number of demonstrations:"
        yield ""
        yield from table(
            ("demonstrations", *(str(number) for number, _ in line.points)),
            [("score", *(points(score) for _, score in line.points))],
        )


def _comparisons(report: Report) -> Iterator[str]:
    if not report.comparisons:
        return
    yield "## Comparisons"
    yield ""
    made = [one for one in report.comparisons if not one.refused]
    if made:
        yield from table(
            ("second against first", "pairs", "difference", "p", "p (Holm)", "success difference",
             "p (McNemar)", "wins / ties / losses"),
            (
                (
                    f"{text(one.second)} against {text(one.first)}",
                    f"{one.pairs:,}",
                    points(one.difference),
                    *(DASH if p is None else text(format_p(p)) for p in (one.p, one.p_holm)),
                    points(one.success_difference),
                    DASH if one.success_p is None else text(format_p(one.success_p)),
                    f"{one.wins:,} / {one.ties:,} / {one.losses:,}",
                )
                for one in made
            ),
        )  # fmt: skip
    for one in report.comparisons:
        if one.refused:
            pair = f"{text(one.second)} and {text(one.first)}"
            yield f"- {pair} are not compared: {text(one.refused)}"
        else:
            yield f"- {text(one.meaning)}{' ' + text(one.remark) if one.remark else ''}"
    yield ""


def _usage(runs: Sequence[Run]) -> Iterator[str]:
    yield "## Tokens, cost and time"
    yield ""
    yield from table(
        ("run", "tokens in", "tokens out", "cost", "cost an episode", "time", "time an episode"),
        (
            (
                _named(run),
                whole(run.figures.usage.tokens_in),
                whole(run.figures.usage.tokens_out),
                text(dollars(run.figures.usage.cost)),
                text(dollars(run.figures.usage.cost_mean)),
                duration(run.figures.usage.seconds),
                duration(run.figures.usage.seconds_mean),
            )
            for run in runs
        ),
    )


def _failures(runs: Sequence[Run]) -> Iterator[str]:
    if not any(run.figures.failures for run in runs):
        return
    yield "## Errors"
    yield ""
    for run in runs:
        for failures in run.figures.failures:
            yield f"- {_named(run)}, {text(failures.owner)}: {failures.count:,}"
            for example in failures.examples:
                yield f"  - episode {example.number} ({text(example.key)}): {text(example.reason)}"
    yield ""


def _remarks(report: Report) -> Iterator[str]:
    yield "## Runs"
    yield ""
    for run in report.runs:
        versions = ", ".join(f"{name} {version}" for name, version in run.info.versions.items())
        yield f"- {_named(run)}: {code(run.command)}"
        yield f"  - {text(run.info.protocol_key)}, checksum {text(run.info.checksum or DASH)}"
        if versions:
            yield f"  - {text(versions)}"
        yield from (f"  - {text(remark)}" for remark in run.remarks)
    yield ""

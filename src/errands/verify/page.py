"""A verification as markup, and as one HTML file that needs nothing else."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from errands.atomic import atomic_write
from errands.errors import DataError
from errands.markup import EMPTY, Markup, html, join
from errands.reports.formatting import count, dash, share
from errands.reports.html.elements import cut, table
from errands.reports.html.page import style_sheet
from errands.verify.judges import JudgeAgreement, KappaFigures, Needed
from errands.verify.scores import PARTS
from errands.verify.verification import HAND, Disagreement, Verification

__all__ = [
    "NOTE",
    "judges_section",
    "kappa_text",
    "needed_lines",
    "needed_section",
    "same_text",
    "summary_line",
    "verification_body",
    "write_verification_page",
]

NOTE: Final = (
    "Means are points of 100; options over the goals that want some. Within 10 %: a first score"
    " that differs from the second by at most a tenth of it. No correlation where a scorer never"
    " varies."
)


def summary_line(verification: Verification) -> str:
    """How much was scored, and what was not."""
    total = count(verification.trajectories, "trajectory", "trajectories")
    line = f"{total}: {verification.bought:,} bought"
    if verification.out_of_steps:
        line += f", {verification.out_of_steps:,} bought nothing (0 for every scorer)"
    if verification.failed:
        line += f"; {count(verification.failed, 'failed episode')} left out"
    return f"{line}."


def verification_body(verification: Verification) -> Markup:
    """The tables and the examples."""
    means = [
        [name, *(dash(parts[part]) for part in PARTS)] for name, parts in verification.means.items()
    ]
    agreements = []
    for pair in verification.agreements:
        name = f"{pair.first} and {pair.second}"
        parts = pair.parts
        agreements += [
            [f"{name}: Pearson", *(dash(parts[part].pearson, 3) for part in PARTS)],
            [f"{name}: within 10 %", *(share(parts[part].near) for part in PARTS)],
            [f"{name}: equal", *(f"{parts[part].equal:,}" for part in PARTS)],
            [f"{name}: the second is lower", *(f"{parts[part].below:,}" for part in PARTS)],
        ]
    counts = ", ".join(f"{number:,} for {part}s" for part, number in verification.counted.items())
    examples = join(map(_disagreement, verification.examples))
    return html(
        '<section><h2>Scores</h2><p>{}</p>{}{}{}<p class="note">{}</p></section>{}{}',
        summary_line(verification),
        table(["scorer", *PARTS], means, "Mean scores"),
        table(["agreement", *PARTS], agreements, "How they agree"),
        html("<p>Synonyms that counted: {}.</p>", counts) if counts else EMPTY,
        NOTE,
        join((needed_section(verification.needed), *map(judges_section, verification.judges))),
        html("<section><h2>Where they differ most</h2>{}</section>", examples)
        if examples
        else EMPTY,
    )


def needed_lines(needed: Sequence[Needed]) -> list[str]:
    """How many judgements an interval costs, a sentence for each figure."""
    return [_needed_line(one) for one in needed]


def _needed_line(one: Needed) -> str:
    points = f"±{100 * one.wanted:g} points"
    if one.so_far.mean is None or one.half is None:
        return (
            f"{one.figure}: nothing is judged yet; {count(one.total, 'judgement')} give {points}"
            " whatever comes of them."
        )
    figure = (
        f"{one.figure}: {100 * one.so_far.mean:.1f} ({100 * (one.so_far.low or 0):.1f} to"
        f" {100 * (one.so_far.high or 0):.1f}; {one.so_far.method}) of"
        f" {count(one.so_far.count, 'judgement')}, ±{100 * one.half:.1f}"
    )
    if not one.more:
        return f"{figure}; that is within {points}."
    return f"{figure}; about {one.more:,} more ({one.total:,} in all) for {points}."


def needed_section(needed: Sequence[Needed]) -> Markup:
    """The same as a part of a page."""
    if not needed:
        return EMPTY
    items = join(html("<p>{}</p>", line) for line in needed_lines(needed))
    return html("<section><h2>How many judgements are needed</h2>{}</section>", items)


def kappa_text(figures: KappaFigures) -> str:
    """Cohen's kappa with its interval."""
    if figures.kappa is None:
        return "–"
    if figures.low is None or figures.high is None:
        return f"{figures.kappa:.2f}"
    return f"{figures.kappa:.2f} ({figures.low:.2f} to {figures.high:.2f})"


def same_text(figures: KappaFigures) -> str:
    """The share on which two judges say the same, with its interval."""
    same = figures.same
    if same.mean is None or same.low is None or same.high is None:
        return "–"
    return f"{100 * same.mean:.1f} % ({100 * same.low:.1f} to {100 * same.high:.1f})"


def judges_section(one: JudgeAgreement) -> Markup:
    """How two people agree, and where they do not."""
    rows = [
        [part, f"{figures.things:,}", same_text(figures), kappa_text(figures)]
        for part, figures in one.parts.items()
    ]
    names = [one.first or HAND, one.second or HAND]
    listed = [
        [str(row.episode), row.part, cut(row.wanted, 80), cut(row.bought, 80),
         *(f"{answer:g}" for answer in row.answers.values())]
        for row in one.differences
    ]  # fmt: skip
    return html(
        "<section><h2>{} and {}</h2><p>{} that both have scored. Kappa is Cohen's: 0 is what chance"
        " gives, 1 is always the same. Intervals draw products anew.</p>{}{}</section>",
        *names,
        count(one.purchases, "purchase"),
        table(["part", "things", "the same", "kappa"], rows, "How two judges agree"),
        table(["episode", "part", "wanted", "bought", *names], listed, "What they see differently")
        if listed
        else html("<p>They say the same of everything.</p>"),
    )


def _disagreement(one: Disagreement) -> Markup:
    credits = join(
        html(
            "<li>{}: “{}” ({}) counted for “{}”</li>",
            credit.part,
            cut(credit.found, 120),
            credit.place,
            cut(credit.wanted, 120),
        )
        for credit in one.credits
    )
    return html(
        '<article class="card differs"><h3>Episode {} ({}): {}</h3><p>{}</p>'
        "<p><b>Bought:</b> {}</p>{}</article>",
        one.episode,
        one.key,
        ", ".join(f"{name} {score.overall:.2f}" for name, score in one.scores.items()),
        cut(one.instruction, 600),
        cut(one.bought, 300) or "nothing",
        html("<ul>{}</ul>", credits) if credits else EMPTY,
    )


def write_verification_page(
    verification: Verification, path: Path, *, replace: bool = False
) -> None:
    """The same as a file, in one piece or not at all."""
    text = html(
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src'
        " 'unsafe-inline'; img-src data:\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<link rel="icon" href="data:,">\n'
        "<title>{title} - Errands</title>\n<style>\n{}\n"
        ".differs {{ margin-bottom: 18px; }}\n.differs > * + * {{ margin-top: 8px; }}\n"
        ".differs ul {{ padding-left: 20px; }}\n</style>\n</head>\n<body>\n"
        '<header class="top"><div class="inner"><p class="brand">Errands</p><h1>{title}</h1>'
        "<p>{}; second scorer: {}</p></div></header>\n"
        "<main>{}</main>\n</body>\n</html>\n",
        style_sheet(),
        verification.protocol,
        verification.rules,
        verification_body(verification),
        title=f"Reward verification: {verification.agent}",
    )
    if path.exists() and not replace:
        raise DataError(f"{path} exists already; --force replaces it.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(path, lambda work: work.write_text(text, "utf-8", "replace"))
    except OSError as failure:
        raise DataError(f"{path} cannot be written ({failure.strerror}).") from None

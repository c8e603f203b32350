"""The parts of a report's page that show figures: cards, tables and plots."""

import json
from collections.abc import Iterator, Sequence

from errands.reports.html import plots
from errands.reports.html.markup import badge, cut, esc, figure, grid, table, value
from errands.reports.html.plots import Mark, Row, Series
from errands.reports.report import Report, Run
from errands.reports.statistics.comparison import Comparison, chance
from errands.reports.statistics.estimate import Estimate
from errands.reports.statistics.ranks import Ranks
from errands.reports.statistics.turk_figures import Paperwork, estimate_of
from errands.reports.wording import DASH, count, dash, dollars, duration, share, whole
from errands.runs.episode import RunInfo

__all__ = [
    "comparisons",
    "errors",
    "headlines",
    "paperwork",
    "repeating",
    "run_facts",
    "shop",
    "usage",
]

Coloured = Sequence[tuple[int, Run]]
"""Runs with the number of their colour."""


def named(run: Run) -> str:
    """A run's name, with a mark for agents that knew the answers."""
    return esc(run.label) + (
        f" {badge('shown the answers', 'insider')}" if run.info.insider else ""
    )


def main_score(run: Run) -> Estimate:
    """The figure a run is known by: for paperwork the mean over tasks, else the Task Score."""
    if run.figures.paperwork is not None:
        return estimate_of(run.figures.paperwork.rules["paper"].macro)
    return run.figures.score


def legend(runs: Coloured) -> str:
    chips = "".join(f'<li><i class="chip b{at % plots.COLOURS}"></i>{named(r)}' for at, r in runs)
    return f'<ul class="legend">{chips}</ul>' if len(runs) > 1 else ""


def headlines(runs: Coloured) -> Iterator[str]:
    """A card for each run, and all of them beside each other."""
    yield f'<div class="cards">{"".join(_card(at, run) for at, run in runs)}</div>'
    for half, title in (("shop", "Shop"), ("turk", "Paperwork")):
        some = [(at, run) for at, run in runs if run.info.half == half]
        if not some:
            continue
        score = "Task Score" if half == "shop" else "Score, mean over tasks"
        of = "" if len({r.info.half for _, r in runs}) == 1 else f"{title}: "
        yield grid(
            figure(
                plots.bars(f"{of}{name}", [Mark(_plain(r), at, get(r)) for at, r in some]),
                f"{of}{name}",
                note,
            )
            for name, get, note in (
                (score, main_score, "mean, with its 95 % interval"),
                ("Success Rate", lambda r: r.figures.success, "episodes with a reward of 1"),
            )
        )


def _plain(run: Run) -> str:
    return f"{run.label} (shown the answers)" if run.info.insider else run.label


def _card(at: int, run: Run) -> str:
    figures = run.figures
    score = main_score(run)
    unit = "Task Score" if figures.paperwork is None else "Score, mean over tasks"
    big = DASH if score.mean is None else f"{score.mean:.1f}"
    told = "" if score.low is None or score.high is None else f"{score.low:.1f} to {score.high:.1f}"
    facts = [
        ("Success Rate (%)", value(figures.success)),
        ("Episodes", f"{figures.episodes:,}"),
        ("Errors", badge(f"{figures.errors:,}", "failed") if figures.errors else "none"),
    ]
    if figures.errors:
        facts.append(("Task Score with errors as 0", value(figures.score_at_least)))
    if figures.usage.cost:
        facts.append(("Cost", esc(dollars(figures.usage.cost))))
    listed = "".join(f"<dt>{name}</dt><dd>{held}</dd>" for name, held in facts)
    return (
        f'<article class="card headline e{at % plots.COLOURS}"><h3>{named(run)}</h3>'
        f'<p class="proto">{esc(cut(run.info.protocol_key, 80))}</p>'
        f'<p class="big"><b>{big}</b> <span>{unit}<br><small>{told}</small></span></p>'
        f"<dl>{listed}</dl></article>"
    )


def shop(report: Report, runs: Coloured) -> Iterator[str]:
    """The reward's parts, rewards, trajectories and the search engine's share."""
    names = [part.title for part in runs[0][1].figures.parts]
    rows = [
        Row(name, [Mark(r.label, at, r.figures.parts[p].mean.times(100)) for at, r in runs])
        for p, name in enumerate(names)
    ]
    bought = [Mark(r.label, at, r.figures.bought) for at, r in runs if r.figures.bought is not None]
    yield legend(runs)
    cards = [
        figure(
            plots.dots("The reward's parts", [*rows, Row("episodes that bought", bought)]),
            "What the reward is made of",
            "in % of what could be had, over purchases; the last line over all episodes",
        )
    ]
    cards += [
        figure(
            plots.histogram(
                "Rank of the wanted product",
                [(held.title, held.share, held.count) for held in ranks.bins],
                axis="rank among the 50 results",
                last_apart=True,
            ),
            "Where the wanted product stands when the instruction is the query",
            _ranked(ranks),
        )
        for ranks in report.ranks
        if not ranks.remark
    ]
    cards += [
        figure(
            plots.histogram(
                f"Rewards of {run.label}",
                [(_tidy(held.title), held.share, held.count) for held in run.figures.rewards],
                axis="reward of an episode",
                colour=at,
            ),
            f"Rewards: {named(run)}",
        )
        for at, run in runs
        if run.figures.rewards
    ]
    yield grid(cards)
    for ranks in report.ranks:
        if ranks.remark:
            yield f'<p class="note">{esc(ranks.remark)}</p>'
    yield table(
        ["run", *names, "bought (%)"],
        (
            [
                named(run),
                *(value(part.mean, 2) for part in run.figures.parts),
                value(run.figures.bought) if run.figures.bought else DASH,
            ]
            for _, run in runs
        ),
        "The reward's parts over purchases, with 95 % intervals",
    )
    yield _trajectories(runs)


def _tidy(title: str) -> str:
    """A bin of rewards by its upper end: there is no room for more."""
    upper = title.split("-")[-1]
    return "<1" if upper == "1.0" else upper.removeprefix("0") or "0"


def _ranked(ranks: Ranks) -> str:
    drawn = " drawn by chance" if ranks.drawn else ""
    return (
        f"{count(ranks.counted, 'goal')}{drawn} ({esc(ranks.goals)}, catalogue"
        f" {esc(ranks.data)}); {share(ranks.first)} have it first"
    )


def _trajectories(runs: Coloured) -> str:
    titles = [spread.title for spread in runs[0][1].figures.trajectory]
    return table(
        ["run", *titles],
        (
            [
                named(run),
                *(
                    f"{dash(spread.mean)} <small>max {whole(spread.max)}</small>"
                    for spread in run.figures.trajectory
                ),
            ]
            for _, run in runs
        ),
        "Trajectories: mean and greatest of an episode",
    )


def paperwork(report: Report, runs: Coloured) -> Iterator[str]:
    """Table 4, tasks, field types, demonstrations, page length."""
    yield legend(runs)
    yield table(
        ["model", "modalities", "text encoding", "demon&shy;strations", "input tokens",
         "score, paper’s rules", "score, released rules", "over fields"],
        (
            [
                named(run),
                esc(run.row4.modalities or DASH),
                esc(run.row4.encoding or DASH),
                DASH if run.row4.demonstrations is None else str(run.row4.demonstrations),
                whole(run.row4.input_tokens),
                value(run.row4.paper),
                value(run.row4.released),
                value(run.row4.micro),
            ]
            for _, run in runs
            if run.row4 is not None
        ),
        "Scores in %: mean over tasks under both rules, and the mean over fields",
    )  # fmt: skip
    works = [(at, run, run.figures.paperwork) for at, run in runs if run.figures.paperwork]
    tasks = {t.task: None for _, _, work in works for t in work.rules["paper"].tasks}
    kinds = {t.type: None for _, _, work in works for t in work.rules["paper"].types}
    cards = []
    for title, names, caption, note in (
        ("task", list(tasks), "Score of each task", "its pooled fields, paper’s rules"),
        ("type", sorted(kinds), "Score of each field type", "mean over the tasks that have it"),
    ):
        rows = [
            Row(name, [m for at, run, work in works for m in _marks(at, run, work, title, name)])
            for name in names
        ]
        if rows:
            cards.append(figure(plots.dots(caption, rows), caption, note))
    if report.demonstrations:
        series = [
            Series(line.agent, place, [(float(n), score) for n, score in line.points])
            for place, line in enumerate(report.demonstrations)
        ]
        told = ", ".join(
            f'<i class="chip b{place % plots.COLOURS}"></i> {esc(line.agent)}'
            for place, line in enumerate(report.demonstrations)
        )
        drawn = plots.lines(
            "Score by number of demonstrations",
            series,
            x_title="number of demonstrations",
            y_title="score (%)",
        )
        cards.append(figure(drawn, "Score by number of demonstrations", told))
    cards += _length_card(works)
    yield grid(cards, "columns")


def _marks(at: int, run: Run, work: Paperwork, title: str, name: str) -> Iterator[Mark]:
    summary = work.rules["paper"]
    if title == "task":
        found = [task.all for task in summary.tasks if task.task == name]
    else:
        found = [kind.macro for kind in summary.types if kind.type == name]
    yield from (Mark(run.label, at, estimate_of(one)) for one in found)


def _length_card(works: Sequence[tuple[int, Run, Paperwork]]) -> Iterator[str]:
    told = [(at, run, work.lengths) for at, run, work in works if work.lengths.dots]
    if not told:
        return
    drawn = plots.scatter(
        "Score against page length",
        [(r.label, at, [(x, 100 * y) for x, y in held.dots]) for at, r, held in told],
        [
            Series(r.label, at, [(float(band.median), band.score) for band in held.bands])
            for at, r, held in told
        ],
        x_title="characters of the page",
        y_title="score of an instance (%)",
    )
    rhos = "; ".join(
        f"{esc(run.label)} {'' if held.correlation is None else format(held.correlation, '+.2f')}"
        for _, run, held in told
        if held.correlation is not None
    )
    note = "lines join quarters of the instances" + (f"; rank correlation: {rhos}" if rhos else "")
    yield figure(drawn, "Score against page length", note)


def comparisons(made: Sequence[Comparison], colours: dict[str, int]) -> Iterator[str]:
    """A card for each pair: what it means, the differences, the tests."""
    yield grid(_comparison(one, colours) for one in made if not one.refused)
    refused = [one for one in made if one.refused]
    if refused:
        listed = "".join(
            f"<li><b>{esc(one.first)}</b> and <b>{esc(one.second)}</b>: {esc(one.refused)}"
            for one in refused
        )
        yield f'<div class="callout"><h3>Not compared</h3><ul>{listed}</ul></div>'


def _comparison(one: Comparison, colours: dict[str, int]) -> str:
    pair = colours[one.first], colours[one.second]
    tests = [
        ("Difference in Task Score", value(one.difference)),
        ("Sign-flip test", _chances(one)),
        ("Difference in Success Rate", value(one.success_difference)),
        ("McNemar’s exact test", DASH if one.success_p is None else chance(one.success_p)),
    ]
    if one.left_out:
        tests.append(("Left out", f"{count(one.left_out, 'episode')} without a pair"))
    listed = "".join(f"<dt>{name}</dt><dd>{held}</dd>" for name, held in tests)
    drawn = plots.differences(
        f"{one.second} against {one.first}",
        one.histogram,
        one.difference,
        first=one.first,
        second=one.second,
        colours=pair,
    )
    split = plots.split_bar(
        "Episodes won by each",
        [
            ("better", one.losses, f"c{pair[0] % plots.COLOURS}"),
            ("same", one.ties, "muted"),
            ("better", one.wins, f"c{pair[1] % plots.COLOURS}"),
        ],
    )
    remark = f'<p class="message">{esc(one.remark)}</p>' if one.remark else ""
    return (
        f'<figure class="card"><figcaption>{esc(one.second)} against {esc(one.first)}</figcaption>'
        f'<p class="meaning">{esc(one.meaning)}</p>{remark}{drawn}{split}<dl>{listed}</dl></figure>'
    )


def _chances(one: Comparison) -> str:
    if one.p is None:
        return DASH
    alone, raised = chance(one.p), chance(one.p if one.p_holm is None else one.p_holm)
    return esc(alone if raised == alone else f"{alone}; {raised} (Holm)")


def usage(runs: Coloured) -> str:
    """Tokens, cost and time."""
    return table(
        ["run", "tokens in", "tokens out", "cost", "cost an episode", "time, all episodes",
         "time an episode"],
        (
            [
                named(run),
                whole(use.tokens_in),
                whole(use.tokens_out),
                esc(dollars(use.cost)),
                esc(dollars(use.cost_mean)),
                duration(use.seconds),
                f"{duration(use.seconds_mean)} <small>max {duration(use.seconds_max)}</small>",
            ]
            for _, run in runs
            for use in [run.figures.usage]
        ),
        "What the runs took, errors included",
    )  # fmt: skip


def errors(runs: Coloured) -> Iterator[str]:
    """Who failed, how often, and why."""
    for _, run in runs:
        for failures in run.figures.failures:
            listed = "".join(
                f"<li>episode {example.number} ({esc(cut(example.key, 80))}):"
                f" {esc(cut(example.reason, 400))}"
                for example in failures.examples
            )
            yield (
                f'<div class="callout bad"><h3>{named(run)}: {count(failures.count, "error")} of'
                f" the {esc(failures.owner)}</h3><ul>{listed}</ul></div>"
            )


def repeating(runs: Coloured) -> Iterator[str]:
    """What each run was, and the command that repeats it."""
    for at, run in runs:
        yield (
            f'<details class="run e{at % plots.COLOURS}"><summary>{named(run)}</summary>'
            f"{run_facts(run.info, run.command)}</details>"
        )


def run_facts(info: RunInfo, command: str) -> str:
    """All that is known of a run."""
    facts = [
        ("Run", esc(info.id)),
        ("Protocol", esc(info.protocol_key)),
        ("Checksum of the data", f"<code>{esc(info.checksum or DASH)}</code>"),
        ("Seed", str(info.seed)),
        ("Observations kept", esc(info.observations)),
        ("Started", esc(info.started or DASH)),
        *((f"Version of {esc(name)}", esc(held)) for name, held in info.versions.items()),
        ("Agent’s settings", f"<code>{_json(info.agent_settings)}</code>"),
        ("Protocol in full", f"<code>{_json(info.protocol)}</code>"),
    ]
    listed = "".join(f"<dt>{name}</dt><dd>{held}</dd>" for name, held in facts)
    return f'<pre class="command">{esc(command)}</pre><dl>{listed}</dl>'


def _json(held: object) -> str:
    return esc(cut(json.dumps(held, ensure_ascii=False, default=str), 4000))

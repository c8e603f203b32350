"""The parts of a report's page that show figures: cards, tables and plots."""

import json
from collections.abc import Iterable, Iterator, Sequence

from errands.markup import EMPTY, Markup, html, join
from errands.reports.content import DOMAINS, SCORES, Report, Run
from errands.reports.formatting import DASH, count, dollars, p_value, share
from errands.reports.html import plots
from errands.reports.html.elements import badge, cut, definitions, figure, grid, value
from errands.reports.html.elements import table as plain_table
from errands.reports.html.plots import DotRow, PlotMark, Series
from errands.reports.statistics.comparison import RunComparison
from errands.reports.statistics.estimate import Estimate
from errands.reports.statistics.figures import FailureCause
from errands.reports.statistics.ranks import Ranks
from errands.reports.statistics.turk_figures import TurkFigures, scores_side_by_side
from errands.reports.tables import (
    CauseCount,
    Cell,
    Explained,
    MeanAndGreatest,
    Table,
    Value,
    cause_table,
    interval_methods,
    repeat_table,
    seed_table,
    shop_tables,
    table_4,
)
from errands.runs.episode import RunInfo
from errands.runs.failures import FAILURES

__all__ = [
    "cause_class",
    "causes",
    "comparisons",
    "errors",
    "grouped",
    "headlines",
    "repeating",
    "run_facts",
    "shop",
    "table",
    "turk",
]

Coloured = Sequence[tuple[int, Run]]
"""Runs with the number of their colour."""


def named(run: Run) -> Markup:
    """A run's name, with a mark for agents that knew the answers."""
    if not run.info.privileged:
        return Markup.escape(run.label)
    return html("{} {}", run.label, badge("shown the answers", "insider"))


def table(content: Table) -> Markup:
    """A table of a report on a page."""
    rows = (list(map(_cell, row)) for row in content.rows)
    return plain_table(content.head, rows, content.caption, content.note)


def _cell(content: Cell) -> Markup:
    if isinstance(content, Run):
        return named(content)
    if isinstance(content, Value):
        return value(content.estimate, content.digits)
    if isinstance(content, MeanAndGreatest):
        if content.least:
            spread = (content.mean, content.least, content.greatest)
            return html("{} <small>{} to {}</small>", *spread)
        return html("{} <small>max {}</small>", content.mean, content.greatest)
    if isinstance(content, CauseCount):
        return html("{:,} <small>{}</small>", content.cause.count, share(content.share))
    if isinstance(content, Explained):
        return html("{} <small>{}</small>", content.name, content.meaning)
    return Markup.escape(content)


def legend(names: Sequence[tuple[int, str]]) -> Markup:
    """Colours and what they stand for, where there is more than one."""
    if len(names) < 2:
        return EMPTY
    return html(
        '<ul class="legend">{}</ul>',
        join(html("<li>{}{}", chip(colour), name) for colour, name in names),
    )


def chip(colour: int) -> Markup:
    return html('<i class="chip b{}"></i>', colour % plots.COLOURS)


def callout(title: str, items: Iterable[Markup], kind: str = "callout") -> Markup:
    """Remarks in a box; nothing where there are none."""
    listed = join(html("<li>{}", item) for item in items)
    if not listed:
        return EMPTY
    return html('<div class="{}"><h3>{}</h3><ul>{}</ul></div>', kind, title, listed)


def headlines(runs: Coloured) -> Iterator[Markup]:
    """A card for each run, and all of them beside each other."""
    yield html('<div class="cards">{}</div>', join(_card(at, run) for at, run in runs))
    for domain, title in DOMAINS.items():
        some = [(at, run) for at, run in runs if run.info.domain == domain]
        if not some:
            continue
        score = SCORES[domain]
        of = "" if len({r.info.domain for _, r in runs}) == 1 else f"{title}: "
        scores = [PlotMark(r.name, at, r.figures.score) for at, r in some]
        successes = [PlotMark(r.name, at, r.figures.success) for at, r in some]
        units = [r.figures.unit if r.figures.clusters != 1 else "episode" for _, r in some]
        yield grid(
            figure(
                plots.bars(f"{of}{name}", marks),
                f"{of}{name}",
                f"{note}; 95 % intervals: {made}" if (made := _methods(marks, units)) else note,
            )
            for name, marks, note in (
                (score, scores, "mean"),
                ("Success Rate", successes, "episodes with a reward of 1"),
            )
        )


def _methods(marks: Sequence[PlotMark], units: Sequence[str]) -> str:
    return interval_methods((mark.value for mark in marks), units)


def grouped(report: Report) -> Iterator[Markup]:
    """Agents with several seeds, and goals that were played several times."""
    if report.seeds:
        yield table(seed_table(report.seeds, report.runs))
    some = [(at, run) for at, run in enumerate(report.runs) if run.figures.repeats is not None]
    if not some:
        return
    yield legend([(at, named(run)) for at, run in some])
    cards = []
    for title, note, which in (
        ("pass@k", "goals of which one of k attempts succeeds", "any"),
        ("pass^k", "goals of which all k attempts succeed", "all"),
    ):
        series = [
            Series(
                run.label,
                at,
                [
                    (float(point.k), getattr(point, which))
                    for point in (run.figures.repeats.points if run.figures.repeats else ())
                ],
            )
            for at, run in some
        ]
        drawn = plots.lines(title, series, x_title="k, attempts of a goal", y_title="goals (%)")
        cards.append(figure(drawn, title, note))
    yield grid(cards)
    yield table(repeat_table([run for _, run in some]))


def causes(runs: Coloured) -> Iterator[Markup]:
    """What cost the episodes below 1, with links to them."""
    for domain, title in DOMAINS.items():
        some = [(at, run) for at, run in runs if run.info.domain == domain and run.figures.causes]
        if not some:
            continue
        if len({run.info.domain for _, run in runs}) > 1:
            yield html("<h3>{}</h3>", title)
        yield grid(
            figure(
                plots.bars(
                    f"What cost {run.label} points",
                    [
                        PlotMark(cause.name, at, _share(CauseCount(run, cause).share, cause.count))
                        for cause in run.figures.causes
                    ],
                ),
                named(run),
                html(
                    "in % of the episodes that are no errors; look at: {}",
                    join((_looks(at, run, cause) for cause in run.figures.causes), "; "),
                ),
            )
            for at, run in some
        )
        yield table(cause_table([run for _, run in some]))


def _share(part: float, count: int) -> Estimate:
    return Estimate(100 * part, None, None, count)


def _looks(at: int, run: Run, cause: FailureCause) -> Markup:
    """Links to the list of one cause's episodes, and to some of them."""
    shown = CauseCount(run, cause).shown
    episodes = join((html('<a href="#e{}-{}">{}</a>', at, n, n) for n in shown), ", ")
    listed = html(
        '<a href="#f{}-{}">{}</a>', at, cause_class(run.info.domain, cause.name), cause.name
    )
    return html("{}: {}", listed, episodes) if shown else html("{}", cause.name)


def cause_class(domain: str, name: str) -> str:
    """The class of episodes that one cause cost something."""
    return f"x{list(FAILURES.get(domain, ())).index(name)}" if name else ""


def _card(at: int, run: Run) -> Markup:
    figures = run.figures
    score = figures.score
    unit = SCORES.get(run.info.domain, "Score")
    big = DASH if score.mean is None else f"{score.mean:.1f}"
    if run.failed:
        big = "failed"
    ends = "" if score.low is None or score.high is None else f"{score.low:.1f} to {score.high:.1f}"
    facts: list[tuple[str, str]] = [
        ("Success Rate (%)", value(figures.success)),
        ("Episodes", f"{figures.episodes:,}"),
        (f"{figures.unit.capitalize()}s", f"{figures.clusters:,}"),
        ("Errors", badge(f"{figures.errors:,}", "failed") if figures.errors else "none"),
    ]
    if figures.errors:
        facts.append(("Score with errors as 0", value(figures.score_at_least)))
    if figures.valid_actions is not None:
        facts.append(("Valid actions", share(figures.valid_actions / 100)))
    if figures.answers is not None:
        facts.append(("Answers that came to nothing", share(figures.answers.nothing_share)))
    if figures.usage.cost:
        facts.append(("Cost", dollars(figures.usage.cost)))
    return headline(
        at,
        named(run),
        cut(run.info.protocol_key, 80),
        big,
        html("{}<br><small>{}</small>", unit, ends),
        facts,
    )


def headline(
    colour: int,
    title: str,
    subtitle: str,
    big: str,
    unit: str,
    facts: Iterable[tuple[str, str]],
) -> Markup:
    """A card with the one figure that a run or a training is known by, and the others below."""
    return html(
        '<article class="card headline e{}"><h3>{}</h3><p class="proto">{}</p>'
        '<p class="big"><b>{}</b> <span>{}</span></p>{}</article>',
        colour % plots.COLOURS,
        title,
        subtitle,
        big,
        unit,
        definitions(facts),
    )


def shop(report: Report, runs: Coloured) -> Iterator[Markup]:
    """The reward's parts, rewards, trajectories and the search engine's share."""
    names = [part.title for part in runs[0][1].figures.parts]
    rows = [
        DotRow(name, [PlotMark(r.label, at, r.figures.parts[p].mean.times(100)) for at, r in runs])
        for p, name in enumerate(names)
    ]
    bought = [
        PlotMark(r.label, at, r.figures.bought) for at, r in runs if r.figures.bought is not None
    ]
    yield legend([(at, named(run)) for at, run in runs])
    cards = [
        figure(
            plots.dots("The reward's parts", [*rows, DotRow("episodes that bought", bought)]),
            "What the reward is made of",
            "in % of what could be had, over purchases; the last line over all episodes",
        )
    ]
    cards += [
        figure(
            plots.histogram(
                "Rank of the wanted product",
                [(one.title, one.share, one.count) for one in ranks.bins],
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
                [(_tidy(one.title), one.share, one.count) for one in run.figures.rewards],
                axis="reward of an episode",
                colour=at,
            ),
            html("Rewards: {}", named(run)),
        )
        for at, run in runs
        if run.figures.rewards
    ]
    yield grid(cards)
    for ranks in report.ranks:
        if ranks.remark:
            yield html('<p class="note">{}</p>', ranks.remark)
    yield from map(table, shop_tables([run for _, run in runs]))


def _tidy(title: str) -> str:
    """A bin of rewards by its upper end: there is no room for more."""
    upper = title.split("-")[-1]
    return "<1" if upper == "1.0" else upper.removeprefix("0") or "0"


def _ranked(ranks: Ranks) -> str:
    drawn = ", sampled" if ranks.drawn else ""
    return (
        f"{count(ranks.counted, 'goal')}{drawn} ({ranks.goals}, catalogue {ranks.data});"
        f" {share(ranks.first)} have it first"
    )


def turk(report: Report, runs: Coloured) -> Iterator[Markup]:
    """Table 4, tasks, field types, demonstrations, page length."""
    yield legend([(at, named(run)) for at, run in runs])
    yield table(table_4([run for _, run in runs]))
    works = [(at, run, run.figures.turk) for at, run in runs if run.figures.turk]
    scores = scores_side_by_side([work for _, _, work in works])
    cards = []
    for title, caption, note in (
        ("task", "Score of each task", "its pooled fields, paper’s rules"),
        ("field type", "Score of each field type", "mean over the tasks that have it"),
    ):
        rows = [
            DotRow(
                name,
                [
                    PlotMark(run.label, at, score)
                    for (at, run, _), score in zip(works, each, strict=True)
                    if score is not None
                ],
            )
            for name, each in scores[title].items()
        ]
        if rows:
            cards.append(figure(plots.dots(caption, rows), caption, note))
    if report.demonstrations:
        series = [
            Series(line.agent, place, [(float(n), score) for n, score in line.points])
            for place, line in enumerate(report.demonstrations)
        ]
        agents = join(
            (
                html("{} {}", chip(place), line.agent)
                for place, line in enumerate(report.demonstrations)
            ),
            ", ",
        )
        drawn = plots.lines(
            "Score by number of demonstrations",
            series,
            x_title="number of demonstrations",
            y_title="score (%)",
        )
        cards.append(figure(drawn, "Score by number of demonstrations", agents))
    cards += _length_card(works)
    yield grid(cards, "columns")


def _length_card(works: Sequence[tuple[int, Run, TurkFigures]]) -> Iterator[Markup]:
    lengths = [(at, run, work.lengths) for at, run, work in works if work.lengths.dots]
    if not lengths:
        return
    drawn = plots.scatter(
        "Score against page length",
        [(r.label, at, [(x, 100 * y) for x, y in of.dots]) for at, r, of in lengths],
        [
            Series(r.label, at, [(float(band.median), band.score) for band in of.bands])
            for at, r, of in lengths
        ],
        x_title="characters of the page",
        y_title="score of an instance (%)",
    )
    rhos = "; ".join(
        f"{run.label} {of.correlation:+.2f}" for _, run, of in lengths if of.correlation is not None
    )
    note = "lines join quarters of the instances" + (f"; rank correlation: {rhos}" if rhos else "")
    yield figure(drawn, "Score against page length", note)


def comparisons(made: Sequence[RunComparison], colours: dict[str, int]) -> Iterator[Markup]:
    """A card for each pair: what it means, the differences, the tests."""
    yield grid(_comparison(one, colours) for one in made if not one.refused)
    yield callout(
        "Not compared",
        (
            html("<b>{}</b> and <b>{}</b>: {}", one.first, one.second, one.refused)
            for one in made
            if one.refused
        ),
    )


def _comparison(one: RunComparison, colours: dict[str, int]) -> Markup:
    pair = colours[one.first], colours[one.second]
    tests: list[tuple[str, str]] = [
        ("Difference in Task Score", value(one.difference)),
        ("Sign-flip test by cluster", _chances(one.p, one.p_holm)),
        ("Difference in Success Rate", value(one.success_difference)),
        (_capital(one.success_test), _chances(one.success_p, one.success_p_holm)),
        ("Intervals", interval_methods([one.difference, one.success_difference], ()) + ", paired"),
    ]
    if one.left_out:
        tests.append(("Left out", f"{count(one.left_out, 'episode')} without a pair"))
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
    return html(
        '<figure class="card"><figcaption>{} against {}</figcaption>'
        '<p class="meaning">{}</p>{}{}{}{}</figure>',
        one.second,
        one.first,
        one.meaning,
        html('<p class="message">{}</p>', one.remark) if one.remark else EMPTY,
        drawn,
        split,
        definitions(tests),
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _chances(p: float | None, holm: float | None) -> str:
    alone, raised = p_value(p), p_value(p if holm is None else holm)
    return alone if raised == alone else f"{alone}; {raised} (Holm)"


def errors(runs: Coloured) -> Iterator[Markup]:
    """Who failed, how often, and why."""
    for _, run in runs:
        for failures in run.figures.failures:
            yield callout(
                html(
                    "{}: {} of the {}", named(run), count(failures.count, "error"), failures.owner
                ),
                (
                    html(
                        "episode {} ({}): {}",
                        example.number,
                        cut(example.key, 80),
                        cut(example.reason, 400),
                    )
                    for example in failures.examples
                ),
                "callout bad",
            )


def repeating(runs: Coloured) -> Iterator[Markup]:
    """What each run was, and the command that repeats it."""
    for at, run in runs:
        yield details(at, named(run), run_facts(run.info, run.command))


def details(colour: int, title: str, content: Markup, *, is_open: bool = False) -> Markup:
    """What is shown of a run or a training when its name is clicked."""
    return html(
        '<details class="run e{}"{}><summary>{}</summary>{}</details>',
        colour % plots.COLOURS,
        html(" open") if is_open else EMPTY,
        title,
        content,
    )


def run_facts(info: RunInfo, command: str) -> Markup:
    """All that is known of a run."""
    facts = [
        ("Run", info.id),
        ("Protocol", info.protocol_key),
        ("Checksum of the data", code(info.checksum or DASH)),
        ("Data verified", info.verified or DASH),
        ("Seed", str(info.seed)),
        ("Observation", info.shown_as or DASH),
        ("Observations kept", info.observations),
        ("Started", info.started or DASH),
        *((f"Version of {name}", version) for name, version in info.versions.items()),
        ("Agent’s settings", _json(info.agent_settings)),
        ("Protocol in full", _json(info.protocol)),
    ]
    return html('<pre class="command">{}</pre>{}', command, definitions(facts))


def code(text: str) -> Markup:
    return html("<code>{}</code>", text)


def _json(value: object) -> Markup:
    return code(cut(json.dumps(value, ensure_ascii=False, default=str), 4000))

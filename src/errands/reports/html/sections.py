"""The parts of a report's page that show figures: cards, tables and plots."""

import json
from collections.abc import Iterable, Iterator, Sequence

from errands.markup import EMPTY, Markup, html, join
from errands.reports.content import Report, Run
from errands.reports.formatting import DASH, count, dash, dollars, duration, share, whole
from errands.reports.html import plots
from errands.reports.html.elements import badge, cut, definitions, figure, grid, table, value
from errands.reports.html.plots import DotRow, PlotMark, Series
from errands.reports.statistics.comparison import RunComparison, format_p
from errands.reports.statistics.estimate import Estimate
from errands.reports.statistics.ranks import Ranks
from errands.reports.statistics.turk_figures import TurkFigures, estimate_of
from errands.runs.episode import RunInfo

__all__ = [
    "comparisons",
    "errors",
    "headlines",
    "repeating",
    "run_facts",
    "shop",
    "turk",
    "usage",
]

Coloured = Sequence[tuple[int, Run]]
"""Runs with the number of their colour."""


def named(run: Run) -> Markup:
    """A run's name, with a mark for agents that knew the answers."""
    if not run.info.privileged:
        return Markup.escape(run.label)
    return html("{} {}", run.label, badge("shown the answers", "insider"))


def main_score(run: Run) -> Estimate:
    """The figure a run is known by: for TurkingBench the mean over tasks, else the Task Score."""
    if run.figures.turk is not None:
        return estimate_of(run.figures.turk.rules["paper"].macro)
    return run.figures.score


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
    for domain, title in (("shop", "WebShop"), ("turk", "TurkingBench")):
        some = [(at, run) for at, run in runs if run.info.domain == domain]
        if not some:
            continue
        score = "Task Score" if domain == "shop" else "Score, mean over tasks"
        of = "" if len({r.info.domain for _, r in runs}) == 1 else f"{title}: "
        yield grid(
            figure(
                plots.bars(f"{of}{name}", [PlotMark(_plain(r), at, get(r)) for at, r in some]),
                f"{of}{name}",
                note,
            )
            for name, get, note in (
                (score, main_score, "mean, with its 95 % interval"),
                ("Success Rate", lambda r: r.figures.success, "episodes with a reward of 1"),
            )
        )


def _plain(run: Run) -> str:
    return f"{run.label} (shown the answers)" if run.info.privileged else run.label


def _card(at: int, run: Run) -> Markup:
    figures = run.figures
    score = main_score(run)
    unit = "Task Score" if figures.turk is None else "Score, mean over tasks"
    big = DASH if score.mean is None else f"{score.mean:.1f}"
    ends = "" if score.low is None or score.high is None else f"{score.low:.1f} to {score.high:.1f}"
    facts: list[tuple[str, str]] = [
        ("Success Rate (%)", value(figures.success)),
        ("Episodes", f"{figures.episodes:,}"),
        ("Errors", badge(f"{figures.errors:,}", "failed") if figures.errors else "none"),
    ]
    if figures.errors:
        facts.append(("Task Score with errors as 0", value(figures.score_at_least)))
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
    drawn = ", sampled" if ranks.drawn else ""
    return (
        f"{count(ranks.counted, 'goal')}{drawn} ({ranks.goals}, catalogue {ranks.data});"
        f" {share(ranks.first)} have it first"
    )


def _trajectories(runs: Coloured) -> Markup:
    titles = [spread.title for spread in runs[0][1].figures.trajectory]
    return table(
        ["run", *titles],
        (
            [
                named(run),
                *(
                    html("{} <small>max {}</small>", dash(spread.mean), whole(spread.max))
                    for spread in run.figures.trajectory
                ),
            ]
            for _, run in runs
        ),
        "Trajectories: mean and greatest of an episode",
    )


def turk(report: Report, runs: Coloured) -> Iterator[Markup]:
    """Table 4, tasks, field types, demonstrations, page length."""
    yield legend([(at, named(run)) for at, run in runs])
    yield table(
        ["model", "modalities", "text encoding", html("demon&shy;strations"), "input tokens",
         "score, paper’s rules", "score, released rules", "over fields"],
        (
            [
                named(run),
                run.row4.modalities or DASH,
                run.row4.encoding or DASH,
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
    works = [(at, run, run.figures.turk) for at, run in runs if run.figures.turk]
    tasks = {t.task: None for _, _, work in works for t in work.rules["paper"].tasks}
    kinds = {t.type: None for _, _, work in works for t in work.rules["paper"].types}
    cards = []
    for title, names, caption, note in (
        ("task", list(tasks), "Score of each task", "its pooled fields, paper’s rules"),
        ("type", sorted(kinds), "Score of each field type", "mean over the tasks that have it"),
    ):
        rows = [
            DotRow(name, [m for at, run, work in works for m in _marks(at, run, work, title, name)])
            for name in names
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


def _marks(at: int, run: Run, work: TurkFigures, title: str, name: str) -> Iterator[PlotMark]:
    summary = work.rules["paper"]
    if title == "task":
        scores = [task.all for task in summary.tasks if task.task == name]
    else:
        scores = [kind.macro for kind in summary.types if kind.type == name]
    yield from (PlotMark(run.label, at, estimate_of(score)) for score in scores)


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
        ("Sign-flip test", _chances(one)),
        ("Difference in Success Rate", value(one.success_difference)),
        ("McNemar’s exact test", DASH if one.success_p is None else format_p(one.success_p)),
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


def _chances(one: RunComparison) -> str:
    if one.p is None:
        return DASH
    alone, raised = format_p(one.p), format_p(one.p if one.p_holm is None else one.p_holm)
    return alone if raised == alone else f"{alone}; {raised} (Holm)"


def usage(runs: Coloured) -> Markup:
    """Tokens, cost and time."""
    return table(
        ["run", "tokens in", "tokens out", "cost", "cost an episode", "time, all episodes",
         "time an episode"],
        (
            [
                named(run),
                whole(use.tokens_in),
                whole(use.tokens_out),
                dollars(use.cost),
                dollars(use.cost_mean),
                duration(use.seconds),
                html(
                    "{} <small>max {}</small>",
                    duration(use.seconds_mean),
                    duration(use.seconds_max),
                ),
            ]
            for _, run in runs
            for use in [run.figures.usage]
        ),
        "What the runs took, errors included",
    )  # fmt: skip


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
        yield html(
            '<details class="run e{}"><summary>{}</summary>{}</details>',
            at % plots.COLOURS,
            named(run),
            run_facts(run.info, run.command),
        )


def run_facts(info: RunInfo, command: str) -> Markup:
    """All that is known of a run."""
    facts = [
        ("Run", info.id),
        ("Protocol", info.protocol_key),
        ("Checksum of the data", code(info.checksum or DASH)),
        ("Seed", str(info.seed)),
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

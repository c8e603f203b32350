"""The pages of the site that show runs: the list, one run, its figures, several compared.

Plain functions from what is known to markup, with the elements and the style sheet of reports.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final
from urllib.parse import urlencode

from errands.markup import EMPTY, Markup, html, join
from errands.reports.content import Report, command_of
from errands.reports.formatting import DASH, count, dollars, duration, fixed
from errands.reports.html import plots, sections
from errands.reports.html.elements import badge, cut, definitions, figure, grid, table, value
from errands.reports.html.replay import outcome
from errands.reports.statistics.estimate import WeightedValues
from errands.reports.statistics.figures import reward_bins
from errands.reports.tables import usage_table
from errands.runs.episode import RunInfo, Summary
from errands.runs.store.view import ORDERS, EpisodeFilter
from errands.web.core import elements as ui
from errands.web.runs.document import document, protocol_of, title_of
from errands.web.runs.library import RunEntry, RunStatus, UnreadableRun
from errands.web.runs.query import Rows

__all__ = ["STATUSES", "compare_page", "live_figures", "report_page", "run_page", "runs_page"]

STATUSES: Final = {"done": "finished", "truncated": "out of steps", "error": "failed"}
_ORDERS: Final = {
    "number": "number",
    "reward": "reward",
    "steps": "steps",
    "seconds": "time",
    "cost": "cost",
}
_COLUMNS: Final = (
    *("run", "Task Score", "success (%)", "episodes", "errors", "started (UTC)", "state"),
)
_CRUMBS: Final = (("/runs", "Runs"),)


def _state(run: RunEntry, status: RunStatus) -> Markup:
    if status.writing:
        return badge("being played", "writing")
    if status.totals.kept >= run.info.episodes:
        return badge("complete", "")
    return badge("stopped", "part")


def _kept(run: RunEntry, status: RunStatus) -> str:
    return f"{status.totals.kept:,} of {run.info.episodes:,}"


def _started(info: RunInfo) -> str:
    text = info.started.replace("T", " ").replace("+00:00", "").removesuffix("Z")
    return html('<time datetime="{}">{}</time>', info.started, cut(text, 24)) if text else DASH


def _select(name: str, label: str, options: Sequence[tuple[str, str]], chosen: str) -> Markup:
    items = ui.choices(options, chosen)
    return html('<label>{}<select name="{}">{}</select></label>', label, name, items)


def runs_page(
    statuses: Sequence[tuple[RunEntry, RunStatus | str]],
    unreadable: Sequence[UnreadableRun],
    rows: Rows,
    *,
    protocols: Sequence[str],
    agents: Sequence[str],
    protocol: str,
    agent: str,
) -> bytes:
    """All runs, newest first; a status that cannot be had is a sentence."""
    every = ("", "all")
    form = html(
        '<form class="ask" method="get" action="/runs" role="search" aria-label="Choose runs">'
        '{}{}<button class="button">Show</button></form>',
        _select("protocol", "Protocol", [every, *((p, p) for p in protocols)], protocol),
        _select("agent", "Agent", [every, *((a, a) for a in agents)], agent),
    )
    content = ui.paragraph("There is no such run here yet.", "note")
    if statuses:
        runs = table(
            _COLUMNS,
            [_row(run, status) for run, status in statuses],
            f"{count(rows.total, 'run')}, the newest first",
        )
        content = html(
            '<form method="get" action="/runs/compare" aria-label="Compare runs">{}'
            '<p class="actions"><button class="button">Compare the chosen runs</button>'
            '<span class="note">Choose two or more.</span></p></form>',
            runs,
        )
    query = {name: text for name, text in (("protocol", protocol), ("agent", agent)) if text}
    content += _pager("/runs", query, rows, "Runs")
    if unreadable:
        reasons = (html("<b>{}</b>: {}", one.name, one.reason) for one in unreadable)
        content += _callout("Not readable", reasons, "bad")
    live = any(not isinstance(status, str) and status.writing for _, status in statuses)
    return document("Runs", ui.section(form, content, title="All runs"), live=live)


def _row(run: RunEntry, status: RunStatus | str) -> list[str]:
    info = run.info
    head = html(
        '<label class="pick"><input type="checkbox" name="run" value="{id}">'
        '<span class="hidden">Compare {name}</span></label>'
        '<a href="/runs/{id}">{title}</a>{privileged}<small>{protocol} · {place}</small>',
        id=run.id,
        name=run.name,
        title=cut(title_of(info), 80),
        privileged=html(" {}", badge("shown the answers", "insider")) if info.privileged else EMPTY,
        protocol=cut(protocol_of(info), 60),
        place=cut(run.name, 90),
    )
    if isinstance(status, str):
        reason = html("{}<small>{}</small>", badge("not readable", "failed"), cut(status, 200))
        return [head, *[DASH] * 4, _started(info), reason]
    bar = html('<span class="bar">{}</span>', _progress(run, status)) if status.writing else EMPTY
    return [
        head,
        badge("failed", "failed") if status.failed else value(status.score),
        value(status.success),
        html("{}{}", _kept(run, status), bar),
        _errors(status, "0"),
        _started(info),
        _state(run, status),
    ]


def _errors(status: RunStatus, none: str) -> str:
    errors = status.totals.errors
    return badge(f"{errors:,}", "failed") if errors else none


def _progress(run: RunEntry, status: RunStatus) -> Markup:
    most = max(run.info.episodes, 1)
    kept = min(status.totals.kept, most)
    return html(
        '<progress max="{}" value="{}" aria-label="Episodes played">{}</progress>', most, kept, kept
    )


def _pager(address: str, query: dict[str, str], rows: Rows, what: str) -> Markup:
    """Links to the rows before and after."""
    total, offset, limit = rows
    if total <= limit and not offset:
        return EMPTY
    links = []
    for rel, text, to in (
        ("first", "« first", 0),
        ("prev", "‹ before", offset - limit),
        ("next", "after ›", offset + limit),
        ("last", "last »", (total - 1) // limit * limit),
    ):
        if 0 <= to < total and (to < offset if rel in ("first", "prev") else to > offset):
            place = urlencode(query | ({"offset": str(to)} if to else {}))
            links.append(
                html('<a class="go" rel="{}" href="{}?{}">{}</a>', rel, address, place, text)
            )
    shown = f"{offset + 1:,} to {min(offset + limit, total):,} of {total:,}"
    return html(
        '<nav class="pager" aria-label="{}, page by page"><span class="note">{}</span>{}</nav>',
        what,
        shown if offset < total else "beyond the end",
        join(links),
    )


def run_page(
    run: RunEntry,
    status: RunStatus,
    episodes: Sequence[Summary],
    latest: Sequence[Summary],
    chosen: EpisodeFilter,
    rows: Rows,
) -> bytes:
    """One run: its status, its figures, its episodes."""
    info = run.info
    live = EMPTY
    if status.writing:
        live = html(
            '<section aria-label="The run in progress"><h2>In progress</h2><div class="card live"'
            ' id="live" data-events="/runs/{}/events">{}</div></section>',
            run.id,
            live_figures(run, status, latest),
        )
    about = html(
        '<section id="about"><h2>The run</h2><div class="card facts-of">{}</div></section>',
        sections.run_facts(info, command_of(info)),
    )
    below = html(
        "<p>{}</p><p>{}</p>", info.protocol.get("title") or "", cut(info.protocol_key, 160)
    )
    body = ui.fragment(
        _remarks(run, status),
        live,
        _figures(run, status),
        _episodes(run, episodes, chosen, rows),
        about,
    )
    return document(title_of(info), body, crumbs=_CRUMBS, below=below, live=status.writing)


def _remarks(run: RunEntry, status: RunStatus) -> Markup:
    info = run.info
    remarks = list(info.remarks)
    if info.privileged:
        remarks.append("This agent was shown the answers: its score is a ceiling, not a result.")
    if status.failed:
        remarks.append(f"This run has failed, and has no score: {status.failed}.")
    missing = info.episodes - status.totals.kept
    if missing > 0 and not status.writing:
        remarks.append(f"The run stopped: {missing:,} of {info.episodes:,} episodes are missing.")
    if status.waiting:
        remarks.append(
            "Some finished episodes lie beside the database, since their process was killed; they"
            " are shown here once the run is opened by `errands report` or goes on with --resume."
        )
    if status.totals.errors:
        remarks.append(
            f"{count(status.totals.errors, 'episode')} failed; errors are not in the scores."
        )
    return _callout("To know first", (cut(str(one), 1000) for one in remarks)) if remarks else EMPTY


def _callout(title: str, items: Iterable[str], kind: str = "") -> Markup:
    """A section with a list of sentences that stands out."""
    lines = join(html("<li>{}", item) for item in items)
    return ui.section(ui.callout(html("<ul>{}</ul>", lines), kind), title=title)


def live_figures(run: RunEntry, status: RunStatus, latest: Sequence[Summary]) -> Markup:
    """How far a run is, how it scores so far, and what was played last."""
    score, success = status.score.mean, status.success.mean
    figures = join(
        html("<div><b>{}</b><small>{}</small></div>", text, name)
        for name, text in (
            ("played", _kept(run, status)),
            ("Task Score so far", DASH if score is None else fixed(score)),
            ("success so far", DASH if success is None else f"{fixed(success)} %"),
            ("errors", f"{status.totals.errors:,}"),
        )
    )
    rows = join(
        html(
            '<li>{}<a href="/runs/{}/episodes/{}">episode {}</a> <small>{}, {}</small>',
            _reward(one),
            run.id,
            one.number,
            one.number,
            cut(one.key, 80),
            count(one.steps, "step"),
        )
        for one in latest
    )
    return html(
        '{}<div class="figures">{}</div><h3>Played last</h3><ol>{}</ol>',
        _progress(run, status),
        figures,
        rows,
    )


def _reward(one: Summary) -> Markup:
    return badge("failed" if one.reward is None else f"{one.reward:.2f}", outcome(one))


def _figures(run: RunEntry, status: RunStatus) -> Markup:
    totals, score = status.totals, status.score
    facts: list[tuple[str, str]] = [
        ("Success Rate (%)", value(status.success)),
        ("Episodes", _kept(run, status)),
        ("Out of steps", f"{totals.truncated:,}"),
        ("Errors", _errors(status, "none")),
        ("Time, all episodes", duration(totals.seconds)),
        ("State", _state(run, status)),
    ]
    if totals.cost:
        facts.append(("Cost", dollars(totals.cost)))
    has_interval = score.low is not None and score.high is not None
    cards = [
        html(
            '<article class="card headline e0"><h3>Task Score</h3><p class="big"><b>{}</b>'
            "<span>mean reward × 100<br><small>{}</small></span></p>{}</article>",
            "failed" if status.failed else DASH if score.mean is None else fixed(score.mean),
            f"{score.low:.1f} to {score.high:.1f}" if has_interval else "",
            definitions(facts),
        )
    ]
    if totals.rewards:
        values, counts = zip(*totals.rewards, strict=True)
        bins = reward_bins(WeightedValues(values, counts))
        picture = plots.histogram(
            "Rewards",
            [(_short(one.title), one.share, one.count) for one in bins],
            axis="reward of an episode",
        )
        cards.append(figure(picture, "Rewards", "how many episodes got which reward"))
    return html(
        '<section id="figures"><h2>Figures</h2>{cards}'
        '<p class="actions"><a class="button" href="{address}">All figures and plots</a>'
        '<a class="button plain" href="{address}.md">as Markdown</a>'
        '<a class="button plain" href="{address}.json">as JSON</a></p></section>',
        cards=grid(cards),
        address=f"/runs/{run.id}/report",
    )


def _short(title: str) -> str:
    upper = title.split("-")[-1]
    return "<1" if upper == "1.0" else upper.removeprefix("0") or "0"


def _query(chosen: EpisodeFilter) -> dict[str, str]:
    """What is chosen, as an address says it; defaults are left out."""
    query = {
        "status": chosen.status or "",
        "least": "" if chosen.least is None else f"{chosen.least:g}",
        "most": "" if chosen.most is None else f"{chosen.most:g}",
        "order": "" if chosen.order == "number" else chosen.order,
        "way": "down" if chosen.descending else "",
    }
    return {name: text for name, text in query.items() if text}


def _episodes(
    run: RunEntry, episodes: Sequence[Summary], chosen: EpisodeFilter, rows: Rows
) -> Markup:
    address = f"/runs/{run.id}"
    query = _query(chosen)
    directions = [("", "lowest first"), ("down", "highest first")]
    form = html(
        '<form class="ask" method="get" action="{}#episodes" aria-label="Choose episodes">'
        '{}{}{}{}{}<button class="button">Show</button></form>',
        address,
        _select("status", "Ended", [("", "all"), *STATUSES.items()], chosen.status or ""),
        _number("least", "Reward from", query.get("least", "")),
        _number("most", "to", query.get("most", "")),
        _select("order", "Sorted by", list(_ORDERS.items()), chosen.order),
        _select("way", "Order", directions, "down" if chosen.descending else ""),
    )
    content = ui.paragraph("No episode is like that.", "note")
    if episodes:
        costs = any(one.cost for one in episodes)
        number, *columns = [
            _sorter(address, chosen, name)
            for name in ("number", "reward", "steps", "seconds", *(["cost"] if costs else []))
        ]
        content = table(
            [number, "played", "ended", *columns],
            (
                [
                    html('<a href="{}/episodes/{}">{}</a>', address, one.number, one.number),
                    cut(one.key, 80),
                    _ended(one),
                    _reward(one),
                    f"{one.steps:,}",
                    duration(one.seconds),
                    *([dollars(one.cost)] if costs else []),
                ]
                for one in episodes
            ),
            count(rows.total, "episode"),
        )
    pager = _pager(address, query, rows, "Episodes")
    return ui.section(form, content, pager, title="Episodes", id="episodes")


def _ended(one: Summary) -> str:
    status = STATUSES.get(one.status, one.status)
    if one.status != "error":
        return status
    owner = f" ({one.owner})" if one.owner else ""
    return html("{}{}<small>{}</small>", status, owner, cut(one.error, 60))


def _number(name: str, label: str, text: str) -> Markup:
    return html(
        '<label>{}<input type="number" name="{}" min="0" max="1" step="any" value="{}"></label>',
        label,
        name,
        text,
    )


def _sorter(address: str, chosen: EpisodeFilter, order: str) -> Markup:
    """A column's head that sorts by it, and the other way round when it does already."""
    assert order in ORDERS
    is_sorted = chosen.order == order
    query = _query(chosen) | {
        "order": order,
        "way": "" if is_sorted and chosen.descending else "down",
    }
    if order == "number" and not (is_sorted and not chosen.descending):
        query["way"] = ""
    mark = hint = EMPTY
    if is_sorted:
        arrow, way = (" ▼", "down") if chosen.descending else (" ▲", "up")
        mark = html('<span aria-hidden="true">{}</span>', arrow)
        hint = html('<span class="hidden">, sorted {}</span>', way)
    return html(
        '<a href="{}?{}#episodes">{}{}</a>{}',
        address,
        urlencode({name: text for name, text in query.items() if text}),
        _ORDERS[order],
        hint,
        mark,
    )


def report_page(run: RunEntry, report: Report) -> bytes:
    """All figures of one run, as its report shows them."""
    info = run.info
    body = join(ui.section(content, title=name) for name, content in _report_sections(info, report))
    crumbs = [*_CRUMBS, (f"/runs/{run.id}", title_of(info))]
    return document(f"Figures of {title_of(info)}", body + _notes(report), crumbs=crumbs)


def _report_sections(info: RunInfo, report: Report) -> Iterator[tuple[str, Markup]]:
    runs = list(enumerate(report.runs))
    yield "Overview", join(sections.headlines(runs))
    if info.domain == "shop":
        yield "WebShop", join(sections.shop(report, runs))
    elif report.runs[0].figures.turk is not None:
        yield "TurkingBench", join(sections.turk(report, runs))
    yield "Cost and time", sections.table(usage_table(report.runs))
    errors = join(sections.errors(runs))
    if errors:
        yield "Errors", errors


def _notes(report: Report) -> Markup:
    return _callout("How the figures are made", report.notes)


def compare_page(compared: Sequence[RunEntry], report: Report) -> bytes:
    """Runs beside each other, over the episodes that both have played."""
    runs = list(enumerate(report.runs))
    colours = {run.label: at for at, run in runs}
    links = (
        html('<a href="/runs/{}">{}</a> <small>{}</small>', one.id, run.label, one.name)
        for one, run in zip(compared, report.runs, strict=True)
    )
    comparisons = join(sections.comparisons(report.comparisons, colours))
    if any("different protocols" in one.refused for one in report.comparisons):
        query = urlencode([("run", one.id) for one in compared] + [("anyway", "1")])
        comparisons += html(
            '<p><a href="/runs/compare?{}">Compare them all the same</a></p>', query
        )
    body = ui.fragment(
        _callout("Compared", links),
        ui.section(comparisons, title="Comparisons"),
        ui.section(*sections.headlines(runs), title="Overview"),
        _notes(report),
    )
    return document("Comparison", body, crumbs=_CRUMBS, below=html("<p>{}</p>", report.title))

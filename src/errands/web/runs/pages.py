"""The pages of the site that show runs: the list, and one run.

Plain functions from what is known to markup, with the renderers and the style sheet of reports.
All text that comes from agents, models, pages and products goes through `esc`.
"""

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlencode

from errands.reports.content import command_of
from errands.reports.formatting import DASH, count, dollars, duration, fixed
from errands.reports.html import plots, sections
from errands.reports.html.markup import badge, cut, esc, figure, grid, table, value
from errands.reports.html.replay import outcome
from errands.reports.statistics.estimate import WeightedValues
from errands.reports.statistics.figures import reward_bins
from errands.runs.episode import RunInfo, Summary
from errands.runs.store.view import ORDERS, EpisodeFilter
from errands.web.runs.document import document, protocol_of, title_of
from errands.web.runs.library import RunEntry, RunStatus, UnreadableRun

__all__ = ["STATUSES", "live_figures", "run_page", "runs_page"]

STATUSES: Final = {"done": "finished", "truncated": "out of steps", "error": "failed"}
_ORDERS: Final = {
    "number": "number",
    "reward": "reward",
    "steps": "steps",
    "seconds": "time",
    "cost": "cost",
}


def _state(held: RunEntry, standing: RunStatus) -> str:
    if standing.writing:
        return badge("being played", "writing")
    if standing.totals.kept >= held.info.episodes:
        return badge("complete", "")
    return badge("stopped", "part")


def _kept(held: RunEntry, standing: RunStatus) -> str:
    return f"{standing.totals.kept:,} of {held.info.episodes:,}"


def _started(info: RunInfo) -> str:
    said = info.started.replace("T", " ").replace("+00:00", "").removesuffix("Z")
    return f'<time datetime="{esc(info.started)}">{esc(cut(said, 24))}</time>' if said else DASH


def _select(name: str, label: str, options: Sequence[tuple[str, str]], chosen: str) -> str:
    listed = "".join(
        f'<option value="{esc(held)}"{" selected" if held == chosen else ""}>{esc(said)}</option>'
        for held, said in options
    )
    return f'<label>{label}<select name="{name}">{listed}</select></label>'


def runs_page(
    rows: Sequence[tuple[RunEntry, RunStatus | str]],
    damaged: Sequence[UnreadableRun],
    *,
    protocols: Sequence[str],
    agents: Sequence[str],
    protocol: str,
    agent: str,
    total: int,
    offset: int,
    limit: int,
) -> bytes:
    """All runs, newest first; a standing that cannot be had is a sentence."""
    every = ("", "all")
    form = (
        '<form class="ask" method="get" action="/runs" role="search" aria-label="Choose runs">'
        + _select("protocol", "Protocol", [every, *((p, p) for p in protocols)], protocol)
        + _select("agent", "Agent", [every, *((a, a) for a in agents)], agent)
        + '<button class="button">Show</button></form>'
    )
    if rows:
        listed = table(
            ["run", "Task Score", "success (%)", "episodes", "errors", "started (UTC)", "state"],
            [_row(held, standing) for held, standing in rows],
            f"{count(total, 'run')}, the newest first",
        )
        made = (
            f'<form method="get" action="/runs/compare" aria-label="Compare runs">{listed}'
            '<p class="actions"><button class="button">Compare the chosen runs</button>'
            '<span class="note">Choose two or more.</span></p></form>'
        )
    else:
        made = '<p class="note">There is no such run here yet.</p>'
    given = {name: held for name, held in (("protocol", protocol), ("agent", agent)) if held}
    made += _pager("/runs", given, total, offset, limit, "Runs")
    if damaged:
        reasons = "".join(f"<li><b>{esc(one.name)}</b>: {esc(one.reason)}" for one in damaged)
        made += (
            f'<section><h2>Not readable</h2><div class="callout bad"><ul>{reasons}</ul></div>'
            "</section>"
        )
    live = any(not isinstance(s, str) and s.writing for _, s in rows)
    return document("Runs", f"<section><h2>All runs</h2>{form}{made}</section>", live=live)


def _row(held: RunEntry, standing: RunStatus | str) -> list[str]:
    info = held.info
    name = title_of(info)
    insider = f" {badge('shown the answers', 'insider')}" if info.privileged else ""
    head = (
        f'<label class="pick"><input type="checkbox" name="run" value="{held.id}">'
        f'<span class="hidden">Compare {esc(held.name)}</span></label>'
        f'<a href="/runs/{held.id}">{esc(cut(name, 80))}</a>{insider}'
        f"<small>{esc(cut(protocol_of(info), 60))} · {esc(cut(held.name, 90))}</small>"
    )
    if isinstance(standing, str):
        reason = badge("not readable", "failed") + f"<small>{esc(cut(standing, 200))}</small>"
        return [head, *[DASH] * 4, _started(info), reason]
    errors = standing.totals.errors
    bar = ""
    if standing.writing:
        bar = f'<span class="bar">{_progress(held, standing)}</span>'
    return [
        head,
        value(standing.score),
        value(standing.success),
        _kept(held, standing) + bar,
        badge(f"{errors:,}", "failed") if errors else "0",
        _started(info),
        _state(held, standing),
    ]


def _progress(held: RunEntry, standing: RunStatus) -> str:
    most = max(held.info.episodes, 1)
    kept = min(standing.totals.kept, most)
    return f'<progress max="{most}" value="{kept}" aria-label="Episodes played">{kept}</progress>'


def _pager(
    address: str, given: dict[str, str], total: int, offset: int, limit: int, what: str
) -> str:
    """Links to the stretches before and after."""
    if total <= limit and not offset:
        return ""
    parts = []
    at = f"{offset + 1:,} to {min(offset + limit, total):,} of {total:,}"
    ways = (
        ("first", "« first", 0),
        ("prev", "‹ before", offset - limit),
        ("next", "after ›", offset + limit),
        ("last", "last »", (total - 1) // limit * limit),
    )
    for rel, said, to in ways:
        fits = 0 <= to < total and (to < offset if rel in ("first", "prev") else to > offset)
        if fits:
            query = urlencode(given | ({"offset": str(to)} if to else {}))
            parts.append(f'<a class="go" rel="{rel}" href="{esc(f"{address}?{query}")}">{said}</a>')
    where = f'<span class="note">{at if offset < total else "beyond the end"}</span>'
    return f'<nav class="pager" aria-label="{what}, page by page">{where}{"".join(parts)}</nav>'


def run_page(
    held: RunEntry,
    standing: RunStatus,
    episodes: Sequence[Summary],
    latest: Sequence[Summary],
    chosen: EpisodeFilter,
    *,
    total: int,
    offset: int,
    limit: int,
) -> bytes:
    """One run: how it stands, its figures, its episodes."""
    info = held.info
    parts = [_remarks(held, standing)]
    if standing.writing:
        inside = live_figures(held, standing, latest)
        parts.append(
            f'<section aria-label="The run in progress"><h2>In progress</h2><div class="card live"'
            f' id="live" data-events="/runs/{held.id}/events">{inside}</div></section>'
        )
    parts.append(_figures(held, standing))
    parts.append(_episodes(held, episodes, chosen, total, offset, limit))
    facts = sections.run_facts(info, command_of(info))
    parts.append(
        f'<section id="about"><h2>The run</h2><div class="card facts-of">{facts}</div></section>'
    )
    below = (
        f"<p>{esc(info.protocol.get('title') or '')}</p><p>{esc(cut(info.protocol_key, 160))}</p>"
    )
    return document(
        title_of(info),
        "".join(parts),
        crumbs=[("/runs", "Runs")],
        below=below,
        live=standing.writing,
    )


def _remarks(held: RunEntry, standing: RunStatus) -> str:
    info = held.info
    told = list(info.remarks)
    if info.privileged:
        told.append("This agent was shown the answers: its score is a ceiling, not a result.")
    missing = info.episodes - standing.totals.kept
    if missing > 0 and not standing.writing:
        told.append(f"The run stopped: {missing:,} of {info.episodes:,} episodes are missing.")
    if standing.waiting:
        told.append(
            "Some finished episodes lie beside the database, since their process was killed; they"
            " are shown here once the run is opened by `errands report` or goes on with --resume."
        )
    if standing.totals.errors:
        told.append(
            f"{count(standing.totals.errors, 'episode')} failed; errors are not in the scores."
        )
    if not told:
        return ""
    listed = "".join(f"<li>{esc(cut(str(one), 1000))}" for one in told)
    return f'<section><h2>To know first</h2><div class="callout"><ul>{listed}</ul></div></section>'


def live_figures(held: RunEntry, standing: RunStatus, latest: Sequence[Summary]) -> str:
    """How far a run is, how it scores so far, and what was played last."""
    score = standing.score
    mean = DASH if score.mean is None else fixed(score.mean)
    success = DASH if standing.success.mean is None else f"{fixed(standing.success.mean)} %"
    figures = (
        ("played", _kept(held, standing)),
        ("Task Score so far", mean),
        ("success so far", success),
        ("errors", f"{standing.totals.errors:,}"),
    )
    told = "".join(f"<div><b>{held_}</b><small>{name}</small></div>" for name, held_ in figures)
    rows = "".join(
        f'<li>{_reward(one)}<a href="/runs/{held.id}/episodes/{one.number}">episode {one.number}'
        f"</a> <small>{esc(cut(one.key, 80))}, {count(one.steps, 'step')}</small>"
        for one in latest
    )
    return (
        f'{_progress(held, standing)}<div class="figures">{told}</div>'
        f"<h3>Played last</h3><ol>{rows}</ol>"
    )


def _reward(one: Summary) -> str:
    kind = outcome(one)
    return badge("failed" if one.reward is None else f"{one.reward:.2f}", kind)


def _figures(held: RunEntry, standing: RunStatus) -> str:
    totals = standing.totals
    facts = [
        ("Success Rate (%)", value(standing.success)),
        ("Episodes", _kept(held, standing)),
        ("Out of steps", f"{totals.truncated:,}"),
        ("Errors", badge(f"{totals.errors:,}", "failed") if totals.errors else "none"),
        ("Time, all episodes", duration(totals.seconds)),
        ("State", _state(held, standing)),
    ]
    if totals.cost:
        facts.append(("Cost", esc(dollars(totals.cost))))
    big = DASH if standing.score.mean is None else fixed(standing.score.mean)
    low, high = standing.score.low, standing.score.high
    told = "" if low is None or high is None else f"{low:.1f} to {high:.1f}"
    listed = "".join(f"<dt>{name}</dt><dd>{held_}</dd>" for name, held_ in facts)
    cards = [
        f'<article class="card headline e0"><h3>Task Score</h3><p class="big"><b>{big}</b>'
        f"<span>mean reward × 100<br><small>{told}</small></span></p><dl>{listed}</dl></article>"
    ]
    if totals.rewards:
        values, counts = zip(*totals.rewards, strict=True)
        bins = reward_bins(WeightedValues(values, counts))
        drawn = plots.histogram(
            "Rewards",
            [(_short(one.title), one.share, one.count) for one in bins],
            axis="reward of an episode",
        )
        cards.append(figure(drawn, "Rewards", "how many episodes got which reward"))
    address = f"/runs/{held.id}/report"
    links = (
        f'<p class="actions"><a class="button" href="{address}">All figures and plots</a>'
        f'<a class="button plain" href="{address}.md">as Markdown</a>'
        f'<a class="button plain" href="{address}.json">as JSON</a></p>'
    )
    return f'<section id="figures"><h2>Figures</h2>{grid(cards)}{links}</section>'


def _short(title: str) -> str:
    upper = title.split("-")[-1]
    return "<1" if upper == "1.0" else upper.removeprefix("0") or "0"


def _query(chosen: EpisodeFilter) -> dict[str, str]:
    """What is chosen, as an address says it; the usual is left out."""
    given = {
        "status": chosen.status or "",
        "least": "" if chosen.least is None else f"{chosen.least:g}",
        "most": "" if chosen.most is None else f"{chosen.most:g}",
        "order": "" if chosen.order == "number" else chosen.order,
        "way": "down" if chosen.descending else "",
    }
    return {name: held for name, held in given.items() if held}


def _episodes(
    held: RunEntry,
    rows: Sequence[Summary],
    chosen: EpisodeFilter,
    total: int,
    offset: int,
    limit: int,
) -> str:
    address = f"/runs/{held.id}"
    query = _query(chosen)
    form = (
        f'<form class="ask" method="get" action="{address}#episodes" aria-label="Choose episodes">'
        + _select("status", "Ended", [("", "all"), *STATUSES.items()], chosen.status or "")
        + _number("least", "Reward from", query.get("least", ""))
        + _number("most", "to", query.get("most", ""))
        + _select("order", "Sorted by", list(_ORDERS.items()), chosen.order)
        + _select("way", "Order", [("", "lowest first"), ("down", "highest first")],
                  "down" if chosen.descending else "")
        + '<button class="button">Show</button></form>'
    )  # fmt: skip
    heads = [_sorter(address, chosen, name) for name in ("number", "reward", "steps", "seconds")]
    listed = '<p class="note">No episode is like that.</p>'
    if rows:
        costs = any(one.cost for one in rows)
        top = [heads[0], "played", "ended", *heads[1:]]
        top += [_sorter(address, chosen, "cost")] if costs else []
        listed = table(
            top,
            (
                [
                    f'<a href="{address}/episodes/{one.number}">{one.number}</a>',
                    esc(cut(one.key, 80)),
                    _ended(one),
                    _reward(one),
                    f"{one.steps:,}",
                    duration(one.seconds),
                    *([esc(dollars(one.cost))] if costs else []),
                ]
                for one in rows
            ),
            count(total, "episode"),
        )
    pages = _pager(address, query, total, offset, limit, "Episodes")
    return f'<section id="episodes"><h2>Episodes</h2>{form}{listed}{pages}</section>'


def _ended(one: Summary) -> str:
    said = STATUSES.get(one.status, one.status)
    if one.status != "error":
        return esc(said)
    owner = f" ({esc(one.owner)})" if one.owner else ""
    return f"{esc(said)}{owner}<small>{esc(cut(one.error, 60))}</small>"


def _number(name: str, label: str, held: str) -> str:
    return (
        f'<label>{label}<input type="number" name="{name}" min="0" max="1" step="any"'
        f' value="{esc(held)}"></label>'
    )


def _sorter(address: str, chosen: EpisodeFilter, order: str) -> str:
    """A column's head that sorts by it, and the other way round when it does already."""
    assert order in ORDERS
    now = chosen.order == order
    query = _query(chosen) | {"order": order, "way": "" if now and chosen.descending else "down"}
    if order == "number" and not (now and not chosen.descending):
        query["way"] = ""
    mark = said = ""
    if now:
        mark = " ▼" if chosen.descending else " ▲"
        said = f'<span class="hidden">, sorted {"down" if chosen.descending else "up"}</span>'
    to = urlencode({name: held for name, held in query.items() if held})
    shown = f'<span aria-hidden="true">{mark}</span>' if mark else ""
    return f'<a href="{esc(f"{address}?{to}#episodes")}">{_ORDERS[order]}{said}</a>{shown}'

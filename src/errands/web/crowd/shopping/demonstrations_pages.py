"""What the admin's pages about demonstrations look like."""

import datetime
from collections.abc import Sequence
from typing import Final

from errands.crowd.shopping.assignments import SPLIT_NAMES, ShoppingAssignment, ShoppingSettings
from errands.crowd.shopping.human_figures import Overview
from errands.crowd.shopping.steps import LoggedStep, ShopSession
from errands.crowd.shopping.worker_quality import MeanAndMax, ShoppingFigures, Worker
from errands.reports.html.markup import badge, cut, esc, table
from errands.web.crowd.document import button, field
from errands.web.crowd.site import dollars

__all__ = ["overview_page", "session_page"]

_DASH: Final = "–"
_STATES: Final = {"done": "won"}


def overview_page(
    told: Overview, newest: Sequence[ShoppingAssignment], check: str, here: str
) -> str:
    """Figures, workers, errands, settings."""
    names = {worker.id: worker.name for worker in told.workers}
    counted = "with trials" if told.include_trials else "without trials"
    other = (
        f'<a href="{here}">leave trials out</a>'
        if told.include_trials
        else f'<a href="{here}?trials=1">count trials, too</a>'
    )
    return (
        f'<div class="outings"><section><p>{told.finished:,} errands are finished,'
        f" {told.open:,} open,"
        f" {told.returned:,} given back; {dollars(told.paid)} earned. {told.visitors:,} visitors"
        " whom nobody sent bought something.</p></section>"
        f"<section><h2>How well people shop</h2><p>Counted {counted}; {other}.</p>"
        f"{_figures(told)}</section>"
        f"<section><h2>Workers</h2>{_workers(told.workers, check, here)}</section>"
        f"<section><h2>As a run</h2>{_downloads(here)}</section>"
        f"<section><h2>Errands</h2>{_errands(newest, names, here)}</section>"
        f"<section><h2>Settings</h2>{_settings(told.settings, check, here)}</section></div>"
    )


def _figures(told: Overview) -> str:
    rows = [
        [name, str(held.outings), *_scores(held), *_spreads(held)]
        for name, held in (
            ("everybody", told.all),
            ("qualified", told.qualified),
            ("experts", told.experts),
        )
    ]
    head = ["who", "errands", "score", "success, %", "deviation"]
    return table([*head, "steps", "pages", "products", "searches", "minutes"], rows)


def _scores(held: ShoppingFigures) -> list[str]:
    return [_number(held.score), _number(held.success), _number(held.deviation)]


def _spreads(held: ShoppingFigures) -> list[str]:
    told = [_spread(one) for one in (held.steps, held.states, held.items, held.searches)]
    if held.seconds is None:
        return [*told, _DASH]
    return [*told, _spread(MeanAndMax(held.seconds.mean / 60, held.seconds.most / 60))]


def _spread(held: MeanAndMax | None) -> str:
    return _DASH if held is None else f"{held.mean:.1f} <small>up to {held.most:.0f}</small>"


def _number(value: float | None, digits: int = 1) -> str:
    return _DASH if value is None else f"{value:.{digits}f}"


def _workers(workers: Sequence[Worker], check: str, here: str) -> str:
    if not workers:
        return '<p>Nobody has been invited: see <a href="/office/people">People</a>.</p>'
    rows = []
    for one in workers:
        kind = badge("expert" if one.is_expert else one.standing, _kind(one))
        by_hand = " <small>by hand</small>" if one.by_hand else ""
        rows.append(
            [
                f"{esc(one.name)} <small>w{one.id}</small>",
                f"{kind}{by_hand}",
                _number(one.trial, 2),
                str(one.figures.outings),
                *_scores(one.figures),
                dollars(one.earned),
                _verdicts(one, check, here),
            ]
        )
    head = ["worker", "standing", "trial", "errands", "score", "success, %", "deviation"]
    return table([*head, "earned", "decide"], rows)


def _kind(one: Worker) -> str:
    return {"qualified": "won", "refused": "failed"}.get(one.standing, "")


def _verdicts(one: Worker, check: str, here: str) -> str:
    to = f"{here}/workers/{one.id}"
    ways = [("Grant", "granted"), ("Refuse", "refused")]
    if one.by_hand:
        ways.append(("By results", "results"))
    deeds = "".join(button(label, to, check, fields=[("verdict", said)]) for label, said in ways)
    return f'<div class="deeds">{deeds}</div>'


def _downloads(here: str) -> str:
    ways = (
        ("Everybody", "workers"),
        ("Qualified", "qualified"),
        ("Experts", "experts"),
    )
    links = "".join(
        f'<a class="btn" href="{here}/run.jsonl?who={who}">{label} (JSONL)</a>'
        for label, who in ways
    )
    return (
        "<p>Every errand is done again in the environment; trials are left out."
        " <code>errands demonstrations export</code> does more.</p>"
        f'<div class="deeds">{links}</div>'
    )


def _errands(newest: Sequence[ShoppingAssignment], names: dict[int, str], here: str) -> str:
    if not newest:
        return "<p>There are none.</p>"
    rows = [
        [
            f'<a href="{here}/{esc(one.name)}">{one.number}</a>',
            esc(names.get(one.person, "")),
            f"{one.goal}",
            badge(one.state, _STATES.get(one.state, "")),
            "trial" if one.is_trial else "",
            _DASH if one.reward is None else f"{100 * one.reward:.0f}",
            str(one.steps) if one.state == "done" else _DASH,
            dollars(one.pay),
            "handed in" if one.coded is not None else "",
            _time(one.began),
        ]
        for one in newest
    ]
    head = ["errand", "worker", "goal", "state", "kind", "score", "steps", "pay", "code", "began"]
    last = newest[-1].number
    older = f'<p><a href="{here}?before={last}">Older ones</a></p>' if last > 1 else ""
    return table(head, rows, f"Errands {newest[0].number} to {last}") + older


def _settings(held: ShoppingSettings, check: str, here: str) -> str:
    ticked = " checked" if held.is_open else ""
    return (
        f'<form class="card" method="post" action="{here}/settings">'
        f'<input type="hidden" name="check" value="{check}">'
        f'<p class="field"><label class="tick"><input type="checkbox" name="is_open" value="1"'
        f"{ticked}> New errands begin</label></p>"
        + _choice("Goals", "split", held.split, "Which goals people are sent for.")
        + _choice("Goals of trials", "trial_split", held.trial_split, "Best kept apart.")
        + _amount("People for each goal", "per_goal", held.per_goal, "1")
        + _amount("Hours until an errand is taken back", "hours", held.hours, "any")
        + _amount("Dollars for an errand", "pay", held.pay, "any")
        + _amount("Errands of a trial", "trials", held.trials, "1")
        + _amount("Average reward that a trial has to exceed", "bar", held.bar, "any")
        + '<button class="btn primary" type="submit">Save</button></form>'
    )


def _choice(label: str, name: str, value: str, hint: str) -> str:
    options = "".join(
        f'<option value="{one}"{" selected" if one == value else ""}>{one}</option>'
        for one in SPLIT_NAMES
    )
    return (
        f'<p class="field"><label for="{name}">{label}</label>'
        f'<small id="{name}-hint">{hint}</small>'
        f'<select id="{name}" name="{name}" aria-describedby="{name}-hint">{options}</select></p>'
    )


def _amount(label: str, name: str, value: float, step: str) -> str:
    return field(
        label, name, f"{value:g}", type="number", required=True, more=f' min="0" step="{step}"'
    )


def session_page(
    session: ShopSession,
    instruction: str,
    outing: ShoppingAssignment | None,
    steps: Sequence[LoggedStep],
) -> str:
    """One session, step by step."""
    rows = [
        [
            str(step.number),
            f"<code>{esc(cut(step.action, 200))}</code>" if step.action else "comes in",
            f"{step.at - session.began:,.1f}&nbsp;s",
            esc(step.page),
            "" if step.source == step.number - 1 or not step.number else f"step {step.source}",
            "" if step.exact else badge("not an action", "failed"),
        ]
        for step in steps
    ]
    bought = "Nothing has been bought yet."
    if session.bought is not None:
        chosen = ", ".join(f"{name}: {value}" for name, value in session.bought.options)
        bought = (
            f"Bought {esc(session.bought.asin)}{f' ({esc(chosen)})' if chosen else ''} for"
            f" {dollars(session.bought.price)}; it scored {100 * session.bought.reward:.0f} of 100."
        )
    who = "Somebody whom nobody sent."
    if outing is not None:
        kind = "a trial" if outing.is_trial else "an errand"
        who = f"{kind.capitalize()} of w{outing.person}, {outing.state}."
    head = ["step", "action", "after", "page", "done on", "remark"]
    return (
        '<div class="outings"><section><div class="card errand">'
        f"<blockquote>{esc(instruction)}</blockquote>"
        f"<p>{who} Goal {session.goal}, begun {_time(session.began)}. {bought}</p></div></section>"
        f'<section class="words"><h2>Steps</h2>{table(head, rows)}</section></div>'
    )


def _time(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")

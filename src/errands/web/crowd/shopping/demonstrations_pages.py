"""What the admin's pages about demonstrations look like."""

import datetime
from collections.abc import Sequence
from typing import Final

from errands.crowd.shopping.assignments import (
    SPLIT_NAMES,
    ShoppingAssignment,
    ShoppingSettings,
)
from errands.crowd.shopping.demonstrations import Overview
from errands.crowd.shopping.steps import LoggedStep, ShopSession
from errands.crowd.shopping.worker_quality import MeanAndMax, ShoppingFigures, Worker
from errands.markup import EMPTY, Markup, html, join
from errands.reports.html.elements import badge, cut, table
from errands.web.core import elements as ui

__all__ = ["overview_page", "session_page"]

_DASH: Final = "–"
_BADGES: Final = {"qualified": "won", "refused": "failed"}


def overview_page(
    overview: Overview, newest: Sequence[ShoppingAssignment], check: str, here: str
) -> Markup:
    """Figures, workers, assignments, settings."""
    names = {worker.id: worker.name for worker in overview.workers}
    counted = "with trials" if overview.include_trials else "without trials"
    other = ("", "without") if overview.include_trials else ("?trials=1", "with")
    return html(
        '<div class="shopping">{}</div>',
        join(
            (
                ui.section(
                    ui.paragraph(
                        f"{overview.finished:,} assignments are finished, {overview.open:,} open,"
                        f" {overview.returned:,} returned; {ui.dollars(overview.paid)} earned."
                        f" {overview.visitors:,} visitors without an assignment bought something."
                    )
                ),
                ui.section(
                    html(
                        '<p>Counted {}; <a href="{}{}">show {} trials</a>.</p>',
                        *(counted, here, *other),
                    ),
                    _figures(overview),
                    title="How well people shop",
                ),
                ui.section(_workers(overview.workers, check, here), title="Workers"),
                ui.section(_downloads(here), title="Export as a run"),
                ui.section(_assignments(newest, names, here), title="Assignments"),
                ui.section(_settings(overview.settings, check, here), title="Settings"),
            )
        ),
    )


def _figures(overview: Overview) -> Markup:
    rows = [
        [name, str(one.count), *_scores(one), *_spreads(one)]
        for name, one in (
            ("everybody", overview.all),
            ("qualified", overview.qualified),
            ("experts", overview.experts),
        )
    ]
    head = ["who", "assignments", "score", "success, %", "deviation"]
    return table([*head, "steps", "pages", "products", "searches", "minutes"], rows)


def _scores(figures: ShoppingFigures) -> list[str]:
    return [_number(one) for one in (figures.score, figures.success, figures.deviation)]


def _spreads(figures: ShoppingFigures) -> list[str]:
    counts = (figures.steps, figures.states, figures.items, figures.searches)
    return [*(_spread(one) for one in counts), _spread(figures.seconds, 60)]


def _spread(values: MeanAndMax | None, unit: float = 1) -> str:
    if values is None:
        return _DASH
    return html("{:.1f} <small>up to {:.0f}</small>", values.mean / unit, values.most / unit)


def _number(value: float | None, digits: int = 1) -> str:
    return _DASH if value is None else f"{value:.{digits}f}"


def _workers(workers: Sequence[Worker], check: str, here: str) -> Markup:
    if not workers:
        return html('<p>Nobody has been invited: see <a href="/office/people">Accounts</a>.</p>')
    rows = [
        [
            html("{} <small>w{}</small>", one.name, one.id),
            html(
                "{}{}",
                badge("expert" if one.is_expert else one.status, _BADGES.get(one.status, "")),
                html(" <small>by hand</small>") if one.by_hand else EMPTY,
            ),
            _number(one.trial, 2),
            str(one.figures.count),
            *_scores(one.figures),
            ui.dollars(one.earned),
            _decision(one, check, here),
        ]
        for one in workers
    ]
    head = ["worker", "status", "trial", "assignments", "score", "success, %", "deviation"]
    return table([*head, "earned", "decision"], rows)


def _decision(worker: Worker, check: str, here: str) -> Markup:
    choices = [("Qualify", "granted"), ("Disqualify", "refused")]
    if worker.by_hand:
        choices.append(("Use trial result", "results"))
    return ui.actions(
        *(
            ui.button(label, f"{here}/workers/{worker.id}", check, fields=[("verdict", verdict)])
            for label, verdict in choices
        )
    )


def _downloads(here: str) -> Markup:
    ways = (("Everybody", "workers"), ("Qualified", "qualified"), ("Experts", "experts"))
    return html(
        "<p>Every session is replayed in the environment; trials are left out."
        " <code>errands demonstrations export</code> does more.</p>{}",
        ui.actions(
            *(
                ui.link_button(f"{label} (JSONL)", f"{here}/run.jsonl?who={who}")
                for label, who in ways
            )
        ),
    )


def _assignments(newest: Sequence[ShoppingAssignment], names: dict[int, str], here: str) -> Markup:
    if not newest:
        return ui.paragraph("There are none.")
    rows = [
        [
            html('<a href="{}/{}">{}</a>', here, one.name, one.number),
            names.get(one.person, ""),
            str(one.goal),
            badge(one.state, "won" if one.state == "done" else ""),
            "trial" if one.is_trial else "",
            _DASH if one.reward is None else f"{100 * one.reward:.0f}",
            str(one.steps) if one.state == "done" else _DASH,
            ui.dollars(one.pay),
            "submitted" if one.coded is not None else "",
            _time(one.began),
        ]
        for one in newest
    ]
    head = ["number", "worker", "goal", "state", "kind", "score", "steps", "pay", "code", "began"]
    first, last = newest[0].number, newest[-1].number
    older = html('<p><a href="{}?before={}">Older ones</a></p>', here, last)
    return table(head, rows, f"Assignments {first} to {last}") + (older if last > 1 else EMPTY)


def _settings(settings: ShoppingSettings, check: str, here: str) -> Markup:
    splits = [(name, name) for name in SPLIT_NAMES]
    goals, trials = "What people shop for.", "Best kept apart."
    return ui.form(
        f"{here}/settings",
        ui.checkbox("New assignments begin", "is_open", settings.is_open),
        ui.select("Goals", "split", splits, settings.split, hint=goals),
        ui.select("Goals of trials", "trial_split", splits, settings.trial_split, hint=trials),
        ui.number("People for each goal", "per_goal", settings.per_goal),
        ui.number("Hours until an assignment expires", "hours", settings.hours),
        ui.number("Dollars for an assignment", "pay", settings.pay),
        ui.number("Assignments of a trial", "trials", settings.trials),
        ui.number("Average reward that a trial has to exceed", "bar", settings.bar),
        ui.submit("Save", "primary"),
        check=check,
    )


def session_page(
    session: ShopSession,
    instruction: str,
    assignment: ShoppingAssignment | None,
    steps: Sequence[LoggedStep],
) -> Markup:
    """One session, step by step."""
    rows = [
        [
            str(step.number),
            html("<code>{}</code>", cut(step.action, 200)) if step.action else "start",
            html("{:,.1f}&nbsp;s", step.at - session.began),
            step.page,
            "" if step.source == step.number - 1 or not step.number else f"step {step.source}",
            EMPTY if step.exact else badge("not an action", "failed"),
        ]
        for step in steps
    ]
    who = "A visitor without an assignment."
    if assignment is not None:
        kind = "A trial" if assignment.is_trial else "An assignment"
        who = f"{kind} of w{assignment.person}, {assignment.state}."
    head = ["step", "action", "after", "page", "done on", "remark"]
    return html(
        '<div class="shopping"><section><div class="card instruction"><blockquote>{}</blockquote>'
        "<p>{} Goal {}, begun {}. {}</p></div></section>{}</div>",
        instruction,
        who,
        session.goal,
        _time(session.began),
        _purchase(session),
        ui.section(table(head, rows), title="Steps", kind="words"),
    )


def _purchase(session: ShopSession) -> str:
    bought = session.bought
    if bought is None:
        return "Nothing has been bought yet."
    chosen = ", ".join(f"{name}: {value}" for name, value in bought.options)
    return (
        f"Bought {bought.asin}{f' ({chosen})' if chosen else ''} for {ui.dollars(bought.price)}; it"
        f" scored {100 * bought.reward:.0f} of 100."
    )


def _time(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")

"""The page of a submission, and one of each of its episodes, to be walked through."""

import json
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from errands.leaderboard.board import BoardRow, BoardTable, cause_of
from errands.leaderboard.site.document import document
from errands.leaderboard.site.parts import link, plain_table, usage
from errands.leaderboard.submission import SUFFIX
from errands.markup import EMPTY, Markup, html, join
from errands.reports.content import SCORES
from errands.reports.formatting import count, fixed, share
from errands.reports.html.elements import badge, cut, definitions, value
from errands.reports.html.frames import StyleSheets
from errands.reports.html.replay import PageView, instruction_of, outcome, replay
from errands.reports.statistics.columns import PARTS
from errands.runs.episode import Episode, Summary
from errands.runs.failures import FAILURES

__all__ = ["Listed", "entry_page", "episode_page", "listed"]

_PAGES: Final = 60_000
"""Characters of pages that one episode's file may hold."""


class Listed(NamedTuple):
    """An episode in a list."""

    summary: Summary
    instruction: str


def listed(episode: Episode) -> Listed:
    """An episode for the list of its submission."""
    first = episode.steps[0].observation if episode.steps else episode.last
    return Listed(episode.summary, cut(instruction_of(PageView("", first or "")), 160))


def entry_page(table: BoardTable, row: BoardRow, episodes: Sequence[Listed], rule: str) -> str:
    """One submission: who, what, how it was checked, what cost it, and every episode."""
    sections = [
        html(
            '<section id="card"><p class="proof-line">{}<span>{}</span></p>{}'
            '<div class="two"><div class="card"><h3>The agent</h3>{}</div>'
            '<div class="card"><h3>Figures</h3>{}</div></div>{}</section>',
            badge("came back", "good"),
            f"{count(row.episodes, 'episode')}: {row.how}; all rewards and figures as claimed.",
            _remarks(row),
            _card(table, row),
            _figures(table, row),
            _proof(table, row),
        )
    ]
    if row.failures:
        sections.append(_failures(table, row, episodes))
    sections.append(_episodes(table, episodes, rule))
    return document(
        row.agent.name,
        join(sections),
        up="../../",
        crumbs=[
            ("../../index.html", "Leaderboard"),
            (f"../../protocols/{table.slug}.html#s-{row.short}", f"{table.id}@{table.version}"),
        ],
        below=html("<p>{}</p>", table.title),
        jumps=[
            ("#card", "Agent"),
            *([("#failures", "Failures")] if row.failures else []),
            ("#episodes", "Episodes"),
        ],
    )


def _remarks(row: BoardRow) -> Markup:
    remarks = list(row.remarks)
    if row.agent.privileged:
        remarks.insert(0, "This agent was shown the answers: a ceiling, and no result")
    if not remarks:
        return EMPTY
    listed = join(html("<li>{}.</li>", remark.rstrip(".")) for remark in remarks)
    return html('<div class="callout"><ul>{}</ul></div>', listed)


def _card(table: BoardTable, row: BoardRow) -> Markup:
    card = row.agent
    pairs: list[tuple[str, str]] = [("agent", card.agent), ("kind", row.agent_kind)]
    if card.authors:
        pairs.append(("authors", card.authors))
    if card.url:
        pairs.append(("link", link(card.url)))
    if card.note:
        pairs.append(("note", card.note))
    settings = {
        name: held if isinstance(held, str) else json.dumps(held)
        for name, held in card.settings.items()
    }
    pairs += [(name, cut(held, 400)) for name, held in settings.items() if held != ""]
    if card.observation:
        pairs.append(("observation", card.observation))
    pairs += [
        ("shown the answers", "yes" if card.privileged else "no"),
        ("tokens and cost", usage(card)),
        ("seed", str(row.seed)),
        ("played", row.date),
        ("versions", ", ".join(f"{name} {which}" for name, which in row.versions.items())),
        ("protocol", table.key),
    ]
    return definitions(pairs)


def _figures(table: BoardTable, row: BoardRow) -> Markup:
    figures = row.figures
    pairs: list[tuple[str, str]] = [
        (SCORES.get(table.domain, "score"), value(figures.score)),
        ("Success Rate, %", value(figures.success)),
        ("steps of an episode", fixed(figures.steps)),
        ("errors", str(figures.errors)),
        ("out of steps", str(figures.truncated)),
    ]
    pairs += [
        (f"{PARTS.get(name, name)}, over purchases", value(part, 2))
        for name, part in figures.parts.items()
    ]
    for point in figures.repeats.points if figures.repeats is not None else ():
        pairs += [
            (f"pass@{point.k}, %", value(point.any)),
            (f"pass^{point.k}, %", value(point.all)),
        ]
    for rules, scores in figures.rules.items():
        pairs += [(f"over {over}, {rules} rules", value(one)) for over, one in scores.items()]
    return definitions(pairs)


def _proof(table: BoardTable, row: BoardRow) -> Markup:
    file = f"{row.short}{SUFFIX}"
    return html(
        '<div class="card"><h3>Play it again</h3><p class="note">The submission, sha256 of its'
        ' JSON <span class="hash">{}</span>: <a href="{}" download>{}</a></p><pre>{}</pre>'
        '<p class="note">To check it: put the file into a folder, and</p><pre>{}</pre></div>',
        row.hash,
        file,
        file,
        row.command,
        "errands leaderboard FOLDER --out site",
    )


def _failures(table: BoardTable, row: BoardRow, episodes: Sequence[Listed]) -> Markup:
    """What cost the episodes below 1, with links to some of each."""
    examples: dict[str, list[int]] = {}
    for one in episodes:
        if cause := cause_of(table.domain, one.summary):
            examples.setdefault(cause, []).append(one.summary.number)
    meanings = FAILURES.get(table.domain, {})
    rows = [
        html(
            '<tr><th scope="row">{}</th><td>{:,}</td><td>{}</td><td class="left">{}</td></tr>',
            html("{}<small>{}</small>", name, meanings.get(name, "")),
            number,
            share(number / row.episodes),
            join(
                (
                    html('<a href="episodes/{0}.html">{0}</a>', at)
                    for at in examples.get(name, [])[:12]
                ),
                " ",
            ),
        )
        for name, number in row.failures.items()
    ]
    head = ("what cost it", "episodes", "of all", "some of them")
    made = plain_table("Episodes below 1", head, rows, "episodes")
    return html('<section id="failures"><h2>Failures</h2>{}</section>', made)


def _episodes(table: BoardTable, episodes: Sequence[Listed], rule: str) -> Markup:
    rows = [
        html(
            '<tr id="e-{0}"><th scope="row"><a href="episodes/{0}.html">{0}</a></th>'
            '<td class="left">{1}<small>{2}</small></td><td>{3}</td><td>{4}</td><td>{5}</td></tr>',
            one.summary.number,
            one.instruction,
            one.summary.key,
            _reward(one.summary),
            one.summary.steps,
            cause_of(table.domain, one.summary),
        )
        for one in episodes
    ]
    head = ("episode", "what was asked", "reward", "steps", "what cost it")
    made = plain_table(rule, head, rows, "episodes")
    return html('<section id="episodes"><h2>Episodes</h2>{}</section>', made)


def _reward(summary: Summary) -> Markup:
    kind = outcome(summary)
    return badge("error" if summary.reward is None else f"{summary.reward:.2f}", kind)


def episode_page(
    table: BoardTable, row: BoardRow, episode: Episode, around: tuple[int | None, int | None]
) -> str:
    """One episode, page by page, as the replay showed it."""
    summary = episode.summary
    texts = [step.observation for step in episode.steps] + [episode.last]
    shown = [PageView("", text or "", None) for text in texts]
    # How long a replay took says nothing about the agent.
    timeless = tuple(msgspec.structs.replace(step, seconds=0.0) for step in episode.steps)
    episode = msgspec.structs.replace(episode, steps=timeless)
    steps, _ = replay(episode, shown, name="e", sheets=StyleSheets(), allowance=_PAGES)
    instruction = instruction_of(shown[0])
    before, after = around
    walk = html(
        '<nav class="steps-of" aria-label="Other episodes">{}<a href="../index.html#e-{}">all'
        " episodes</a>{}</nav>",
        html('<a rel="prev" href="{0}.html">← episode {0}</a>', before)
        if before is not None
        else html("<span></span>"),
        summary.number,
        html('<a rel="next" href="{0}.html">episode {0} →</a>', after)
        if after is not None
        else html("<span></span>"),
    )
    body = html(
        '<section id="episode"><h2>Step by step</h2><p class="note">Choose a number, or use the'
        ' arrow keys. The pages are those of the replay.</p><div class="card">'
        '<div class="episode alone">{}</div></div>{}</section>',
        steps,
        walk,
    )
    return document(
        f"Episode {summary.number} of {row.agent.name}",
        body,
        up="../../../",
        crumbs=[
            ("../../../index.html", "Leaderboard"),
            (f"../../../protocols/{table.slug}.html#s-{row.short}", f"{table.id}@{table.version}"),
            (f"../index.html#e-{summary.number}", row.agent.name),
        ],
        below=html("<p>{}</p><p>{}</p>", instruction or summary.key, _end(summary)),
    )


def _end(summary: Summary) -> str:
    reward = "an error, no reward" if summary.reward is None else f"reward {summary.reward:.4g}"
    return f"{summary.key}: {reward} after {count(summary.steps, 'step')}"

"""One episode, one step a page: what the agent saw, beside what it did and thought.

Each step has an address of its own and links to the next and the one before, so it can be walked
through with any browser, and sent to somebody. Of every page is said where it comes from, and
whether it is proven to be the one the agent saw; one that cannot be shown says why.
"""

from collections.abc import Sequence
from typing import Final

from errands.reports.formatting import count
from errands.reports.html.markup import cut, esc
from errands.reports.html.replay import PageView, end_card, instruction_of, page_text, step_card
from errands.runs.episode import Episode, Step
from errands.web.runs.document import document, title_of
from errands.web.runs.library import RunEntry
from errands.web.runs.replays import EpisodeReplay

__all__ = ["episode_page", "place_of"]

_AROUND: Final = 60
"""Steps that are listed before and after the one that is shown."""


def place_of(asked: str, steps: int) -> int | None:
    """The step that an address asks for: a number from 1, or `end`; None where there is none."""
    if asked == "end" or (not asked and not steps):
        return steps
    if not asked:
        return 0
    if not (asked.isascii() and asked.isdigit() and len(asked) < 10):
        return None
    place = int(asked) - 1
    return place if 0 <= place < steps else None


def episode_page(
    held: RunEntry,
    episode: Episode,
    watched: EpisodeReplay,
    place: int,
    neighbours: tuple[int | None, int | None],
) -> bytes:
    """The page of one step; the place after the last step is the end."""
    summary = episode.summary
    address = f"/runs/{held.id}/episodes/{summary.number}"
    steps = episode.steps
    view = watched.pages[place]
    last = place == len(steps)
    card = end_card(episode) if last else step_card(steps[place], place, len(steps))
    side = (
        f'<section class="step" id="step" tabindex="-1" aria-label="The step">'
        f"{_walk(address, place, len(steps))}{card}</section>"
        f"{_listed(address, steps, place)}{_proof(watched)}"
    )
    what = "the end" if last else f"step {place + 1}"
    shown = _shown(episode, watched, view, place, f"{address}/pages/{place}", what)
    body = (
        f'<div class="watching"><div class="side">{side}</div>{shown}</div>'
        f"{_others(held, neighbours)}"
    )
    told = instruction_of(watched.pages[0])
    below = f'<p class="instruction">{esc(cut(told, 600))}</p>' if told else ""
    title = f"Episode {summary.number}, {what}"
    return document(
        title,
        body,
        crumbs=[("/runs", "Runs"), (f"/runs/{held.id}", title_of(held.info))],
        below=f"{below}<p>{esc(cut(summary.key, 200))}</p>",
    )


def _to(address: str, place: int, steps: int) -> str:
    return f"{address}?step={'end' if place == steps else place + 1}#step"


def _walk(address: str, place: int, steps: int) -> str:
    back = '<span class="go off"></span>'
    after = '<span class="go off"></span>'
    if place > 0:
        back = f'<a class="go" rel="prev" href="{_to(address, place - 1, steps)}">← back</a>'
    if place < steps:
        after = f'<a class="go main" rel="next" href="{_to(address, place + 1, steps)}">next →</a>'
    return f'<nav class="walk" aria-label="Step by step">{back}{after}</nav>'


def _listed(address: str, steps: Sequence[Step], place: int) -> str:
    first, beyond = max(0, place - _AROUND), min(len(steps), place + _AROUND)
    rows = []
    for at in range(first, beyond):
        here = ' aria-current="step"' if at == place else ""
        rows.append(
            f'<li><a href="{_to(address, at, len(steps))}"{here}><i>{at + 1}</i>'
            f"<span>{esc(cut(steps[at].action, 90))}</span></a>"
        )
    here = ' aria-current="step"' if place == len(steps) else ""
    rows.append(
        f'<li><a href="{_to(address, len(steps), len(steps))}"{here}><i aria-hidden="true">■</i>'
        "<span>the end</span></a>"
    )
    left = len(steps) - (beyond - first)
    note = f'<p class="note">{count(left, "step")} further away are not listed.</p>' if left else ""
    return (
        '<nav class="card list-card" aria-label="All steps"><h2>Steps</h2>'
        f'<ol class="steps">{"".join(rows)}</ol>{note}</nav>'
    )


def _proof(watched: EpisodeReplay) -> str:
    """What playing the whole episode again has shown."""
    found = watched.proof
    if found is None:
        said = f"<p>It could not be played again: {esc(cut(watched.trouble, 600))}</p>"
        kind = "bad"
    elif found.differences:
        rows = "".join(f"<li>{esc(one)}" for one in found.differences[:20])
        said = f"<p>It is not as it was recorded:</p><ul>{rows}</ul>"
        kind = "bad"
    elif found.compared:
        said = (
            f"<p>All {count(found.compared, 'page')} and every reward came back the same"
            f"{'' if found.compared == found.pages else ', of those that were recorded'}.</p>"
        )
        kind = "good"
    else:
        said = "<p>The rewards came back the same; no fingerprints of pages were kept.</p>"
        kind = ""
    return (
        f'<section class="card proof-card" aria-label="Played again"><h2>Played again</h2>'
        f'<div class="proof {kind}">{said}</div></section>'
    )


def _shown(
    episode: Episode, watched: EpisodeReplay, view: PageView, place: int, frame: str, what: str
) -> str:
    """The page itself, where it comes from, and as text."""
    steps = episode.steps
    last = place == len(steps)
    kept = (episode.last if last else steps[place].observation) is not None
    text = page_text(view)
    head = "The page at the end" if last else "The page that the agent saw"
    parts = [f"<h2>{head}</h2>{_origin(view, kept, watched)}"]
    if view.html:
        parts.append(
            f'<iframe sandbox="" src="{frame}" title="The page at {what}" tabindex="-1"></iframe>'
        )
    if text:
        is_open = "" if view.html else " open"
        parts.append(f'<details class="raw"{is_open}><summary>as text</summary>{text}</details>')
    return f'<section class="card page" aria-label="{head}">{"".join(parts)}</section>'


def _origin(view: PageView, kept: bool, watched: EpisodeReplay) -> str:
    """How this page comes to be here, and what is known of its sameness."""
    if not view.html and not view.text:
        why = watched.trouble or "the new play did not come so far."
        said = f"This page cannot be shown: its text was not kept, and {_lower(why)}"
        return f'<p class="proof bad">{esc(cut(said, 700))}</p>'
    if view.same is False:
        more = " The text is the one that was kept." if kept else ""
        said = f"Played again, this page is not the one that was recorded.{more}"
        return f'<p class="proof bad">{said}</p>'
    if kept and view.same:
        said = "Kept when it was played; played again, the same page came back."
        return f'<p class="proof good">{said}</p>'
    if kept:
        return '<p class="proof">Kept when it was played.</p>'
    if view.same:
        said = "Made by playing it again; its fingerprint is that of the page the agent saw."
        return f'<p class="proof good">{said}</p>'
    said = "Made by playing it again; no fingerprint was kept, so nothing proves it the same."
    return f'<p class="proof">{said}</p>'


def _lower(sentence: str) -> str:
    """A sentence that goes on another, unless it begins with a name."""
    return sentence[:1].lower() + sentence[1:] if sentence[1:2].islower() else sentence


def _others(held: RunEntry, neighbours: tuple[int | None, int | None]) -> str:
    before, after = neighbours
    address = f"/runs/{held.id}/episodes"
    links = [f'<a class="go" href="/runs/{held.id}#episodes">all episodes</a>']
    if before is not None:
        links.insert(0, f'<a class="go" href="{address}/{before}">‹ episode {before}</a>')
    if after is not None:
        links.append(f'<a class="go" href="{address}/{after}">episode {after} ›</a>')
    return f'<nav class="pager" aria-label="Other episodes">{"".join(links)}</nav>'

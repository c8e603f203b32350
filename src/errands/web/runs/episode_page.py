"""One episode, one step a page: what the agent saw, beside what it did and thought.

Each step has an address of its own and links to the next and the one before, so it can be walked
through with any browser, and sent to somebody. Every page says where it comes from, and whether it
is proven to be the one the agent saw; one that cannot be shown says why.

Pages are other people's, so they are shown in a frame that runs nothing and loads nothing: its
sandbox and the policy sent with it keep a page from acting; what would only try is taken out
beforehand, and so is where its links lead.
"""

from collections.abc import Sequence
from typing import Final

from selectolax.lexbor import LexborHTMLParser

from errands.markup import EMPTY, Markup, html, join
from errands.nesting import shallow
from errands.reports.formatting import count
from errands.reports.html.elements import cut
from errands.reports.html.frames import PAGE_POLICY
from errands.reports.html.messages import call_before, model_calls
from errands.reports.html.replay import PageView, end_card, instruction_of, page_text, step_card
from errands.runs.episode import Episode, Step
from errands.web.runs.document import document, title_of
from errands.web.runs.library import RunEntry
from errands.web.runs.replays import EpisodeReplay

__all__ = ["FRAME_HEADERS", "episode_page", "place_of", "still_page"]

_AROUND: Final = 60
"""Steps that are listed before and after the one that is shown."""
FRAME_HEADERS: Final = {
    "Content-Security-Policy": f"sandbox; {PAGE_POLICY}; frame-ancestors 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "X-Frame-Options": "SAMEORIGIN",
}
_REMOVED: Final = (
    *("script", "noscript", "template", "link", "base", "meta", "iframe", "frame", "frameset"),
    *("object", "embed", "applet", "audio", "video", "source", "track"),
)
_REMOVED_ATTRIBUTES: Final = frozenset(
    {"src", "srcset", "href", "xlink:href", "action", "formaction", "background", "poster", "data",
     "ping", "srcdoc", "autofocus"}
)  # fmt: skip
_INERT_STYLE: Final = (
    "<style>a,button,input,label,select,textarea,summary{pointer-events:none!important}</style>"
)


def place_of(text: str, steps: int) -> int | None:
    """The step that an address asks for: a number from 1, or `end`; None where there is none."""
    if text == "end" or (not text and not steps):
        return steps
    if not text:
        return 0
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        return None
    place = int(text) - 1
    return place if 0 <= place < steps else None


def episode_page(
    run: RunEntry,
    episode: Episode,
    replay: EpisodeReplay,
    place: int,
    neighbours: tuple[int | None, int | None],
) -> bytes:
    """The page of one step; the place after the last step is the end."""
    summary = episode.summary
    address = f"/runs/{run.id}/episodes/{summary.number}"
    steps = episode.steps
    last = place == len(steps)
    what = "the end" if last else f"step {place + 1}"
    side = html(
        '<section class="step" id="step" tabindex="-1" aria-label="The step">{}{}</section>{}{}',
        _walk(address, place, len(steps)),
        end_card(episode) if last else step_card(steps[place], place, len(steps)),
        _step_list(address, steps, place),
        _proof(replay),
    )
    body = html(
        '<div class="watching"><div class="side">{}</div>{}{}</div>{}',
        side,
        _page(episode, replay, place, f"{address}/pages/{place}", what),
        EMPTY if last else _asked(steps, place),
        _other_episodes(run, neighbours),
    )
    instruction = instruction_of(replay.pages[0])
    below = html('<p class="instruction">{}</p>', cut(instruction, 600)) if instruction else EMPTY
    return document(
        f"Episode {summary.number}, {what}",
        body,
        crumbs=[("/runs", "Runs"), (f"/runs/{run.id}", title_of(run.info))],
        below=html("{}<p>{}</p>", below, cut(summary.key, 200)),
    )


def _asked(steps: Sequence[Step], place: int) -> Markup:
    """What the model was asked for a step, where one was."""
    calls = steps[place].calls
    if not calls:
        return EMPTY
    return html(
        '<section class="card asked" aria-label="Messages"><h2>Messages to the model</h2>{}'
        "</section>",
        model_calls(calls, call_before(steps, place)),
    )


def _to(address: str, place: int, steps: int) -> str:
    return f"{address}?step={'end' if place == steps else place + 1}#step"


def _walk(address: str, place: int, steps: int) -> Markup:
    back = after = html('<span class="go off"></span>')
    if place > 0:
        to = _to(address, place - 1, steps)
        back = html('<a class="go" rel="prev" href="{}">← back</a>', to)
    if place < steps:
        to = _to(address, place + 1, steps)
        after = html('<a class="go main" rel="next" href="{}">next →</a>', to)
    return html('<nav class="walk" aria-label="Step by step">{}{}</nav>', back, after)


def _step_list(address: str, steps: Sequence[Step], place: int) -> Markup:
    first, beyond = max(0, place - _AROUND), min(len(steps), place + _AROUND)

    def item(at: int, mark: Markup, text: str) -> Markup:
        current = Markup(' aria-current="step"') if at == place else EMPTY
        to = _to(address, at, len(steps))
        return html('<li><a href="{}"{}>{}<span>{}</span></a>', to, current, mark, text)

    rows = [
        item(at, html("<i>{}</i>", at + 1), cut(steps[at].action, 90))
        for at in range(first, beyond)
    ]
    rows.append(item(len(steps), html('<i aria-hidden="true">■</i>'), "the end"))
    left = len(steps) - (beyond - first)
    note = EMPTY
    if left:
        note = html('<p class="note">{} further away are not listed.</p>', count(left, "step"))
    return html(
        '<nav class="card list-card" aria-label="All steps"><h2>Steps</h2>'
        '<ol class="steps">{}</ol>{}</nav>',
        join(rows),
        note,
    )


def _proof(replay: EpisodeReplay) -> Markup:
    """What playing the whole episode again has shown."""
    proof = replay.proof
    if proof is None:
        kind = "bad"
        result = html("<p>It could not be played again: {}</p>", cut(replay.trouble, 600))
    elif proof.differences:
        kind = "bad"
        rows = join(html("<li>{}", one) for one in proof.differences[:20])
        result = html("<p>It is not as it was recorded:</p><ul>{}</ul>", rows)
    elif proof.compared:
        kind = "good"
        result = html(
            "<p>All {} and every reward came back the same{}.</p>",
            count(proof.compared, "page"),
            "" if proof.compared == proof.pages else ", of those that were recorded",
        )
    else:
        kind = ""
        result = html("<p>The rewards came back the same; no fingerprints of pages were kept.</p>")
    return html(
        '<section class="card proof-card" aria-label="Played again"><h2>Played again</h2>'
        '<div class="proof {}">{}</div></section>',
        kind,
        result,
    )


def _page(episode: Episode, replay: EpisodeReplay, place: int, frame: str, what: str) -> Markup:
    """The page itself, where it comes from, and as text."""
    steps, view = episode.steps, replay.pages[place]
    last = place == len(steps)
    kept = (episode.last if last else steps[place].observation) is not None
    title = "The page at the end" if last else "The page that the agent saw"
    parts = [html("<h2>{}</h2>{}", title, _origin(view, kept, replay))]
    if view.html:
        parts.append(
            html(
                '<iframe sandbox="" src="{}" title="The page at {}" tabindex="-1"></iframe>',
                frame,
                what,
            )
        )
    if text := page_text(view):
        is_open = EMPTY if view.html else Markup(" open")
        parts.append(
            html('<details class="raw"{}><summary>as text</summary>{}</details>', is_open, text)
        )
    return html('<section class="card page" aria-label="{}">{}</section>', title, join(parts))


def _origin(view: PageView, kept: bool, replay: EpisodeReplay) -> Markup:
    """How this page comes to be here, and what is known of its sameness."""
    kind = ""
    if not view.html and not view.text:
        kind = " bad"
        why = _lower(replay.trouble or "the new play did not come so far.")
        text = cut(f"This page cannot be shown: its text was not kept, and {why}", 700)
    elif view.same is False:
        kind = " bad"
        more = " The text is the one that was kept." if kept else ""
        text = f"Played again, this page is not the one that was recorded.{more}"
    elif kept and view.same:
        kind = " good"
        text = "Kept when it was played; played again, the same page came back."
    elif kept:
        text = "Kept when it was played."
    elif view.same:
        kind = " good"
        text = "Made by playing it again; its fingerprint is that of the page the agent saw."
    else:
        text = "Made by playing it again; no fingerprint was kept, so nothing proves it the same."
    return html('<p class="proof{}">{}</p>', kind, text)


def _lower(sentence: str) -> str:
    """A sentence that continues another, unless it begins with a name."""
    return sentence[:1].lower() + sentence[1:] if sentence[1:2].islower() else sentence


def _other_episodes(run: RunEntry, neighbours: tuple[int | None, int | None]) -> Markup:
    before, after = neighbours
    address = f"/runs/{run.id}"
    links = [html('<a class="go" href="{}#episodes">all episodes</a>', address)]
    if before is not None:
        links.insert(
            0, html('<a class="go" href="{0}/episodes/{1}">‹ episode {1}</a>', address, before)
        )
    if after is not None:
        links.append(
            html('<a class="go" href="{0}/episodes/{1}">episode {1} ›</a>', address, after)
        )
    return html('<nav class="pager" aria-label="Other episodes">{}</nav>', join(links))


def still_page(page: str) -> bytes:
    """The page without what acts."""
    clean = page.encode("utf-8", "replace").decode()
    tree = LexborHTMLParser(shallow(clean))
    for node in tree.css(",".join(_REMOVED)):
        node.decompose()
    for node in tree.css("*"):
        for name, value in list(node.attributes.items()):
            low = name.lower()
            drawn = low == "src" and (value or "").lstrip().lower().startswith("data:image/")
            if low.startswith("on") or (low in _REMOVED_ATTRIBUTES and not drawn):
                del node.attrs[name]
    body = tree.html or ""
    return f'<!DOCTYPE html><meta charset="utf-8">{_INERT_STYLE}{body}'.encode("utf-8", "replace")

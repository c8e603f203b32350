"""What the admin sees of written instructions: figures, settings, queues, lists."""

from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import urlencode

from errands.crowd.instructions.assignments import STATUSES, WriterAccount, WritingAssignment
from errands.crowd.instructions.collection import WritingSettings
from errands.crowd.instructions.human_file import WritingSummary
from errands.crowd.instructions.writing_lists import Writer, WritingAssignmentPage
from errands.reports.html.markup import badge, cut, esc, table
from errands.web.crowd.document import field
from errands.web.crowd.instructions.writing_pages import product_view, status_badge
from errands.web.crowd.site import dollars

__all__ = ["DESK", "FILE", "one_body", "overview_body"]

DESK: Final = "/office/instructions"
FILE: Final = f"{DESK}/items_human_ins.json"
_STANDINGS: Final = {
    "trial": ("doing trials", ""),
    "waiting": ("waits for you", "part"),
    "granted": ("qualified", "won"),
    "refused": ("not qualified", "failed"),
}


def overview_body(
    check: str,
    found: WritingSummary,
    settings: WritingSettings,
    queue: Sequence[WritingAssignment],
    people: Sequence[Writer],
    page: WritingAssignmentPage,
    request: Mapping[str, str],
) -> str:
    """The whole desk; `asked` are the filters of the list."""
    names = {writer.person: writer.name for writer in people}
    return (
        f"{_figures(found)}{_queue(check, queue, names)}{_accounts(check, people)}"
        f"{_list(page, names, request)}{_settings(check, settings)}"
    )


def one_body(check: str, writing: WritingAssignment, name: str) -> str:
    """One writing with everything that is known of it."""
    return f'<section>{_card(check, writing, name)}<p><a href="{DESK}">All</a></p></section>'


def _figures(found: WritingSummary) -> str:
    counts = found.statuses
    rows = [
        ["accepted", str(counts.get("accepted", 0))],
        ["waiting for review", str(counts.get("submitted", 0))],
        ["refused", str(counts.get("refused", 0))],
        ["in somebody's hands", str(counts.get("taken", 0))],
        ["given back", str(counts.get("given_back", 0))],
        ["handed in as trials", str(found.trials)],
        ["products with an instruction", str(found.products)],
        ["writers of them", str(found.writers)],
        ["pay for accepted ones", dollars(found.pay)],
    ]
    return (
        '<section><h2>So far</h2><div class="figures">'
        f"{table(['instructions', 'number'], rows)}</div>"
        f'<div class="deeds"><a class="btn primary" href="{FILE}">Download the accepted ones</a>'
        '</div><p class="note">The file is what <code>errands catalog build --human</code>'
        " reads.</p></section>"
    )


def _queue(check: str, queue: Sequence[WritingAssignment], names: Mapping[int, str]) -> str:
    cards = "".join(_card(check, one, names.get(one.person, "")) for one in queue)
    said = cards or '<p class="note">Nothing waits.</p>'
    return f'<section id="review"><h2>To review</h2>{said}</section>'


def _card(check: str, writing: WritingAssignment, name: str) -> str:
    seen = writing.shown
    used = ", ".join(_marked(one, one in writing.attributes) for one in seen.attributes)
    options = "; ".join(
        f"{esc(option)}: {_marked(writing.options[option], True)}"
        if option in writing.options
        else f"{esc(option)}: -"
        for option in seen.options
    )
    comment = f"<p><b>Comment:</b> {esc(writing.comment)}</p>" if writing.comment else ""
    note = f"<p><b>Your remark:</b> {esc(writing.note)}</p>" if writing.note else ""
    trial = badge("trial", "insider") if writing.is_trial else ""
    text = esc(writing.instruction) or "<i>nothing yet</i>"
    return (
        f'<article class="card review"><p>{status_badge(writing.status)} {trial} {esc(name)},'
        f" {dollars(writing.pay)}</p>{product_view(seen)}"
        f'<p class="wrote">{text}</p><p><b>Attributes:</b> {used}</p>'
        f"<p><b>Options:</b> {options or 'none'}</p>{comment}{note}{_verdict(check, writing)}"
        "</article>"
    )


def _marked(text: str, is_used: bool) -> str:
    return f"<mark>{esc(text)}</mark>" if is_used else esc(text)


def _verdict(check: str, writing: WritingAssignment) -> str:
    if writing.status in ("taken", "given_back"):
        return ""
    note = f"note-{writing.id}"
    return (
        f'<form method="post" action="{DESK}/{writing.id}/review">'
        f'<input type="hidden" name="check" value="{check}">'
        f'<p class="field"><label for="{note}">Remark, which the writer sees</label>'
        f'<input type="text" id="{note}" name="note" value="{esc(writing.note)}"></p>'
        '<div class="deeds"><button class="btn primary" name="verdict" value="accepted"'
        ' type="submit">Accept</button><button class="btn bad" name="verdict" value="refused"'
        ' type="submit">Refuse</button></div></form>'
    )


def _accounts(check: str, people: Sequence[Writer]) -> str:
    rows = [
        [
            esc(one.name),
            badge(*_STANDINGS[one.account.standing]),
            _trials(one.account),
            f"{one.account.accepted} accepted, {one.account.refused} refused",
            dollars(one.account.earned),
            _decision(check, one),
        ]
        for one in people
    ]
    head = ["writer", "standing", "trials", "instructions", "earned", "decision"]
    said = table(head, rows) if rows else '<p class="note">Nobody has begun.</p>'
    return f'<section id="people" class="texts"><h2>Writers</h2>{said}</section>'


def _trials(account: WriterAccount) -> str:
    return (
        f"{account.trials_handed_in} of {account.trials_wanted} handed in,"
        f" {account.trials_reviewed} reviewed, {account.trials_accepted} accepted"
    )


def _decision(check: str, writer: Writer) -> str:
    account, note = writer.account, f"decision-{writer.person}"
    grant = refuse = ""
    if account.standing != "granted" and account.may_be_granted:
        # All were good: that is what the button in colour suggests.
        kind = "primary" if account.trials_accepted >= account.trials_wanted else ""
        grant = (
            f'<button class="btn {kind}" name="status" value="granted" type="submit">Qualify'
            "</button>"
        )
    if account.standing != "refused":
        refuse = (
            '<button class="btn bad" name="status" value="refused" type="submit">Refuse</button>'
        )
    return (
        f'<form class="decision" method="post" action="{DESK}/people/{writer.person}">'
        f'<input type="hidden" name="check" value="{check}">'
        f'<label for="{note}">Remark</label>'
        f'<input type="text" id="{note}" name="note" value="{esc(account.note)}">'
        f"{grant}{refuse}</form>"
    )


def _list(page: WritingAssignmentPage, names: Mapping[int, str], request: Mapping[str, str]) -> str:
    rows = [
        [
            f'<a href="{DESK}/{one.id}">{one.id}</a>',
            esc(names.get(one.person, "")),
            status_badge(one.status),
            esc(cut(one.instruction, 160)) or "-",
            esc(cut(one.shown.title, 80)),
            dollars(one.pay),
        ]
        for one in page.writings
    ]
    head = ["number", "writer", "status", "instruction", "product", "pay"]
    found = f"{page.total:,} found, page {page.page:,} of {page.pages:,}"
    said = table(head, rows, found) if rows else '<p class="note">Nothing was found.</p>'
    return (
        f'<section id="all" class="texts"><h2>All</h2>{_filter(names, request)}{said}'
        f'<div class="deeds">{_turn(page, request, -1, "Newer")}{_turn(page, request, 1, "Older")}'
        "</div></section>"
    )


def _filter(names: Mapping[int, str], request: Mapping[str, str]) -> str:
    workers = [(str(person), name) for person, name in names.items()]
    statuses = [(status, status.replace("_", " ")) for status in STATUSES]
    return (
        f'<form class="sieve" method="get" action="{DESK}#all">'
        f"{_select('Writer', 'worker', workers, request)}"
        f"{_select('Status', 'status', statuses, request)}"
        '<button class="btn" type="submit">Show</button></form>'
    )


def _select(
    label: str, name: str, choices: Sequence[tuple[str, str]], request: Mapping[str, str]
) -> str:
    options = "".join(
        f'<option value="{esc(value)}"{" selected" if request.get(name) == value else ""}>'
        f"{esc(text)}</option>"
        for value, text in (("", "all"), *choices)
    )
    return (
        f'<p class="field"><label for="{name}">{label}</label>'
        f'<select id="{name}" name="{name}">{options}</select></p>'
    )


def _turn(page: WritingAssignmentPage, request: Mapping[str, str], by: int, label: str) -> str:
    if not 1 <= page.page + by <= page.pages:
        return ""
    held = {name: value for name, value in request.items() if value and name != "page"}
    query = urlencode({**held, "page": page.page + by})
    return f'<a class="btn" href="{DESK}?{esc(query)}#all">{label}</a>'


def _settings(check: str, settings: WritingSettings) -> str:
    checked = " checked" if settings.review else ""
    return (
        f'<section id="settings"><h2>Settings</h2><form class="card" method="post"'
        f' action="{DESK}/settings"><input type="hidden" name="check" value="{check}">'
        + field(
            "Pay for an instruction, in dollars",
            "pay",
            f"{settings.pay:g}",
            type="number",
            hint="What has been handed in keeps its pay.",
            required=True,
            more=' min="0" max="1000" step="any"',
        )
        + field(
            "Instructions for each product",
            "wanted",
            str(settings.wanted),
            type="number",
            required=True,
            more=' min="1" max="1000"',
        )
        + field(
            "Trial examples",
            "trials",
            str(settings.trials),
            type="number",
            hint="2 to 5, before somebody is qualified.",
            required=True,
            more=' min="2" max="5"',
        )
        + field(
            "Seed of the draw of products",
            "seed",
            str(settings.seed),
            type="number",
            required=True,
            more=' min="0"',
        )
        + f'<label class="tick"><input type="checkbox" name="review" value="1"{checked}> Review'
        " what qualified people write, too</label>"
        '<div class="deeds"><button class="btn" type="submit">Set</button></div></form></section>'
    )

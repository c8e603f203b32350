"""The frame of every page of crowd work (head, navigation, policy), and the elements of its forms.

Nothing is loaded from elsewhere; no script or style stands in a page itself.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from starlette.responses import Response

from errands.crowd.accounts.accounts import Person
from errands.markup import EMPTY, Markup, html, join
from errands.web.core.assets import Assets
from errands.web.core.http_errors import HttpError

__all__ = [
    "ASSETS",
    "HEADERS",
    "Link",
    "actions",
    "button",
    "callout",
    "checkbox",
    "document",
    "dollars",
    "error_page",
    "field",
    "form",
    "html_response",
    "link_button",
    "paragraph",
    "section",
    "select",
    "staff_links",
    "submit",
    "text_area",
    "worker_links",
]

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' https: data:;"
        " frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cache-Control": "no-store",
}
Link = tuple[str, str]
"""Where a link leads, and what it says."""

_TITLES: Final = {
    "not_found": "Page not found",
    "forbidden": "Not allowed",
    "forged": "Form expired",
    "logged_out": "Logged out",
    "too_large": "Too large",
    "unavailable": "Unavailable at the moment",
    "internal": "Internal error",
}


ASSETS: Final = Assets("office", __file__, files="crowd")


def document(
    title: str,
    body: Markup,
    *,
    ways: Sequence[Link] = (),
    here: str = "",
    below: Markup = EMPTY,
    wide: bool = False,
) -> bytes:
    """A whole page. `ways` are the navigation, `here` is the one that is open; `below` is shown
    under the title."""
    links = join(
        html('<a href="{}"{}>{}</a>', address, _current(address == here), name)
        for address, name in ways
    )
    navigation = html(
        '<nav class="jump" aria-label="Site"><div class="inner">{}</div></nav>', links
    )
    return html(
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<title>{title} - Errands</title>\n<link rel="icon" href="data:,">\n'
        "{assets}</head>\n"
        '<body class="crowd{wide}">\n'
        '<a class="skip" href="#main">Skip to the content</a>\n'
        '<header class="top"><div class="inner"><p class="brand">Errands</p>'
        "<h1>{title}</h1>{below}</div></header>\n{navigation}\n"
        '<main id="main" tabindex="-1">{body}</main>\n</body>\n</html>\n',
        title=title,
        assets=ASSETS.tags,
        wide=" wide" if wide else "",
        below=below,
        navigation=navigation if ways else EMPTY,
        body=body,
    ).encode("utf-8", "replace")


def html_response(content: bytes, status: int = 200) -> Response:
    """A page of crowd work, with its policy."""
    return Response(content, status, HEADERS, media_type="text/html")


def _current(is_open: bool) -> Markup:
    return html(' aria-current="page"') if is_open else EMPTY


def staff_links(person: Person) -> list[Link]:
    """The navigation of somebody who is logged in."""
    ways = [("/office", "Overview"), ("/office/projects", "Projects")]
    if person.role == "admin":
        ways += [
            ("/office/instructions", "Instructions"),
            ("/office/demonstrations", "Demonstrations"),
            ("/office/people", "Accounts"),
        ]
    return ways


def worker_links(token: str) -> list[Link]:
    """The navigation of a worker."""
    return [(f"/work/{token}", "Your work")]


def field(
    label: str,
    name: str,
    value: str = "",
    *,
    id: str = "",
    type: str = "text",
    hint: str = "",
    required: bool = False,
    more: Markup = EMPTY,
) -> Markup:
    """A labelled field of a form; `more` are further attributes."""
    id = id or name
    return html(
        '<p class="field"><label for="{id}">{label}</label>{hint}'
        '<input id="{id}" name="{name}" type="{type}" value="{value}"{described}{required}{more}>'
        "</p>",
        id=id,
        label=label,
        hint=_hint(id, hint),
        name=name,
        type=type,
        value=value,
        described=_described(id, hint),
        required=html(" required") if required else EMPTY,
        more=more,
    )


def text_area(
    label: str,
    name: str,
    value: str = "",
    *,
    id: str = "",
    hint: str = "",
    required: bool = False,
    more: Markup = EMPTY,
) -> Markup:
    """A labelled field of several lines."""
    id = id or name
    # The first line end of a text area belongs to the markup, not to the text.
    return html(
        '<p class="field"><label for="{id}">{label}</label>{hint}'
        '<textarea id="{id}" name="{name}"{described}{required}{more}>\n{value}</textarea></p>',
        id=id,
        label=label,
        hint=_hint(id, hint),
        name=name,
        described=_described(id, hint),
        required=html(" required") if required else EMPTY,
        more=more,
        value=value,
    )


def select(
    label: str,
    name: str,
    options: Iterable[Link],
    chosen: str = "",
    *,
    id: str = "",
    hint: str = "",
) -> Markup:
    """A labelled choice; each option is a value and what it says."""
    id = id or name
    return html(
        '<p class="field"><label for="{id}">{label}</label>{hint}'
        '<select id="{id}" name="{name}"{described}>{options}</select></p>',
        id=id,
        label=label,
        hint=_hint(id, hint),
        name=name,
        described=_described(id, hint),
        options=join(
            html(
                '<option value="{}"{}>{}</option>',
                value,
                html(" selected") if value == chosen else EMPTY,
                text,
            )
            for value, text in options
        ),
    )


def checkbox(label: str, name: str, is_checked: bool = False) -> Markup:
    """A box to tick, which sends 1."""
    return html(
        '<p class="field"><label class="tick"><input type="checkbox" name="{}" value="1"{}> {}'
        "</label></p>",
        name,
        html(" checked") if is_checked else EMPTY,
        label,
    )


def submit(label: str, kind: str = "", *, name: str = "", value: str = "") -> Markup:
    """The button that sends its form, with a value of its own where it has a name."""
    sent = html(' name="{}" value="{}"', name, value) if name else EMPTY
    return html('<button class="btn {}"{} type="submit">{}</button>', kind, sent, label)


def form(
    address: str,
    *pieces: Markup,
    check: str = "",
    fields: Sequence[Link] = (),
    kind: str = "card",
    multipart: bool = False,
) -> Markup:
    """A form that is posted; `fields` are hidden ones."""
    return html(
        '<form class="{}" method="post" action="{}"{}>{}{}</form>',
        kind,
        address,
        html(' enctype="multipart/form-data"') if multipart else EMPTY,
        join(
            html('<input type="hidden" name="{}" value="{}">', name, value)
            for name, value in (*([("check", check)] if check else []), *fields)
        ),
        join(pieces),
    )


def button(
    label: str, address: str, check: str = "", *, kind: str = "", fields: Sequence[Link] = ()
) -> Markup:
    """A form that is one button; `fields` are hidden ones."""
    return form(address, submit(label, kind), check=check, fields=fields, kind="one")


def link_button(label: str, address: str, kind: str = "") -> Markup:
    """A link that looks like a button."""
    return html('<a class="btn {}" href="{}">{}</a>', kind, address, label)


def actions(*pieces: Markup) -> Markup:
    """Buttons beside each other."""
    return html('<div class="actions">{}</div>', join(pieces))


def section(*pieces: Markup, title: str = "", kind: str = "", id: str = "") -> Markup:
    """A part of a page, with a heading."""
    return html(
        "<section{}{}>{}{}</section>",
        html(' id="{}"', id) if id else EMPTY,
        html(' class="{}"', kind) if kind else EMPTY,
        html("<h2>{}</h2>", title) if title else EMPTY,
        join(pieces),
    )


def paragraph(text: str, kind: str = "") -> Markup:
    return html('<p class="{}">{}</p>', kind, text) if kind else html("<p>{}</p>", text)


def callout(text: str, kind: str = "", *, role: str = "") -> Markup:
    """A message that stands out; `role` is `status` or `alert`, for those who hear the page."""
    said = html(' role="{}"', role) if role else EMPTY
    return html('<div class="callout {}"{}>{}</div>', kind, said, paragraph(text))


def dollars(amount: float) -> str:
    """An amount of money.

    >>> dollars(1234.5)
    '$1,234.50'
    """
    return f"${amount:,.2f}"


def error_page(refusal: HttpError, ways: Sequence[Link] = ()) -> bytes:
    """What cannot be done, and why; `ways` lead on."""
    title = _TITLES.get(refusal.code, "That did not work")
    return document(title, section(callout(refusal.message, "bad")), ways=ways)


def _hint(id: str, hint: str) -> Markup:
    return html('<small id="{}-hint">{}</small>', id, hint) if hint else EMPTY


def _described(id: str, hint: str) -> Markup:
    return html(' aria-describedby="{}-hint"', id) if hint else EMPTY

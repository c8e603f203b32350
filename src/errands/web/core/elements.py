"""Elements of pages: forms and their fields, buttons, sections, messages.

ui.field("Pay, in dollars", "pay", "0.5", type="number", min=0, step="any")
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from errands.markup import EMPTY, Markup, html, join

__all__ = [
    "Link",
    "actions",
    "attributes",
    "button",
    "callout",
    "checkbox",
    "choices",
    "dollars",
    "field",
    "form",
    "fragment",
    "link_button",
    "moment",
    "number",
    "paragraph",
    "section",
    "select",
    "submit",
    "text_area",
    "tick",
]

Link = tuple[str, str]
"""Where a link leads, and what it says."""
Attribute = str | float | bool | None


def attributes(**values: Attribute) -> Markup:
    """Attributes of an element; those that are None or False are left out.

    >>> print(attributes(name="pay", aria_label="Pay", required=True, value=None))
     name="pay" aria-label="Pay" required
    """
    return join(
        html(" {}", name.replace("_", "-"))
        if value is True
        else html(' {}="{}"', name.rstrip("_").replace("_", "-"), value)
        for name, value in values.items()
        if value is not None and value is not False
    )


def field(
    label: str,
    name: str,
    value: str | None = "",
    *,
    id: str = "",
    type: str = "text",
    hint: str = "",
    required: bool = False,
    **more: Attribute,
) -> Markup:
    """A labelled field of a form; `more` are further attributes."""
    id = id or name
    own = attributes(id=id, name=name, type=type, value=value, **_described(id, hint))
    more = {"required": required, **more}
    return _labelled(id, label, hint, html("<input{}{}>", own, attributes(**more)))


def number(
    label: str,
    name: str,
    value: float,
    *,
    id: str = "",
    hint: str = "",
    required: bool = True,
    min: int = 0,
    max: int | None = None,
) -> Markup:
    """A labelled field for a number, which is a whole one where its value is."""
    is_whole = isinstance(value, int)
    return field(
        *(label, name, str(value) if is_whole else f"{value:g}"),
        id=id,
        type="number",
        hint=hint,
        required=required,
        min=min,
        max=max,
        step=None if is_whole else "any",
    )


def text_area(
    label: str,
    name: str,
    value: str = "",
    *,
    id: str = "",
    hint: str = "",
    required: bool = False,
    **more: Attribute,
) -> Markup:
    """A labelled field of several lines."""
    id = id or name
    own = attributes(id=id, name=name, **_described(id, hint), required=required, **more)
    # The first line end of a text area belongs to the markup, not to the text.
    return _labelled(id, label, hint, html("<textarea{}>\n{}</textarea>", own, value))


def select(
    label: str, name: str, options: Iterable[Link], chosen: str = "", *, hint: str = ""
) -> Markup:
    """A labelled choice; each option is a value and what it says."""
    own = attributes(id=name, name=name, **_described(name, hint))
    return _labelled(
        name, label, hint, html("<select{}>{}</select>", own, choices(options, chosen))
    )


def choices(options: Iterable[Link], chosen: str) -> Markup:
    """The options of a `select`: values, and what they say."""
    return join(
        html("<option{}>{}</option>", attributes(value=value, selected=value == chosen), text)
        for value, text in options
    )


def _labelled(id: str, label: str, hint: str, control: Markup) -> Markup:
    return html(
        '<p class="field"><label for="{}">{}</label>{}{}</p>',
        id,
        label,
        html('<small id="{}-hint">{}</small>', id, hint) if hint else EMPTY,
        control,
    )


def _described(id: str, hint: str) -> dict[str, Attribute]:
    return {"aria_describedby": f"{id}-hint" if hint else None}


def tick(
    name: str,
    value: object,
    text: str,
    is_checked: bool,
    *,
    type: str = "checkbox",
    required: bool = False,
) -> Markup:
    """A box (or a `radio` button) to tick, and what it says."""
    own = attributes(type=type, name=name, value=str(value), required=required, checked=is_checked)
    return html('<label class="tick"><input{}> {}</label>', own, text)


def checkbox(label: str, name: str, is_checked: bool = False) -> Markup:
    """A field that is one box to tick, which sends 1."""
    return html('<p class="field">{}</p>', tick(name, 1, label, is_checked))


def submit(label: str, kind: str = "", *, name: str = "", value: str = "") -> Markup:
    """The button that sends its form, with a value of its own where it has a name."""
    sent = attributes(name=name, value=value) if name else EMPTY
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


def fragment(*pieces: Markup) -> Markup:
    """Pieces one after the other."""
    return join(pieces)


def section(*pieces: Markup, title: str = "", kind: str = "", id: str = "") -> Markup:
    """A part of a page, with a heading."""
    return html(
        "<section{}>{}{}</section>",
        attributes(id=id or None, class_=kind or None),
        html("<h2>{}</h2>", title) if title else EMPTY,
        join(pieces),
    )


def paragraph(text: str, kind: str = "") -> Markup:
    return html("<p{}>{}</p>", attributes(class_=kind or None), text)


def callout(message: str, kind: str = "", *, role: str = "") -> Markup:
    """A message that stands out; `role` is `status` or `alert`, for those who hear the page."""
    content = message if isinstance(message, Markup) else paragraph(message)
    return html('<div class="callout {}"{}>{}</div>', kind, attributes(role=role or None), content)


def moment(at: float, *, left: bool = False) -> Markup:
    """A time, which scripts show in the reader's own; `left`: with what is left until then.

    >>> print(moment(0.0))
    <time datetime="1970-01-01T00:00:00Z" data-local>1 Jan 1970, 00:00 UTC</time>
    """
    then = datetime.fromtimestamp(at, UTC)
    return html(
        '<time datetime="{}" data-local{}>{} {} UTC</time>',
        f"{then:%Y-%m-%dT%H:%M:%SZ}",
        html(" data-left") if left else EMPTY,
        then.day,
        f"{then:%b %Y, %H:%M}",
    )


def dollars(amount: float) -> str:
    """An amount of money.

    >>> dollars(1234.5)
    '$1,234.50'
    """
    return f"${amount:,.2f}"

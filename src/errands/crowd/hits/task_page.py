"""The page that a worker meets in a task's frame: the template filled in, inside a form of ours.

The rules are those of `errands.turk.tasks.template` (values go in raw, one form around all), but
for what really sends the answers: the form's address, and a button where the template has none. A
template that brings Mechanical Turk's own form keeps it, with our address in it.
"""

import html
import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import quote

from errands.browser.libraries import library, without_integrity
from errands.markup import Markup
from errands.turk.tasks.instances import plain_newlines
from errands.turk.tasks.markup import effective_type, start_tags
from errands.turk.tasks.template import has_submit, substitute

__all__ = [
    "ALLOW_EMPTY",
    "EXTERNAL_SCRIPT",
    "LIBRARIES",
    "NO_ANSWERS",
    "answers_of",
    "field_kinds",
    "has_own_form",
    "is_blank",
    "task_page",
]

ALLOW_EMPTY: Final = "errandsAllowEmpty"
"""The field by which a worker says that nothing is to be sent."""
NO_ANSWERS: Final = frozenset(
    {"assignmentId", "csrfmiddlewaretoken", "hitId", "turkSubmitTo", "workerId", ALLOW_EMPTY}
)
"""Fields that tell who, where and how, not what was answered."""
LIBRARIES: Final = "/frame/files/web/"
"""Below it, well-known libraries by their own addresses."""
EXTERNAL_SCRIPT: Final = re.compile(
    r"https?://s3\.amazonaws\.com/mturk-public/externalHIT(?:_v\d+)?\.js"
)
"""Mechanical Turk's own script for pages from elsewhere."""
_BUTTONS: Final = frozenset({"submit", "button", "reset", "image", "file"})
_ALWAYS: Final = frozenset({"hidden", "range", "color"})
"""Fields that have a value though nobody has touched them."""
_escape: Final = Markup.escape
_EXTERNAL: Final = "externalsubmit"
_ADDRESS: Final = re.compile(
    r"""(\b(?:src|href)\s*=\s*)(?:(["'])\s*((?:https?:)?//[^"'<>\s]{1,2000})\s*\2"""
    r"""|((?:https?:)?//[^\s"'<>]{1,2000}))""",
    re.IGNORECASE,
)
_FORM: Final = re.compile(r"""<form(?=[\s/>])((?:[^>"']|"[^"]*+"|'[^']*+')*+)(>?)""", re.IGNORECASE)
_ID: Final = re.compile(r"""\sid\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>"']+))""", re.IGNORECASE)
_FORM_ID: Final = "mturk_form"
_SHADOW: Final = re.compile("(?<=w)root(?=mode)", re.IGNORECASE)
"""In the word by which markup makes a tree that no script can look into (`shadowrootmode`)."""


def task_page(
    template: str,
    inputs: Mapping[str, str],
    *,
    action: str,
    assignment: str,
    is_preview: bool,
    guard: str = "",
) -> str:
    """The page of one instance. `action` is where its form goes, `assignment` its key there;
    `guard` is a script that runs before all others."""
    filled = substitute(template.strip(), inputs.items())
    hidden = ""
    if not _has_assignment_field(template):
        hidden = f'<input type="hidden" name="assignmentId" value="{_escape(assignment)}">\n'
    form_id = _FORM_ID
    if has_own_form(template):
        filled, form_id = _own_form(filled, action, hidden)
        before = after = ""
    else:
        before = (
            f'<form name="{_FORM_ID}" method="post" id="{_FORM_ID}" action="{_escape(action)}">\n'
            f"{hidden}"
        )
        after = "</form>\n"
    # Bound by its name: the end of a form in the template is the end of ours, too.
    button = "" if has_submit(template) else _button(form_id, is_preview)
    head = (
        "<!DOCTYPE html>\n<html>\n<head>\n<title>Task</title>\n"
        '<meta http-equiv="Content-Type" content="text/html; charset=UTF-8">\n'
        f"{f'<script>{guard}</script>' if guard else ''}"
    )
    page = f"</head>\n<body>\n{before}{filled}\n{button}{after}</body>\n</html>\n"
    page = _ADDRESS.sub(_nearer, without_integrity(page))
    # Last, so that nothing that was taken out has left the word behind.
    return head + _SHADOW.sub(lambda match: f"-{match[0]}", page)


def has_own_form(template: str) -> bool:
    """Whether a template brings a form for Mechanical Turk's `externalSubmit`."""
    return any(
        _EXTERNAL in attributes.get("action", "").lower()
        for _, attributes in start_tags(template, only=("form",))
    )


def answers_of(fields: Iterable[tuple[str, str]]) -> dict[str, str]:
    """What a form says, by names; several values of one name are joined by `|`.

    >>> answers_of([("colour", "red"), ("colour", "blue"), ("assignmentId", "x")])
    {'colour': 'red|blue'}
    """
    answers: dict[str, str] = {}
    for name, value in fields:
        if name and name not in NO_ANSWERS:
            text = plain_newlines(value)
            answers[name] = f"{answers[name]}|{text}" if name in answers else text
    return answers


def field_kinds(template: str) -> dict[str, str]:
    """The fields of a template in document order, with their types."""
    kinds: dict[str, str] = {}
    for tag, attributes in start_tags(template, only=("input", "select", "textarea")):
        name = attributes.get("name", "")
        kind = effective_type(tag, attributes)
        if name and name not in NO_ANSWERS and "${" not in name and kind not in _BUTTONS:
            kinds.setdefault(name, kind)
    return kinds


def is_blank(template: str, answers: Mapping[str, str]) -> bool:
    """Whether nothing was filled in. What fields hold by themselves is no answer, unless the
    template has no others.

    >>> is_blank('<input name="a"><input type="hidden" name="b">', {"a": " ", "b": "by a script"})
    True
    """
    kinds = field_kinds(template)
    untouched = {name for name, kind in kinds.items() if kind in _ALWAYS}
    if len(untouched) == len(kinds):
        untouched = set()
    return not any(text.strip() for name, text in answers.items() if name not in untouched)


def _has_assignment_field(template: str) -> bool:
    return any(
        attributes.get("name") == "assignmentId"
        for _, attributes in start_tags(template, only=("input",))
    )


def _own_form(page: str, action: str, hidden: str) -> tuple[str, str]:
    """The page with our address in its forms, and the name of the first of them."""
    named = ""

    def ours(match: re.Match[str]) -> str:
        nonlocal named
        rest = match[1]
        if not match[2] or _EXTERNAL not in rest.lower():
            return match[0]
        named_id = _ID.search(rest)
        id = next((text for text in named_id.groups() if text), "") if named_id else ""
        named = named or html.unescape(id) or _FORM_ID
        own = "" if id else f' id="{_FORM_ID}"'
        # Of two attributes of a name, browsers take the first.
        return f'<form method="post" action="{_escape(action)}" target="_self"{own}{rest}>{hidden}'

    return _FORM.sub(ours, page), named or _FORM_ID


def _button(form: str, is_preview: bool) -> str:
    label = "Accept the task before you submit" if is_preview else "Submit"
    off = " disabled" if is_preview else ""
    return (
        '<p class="text-center" data-errands-submit><input type="submit" id="submitButton"'
        f' class="btn btn-primary" form="{_escape(form)}" value="{label}"{off}></p>\n'
    )


def _nearer(match: re.Match[str]) -> str:
    """An address of a well-known library, as ours; any other as it is."""
    before, mark, quoted, bare = match.groups()
    address = html.unescape(quoted or bare)
    if address.startswith("//"):
        address = f"https:{address}"
    if library(address) is None and EXTERNAL_SCRIPT.fullmatch(address) is None:
        return match[0]
    path = address.partition("://")[2].partition("?")[0].partition("#")[0]
    return f"{before}{mark or chr(34)}{LIBRARIES}{quote(path, safe='/@.-_~')}{mark or chr(34)}"

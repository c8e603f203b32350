"""What a page without scripts sends when it is submitted, without a browser.

With scripts, handlers might write fields first: such pages are left to the browser.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from errands.nesting import shallow
from errands.turk.dom.forms import Control, Forms
from errands.turk.pages.field import EXCLUDED, UNSENT, SubmittedField

__all__ = ["SCRIPT_TYPES", "has_scripts", "is_scripted", "submitted_fields"]

SCRIPT_TYPES: Final = frozenset(
    {"", "module", "text/javascript", "application/javascript", "application/x-javascript",
     "text/ecmascript", "application/ecmascript", "application/x-ecmascript", "text/jscript",
     "text/livescript", "text/x-ecmascript", "text/x-javascript",
     *(f"text/javascript1.{minor}" for minor in range(6))}
)  # fmt: skip
"""Types of `script` that browsers run; any other is data."""


def is_scripted(tree: LexborHTMLParser) -> bool:
    """Whether a page has anything to run: a script, or an attribute with one."""
    for node in tree.css("*"):
        attributes = node.attributes
        if node.tag == "script":
            kind = (attributes.get("type") or "").strip().lower()
            if kind in SCRIPT_TYPES and (node.text().strip() or attributes.get("src")):
                return True
        # Text that broke out of an attribute leaves words such as `once`, with no value.
        elif any(name.startswith("on") and value for name, value in attributes.items()):
            return True
    return False


@lru_cache(maxsize=512)
def has_scripts(template: str) -> bool:
    """Whether a template has anything to run."""
    return is_scripted(LexborHTMLParser(shallow(template)))


def submitted_fields(
    tree: LexborHTMLParser, forms: Forms, names: Sequence[str] | None
) -> list[SubmittedField]:
    """What the page's first form sends of these names (None: of all), in document order."""
    form = tree.css_first("form")
    if form is None:
        return []
    fields: list[SubmittedField] = []
    for name in forms.names:
        if name in EXCLUDED or (names is not None and name not in names):
            continue
        controls = [each for each in forms.controls(name) if _is_part(each, form, forms)]
        if controls:
            values = tuple(value for control in controls for value in _values(control))
            fields.append(SubmittedField(name, controls[0].kind, values))
    return fields


def _is_part(control: Control, form: LexborNode, forms: Forms) -> bool:
    return (
        control.is_field
        and control.kind not in UNSENT
        and forms.owner(control) == form.mem_id
        and not forms.disabled(control)
    )


def _values(control: Control) -> Iterator[str]:
    if control.kind in ("radio", "checkbox"):
        if control.checked:
            yield control.value
    elif control.kind == "select":
        yield from (each.value for each in control.options if each.selected and not each.disabled)
    else:
        yield control.value

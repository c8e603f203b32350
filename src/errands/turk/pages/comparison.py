"""Two drivers, one page: what differs between them.

`PagePair` is what the proofs behind `errands turk verify` are made of, and `compare` is one use of
it: the same page, the same actions, and every difference an agent or a scorer could see. After
every action fields, their types, options, values and visibility and the page's visible text are
compared; when it is asked for, the order of fields, too, and the markup, whole (`html`) and around
fields (`relevant`).
"""

import re
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final, Protocol, Self, runtime_checkable

import msgspec
from selectolax.lexbor import LexborHTMLParser

from errands.turk.actions.action import Action
from errands.turk.pages.driver import Driver, OpenPage, try_action
from errands.turk.pages.field import Field

__all__ = [
    "Difference", "PagePair", "PageState", "canonical_html", "compare", "shown_classes",
    "shown_style",
]  # fmt: skip

Seen = str | bool | tuple[str, ...] | None
_EXCERPTS: Final = 6
"""Fields whose excerpts are compared at a close look."""
_SHOWN: Final = frozenset("display visibility opacity float white-space".split())
_LOOKS = re.compile(r' (?:style|class)="[^"]*"')


class Difference(msgspec.Struct, frozen=True):
    """One thing that two drivers do not agree on."""

    when: str
    """`load`, or the call after which it was seen."""
    field: str | None
    """The field's name; None where it is of the whole page, or an action's outcome."""
    what: str
    """`presence`, `type`, `visible`, `options`, `values`, `attributes`, `order`, `text`, `html`,
    `relevant` or `refused`."""
    first: Seen
    second: Seen

    def __str__(self) -> str:
        subject = self.what if self.field is None else f"{self.what} of {self.field!r}"
        return f"{self.when}: {subject}: {self.first!r} against {self.second!r}"


class PageState(msgspec.Struct, frozen=True):
    """What a page shows and holds now."""

    fields: tuple[Field, ...]
    values: dict[str, tuple[str, ...]]
    attributes: dict[str, tuple[str, ...]]
    """Values as the markup alone tells them."""
    text: str


@runtime_checkable
class _TellsAll(Protocol):
    """A page that tells its whole state in one answer."""

    def state(self, names: Sequence[str] | None) -> PageState: ...


@runtime_checkable
class _HasClock(Protocol):
    """A page for which time can be made to pass."""

    def pass_time(self, seconds: float) -> bool: ...


def _state(page: OpenPage, names: Sequence[str] | None) -> PageState:
    if isinstance(page, _TellsAll):
        return page.state(names)
    fields = tuple(page.fields(names))
    own = [field.name for field in fields]
    live, markup = page.values_of(own), page.values_of(own, attributes=True)
    return PageState(
        fields,
        {name: tuple(values) for name, values in live.items()},
        {name: tuple(values) for name, values in markup.items()},
        page.text(),
    )


class PagePair:
    """The same page opened by two drivers, acted upon in step."""

    def __init__(
        self,
        first: Driver,
        second: Driver,
        html: str,
        names: Sequence[str] | None = None,
        *,
        files: Path | None = None,
        ordered: Collection[str] = (),
    ) -> None:
        """`ordered` are fields that both must list in the same order, as far as displayed."""
        self._names = names
        self._ordered = ordered
        self.first = first.open(html, files=files)
        try:
            self.second = second.open(html, files=files)
        except BaseException:
            self.first.close()
            raise
        self.differences: list[Difference] = []
        """All that was seen so far."""
        self.actions: list[Action] = []
        self.look("load")

    def look(self, when: str) -> list[Difference]:
        """What differs now."""
        ours = _state(self.first, self._names)
        self.state = _state(self.second, self._names)
        """What the second driver sees."""
        return self._note(_field_differences(when, ours, self.state, self._ordered))

    def act(self, action: Action) -> bool:
        """Do the same under both; whether the second did it."""
        when = _call(action)
        self.actions.append(action)
        refused = not try_action(self.first, action), not try_action(self.second, action)
        if refused[0] != refused[1]:
            self._note([Difference(when, None, "refused", *refused)])
        self.look(when)
        return not refused[1]

    def pass_time(self, seconds: float) -> None:
        """The last thing before a page is left: what its timers do in this time is done."""
        for page in (self.first, self.second):
            if isinstance(page, _HasClock):
                page.pass_time(seconds)

    def look_closely(self, when: str, names: Sequence[str] = ()) -> list[Difference]:
        """What differs in the markup, and in the lines around some fields."""
        ours, theirs = (canonical_html(page.html()) for page in (self.first, self.second))
        differences = [] if ours == theirs else [_text_difference(when, "html", ours, theirs)]
        both = [
            name for name in names if all(page.fields([name]) for page in (self.first, self.second))
        ]
        for name in both[:_EXCERPTS]:
            one, two = (_LOOKS.sub("", page.html(name)) for page in (self.first, self.second))
            if one != two:
                differences.append(_text_difference(when, "relevant", one, two, name))
        return self._note(differences)

    def _note(self, differences: list[Difference]) -> list[Difference]:
        self.differences += differences
        return differences

    def close(self) -> None:
        self.first.close()
        self.second.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def compare(
    first: Driver,
    second: Driver,
    html: str,
    names: Sequence[str] | None = None,
    actions: Iterable[Action] = (),
    *,
    files: Path | None = None,
    settle: float = 0.5,
) -> list[Difference]:
    """What differs between two drivers on a page at load and after each of the actions.

    `names` are the fields to look at (None: every named control). Fields are compared as sets:
    their order is a matter of layout. An action that both refuse, in whatever words, is no
    difference. Pages may fold parts away in their own time, so after the last action they are
    looked at once more when so many seconds have passed, their markup included.
    """
    with closing(PagePair(first, second, html, names, files=files)) as pair:
        for action in actions:
            pair.act(action)
        if not pair.differences:
            if pair.actions and settle:
                time.sleep(settle)
                pair.look("settled")
            pair.look_closely("settled" if pair.actions else "load")
        return pair.differences


def canonical_html(html: str) -> str:
    """A page's markup in one spelling, without what scripts write into it about looks alone.

    These are sizes, places and colours in style attributes, which take a browser to lay the page
    out, and the class by which Bootstrap marks the control that has the focus. What a style says
    about being shown stays. What is for browsers without scripts nobody sees.
    """
    tree = LexborHTMLParser(html)
    for node in tree.css("noscript"):
        node.inner_html = ""
    for node in tree.css("[class]"):
        node.attrs["class"] = shown_classes(node.attributes.get("class") or "")
    for node in tree.css("[style]"):
        kept = shown_style(node.attributes.get("style") or "")
        if kept:
            node.attrs["style"] = kept
        else:
            del node.attrs["style"]
    return tree.html or ""


def shown_classes(classes: str) -> str:
    """The classes of an element, in a fixed order, but for that of the focus."""
    return " ".join(sorted({each for each in classes.split() if each != "focus"}))


def shown_style(style: str) -> str:
    """What a style attribute says about being shown, in a fixed order."""
    parts = (part.partition(":") for part in style.split(";"))
    kept = {
        name.strip().lower(): " ".join(value.lower().split())
        for name, _, value in parts
        if name.strip().lower() in _SHOWN
    }
    return "; ".join(f"{name}: {value}" for name, value in sorted(kept.items()))


def _call(action: Action) -> str:
    arguments = ", ".join(repr(value) for value in action.arguments.values())
    return f"{action.name}({arguments})"


def _field_differences(
    when: str, ours: PageState, theirs: PageState, ordered: Collection[str]
) -> list[Difference]:
    differences: list[Difference] = []
    first = {field.name: field for field in ours.fields}
    second = {field.name: field for field in theirs.fields}
    for name in dict.fromkeys([*first, *second]):
        mine, its = first.get(name), second.get(name)
        if mine is None or its is None:
            differences.append(
                Difference(when, name, "presence", mine is not None, its is not None)
            )
            continue
        pairs: list[tuple[str, Seen, Seen]] = [
            (what, getattr(mine, what), getattr(its, what))
            for what in ("type", "visible", "options")
        ]
        pairs.append(("values", ours.values[name], theirs.values[name]))
        pairs.append(("attributes", ours.attributes[name], theirs.attributes[name]))
        differences += [Difference(when, name, what, a, b) for what, a, b in pairs if a != b]
    one, two = (
        tuple(field.name for field in state.fields if field.visible and field.name in ordered)
        for state in (ours, theirs)
    )
    if one != two and not differences:
        at = next(n for n, pair in enumerate(zip(one, two, strict=True)) if pair[0] != pair[1])
        differences.append(Difference(when, None, "order", one[at : at + 3], two[at : at + 3]))
    if ours.text != theirs.text:
        differences.append(_text_difference(when, "text", ours.text, theirs.text))
    return differences


def _text_difference(
    when: str, what: str, first: str, second: str, field: str | None = None
) -> Difference:
    """Only the first line that differs is told."""
    lines, others = (re.split(r"\n|(?<=>)", text) for text in (first, second))
    size = min(len(lines), len(others))
    at = next((n for n in range(size) if lines[n] != others[n]), size)
    one, two = ("".join(each[at : at + 1]).strip()[:160] for each in (lines, others))
    return Difference(when, field, what, one, two)

"""From a template and an instance to the page that an agent meets, byte for byte as the original.

Values go into the template raw, column by column; what comes out is wrapped in the one form that
the original's server put around it. Its upload also read every file in the wrong encoding, so
that all pages of the published runs show `Ã©` for `é`: `mojibake=True` does that again.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from errands.turk.tasks.markup import start_tags
from errands.turk.tasks.task import Instance, Task

__all__ = ["TOKEN", "has_submit", "page_html", "substitute"]

TOKEN: Final = "CSRF"
"""Stands where the original's server put its anti-forgery token, another one on every load."""

_HEAD: Final = f"""\
<!DOCTYPE html>
<html>
  <head>
    <title>Task</title>
    <meta http-equiv="Content-Type" content="text/html; charset=UTF-8"/>
    {""}
  </head>
  <body>
    <form name="mturk_form" method="post" id="mturk_form" target="_parent"
          action="#">

      <input type="hidden" name="csrfmiddlewaretoken" value="{TOKEN}">
      """

_SUBMIT: Final = """\
      <p class="text-center">
        <input type="submit" id="submitButton" class="btn btn-primary" disabled
               value="You must ACCEPT the Task before you can submit the results." />
      </p>
"""

_ACCEPTED: Final = """\
      <p class="text-center">
        <input type="submit" id="submitButton" class="btn btn-primary" value="Submit" />
      </p>
"""

_PLACEHOLDER = re.compile(r"\$\{([^${}]*)\}")

_GAP: Final = "      \n"

_FOOT: Final = """\
    </form>
  </body>
</html>
"""


def page_html(
    task: Task, instance: Instance, *, mojibake: bool = False, accepted: bool = False
) -> str:
    """The page of one instance: the template filled in, inside the server's form.

    A button to submit is added where the template has none: a disabled one, as the published runs
    have it, unless the task is `accepted`. With `mojibake`, every character beyond ASCII is served
    as the two to four that its UTF-8 bytes are in Latin-1.
    """
    template = task.template
    values: Iterable[tuple[str, str]] = instance.inputs.items()
    if mojibake:
        template = _garble(template)
        values = ((_garble(name), _garble(value)) for name, value in values)
    button = "" if has_submit(task.template) else (_ACCEPTED if accepted else _SUBMIT) + _GAP
    return f"{_HEAD}{substitute(_stripped(template), values)}\n\n{_GAP}{button}{_FOOT}"


def substitute(template: str, values: Iterable[tuple[str, str]]) -> str:
    """Replace `${name}` by its value, name after name, wherever it stands.

    Nothing is escaped. A value that holds the placeholder of a later name is itself filled in.
    """
    pairs = list(values)
    cut = _pieces(template, tuple([name for name, _ in pairs]))
    if cut is not None and not any("${" in value or value[-1:] == "$" for _, value in pairs):
        pieces, places = cut
        filled = list(pieces)
        filled[1::2] = [pairs[place][1] for place in places]
        return "".join(filled)
    for name, value in pairs:
        template = template.replace(f"${{{name}}}", value)
    return template


@lru_cache(maxsize=4)
def _stripped(template: str) -> str:
    """One object for each template, so that looking up its pieces need not hash it again."""
    return template.strip()


@lru_cache(maxsize=4)
def _pieces(template: str, names: tuple[str, ...]) -> tuple[list[str], list[int]] | None:
    """The template cut at its placeholders, and for each the place of its name; None: not to cut.

    Filling a cut template is the same as replacing name after name as long as no placeholder can
    come about on the way. All begin with `${`: so it must be in no piece and no value, and
    nothing may end in its `$`.
    """
    place_of = {name: place for place, name in enumerate(names)}
    if len(place_of) < len(names) or any(mark in name for name in names for mark in "${}"):
        return None
    pieces = _PLACEHOLDER.split(template)
    if any("${" in piece or piece[-1:] == "$" for piece in pieces[0::2]):
        return None
    if not place_of.keys() >= set(pieces[1::2]):
        return None
    return pieces, [place_of[name] for name in pieces[1::2]]


@lru_cache(maxsize=256)
def has_submit(template: str) -> bool:
    """Whether a template brings an `<input type=submit>` of its own.

    Found out once for all of TurkingBench: it takes as long as all else that opens a page.
    """
    return any(
        tag == "input" and attributes.get("type") == "submit"
        for tag, attributes in start_tags(template, raw=("script", "style"), only=("input",))
    )


def _garble(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "surrogatepass").decode("latin-1")

"""The few lines of HTML around a field: the `relevant` observation."""

import re
from typing import Final

__all__ = ["AFTER", "BEFORE", "MARK", "excerpt"]

MARK: Final = "errands-here"
"""Attribute that the field's element carries in the HTML given to `excerpt`, with no value."""
BEFORE: Final = 5
AFTER: Final = 9
_ATTRIBUTE = re.compile(rf'\s{MARK}(?:="")?')


def excerpt(html: str, *, end_tag: str | None = None) -> str:
    """Five lines before the marked element's and nine after, where a line ends at every `>`.

    The element is found by its mark, so that the window is always on target (the original's was
    for one field in three). With `end_tag`, everything up to that tag counts as the field's own
    lines: the options of a drop-down are never cut.
    """
    match = _ATTRIBUTE.search(html)
    if match is None:
        return ""
    start = match.start()
    end = start
    if end_tag is not None:
        close = html.find(end_tag, start)
        end = max(start, close - len(match[0]) + len(end_tag) - 1) if close >= 0 else start
    html = html[:start] + html[match.end() :]
    lines: list[str] = []
    first = last = 0
    position = 0
    for piece in re.findall(r"[^>]*>|[^>]+\Z", html):
        line = " ".join(piece.split())
        if position <= start < position + len(piece):
            first = last = len(lines)
        if position <= end < position + len(piece):
            last = max(first, len(lines))
        position += len(piece)
        if line:
            lines.append(line)
    return "\n".join(lines[max(0, first - BEFORE) : last + AFTER + 1])

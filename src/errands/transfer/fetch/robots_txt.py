"""robots.txt after RFC 9309: groups, the longest rule that fits, `*` and `$`; and `Crawl-delay`."""

import re
import string
from typing import Final
from urllib.parse import quote, urlsplit

import msgspec

__all__ = ["RobotsTxt", "read_robots"]

_LONGEST: Final = 512_000
_ENCODED: Final = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED: Final = frozenset(string.ascii_letters + string.digits + "-._~")


class _Group(msgspec.Struct):
    """Rules for the robots that it names."""

    names: list[str]
    rules: list[tuple[bool, str]] = []
    """Whether it allows, and the pattern."""
    delay: float = 0.0
    is_open: bool = True
    """No rule was read yet: further names belong to it."""


class RobotsTxt(msgspec.Struct, frozen=True):
    """What one robot may open."""

    rules: tuple[tuple[bool, str], ...] = ()
    delay: float = 0.0

    def allows(self, url: str) -> bool:
        """The longest pattern that fits decides; allowing wins between two of one length."""
        parts = urlsplit(url)
        path = _spelt((parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
        if path == "/robots.txt":
            return True
        fitting = [(len(rule), allows) for allows, rule in self.rules if _fits(rule, path)]
        return max(fitting)[1] if fitting else True


def read_robots(text: str, name: str) -> RobotsTxt:
    """What a robots.txt says to the robot of this name: its own groups, or else those of `*`."""
    groups: list[_Group] = []
    for line in text[:_LONGEST].splitlines():
        key, colon, value = line.partition("#")[0].partition(":")
        key, value = key.strip().lower(), value.strip()
        if not colon:
            continue
        if key == "user-agent":
            if not groups or not groups[-1].is_open:
                groups.append(_Group([]))
            groups[-1].names.append(value.partition("/")[0].strip().lower())
        elif groups and key in ("allow", "disallow"):
            groups[-1].is_open = False
            if value:
                groups[-1].rules.append((key == "allow", _spelt(value)))
        elif groups and key == "crawl-delay":
            groups[-1].is_open = False
            if re.fullmatch(r"\d{1,9}(\.\d{0,9})?", value):
                groups[-1].delay = max(groups[-1].delay, float(value))
    for wanted in (name.lower(), "*"):
        if own := [group for group in groups if wanted in group.names]:
            rules = tuple(rule for group in own for rule in group.rules)
            return RobotsTxt(rules, max(group.delay for group in own))
    return RobotsTxt()


def _fits(rule: str, path: str) -> bool:
    """Whether a pattern fits, piece by piece: never slower than the path is long."""
    to_the_end = rule.endswith("$")
    first, *others = rule.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    at = len(first)
    if not others:
        return not to_the_end or at == len(path)
    last = others.pop() if to_the_end else ""
    for piece in others:
        found = path.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return len(path) - len(last) >= at and path.endswith(last)


def _spelt(path: str) -> str:
    """A path or pattern as it is compared: nothing encoded that need not be."""

    def decoded(found: re.Match[str]) -> str:
        letter = chr(int(found[1], 16))
        return letter if letter in _UNRESERVED else found[0].upper()

    return _ENCODED.sub(decoded, quote(path, safe=string.punctuation, errors="replace"))

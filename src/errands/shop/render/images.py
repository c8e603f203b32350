"""Pictures of generated products, drawn when they are asked for.

A reference such as `picture:shoe/1f6f8b/7` holds everything: what is drawn, in which colour, and
in which setting. Nothing is stored. What is not such a reference gives a neutral placeholder.
"""

import re
import tomllib
from functools import cache
from importlib.resources import files
from urllib.parse import quote

__all__ = ["kinds", "picture", "picture_source"]

_REFERENCE = re.compile(r"picture:([a-z]{1,20})/([0-9a-f]{6})/([0-9]{1,6})", re.ASCII)
_INK = re.compile(r'(fill|stroke)="([mdlkw])"')
_SETTINGS = ("f3efe7", "eaf0f3", "f1ecf3", "edf2ea", "f5eeea", "eef0f0")

_PLACEHOLDER = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 300" role="img">'
    "<title>No picture</title>"
    '<rect width="300" height="300" fill="#eef0f0"/>'
    '<path fill="none" stroke="#b4bbc0" stroke-width="10" stroke-linejoin="round" '
    'd="M70 90h160v120H70zM74 200l46-50 34 32 26-24 46 44"/>'
    '<circle cx="186" cy="124" r="14" fill="#b4bbc0"/></svg>'
)


def picture(reference: str) -> str:
    """The SVG for a picture reference; never raises, and quotes nothing of the reference.

    >>> picture("picture:shoe/1f6f8b/7").startswith("<svg")
    True
    """
    match = _REFERENCE.fullmatch(reference)
    drawing = _silhouettes().get(match[1]) if match else None
    if match is None or drawing is None:
        return _PLACEHOLDER
    color, variant = match[2], int(match[3])
    inks = {
        "m": color,
        "d": _blend(color, "000000", 24),
        "l": _blend(color, "ffffff", 38),
        "k": _blend(color, "1b1d22", 72),
        "w": _blend(color, "fdfcf9", 84),
    }
    setting = _SETTINGS[variant % len(_SETTINGS)]
    if _distance(setting, color) < 60:
        setting = _blend(setting, "5f6d7a", 34)
    drawn = _INK.sub(lambda ink: f'{ink[1]}="#{inks[ink[2]]}"', drawing)
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 300" role="img">'
        f"<title>{match[1]}</title>"
        f'<rect width="300" height="300" fill="#{setting}"/>'
        f"{_scene(variant, setting)}"
        f'<g transform="{_pose(variant)}">'
        f"{drawn}</g></svg>"
    )


def picture_source(reference: str) -> str:
    """An image source for a page without a server: our references become `data:` addresses."""
    if not reference.startswith("picture:"):
        return reference
    return f"data:image/svg+xml,{quote(picture(reference))}"


def kinds() -> tuple[str, ...]:
    """Everything that can be drawn."""
    return tuple(_silhouettes())


@cache
def _silhouettes() -> dict[str, str]:
    source = files("errands.shop.synthetic").joinpath("wordbank", "silhouettes.toml")
    return tomllib.loads(source.read_text(encoding="utf-8"))


def _scene(variant: int, setting: str) -> str:
    """What lies behind and under the product."""
    soft, shadow = _blend(setting, "ffffff", 55), _blend(setting, "000000", 10)
    ground = f'<ellipse cx="150" cy="262" rx="108" ry="12" fill="#{shadow}"/>'
    backs = (
        f'<circle cx="150" cy="142" r="128" fill="#{soft}"/>',
        f'<path d="M0 206h300v94H0z" fill="#{soft}"/>',
        f'<path d="M40 300V150a110 110 0 0 1 220 0v150z" fill="#{soft}"/>',
        "",
    )
    return backs[variant // 6 % len(backs)] + ground


def _pose(variant: int) -> str:
    """A size and perhaps a mirror image."""
    size = (84, 88, 80, 91)[variant // 3 % 4]
    mirror = "-" if variant % 5 == 2 else ""
    return f"translate(150 152) scale({mirror}.{size} .{size}) translate(-150 -150)"


def _channels(color: str) -> tuple[int, int, int]:
    return int(color[:2], 16), int(color[2:4], 16), int(color[4:], 16)


def _blend(color: str, other: str, percent: int) -> str:
    """A colour with this much of another one in it."""
    return "".join(
        f"{(one * (100 - percent) + two * percent) // 100:02x}"
        for one, two in zip(_channels(color), _channels(other), strict=True)
    )


def _distance(color: str, other: str) -> int:
    pairs = zip(_channels(color), _channels(other), strict=True)
    return sum(abs(one - two) for one, two in pairs)

"""Files of the website: the style sheet, its icons, the script, drawn pictures of products.

The shop's documents carry their style sheet and its drawings inside, so that one file is enough.
A site hands them out once, under names that change when they do, and can forbid everything that
is written inside a page.
"""

import hashlib
import re
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import unquote

from errands.shop.render.html import style_sheet
from errands.shop.render.images import kinds, picture
from errands.web.core.places import site_sheet

__all__ = ["AssetFile", "SiteAssets", "picture_file", "picture_path", "site_assets"]

_DRAWING: Final = re.compile(r'url\("data:image/svg\+xml,([^"]*)"\)')
_REFERENCE: Final = re.compile(r"picture:([a-z]{1,20}/[0-9a-f]{6}/[0-9]{1,6})", re.ASCII)
_PATH: Final = re.compile(r"/pictures/(([a-z]{1,20})/[0-9a-f]{6}/[0-9]{1,6})\.svg", re.ASCII)
_SVG: Final = "image/svg+xml"

_ICON: Final = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 28 28" fill="none" stroke="#12343b"'
    ' stroke-width="2" stroke-linejoin="round" stroke-linecap="round">'
    '<rect width="28" height="28" rx="8" fill="#f2a33a" stroke="none"/>'
    '<path d="M8 11h12l1 10H7z"/><path d="M11 13V9.5a3 3 0 0 1 6 0V13"/></svg>'
)


class AssetFile(NamedTuple):
    """Something that never changes under its address."""

    media_type: str
    body: bytes


class SiteAssets(NamedTuple):
    """Addresses, and what is there."""

    sheet: str
    icon: str
    script: str
    files: dict[str, AssetFile]


@cache
def site_assets() -> SiteAssets:
    """The style sheet and all that it shows, and the script, as files."""
    files: dict[str, AssetFile] = {}

    def add(text: str, ending: str, media_type: str) -> str:
        body = text.encode()
        path = f"/style/{hashlib.sha256(body).hexdigest()[:16]}.{ending}"
        files[path] = AssetFile(media_type, body)
        return path

    def as_file(drawing: re.Match[str]) -> str:
        return f'url("{add(unquote(drawing[1]), "svg", _SVG)}")'

    own = Path(__file__).with_name("site.css").read_text(encoding="utf-8")
    sheets = "\n".join((style_sheet(), site_sheet(), own))
    sheet = add(_DRAWING.sub(as_file, sheets), "css", "text/css; charset=utf-8")
    script = Path(__file__).with_name("shop.js").read_text(encoding="utf-8")
    icon = add(_ICON, "svg", _SVG)
    return SiteAssets(sheet, icon, add(script, "js", "text/javascript; charset=utf-8"), files)


def picture_path(reference: str) -> str:
    """Where a browser finds the picture that a product refers to.

    >>> picture_path("picture:shoe/1f6f8b/7"), picture_path("https://example.org/shoe.jpg")
    ('/pictures/shoe/1f6f8b/7.svg', 'https://example.org/shoe.jpg')
    """
    ours = _REFERENCE.fullmatch(reference)
    return f"/pictures/{ours[1]}.svg" if ours else reference


@lru_cache(4096)
def picture_file(path: str) -> AssetFile | None:
    """The picture at a path; None where there is none."""
    match = _PATH.fullmatch(path)
    if match is None or match[2] not in kinds():
        return None
    return AssetFile(_SVG, picture(f"picture:{match[1]}").encode())

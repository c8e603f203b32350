"""Well-known script and style libraries, so that pages work without a network.

Most task pages load jQuery, Bootstrap and the like from content delivery networks. The extra
`browser` installs packages that carry the same libraries as plain files; a request for one is
answered with the nearest version installed. `library` only looks at the address, so it says
the same everywhere:

    library("https://code.jquery.com/jquery-3.2.1.slim.min.js")
    # Served(name="jquery", version="3.7.1", kind="text/javascript", path=.../jquery.slim.min.js)
"""

import re
from collections.abc import Callable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

__all__ = ["LIBRARIES", "Library", "Served", "installed", "library", "without_integrity"]

SCRIPT: Final = "text/javascript; charset=utf-8"
STYLE: Final = "text/css; charset=utf-8"
Folder = Callable[[str], Path | None]
"""Says where a distribution's files are; None where it is not installed."""


class Served(msgspec.Struct, frozen=True):
    """What a library's address is answered with; without a `path`, with nothing (200, empty)."""

    name: str
    version: str
    kind: str
    path: Path | None = None


class Library(msgspec.Struct, frozen=True):
    """One version of a library, as a package carries it."""

    name: str
    version: tuple[int, ...]
    distribution: str
    folder: str
    script: str = ""
    style: str = ""
    slim: str = ""


_SPHINX: Final = "sphinx_bootstrap_theme/bootstrap/static"
LIBRARIES: Final = (
    Library("jquery", (3, 7, 1), "XStatic-jQuery", "xstatic/pkg/jquery/data",
             "jquery.min.js", slim="jquery.slim.min.js"),
    Library("jquery", (1, 12, 4), "sphinx-bootstrap-theme", f"{_SPHINX}/js",
             "jquery-1.12.4.min.js"),
    Library("jquery-ui", (1, 13, 0), "XStatic-jquery-ui", "xstatic/pkg/jquery_ui/data",
             "jquery-ui.min.js", "themes/base/jquery-ui.min.css"),
    # The bundle has Popper inside, which no package carries by itself.
    Library("bootstrap", (4, 5, 3), "XStatic-Bootstrap", "xstatic/pkg/bootstrap/data",
             "js/bootstrap.bundle.min.js", "css/bootstrap.min.css"),
    Library("bootstrap", (3, 4, 1), "sphinx-bootstrap-theme", f"{_SPHINX}/bootstrap-3.4.1",
             "js/bootstrap.min.js", "css/bootstrap.min.css"),
    Library("bootstrap", (2, 3, 2), "sphinx-bootstrap-theme", f"{_SPHINX}/bootstrap-2.3.2",
             "js/bootstrap.min.js", "css/bootstrap.min.css"),
    Library("font-awesome", (4, 7, 0), "XStatic-Font-Awesome", "xstatic/pkg/font_awesome/data",
             style="css/font-awesome.min.css"),
    Library("lodash", (4, 16, 4), "XStatic-lodash", "xstatic/pkg/lodash/data", "lodash.min.js"),
    Library("d3", (3, 5, 17), "XStatic-D3", "xstatic/pkg/d3/data", "d3.js"),
    Library("datatables", (1, 10, 15), "XStatic-DataTables", "xstatic/pkg/datatables/data",
             "js/jquery.dataTables.min.js", "css/jquery.dataTables.min.css"),
)  # fmt: skip

_NETWORKS: Final = frozenset(
    """ajax.aspnetcdn.com ajax.googleapis.com assets.crowd.aws cdn.datatables.net
    cdn.jsdelivr.net cdn.rawgit.com cdnjs.cloudflare.com code.jquery.com d3js.org
    fonts.googleapis.com infra.clarin.eu kit.fontawesome.com maxcdn.bootstrapcdn.com
    netdna.bootstrapcdn.com stackpath.bootstrapcdn.com unpkg.com use.fontawesome.com""".split()
)
"""Hosts whose addresses are looked at; and the public folder of Mechanical Turk."""
_TURK: Final = re.compile(r"^/mturk-public/bs(\d)(\d)/(?:css|js)/bootstrap")

# What a file's name says: a pattern, and the library it stands for. The first that fits counts.
_NAMES: Final = (
    (re.compile(r"(?:^|/)jquery[-.]ui[^/]*\.(?:js|css)$"), "jquery-ui"),
    (re.compile(r"(?:^|/)jquery\.datatables[^/]*\.(?:js|css)$"), "datatables"),
    (re.compile(r"(?:^|/)jquery(?:-[\d.]+)?(?:\.slim)?(?:\.min)?\.js$"), "jquery"),
    (re.compile(r"(?:^|/)bootstrap(?:\.bundle)?(?:-responsive)?(?:\.min)?\.(?:js|css)$"),
     "bootstrap"),
    (re.compile(r"(?:^|/)popper(?:\.min)?\.js$"), "popper"),
    (re.compile(r"(?:^|/)(?:font-?awesome|all|fontawesome-all)(?:\.min)?\.css$"), "font-awesome"),
    (re.compile(r"(?:^|/)(?:lodash|underscore)[-.\w]*\.js$"), "lodash"),
    (re.compile(r"(?:^|/)d3(?:\.v\d+)?(?:\.min)?\.js$"), "d3"),
)  # fmt: skip
_NOTHING: Final = {
    "assets.crowd.aws": ("crowd-html-elements", SCRIPT),
    "fonts.googleapis.com": ("fonts", STYLE),
    "kit.fontawesome.com": ("font-awesome", SCRIPT),
}
"""Hosts all of whose files are left empty."""
_VERSION: Final = re.compile(r"(?:^|[/@v.-])(\d{1,400}(?:\.\d{1,400})*)(?=[/.]|$)")


def library(url: str, *, folder: Folder | None = None) -> Served | None:
    """What a well-known library's address is answered with; None for any other address.

    `folder` says where a distribution's files are (default: as installed here).
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    host, path = (parts.hostname or "").lower(), parts.path.lower()
    if parts.scheme not in ("http", "https") or not host:
        return None
    turk = _TURK.match(path) if host == "s3.amazonaws.com" else None
    if host not in _NETWORKS and turk is None:
        return None
    if host in _NOTHING:
        name, kind = _NOTHING[host]
        return Served(name, "", kind)
    name = next((name for pattern, name in _NAMES if pattern.search(path)), "")
    kind = STYLE if path.endswith(".css") else SCRIPT
    if name == "popper":
        return Served(name, "", kind)
    version = (int(turk[1]), int(turk[2])) if turk else _version(path)
    return _nearest(name, version, kind, "slim" in path, folder or installed)


def _version(path: str) -> tuple[int, ...]:
    """The version an address asks for: its longest one; none is the newest."""
    versions = [tuple(map(int, each.split("."))) for each in _VERSION.findall(path)]
    return max(versions, key=len, default=())


def _nearest(
    name: str, version: tuple[int, ...], kind: str, slim: bool, folder: Folder
) -> Served | None:
    """The version of the same major number, or else the next lower, or else the lowest."""
    # The newest of each library comes first.
    having = [
        (each, place)
        for each in LIBRARIES
        if each.name == name and (each.script if kind == SCRIPT else each.style)
        if (place := folder(each.distribution)) is not None
    ]
    if not having:
        return None
    major = version[0] if version else having[0][0].version[0]
    chosen, place = next((pair for pair in having if pair[0].version[0] <= major), having[-1])
    file = (slim and chosen.slim) or (chosen.script if kind == SCRIPT else chosen.style)
    return Served(name, ".".join(map(str, chosen.version)), kind, place / chosen.folder / file)


@cache
def installed(distribution: str) -> Path | None:
    """Where an installed distribution's files are; None where it is not installed."""
    try:
        return Path(str(metadata.distribution(distribution).locate_file("")))
    except metadata.PackageNotFoundError:
        return None


_LOADS: Final = re.compile(r"<(?:script|link)\b", re.I)
_INTEGRITY: Final = re.compile(r"\sintegrity\s*=\s*", re.I)
_VALUE: Final = re.compile(r""""[^"]*"|'[^']*'|[^\s>]+""")


def without_integrity(html: str) -> str:
    """A page that takes the nearest version of a library: checksums name the exact one."""
    kept: list[str] = []
    done = at = 0
    while tag := _LOADS.search(html, at):
        at = html.find(">", tag.end())
        at = len(html) if at < 0 else at
        name = _INTEGRITY.search(html, tag.end(), at)
        if name and (value := _VALUE.match(html, name.end())):
            kept.append(html[done : name.start()])
            done = at = value.end()
    return "".join([*kept, html[done:]])

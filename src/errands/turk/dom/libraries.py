"""What well-known style libraries hide, show and put on lines of their own.

Pages link Bootstrap and the like from networks that nobody reaches. The browser gets the packages
of the extra `libraries`; without a browser their effect on what a page shows is enough, and it is
kept here, in `library_styles`, condensed from those packages, so that it needs none of them:

    python -m errands.turk.dom.libraries     # condense them anew, where they are installed
"""

from functools import cache
from importlib import resources
from pathlib import Path
from urllib.parse import urlsplit

from errands.browser.libraries import LIBRARIES, installed, library
from errands.turk.dom.css import Declaration, StyleSheet, parse_sheet

__all__ = ["condensed", "condensed_libraries", "library_style"]


def library_style(url: str) -> str | None:
    """The condensed style sheet that an address stands for; None for an unknown one."""
    address = f"https:{url}" if url.startswith("//") else url
    # The version is chosen as if all were installed, so that it is the same everywhere.
    served = library(address, folder=lambda distribution: Path())
    if served is None or not urlsplit(address).path.lower().endswith(".css"):
        return None
    return _shipped(f"{served.name}-{served.version}.css")


@cache
def _shipped(name: str) -> str | None:
    file = resources.files("errands.turk.dom") / "library_styles" / name
    return file.read_text("utf-8") if file.is_file() else None


def condensed_libraries() -> dict[str, str]:
    """File name to condensed style sheet, of every library that is installed here."""
    sheets = {}
    for each in LIBRARIES:
        folder = installed(each.distribution)
        if each.style and folder is not None:
            text = (folder / each.folder / each.style).read_text("utf-8")
            version = ".".join(map(str, each.version))
            sheets[f"{each.name}-{version}.css"] = condensed(parse_sheet(text))
    return sheets


def condensed(sheet: StyleSheet) -> str:
    """The rules of a sheet that can change what is shown, one a line."""
    lines = []
    for rule in sheet.rules:
        if any(map(_matters, rule.declarations)):
            body = ";".join(map(_written, rule.declarations))
            lines.append(f"{rule.source}{{{body}}}\n")
    return "".join(lines)


def _matters(declaration: Declaration) -> bool:
    name, value, _ = declaration
    if isinstance(value, float):
        return value <= 0 or name == "opacity"
    if name == "position":
        return value in ("absolute", "fixed")
    return value != "other" and name not in ("padding", "border")


def _written(declaration: Declaration) -> str:
    name, value, important = declaration
    if value == "other":
        text = "1px solid" if name == "border" else "1px" if name == "padding" else "auto"
    elif isinstance(value, float):
        text = f"{value:g}" if name == "opacity" or value == 0 else f"{value:g}px"
    else:
        text = value
    return f"{name}:{text}{'!important' if important else ''}"


if __name__ == "__main__":
    target = Path(__file__).parent / "library_styles"
    for name, text in condensed_libraries().items():
        (target / name).write_text(text, "utf-8")
        print(name, len(text))

"""Well-known libraries: which address is answered with what."""

import re
from pathlib import Path

import pytest

from errands.browser.libraries import library

SHARED = Path(__file__).resolve().parents[3] / "shared"


@pytest.mark.parametrize(
    ("url", "name", "version", "file"),
    [
        ("https://code.jquery.com/jquery-3.2.1.slim.min.js", "jquery", "3.7.1",
         "jquery.slim.min.js"),
        ("https://ajax.googleapis.com/ajax/libs/jquery/3.3.1/jquery.min.js", "jquery", "3.7.1",
         "jquery.min.js"),
        ("http://ajax.googleapis.com/ajax/libs/jquery/1.4/jquery.min.js", "jquery", "1.12.4",
         "jquery-1.12.4.min.js"),
        ("https://code.jquery.com/jquery-2.2.4.min.js", "jquery", "1.12.4", "jquery-1.12.4.min.js"),
        ("https://code.jquery.com/jquery.js", "jquery", "3.7.1", "jquery.min.js"),
        ("https://code.jquery.com/ui/1.11.4/jquery-ui.js", "jquery-ui", "1.13.0",
         "jquery-ui.min.js"),
        ("https://code.jquery.com/ui/1.11.4/themes/ui-lightness/jquery-ui.css", "jquery-ui",
         "1.13.0", "jquery-ui.min.css"),
        ("https://maxcdn.bootstrapcdn.com/bootstrap/4.0.0/css/bootstrap.min.css", "bootstrap",
         "4.5.3", "bootstrap.min.css"),
        ("https://stackpath.bootstrapcdn.com/bootstrap/4.1.2/js/bootstrap.min.js", "bootstrap",
         "4.5.3", "bootstrap.bundle.min.js"),
        ("https://cdn.jsdelivr.net/npm/bootstrap@5.3.0/dist/css/bootstrap.min.css", "bootstrap",
         "4.5.3", "bootstrap.min.css"),
        ("https://maxcdn.bootstrapcdn.com/bootstrap/3.0.3/js/bootstrap.min.js", "bootstrap",
         "3.4.1", "bootstrap.min.js"),
        ("https://s3.amazonaws.com/mturk-public/bs30/css/bootstrap.min.css", "bootstrap", "3.4.1",
         "bootstrap.min.css"),
        ("//netdna.bootstrapcdn.com/bootstrap/2.3.2/css/bootstrap.min.css", "", "", ""),
        ("http://netdna.bootstrapcdn.com/bootstrap/2.3.2/css/bootstrap.min.css", "bootstrap",
         "2.3.2", "bootstrap.min.css"),
        ("https://maxcdn.bootstrapcdn.com/font-awesome/4.7.0/css/font-awesome.min.css",
         "font-awesome", "4.7.0", "font-awesome.min.css"),
        ("https://cdnjs.cloudflare.com/ajax/libs/underscore.js/1.8.3/underscore-min.js", "lodash",
         "4.16.4", "lodash.min.js"),
        ("https://d3js.org/d3.v3.min.js", "d3", "3.5.17", "d3.js"),
        ("https://cdn.datatables.net/1.10.16/css/jquery.dataTables.min.css", "datatables",
         "1.10.15", "jquery.dataTables.min.css"),
        ("https://cdnjs.cloudflare.com/ajax/libs/popper.js/1.12.9/umd/popper.min.js", "popper",
         "", ""),
        ("https://assets.crowd.aws/crowd-html-elements.js", "crowd-html-elements", "", ""),
        ("https://fonts.googleapis.com/css?family=Roboto:400,700", "fonts", "", ""),
    ],
)  # fmt: skip
def test_known_addresses(url: str, name: str, version: str, file: str) -> None:
    served = library(url)
    if not name:
        assert served is None
        return
    assert served is not None
    assert (served.name, served.version) == (name, version)
    assert (served.path.name if served.path else "") == file
    assert served.kind.startswith("text/css" if "css" in url else "text/javascript")
    assert served.path is None or served.path.is_file()


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/jquery.min.js",
        "https://code.jquery.com.example.com/jquery-3.2.1.min.js",
        "file:///code.jquery.com/jquery.min.js",
        "https://cdnjs.cloudflare.com/ajax/libs/svg.js/2.6.5/svg.min.js",
        "https://s3.amazonaws.com/mturk-public/externalHIT_v1.js",
        "https://s3.amazonaws.com/other/bs30/css/bootstrap.min.css",
        "http://[broken",
        "",
    ],
)
def test_other_addresses(url: str) -> None:
    assert library(url) is None


def test_without_the_packages() -> None:
    url = "https://code.jquery.com/jquery-3.2.1.slim.min.js"
    assert library(url, folder=lambda _: None) is None


@pytest.mark.shared
def test_every_jquery_and_bootstrap_of_the_real_tasks() -> None:
    pattern = re.compile(r"""["'](https?:)?(//[^"' <>]+\.(?:js|css))["']""")
    missed = set()
    for path in (SHARED / "data" / "turkingbench" / "tasks").glob("*/template.html"):
        for match in pattern.finditer(path.read_text("utf-8", "replace")):
            url = f"https:{match[2]}"
            file = url.rpartition("/")[2].lower()
            if re.match(r"(jquery|bootstrap|popper)[-.\d]*(slim|min|bundle|\.)*(js|css)$", file):
                served = library(url)
                if served is None or (served.path is None and served.name != "popper"):
                    missed.add(url)
    assert missed == set()

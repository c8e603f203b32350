"""A Chromium that is asked over a pipe: answers, failures, and that nothing is left of it."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from errands.browser import chromium
from errands.browser.chromium import BrowserError
from errands.browser.devtools import DevTools, DevToolsLost, Refused


@pytest.fixture
def devtools() -> Iterator[DevTools]:
    """A running browser; skips where there is none."""
    try:
        started = DevTools()
    except BrowserError as failure:
        if str(failure) != chromium.MISSING_BROWSER:
            raise
        pytest.skip(str(failure))
    yield started
    started.close()


def group(process: int) -> list[str]:
    """The processes of a group that are alive."""
    alive = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == process and fields[0] != "Z":
            alive.append(folder.name)
    return alive


def test_answers_and_refusals(devtools: DevTools) -> None:
    assert "Chrome" in devtools.send("Browser.getVersion")["product"]
    with pytest.raises(Refused, match=r"Chromium refused Browser\.nothing"):
        devtools.send("Browser.nothing")
    assert "Chrome" in devtools.send("Browser.getVersion")["product"], "it goes on"


def test_nothing_is_left(devtools: DevTools, tmp_path: Path) -> None:
    devtools.send("Browser.getVersion")
    process = devtools.process
    words = Path(f"/proc/{process}/cmdline").read_bytes().decode().split("\0")
    profile = next(word.partition("=")[2] for word in words if word.startswith("--user-data-dir"))
    assert Path(profile).is_dir()
    assert group(process)
    devtools.close()
    devtools.close()
    assert not Path(profile).exists()
    until = time.monotonic() + 30
    while group(process):
        assert time.monotonic() < until, "its processes live on"
        time.sleep(0.05)


def test_a_browser_that_ends_or_hangs_is_lost(devtools: DevTools) -> None:
    devtools._seconds = 0.0
    with pytest.raises(DevToolsLost, match=r"did not answer Browser\.getVersion in 0 s"):
        devtools.send("Browser.getVersion")
    devtools._seconds = 30.0
    os.killpg(devtools.process, 9)
    with pytest.raises(DevToolsLost, match="Chromium ended"):
        devtools.send("Browser.getVersion")


def test_what_is_no_chromium(tmp_path: Path) -> None:
    with pytest.raises(BrowserError, match="give Chromium's path"):
        DevTools(tmp_path / "none")
    other = DevTools("/bin/true")
    with pytest.raises(DevToolsLost, match="Chromium ended"):
        other.send("Browser.getVersion")
    other.close()
    text = tmp_path / "text"
    text.write_text("no program")
    text.chmod(0o755)
    with pytest.raises(BrowserError, match="did not start: Exec format error"):
        DevTools(text)

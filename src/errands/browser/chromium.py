"""The Chromium that pages run in: where it is, how it is started, how it is ended."""

import logging
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from errands.errors import ErrandsError
from errands.extras import install_command

if TYPE_CHECKING:
    from playwright.async_api import Browser, Playwright

    MISSING_PACKAGE: str

__all__ = [
    "MISSING_BROWSER", "MISSING_PACKAGE", "SANDBOX_VARIABLE", "VARIABLE", "BrowserError",
    "SandboxChoice", "command", "end", "find", "is_installed", "launch", "processes", "program",
    "sandbox_choice",
]  # fmt: skip

VARIABLE: Final = "ERRANDS_CHROMIUM"
SANDBOX_VARIABLE: Final = "ERRANDS_SANDBOX"
_log = logging.getLogger(__name__)
# Debian's headless shell is the same Chromium without a window's machinery (autofill, tab strip),
# which takes half of a page's time; so it is taken where it is installed.
_NAMES: Final = (
    "chromium-headless-shell chromium chromium-browser google-chrome google-chrome-stable".split()
)

MISSING_BROWSER: Final = (
    "No Chromium was found: run apt-get install chromium (Debian, Ubuntu) or "
    f"playwright install chromium, or set {VARIABLE} to the path of one"
)


def __getattr__(name: str) -> str:
    """`MISSING_PACKAGE`, made when asked for: how Errands was installed is slow to find out."""
    if name != "MISSING_PACKAGE":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    needed = "The browser driver needs Playwright, which is not installed"
    return f"{needed}: run {install_command('browser')}"


_OFF: Final = (
    "BackForwardCache", "IsolateOrigins", "site-per-process", "SpareRendererForSitePerProcess",
    "Translate", "MediaRouter", "OptimizationHints", "DialMediaRouteProvider", "Prerender2",
    "AcceptCHFrame", "AutofillServerCommunication", "CertificateTransparencyComponentUpdater",
    "HttpsUpgrades", "PaintHolding", "ThirdPartyStoragePartitioning", "WebOTP",
    "RenderDocument",  # A new frame and compositor for each page: a third of a bare page's time.
)  # fmt: skip
_ARGUMENTS: Final = (
    # No network, whatever a page tries: no name resolves, and all else goes to a proxy that is
    # not there. Pages are answered inside the browser, before either.
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--proxy-server=http://127.0.0.1:9",
    "--proxy-bypass-list=<-loopback>",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--dns-prefetch-disable",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-domain-reliability",
    "--no-pings",
    # Nothing else that could wait, ask or differ.
    "--disable-gpu",
    "--disable-extensions",
    "--disable-site-isolation-trials",
    "--disable-notifications",
    "--disable-popup-blocking",
    "--deny-permission-prompts",
    "--disable-smooth-scrolling",
    "--disable-speech-api",
    "--mute-audio",
    "--no-first-run",
    "--noerrdialogs",
    "--font-render-hinting=none",
    "--js-flags=--max-old-space-size=512",
    f"--disable-features={','.join(_OFF)}",
)


class BrowserError(ErrandsError):
    """There is no browser, or it or one of its pages failed."""


def find(executable: str | os.PathLike[str] | None = None) -> Path | None:
    """The user's Chromium (argument, then `ERRANDS_CHROMIUM`), else the system's.

    None: Playwright's own is tried. A path that the user gave and that is no program is an error.
    """
    chosen = executable or os.environ.get(VARIABLE)
    if chosen:
        path = Path(chosen)
        if not (path.is_file() and os.access(path, os.X_OK)):
            where = "the argument executable" if executable else VARIABLE
            raise BrowserError(f"{path} (from {where}) is not a program: give Chromium's path")
        return path
    system = next(filter(None, map(shutil.which, _NAMES)), None)
    return None if system is None else Path(system)


def is_installed() -> bool:
    """Whether there seem to be Playwright and a Chromium; nothing is started."""
    if find_spec("playwright") is None:
        return False
    try:
        return find() is not None or any(_downloads().glob("chromium*"))
    except (BrowserError, OSError):
        return False


def _downloads() -> Path:
    """Where Playwright keeps browsers of its own."""
    chosen = os.environ.get("PLAYWRIGHT_BROWSERS_PATH")
    if chosen and chosen != "0":
        return Path(chosen)
    caches = {"darwin": "Library/Caches"}.get(sys.platform, ".cache")
    return Path.home() / caches / "ms-playwright"


_UNPAINTED: Final = (
    "--disable-software-rasterizer",
    "--disable-gpu-compositing",
    "--disable-threaded-compositing",
    "--disable-lcd-text",
)


async def launch(
    playwright: "Playwright", executable: Path | None, *, pictures: bool = True
) -> "Browser":
    """Start Chromium without a window, without a network."""
    from playwright.async_api import Error

    if executable is None and not Path(playwright.chromium.executable_path).exists():
        raise BrowserError(MISSING_BROWSER)
    try:
        return await playwright.chromium.launch(
            executable_path=executable,
            args=[*_ARGUMENTS, *(() if pictures else _UNPAINTED)],
            chromium_sandbox=_sandboxed(),
            handle_sigint=False,
            handle_sigterm=False,
            handle_sighup=False,
            timeout=60_000,
        )
    except Error as error:
        name = executable or playwright.chromium.executable_path
        reason = error.message.strip().splitlines()[0] if error.message else "no reason given"
        raise BrowserError(f"Chromium ({name}) did not start: {reason}") from error


_PIPED: Final = (
    "--headless",
    "--remote-debugging-pipe",
    "--no-startup-window",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,"
    "availablePointerTypes=4",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-breakpad",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-field-trial-config",
    "--metrics-recording-only",
    "--password-store=basic",
    "--use-mock-keychain",
)
"""What Playwright adds for its own browsers, as far as pixels, quiet and safety depend on it."""


def command(program: Path, profile: str, *more: str) -> list[str]:
    """The words that start Chromium without a network for whoever asks it over a pipe."""
    sandbox = () if _sandboxed() else ("--no-sandbox",)
    return [str(program), *_PIPED, *sandbox, *_ARGUMENTS, f"--user-data-dir={profile}", *more]


def program(executable: str | os.PathLike[str] | None = None) -> Path:
    """The Chromium that `find` gives, else one of Playwright's own: one without a window's
    machinery where there is one, and the newest."""
    patterns = ("chromium_headless_shell-*/*/*headless*shell", "chromium-*/*/chrome")
    downloads = (sorted(_downloads().glob(each), reverse=True) for each in patterns)
    found = find(executable) or next(chain.from_iterable(downloads), None)
    if found is None:
        raise BrowserError(MISSING_BROWSER)
    return found


class SandboxChoice(NamedTuple):
    """Whether Chromium keeps its own sandbox, and why it cannot; nothing where it was chosen."""

    is_on: bool
    why_not: str = ""


def sandbox_choice(
    system: str, *, is_root: bool, has_namespaces: Callable[[], bool], wish: str | None
) -> SandboxChoice:
    """Chromium's sandbox is on wherever the system allows it; `wish` (`ERRANDS_SANDBOX`: 0 or 1)
    decides otherwise."""
    if wish not in (None, "", "0", "1"):
        raise BrowserError(f"{SANDBOX_VARIABLE}={wish}: expected 1 (on) or 0 (off)")
    if wish:
        return SandboxChoice(wish == "1")
    if is_root:
        return SandboxChoice(False, "the user is root")
    if system == "linux" and not has_namespaces():
        return SandboxChoice(False, "the system allows no user namespaces")
    return SandboxChoice(True)


@cache
def _sandboxed() -> bool:
    """Decided once in a process, and said once where the answer is no."""
    choice = sandbox_choice(
        sys.platform,
        is_root=os.geteuid() == 0,
        has_namespaces=_has_namespaces,
        wish=os.environ.get(SANDBOX_VARIABLE),
    )
    if choice.why_not:
        _log.warning("Chromium runs without its own sandbox: %s.", choice.why_not)
    return choice.is_on


_NAMESPACES: Final = (
    "import ctypes, sys; unshare = ctypes.CDLL(None).unshare;"
    " sys.exit(bool(unshare(0x10000000) or unshare(0x60000000)))"
)
"""Takes a user namespace and, in it, those of processes and the network, as the sandbox does."""


def _has_namespaces() -> bool:
    """Whether a process without rights may have namespaces of its own; another one tries."""
    try:
        tried = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _NAMESPACES], capture_output=True, timeout=30
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return tried.returncode == 0


async def processes(browser: "Browser") -> dict[int, str]:
    """The browser's process ids, with what each is (`browser`, `renderer`, ...)."""
    session = await browser.new_browser_cdp_session()
    try:
        answer = await session.send("SystemInfo.getProcessInfo")
    finally:
        with suppress(Exception):
            await session.detach()
    return {int(each["id"]): str(each["type"]) for each in answer["processInfo"]}


def end(process: int) -> None:
    """End a process that we started, at once."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(process, signal.SIGKILL)

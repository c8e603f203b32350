"""A tab that is pictured again and again: pages are put in place, not loaded.

A step changes the body of a page, and hardly ever its head. So the head, with its style sheets,
stays, and a body takes the place of the one before: no navigation, no style sheet to be read again.
All elements are new, so nothing is left of what was typed, focused or scrolled. The pixels are
those of a fresh load (tests/envs/test_shop_pictures.py).

The browser draws a frame when it is asked to and at no other time: one a picture, where a tab that
draws at its own pace takes three. Only Chromium's headless shell can do that; with another
Chromium pictures are taken as they are elsewhere, for half as much work again.

Scripts of a page do not run, and nothing is loaded but what its markup holds (`data:`).
"""

import base64
import os
import re
import time
from typing import Any, Final

from errands.browser.chromium import VARIABLE, BrowserError
from errands.browser.devtools import DevTools, DevToolsLost, Refused
from errands.browser.network_policy import PATTERNS
from errands.browser.screenshots import HEIGHT, WIDTH

__all__ = ["WarmTab"]

_TRIES: Final = 2
_MOST_FRAMES: Final = 1000
_PAUSE: Final = 0.002
"""Seconds between the frames of a tab that was just opened."""
_ENOUGH: Final = 3
"""Frames that a page takes part in before it is pictured."""
_OPTIONS: Final = (
    "--enable-begin-frame-control",
    "--run-all-compositor-stages-before-draw",
    "--disable-new-content-rendering-timeout",
    "--disable-threaded-animation",
    "--disable-threaded-scrolling",
    "--disable-checker-imaging",
    "--disable-image-animation-resync",
)
_PNG: Final = {"format": "png", "optimizeForSpeed": True}
_TITLE: Final = re.compile(r"<title>[^<]*</title>")

_PUT: Final = """
(markup) => {
  const parsed = new DOMParser().parseFromString(markup, "text/html");
  const body = document.adoptNode(parsed.body);
  document.body.replaceWith(body);
  scrollTo(0, 0);
  body.querySelector("[autofocus]")?.focus();
  const loading = [...body.querySelectorAll("img")].filter((image) => !image.complete);
  const loaded = (image) => new Promise((done) => {
    image.addEventListener("load", done);
    image.addEventListener("error", done);
  });
  return Promise.all(loading.map(loaded)).then(() => true);
}
"""
_TAKE_PART: Final = """
() => {
  globalThis.parts = 0;
  const next = () => { globalThis.parts += 1; requestAnimationFrame(next); };
  requestAnimationFrame(next);
}
"""
_PARTS: Final = "() => globalThis.parts"


class WarmTab:
    """One tab of a Chromium of its own, which starts with the first picture. For one thread."""

    def __init__(self, executable: str | os.PathLike[str] | None = None) -> None:
        self.loads = 0
        """How often a head was not the one before."""
        self._executable = executable
        self._devtools: DevTools | None = None
        self._session = ""
        self._frame = ""
        self._world = 0
        self._head: str | None = None
        self._paced = False

    def picture(self, html: str) -> bytes:
        """A PNG of the page's top; a browser that is lost by it is replaced once."""
        reason = ""
        for _ in range(_TRIES):
            try:
                self._show(html)
                return base64.b64decode(self._captured())
            except (DevToolsLost, Refused) as failure:
                reason = str(failure)
                self.close()
        raise BrowserError(f"{reason}, twice; {VARIABLE} can name another Chromium")

    def close(self) -> None:
        """End the browser; another picture starts it again."""
        devtools, self._devtools = self._devtools, None
        if devtools is not None:
            devtools.close()

    def _show(self, html: str) -> None:
        if self._devtools is None or not self._devtools.usable:
            self.close()
            self._start()
        head, _, body = html.partition("</head>")
        head = _TITLE.sub("", head, 1)
        if head != self._head:
            self._head = None
            empty = {"frameId": self._frame, "html": f"{head}</head><body></body></html>"}
            self._send("Page.setDocumentContent", empty)
            world = self._send("Page.createIsolatedWorld", {"frameId": self._frame})
            self._world = world["executionContextId"]
            if self._paced:
                self._keep_pace()
            self._head = head
            self.loads += 1
        self._call(_PUT, f"<!DOCTYPE html><head></head>{body}")

    def _start(self) -> None:
        self._devtools = DevTools(self._executable, *_OPTIONS)
        self._head = None
        self._session = ""
        window = {"url": "about:blank", "newWindow": True, "enableBeginFrameControl": True}
        target = self._send("Target.createTarget", window)["targetId"]
        attached = self._send("Target.attachToTarget", {"targetId": target, "flatten": True})
        self._session = attached["sessionId"]
        self._send("Fetch.enable", PATTERNS)
        self._send("Emulation.setScriptExecutionDisabled", {"value": True})
        self._send("Emulation.setFocusEmulationEnabled", {"enabled": True})
        metrics = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        self._send("Emulation.setDeviceMetricsOverride", metrics)
        self._frame = self._send("Page.getFrameTree")["frameTree"]["frame"]["id"]
        try:
            self._send("HeadlessExperimental.beginFrame")
            self._paced = True
        except Refused:
            self._paced = False

    def _captured(self) -> str:
        """The window as PNG in base 64."""
        if not self._paced:
            return str(self._send("Page.captureScreenshot", _PNG)["data"])
        frame = self._send("HeadlessExperimental.beginFrame", {"screenshot": _PNG})
        if "screenshotData" not in frame:
            raise DevToolsLost("Chromium drew nothing")
        return str(frame["screenshotData"])

    def _keep_pace(self) -> None:
        """Let the page take part in every frame from now on.

        One that asks for a frame only when it has changed may ask too late: then the frame is drawn
        without the change, and every picture is that of the page before.
        """
        self._call(_TAKE_PART)
        for _ in range(_MOST_FRAMES):
            self._send("HeadlessExperimental.beginFrame")
            if self._call(_PARTS) >= _ENOUGH:
                return
            time.sleep(_PAUSE)
        raise DevToolsLost("Chromium does not draw the page")

    def _call(self, function: str, *arguments: str) -> Any:
        """What a function beside the page gives."""
        answer = self._send(
            "Runtime.callFunctionOn",
            {
                "functionDeclaration": function,
                "arguments": [{"value": each} for each in arguments],
                "executionContextId": self._world,
                "awaitPromise": True,
                "returnByValue": True,
            },
        )
        if "exceptionDetails" in answer:
            raise BrowserError("The page could not be shown: Chromium did not take its markup")
        return answer["result"].get("value")

    def _send(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        assert self._devtools is not None
        return self._devtools.send(method, params, self._session)

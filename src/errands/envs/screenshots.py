"""Pages of the shop as pixels: what a person with a browser sees of them.

One Chromium serves all environments of a process: without a network, started with the first
picture, and ended when the last environment that took one is closed. Without pictures nothing of a
browser is imported.
"""

import threading
import weakref
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from errands.browser.screenshots import HEIGHT, WIDTH, pixels
from errands.errors import SettingError

if TYPE_CHECKING:
    from errands.browser.engine import Engine

__all__ = ["PICTURED", "Camera", "no_pictures", "picture_space", "shared_camera"]

PICTURED: Final = ("screenshot", "html+screenshot")
"""What an environment can show with a camera only."""

# The search field has the focus, and a blinking caret is there at one time and not at another.
_STILL: Final = "<style>* { caret-color: transparent; transition: none !important; }</style>"


class Camera:
    """Takes pictures of pages for those who hold it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        self._holders: weakref.WeakSet[Any] = weakref.WeakSet()

    def take(self, holder: object, html: str) -> NDArray[np.uint8]:
        """The top of a page, as in a window that was just opened; whoever asks holds the camera
        from then on."""
        with self._lock:
            self._holders.add(holder)
            engine = self._engine = self._engine or _engine()
        from errands.browser.page import WebPage

        still = html.replace("</head>", f"{_STILL}</head>", 1)
        with WebPage(engine, still) as page:
            return pixels(page.snapshot())

    def release(self, holder: object) -> None:
        """No more pictures for this one; with the last holder the browser goes, too."""
        with self._lock:
            self._holders.discard(holder)
            if not self._holders:
                self._end()

    def close(self) -> None:
        """End the browser; another picture starts it again."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()


def _engine() -> "Engine":
    from errands.browser.engine import Engine
    from errands.browser.tab import TabConfig

    return Engine(None, TabConfig(height=HEIGHT))


@cache
def shared_camera() -> Camera:
    """The one camera of this process."""
    return Camera()


def picture_space() -> spaces.Box:
    """All pictures of a window."""
    return spaces.Box(0, 255, (HEIGHT, WIDTH, 3), np.uint8)


def no_pictures(observation: object, reason: str) -> None:
    """Refuse pixels where there is only text, and say why."""
    if observation in PICTURED:
        raise SettingError(f"observation={observation!r} {reason}.")

"""Pages of the shop as pixels: what a person with a browser sees of them.

A camera has a few warm tabs (`errands.browser.warm_tab`), as many as there are cores, each with a
Chromium of its own: without a network, started with the first picture that finds no other free, and
ended when the last environment that took one is closed. Without pictures nothing of a browser is
imported.
"""

import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from errands.browser.screenshots import HEIGHT, WIDTH, pixels
from errands.errors import SettingError

if TYPE_CHECKING:
    from errands.browser.warm_tab import WarmTab

__all__ = [
    "PICTURED",
    "Camera",
    "no_pictures",
    "picture_space",
    "pictured",
    "shared_camera",
    "still",
]

PICTURED: Final = ("screenshot", "html+screenshot")
"""What an environment can show with a camera only."""
REMEMBERED: Final = 128
"""Pictures that are kept as PNG, of about a tenth of a megabyte each: agents go back and forth."""
_MOST_TABS: Final = 8
"""Each is a browser of its own, of about 240 MB."""

# The search field has the focus, and a blinking caret is there at one time and not at another.
_STILL: Final = "<style>* { caret-color: transparent; transition: none !important; }</style>"


class Camera:
    """Takes pictures of pages for those who hold it."""

    def __init__(self, tabs: int | None = None, *, remember: int = REMEMBERED) -> None:
        """`tabs` are how many pages are pictured at once (default: one a core, and no more than 8),
        `remember` how many pictures are kept for pages that come again."""
        if tabs is not None and tabs < 1:
            raise SettingError(f"tabs={tabs} is not possible; expected 1 or more.")
        self.tabs = tabs or min(os.cpu_count() or 1, _MOST_TABS)
        self.taken = 0
        """How many pictures a browser took; the others were remembered."""
        self._remember = remember
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._free: list[WarmTab] = []
        self._out = 0
        self._change = threading.Condition()
        self._holders: weakref.WeakSet[Any] = weakref.WeakSet()

    def take(self, holder: object, html: str) -> NDArray[np.uint8]:
        """The top of a page, as in a window that was just opened; whoever asks holds the camera
        from then on."""
        with self._change:
            self._holders.add(holder)
            png = self._kept.pop(html, None)
        if png is None:
            with self._tab() as tab:
                png = tab.picture(still(html))
        with self._change:
            self._kept[html] = png
            while len(self._kept) > self._remember:
                self._kept.popitem(last=False)
        return pixels(png)

    def take_all(self, holder: object, pages: Sequence[str]) -> list[NDArray[np.uint8]]:
        """The tops of many pages, as many at once as there are tabs."""
        different = list(dict.fromkeys(pages))
        if len(different) < 2 or self.tabs == 1:
            taken = [self.take(holder, html) for html in different]
        else:
            with ThreadPoolExecutor(min(self.tabs, len(different))) as threads:
                taken = list(threads.map(lambda html: self.take(holder, html), different))
        pictures = dict(zip(different, taken, strict=True))
        return [pictures[html] for html in pages]

    @contextmanager
    def _tab(self) -> Iterator["WarmTab"]:
        """The tab that was used last, which is the warmest; a new one where none is free."""
        from errands.browser.warm_tab import WarmTab

        with self._change:
            self._change.wait_for(lambda: self._free or self._out < self.tabs)
            tab = self._free.pop() if self._free else WarmTab()
            self._out += 1
            self.taken += 1
        try:
            yield tab
        finally:
            with self._change:
                self._out -= 1
                self._free.append(tab)
                self._change.notify()

    @property
    def open_tabs(self) -> int:
        """How many tabs are there now."""
        return len(self._free) + self._out

    def release(self, holder: object) -> None:
        """No more pictures for this one; with the last holder the browsers go, too."""
        with self._change:
            self._holders.discard(holder)
            is_last = not self._holders
        if is_last:
            self.close()

    def close(self) -> None:
        """End the browsers; another picture starts one again."""
        with self._change:
            tabs, self._free = self._free, []
            self._kept.clear()
        for tab in tabs:
            tab.close()


@cache
def shared_camera() -> Camera:
    """The one camera of this process."""
    return Camera()


def picture_space() -> spaces.Box:
    """All pictures of a window."""
    return spaces.Box(0, 255, (HEIGHT, WIDTH, 3), np.uint8)


def still(html: str) -> str:
    """The page, with nothing on it that moves by itself."""
    return html.replace("</head>", f"{_STILL}</head>", 1)


def pictured(observation: object, html: str, picture: NDArray[np.uint8]) -> Any:
    """What an environment shows of a page in a format that is made of pixels."""
    return picture if observation == "screenshot" else {"html": html, "screenshot": picture}


def no_pictures(observation: object, reason: str) -> None:
    """Refuse pixels where there is only text, and say why."""
    if observation in PICTURED:
        raise SettingError(f"observation={observation!r} {reason}.")

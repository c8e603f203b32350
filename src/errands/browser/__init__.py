"""Chromium for both domains: the engine, tabs and pages, what pages may load, screenshots.

with WebPage(Engine(), "<h1>Hello</h1>") as page:
    picture = pixels(page.snapshot())
"""

from typing import TYPE_CHECKING

from errands.lazy import lazy_exports

__all__ = ["BrowserError", "Engine", "TabConfig", "WebPage", "pixels"]

if TYPE_CHECKING:
    from errands.browser.chromium import BrowserError
    from errands.browser.engine import Engine
    from errands.browser.page import WebPage
    from errands.browser.screenshots import pixels
    from errands.browser.tab import TabConfig
else:
    __getattr__ = lazy_exports(__name__)

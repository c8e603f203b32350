"""A browser for the tests that need one, found the way a user's would be."""

from collections.abc import Iterator

import pytest

from errands.browser import chromium
from errands.turk.browser.driver import BrowserDriver
from errands.turk.pages.driver import DriverError


@pytest.fixture(scope="module")
def browser_driver() -> Iterator[BrowserDriver]:
    """A browser that works; where there is none, the reason to skip says how to install one."""
    driver = BrowserDriver()
    try:
        driver.open("<p>Here</p>").close()
    except DriverError as error:
        if str(error) in (chromium.MISSING_BROWSER, chromium.MISSING_PACKAGE):
            pytest.skip(str(error))
        raise
    yield driver
    driver.close()

"""The browser driver: the conformance suite, its own actions, and pages that mean harm."""

from collections.abc import Iterator

import pytest

from errands.turk import chromium
from errands.turk.browser import BrowserDriver
from errands.turk.conformance import DriverConformance
from errands.turk.driver import DriverError


@pytest.fixture(scope="module")
def driver() -> Iterator[BrowserDriver]:
    driver = BrowserDriver()
    try:
        driver.open("<p>Here</p>").close()
    except DriverError as error:
        if str(error) in (chromium.MISSING_BROWSER, chromium.MISSING_PACKAGE):
            pytest.skip(str(error))
        raise
    yield driver
    driver.close()


class TestConformance(DriverConformance):
    """Everything that every driver does."""

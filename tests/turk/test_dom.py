"""The `dom` driver: the conformance suite, and what only it has."""

import pytest

from errands.turk.conformance import DriverConformance
from errands.turk.dom import DomDriver


class TestConformance(DriverConformance):
    @pytest.fixture
    def driver(self) -> DomDriver:
        return DomDriver()

"""The example of a page driver passes the kit, and runs."""

import driver as example
import pytest

from errands.testing import DriverConformance


class TestCounting(DriverConformance):
    @pytest.fixture
    def driver(self) -> example.CountingDriver:
        return example.CountingDriver()


def test_it_runs(capsys: pytest.CaptureFixture[str]) -> None:
    example.main()
    assert capsys.readouterr().out == "3 pages\n"

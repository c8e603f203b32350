"""Products to mine, and what was mined from them."""

from typing import Any

import pytest

from errands.mining.candidates import Candidates, mine
from errands.shop.synthetic.generator import make_product


@pytest.fixture(scope="session")
def records() -> list[dict[str, Any]]:
    """The records of 150 generated products."""
    return [make_product(number, seed=4, products=150).record for number in range(150)]


@pytest.fixture(scope="session")
def mined(records: list[dict[str, Any]]) -> Candidates:
    pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'errands[mine]'")
    return mine(records, top=40)

from collections.abc import Iterator
from typing import Any


def generate(products: int, seed: int) -> Iterator[Any]:
    return iter(())

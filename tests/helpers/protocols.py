"""What a fixture that makes protocols gives."""

from collections.abc import Callable

from errands.runs.protocol import Protocol

Rules = Callable[..., Protocol]

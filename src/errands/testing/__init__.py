"""Conformance kits: tests that anyone can run on an environment, agent, driver or site reader."""

from typing import TYPE_CHECKING

from errands.lazy import lazy_exports

__all__ = ["DriverConformance"]

if TYPE_CHECKING:
    from errands.testing.driver import DriverConformance
else:
    __getattr__ = lazy_exports(__name__, {"errands.testing.driver": ["DriverConformance"]})

"""Conformance kits: tests that anyone can run on what they add at the edges.

A kit is a class of tests without pytest's prefix: subclass it as `Test...`, say how yours is made,
and pytest runs the lot. Ours pass the same kits.
"""

from typing import TYPE_CHECKING

from errands.lazy import lazy_exports

__all__ = [
    "AdapterConformance",
    "AgentConformance",
    "DriverConformance",
    "EnvironmentConformance",
    "FormObservationConformance",
    "ObservationConformance",
    "RulesConformance",
    "ScriptedModel",
    "SiteConformance",
    "TaskFolderConformance",
    "VectorConformance",
]

if TYPE_CHECKING:
    from errands.testing.adapter import AdapterConformance, ScriptedModel
    from errands.testing.agent import AgentConformance
    from errands.testing.driver import DriverConformance
    from errands.testing.environment import EnvironmentConformance, VectorConformance
    from errands.testing.observation import FormObservationConformance, ObservationConformance
    from errands.testing.rules import RulesConformance
    from errands.testing.site import SiteConformance
    from errands.testing.tasks import TaskFolderConformance
else:
    __getattr__ = lazy_exports(__name__)

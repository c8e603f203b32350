"""The original's policies."""

from errands_legacy.policies import BasePolicy, HumanPolicy, RandomPolicy

__all__ = ["BasePolicy", "HumanPolicy", "RandomPolicy"]

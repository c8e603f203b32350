"""The original's policies."""

from web_agent_site.models.models import HumanPolicy, RandomPolicy

__all__ = ["HumanPolicy", "RandomPolicy"]

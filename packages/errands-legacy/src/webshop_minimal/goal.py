"""The original's goals and rewards."""

from web_agent_site.engine.goal import *  # noqa: F403
from web_agent_site.engine.goal import __all__ as __all__

"""The original's functions for loading and searching."""

from web_agent_site.engine.engine import *  # noqa: F403
from web_agent_site.engine.engine import __all__ as __all__

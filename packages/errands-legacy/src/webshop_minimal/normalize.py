"""The original's colour words."""

from web_agent_site.engine.normalize import *  # noqa: F403
from web_agent_site.engine.normalize import __all__ as __all__

"""The original's environment with a browser: not supported, and says so."""

from errands_legacy.site_env import WebAgentSiteEnv

__all__ = ["WebAgentSiteEnv"]

"""The original's environments; importing this lets `gym.make` find them, if gym is installed."""

from errands_legacy.gym_base import register

from web_agent_site.envs.web_agent_site_env import WebAgentSiteEnv
from web_agent_site.envs.web_agent_text_env import WebAgentTextEnv

__all__ = ["WebAgentSiteEnv", "WebAgentTextEnv"]

register("WebAgentSiteEnv-v0", "web_agent_site.envs:WebAgentSiteEnv")
register("WebAgentTextEnv-v0", "web_agent_site.envs:WebAgentTextEnv")

"""The Python interface of the original WebShop over Errands: see docs/guides/original-code.md.

Code that imports `web_agent_site`, `webshop_minimal` or `webshop.web_agent_site` finds here what
those packages offer; this one has it under one name, and `build_webshop_envs`, verl-agent's vector
of environments without Ray.
"""

from errands_legacy.server import SimBrowser, SimServer
from errands_legacy.text_env import WebAgentTextEnv
from errands_legacy.vector import WebshopVectorEnv, build_webshop_envs

__all__ = [
    "SimBrowser",
    "SimServer",
    "WebAgentTextEnv",
    "WebshopVectorEnv",
    "__version__",
    "build_webshop_envs",
]

__version__ = "0.1.0"

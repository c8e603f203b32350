"""RAGEN's smaller WebShop package, played by Errands: see docs/guides/original-code.md."""

from webshop_minimal.engine import init_search_engine
from webshop_minimal.env import WebAgentTextEnv
from webshop_minimal.utils import init_basedir

__all__ = ["WebAgentTextEnv", "init_basedir", "init_search_engine"]

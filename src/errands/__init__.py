"""Errands: WebShop and TurkingBench, environments in which web agents are trained and tested.

    import errands
    result = errands.run("shop-demo", "rule", episodes=100)
    errands.report(result, "report")

Importing this package registers its Gymnasium environments:

    import errands, gymnasium
    env = gymnasium.make("errands/Shop-v0")
"""

from typing import TYPE_CHECKING

from errands.envs import register
from errands.errors import ErrandsError
from errands.lazy import lazy_exports

__all__ = [
    "Agent",
    "Catalog",
    "ErrandsError",
    "ShopEnv",
    "TurkEnv",
    "__version__",
    "report",
    "run",
]

__version__ = "0.1.0"

if TYPE_CHECKING:
    from errands.agents.agent import Agent
    from errands.envs.shop import ShopEnv
    from errands.envs.turk import TurkEnv
    from errands.reports.writing import report
    from errands.runs.runner import run
    from errands.shop.catalog.catalog import Catalog
else:
    __getattr__ = lazy_exports(__name__)

register()

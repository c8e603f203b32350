"""Gymnasium environments of both domains. Importing `errands` registers their ids."""

from typing import TYPE_CHECKING

import gymnasium

from errands.lazy import lazy_exports

__all__ = [
    "Observation",
    "ShopConfig",
    "ShopContext",
    "ShopEnv",
    "ShopEpisode",
    "ShopVectorEnv",
    "TurkConfig",
    "TurkEnv",
    "register",
]

if TYPE_CHECKING:
    from errands.envs.config import ShopConfig, TurkConfig
    from errands.envs.episode import ShopContext, ShopEpisode
    from errands.envs.observations import Observation
    from errands.envs.shop import ShopEnv
    from errands.envs.shop_vector import ShopVectorEnv
    from errands.envs.turk import TurkEnv
else:
    __getattr__ = lazy_exports(__name__)

SHOP = "errands/Shop-v0"
TURK = "errands/Turk-v0"
REMOTE_SHOP = "errands/RemoteShop-v0"
REAL_SHOP = "errands/RealShop-v0"


def register() -> None:
    """Make the environments known to Gymnasium; calling it again changes nothing."""
    if SHOP not in gymnasium.registry:
        gymnasium.register(
            SHOP,
            entry_point="errands.envs.shop:ShopEnv",
            vector_entry_point="errands.envs.shop_vector:ShopVectorEnv",
        )
    if TURK not in gymnasium.registry:
        gymnasium.register(TURK, entry_point="errands.envs.turk:TurkEnv")
    if REMOTE_SHOP not in gymnasium.registry:
        gymnasium.register(
            REMOTE_SHOP,
            entry_point="errands.remote.environments:RemoteShopEnv",
            vector_entry_point="errands.remote.environments:RemoteShopVectorEnv",
        )
    if REAL_SHOP not in gymnasium.registry:
        gymnasium.register(REAL_SHOP, entry_point="errands.transfer.environment:LiveShopEnv")

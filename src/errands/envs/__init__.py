"""Gymnasium environments. Importing `errands` registers their ids."""

import gymnasium

__all__ = ["register"]

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
        gymnasium.register(REAL_SHOP, entry_point="errands.transfer.environment:RealShopEnv")

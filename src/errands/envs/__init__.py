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
    "SnapshotError",
    "TurkConfig",
    "TurkEnv",
    "TurkVectorEnv",
    "group_batches",
    "group_options",
    "register",
    "sample_groups",
    "task_rows",
    "training_split",
]

if TYPE_CHECKING:
    from errands.envs.config import ShopConfig
    from errands.envs.episode import ShopContext, ShopEpisode
    from errands.envs.groups import (
        group_batches,
        group_options,
        sample_groups,
        task_rows,
        training_split,
    )
    from errands.envs.observations import Observation
    from errands.envs.shop import ShopEnv
    from errands.envs.shop_vector import ShopVectorEnv
    from errands.envs.snapshots import SnapshotError
    from errands.envs.turk import TurkEnv
    from errands.envs.turk_config import TurkConfig
    from errands.envs.turk_vector import TurkVectorEnv
else:
    __getattr__ = lazy_exports(__name__)

_ENVIRONMENTS = {
    "errands/Shop-v0": ("errands.envs.shop:ShopEnv", "errands.envs.shop_vector:ShopVectorEnv"),
    "errands/Turk-v0": ("errands.envs.turk:TurkEnv", "errands.envs.turk_vector:TurkVectorEnv"),
    "errands/RemoteShop-v0": (
        "errands.remote.environments:RemoteShopEnv",
        "errands.remote.environments:RemoteShopVectorEnv",
    ),
    "errands/RemoteTurk-v0": ("errands.remote.environments:RemoteTurkEnv", None),
    "errands/RealShop-v0": ("errands.transfer.environment:LiveShopEnv", None),
}
"""The environments by id: the single one, and the vector one where there is one of its own."""


def register() -> None:
    """Make the environments known to Gymnasium; calling it again changes nothing."""
    for name, (single, vector) in _ENVIRONMENTS.items():
        if name not in gymnasium.registry:
            gymnasium.register(name, entry_point=single, vector_entry_point=vector)

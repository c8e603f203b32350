"""WebShop as a verifiers taskset: `vf-eval errands-shop` (docs/integrations)."""

import verifiers.v1 as vf

from errands.integrations.verifiers import (
    EpisodesEnv,
    EpisodesTaskset,
    EpisodeTask,
    NullHarness,
    ShopTasksConfig,
)

__all__ = ["EpisodesEnv", "ErrandsShop", "NullHarness"]


class ErrandsShop(EpisodesTaskset, vf.Taskset[EpisodeTask, ShopTasksConfig]):
    """WebShop: buy what a customer asks for."""

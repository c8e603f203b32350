"""Many shops at once, in one process: `gymnasium.make_vec("errands/Shop-v0", num_envs=N)`.

All sub-environments share the catalogue, the goals and the config; each owns one episode. Those
that see pixels share a camera, which pictures as many pages at once as it has tabs.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from errands.envs.config import ShopConfig, config_from
from errands.envs.episode import Info, ShopContext, ShopEpisode
from errands.envs.screenshots import PICTURED, Camera, pictured, shared_camera
from errands.envs.snapshots import Snapshot
from errands.envs.vector import LocalVectorEnv
from errands.errors import SettingError

__all__ = ["ShopVectorEnv"]

_Restored = tuple[ShopEpisode, np.random.Generator]


class ShopVectorEnv(LocalVectorEnv[ShopEpisode, ShopEpisode, _Restored]):
    """N customers in one shop; takes the options of `ShopConfig`, `num_envs` and `autoreset`.

    Observations are a tuple of texts, actions a sequence of texts. `infos` are arrays with a
    place for each sub-environment (and a mask under `_key`). `reset(seed=s)` seeds
    sub-environment i with s + i, so it plays what a single environment seeded so would;
    `reset(options={"goal": [...]})` takes one index, or one for each.

    With `screenshot` observations are an array of N x 800 x 1280 x 3, with `html+screenshot` a
    dictionary of a tuple and an array. `camera` is one that the caller closes. With more than one
    of `threads` a step's searches are ranked by all the others while this one makes pages, which
    pays in large shops.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        config: ShopConfig | None = None,
        camera: Camera | None = None,
        threads: int = 1,
        autoreset: str | AutoresetMode = "next_step",
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(num_envs, autoreset)
        config = config_from(ShopConfig, config, (), options)
        self._show_as(config.observation)
        self._camera = camera
        if threads < 1:
            raise SettingError(f"threads={threads}: expected 1 or more.")
        self._helpers = threads - 1
        self._pool = ThreadPoolExecutor(self._helpers) if self._helpers else None
        self._searching: Container[int] = ()
        self.context = ShopContext(config)
        self._rngs: list[np.random.Generator] = [
            np.random.default_rng(seed) for seed in np.random.SeedSequence().spawn(num_envs)
        ]

    @property
    def episodes(self) -> Sequence[ShopEpisode]:
        """What each sub-environment plays, its hidden goal included: for teachers, not agents."""
        return self._episodes

    def step(
        self, actions: Sequence[str]
    ) -> tuple[Any, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        if self._pool is not None and len(actions) == len(self._episodes):
            turns = {
                i: (episode.page, str(action))
                for i, (episode, action) in enumerate(zip(self._episodes, actions, strict=True))
                if not episode.over
            }
            self._searching = self.context.shop.search_ahead(turns, self._pool, self._helpers)
        return super().step(actions)

    def _order(self) -> Iterable[int]:
        """Those that search come last: they are ranked while the others take their step."""
        return sorted(range(self.num_envs), key=self._searching.__contains__)

    def close_extras(self, **kwargs: Any) -> None:
        """End the threads, and the browsers, unless other environments take pictures, too."""
        if self._pool is not None:
            self._pool.shutdown()
        if self._camera is None:
            shared_camera().release(self)

    def _show_each(self, pages: Sequence[str]) -> Sequence[Any]:
        observation = self.context.config.observation
        if observation not in PICTURED:
            return pages
        camera = self._camera or shared_camera()
        pictures = camera.take_all(self, pages)
        return [pictured(observation, *each) for each in zip(pages, pictures, strict=True)]

    def _choose(self, i: int, seed: int | None, options: Mapping[str, Any]) -> ShopEpisode:
        if seed is not None:
            self._rngs[i] = np.random.Generator(np.random.PCG64(seed))
        return self.context.begin(self._rngs[i], options)

    def _begin(self, i: int, chosen: ShopEpisode) -> tuple[ShopEpisode, str, Info]:
        return chosen, *chosen.first()

    def _saved(self, i: int) -> Snapshot:
        return self._episodes[i].snapshot(self._rngs[i])

    def _read(self, i: int, snapshot: Snapshot) -> _Restored:
        return self.context.restored(snapshot)

    def _resume(self, i: int, read: _Restored) -> tuple[ShopEpisode, str, Info]:
        episode, self._rngs[i] = read
        return episode, episode.observation(), episode.info()

"""Many form pages at once, in one process: `gymnasium.make_vec("errands/Turk-v0", num_envs=N)`.

All sub-environments share the tasks and what shows their pages; each owns one page.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gymnasium.vector import AutoresetMode

from errands.envs.config import config_from
from errands.envs.episode import Info
from errands.envs.snapshots import Snapshot, TurkSnapshot
from errands.envs.turk import FormActionText, TurkEnv
from errands.envs.turk_config import TurkConfig
from errands.envs.vector import LocalVectorEnv
from errands.turk.drivers import Pages
from errands.turk.scoring.metrics import SUBMITTED
from errands.turk.tasks.task import Instance, Task

__all__ = ["TurkVectorEnv"]


class TurkVectorEnv(LocalVectorEnv[TurkEnv, tuple[Task, Instance], TurkSnapshot]):
    """N workers with a form page each; takes the options of `TurkConfig`, `num_envs` and
    `autoreset`. `pages` are those of a caller who closes them.

    Observations are a tuple of texts (with `screenshot` and `html+screenshot` as in the shop's
    vector environment), actions a sequence of texts. `infos` are arrays with a
    place for each sub-environment (and a mask under `_key`). `reset(seed=s)` seeds
    sub-environment i with s + i, so it plays what a single environment seeded so would;
    `reset(options={"task": [...], "row": [...]})` takes one of each, or one for each.
    """

    def __init__(
        self,
        num_envs: int = 1,
        *,
        config: TurkConfig | None = None,
        pages: Pages | None = None,
        autoreset: str | AutoresetMode = "next_step",
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(num_envs, autoreset, FormActionText())
        config = config_from(TurkConfig, config, (), options)
        self._show_as(config.observation)
        self.pages = pages or Pages(config.driver, submits=config.rules == SUBMITTED)
        self._own_pages = pages is None
        first = TurkEnv(config=config, pages=self.pages)
        self.tasks = first.tasks
        # As many as are played at once: otherwise each would be read again for every episode.
        self.tasks.keep = max(self.tasks.keep, min(num_envs, len(self.tasks)))
        shared = replace(config, tasks=self.tasks)
        others = [TurkEnv(config=shared, pages=self.pages) for _ in range(num_envs - 1)]
        self._envs = [first, *others]

    def close_extras(self, **kwargs: Any) -> None:
        for env in self._envs:
            env.close()
        if self._own_pages:
            self.pages.close()

    def _choose(
        self, i: int, seed: int | None, options: Mapping[str, Any]
    ) -> tuple[Task, Instance]:
        return self._envs[i].choose(seed, options)

    def _begin(self, i: int, chosen: tuple[Task, Instance]) -> tuple[TurkEnv, Any, Info]:
        return self._envs[i], *self._envs[i].begin(*chosen)

    def _saved(self, i: int) -> Snapshot:
        return self._envs[i].snapshot()

    def _read(self, i: int, snapshot: Snapshot) -> TurkSnapshot:
        return self._envs[i].read(snapshot)

    def _resume(self, i: int, read: TurkSnapshot) -> tuple[TurkEnv, Any, Info]:
        return self._envs[i], *self._envs[i].resume(read)

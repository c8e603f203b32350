"""`errands/Shop-v0`: WebShop as a Gymnasium environment.

An episode begins on the search page with an instruction and ends with a purchase, whose reward
in [0, 1] says how well the product fits. Everything the environment needs of the catalogue is
mapped and shared, so one more environment costs a few kilobytes.
"""

import os
from typing import Any

import gymnasium

from errands.envs.shopping import Episode, Shopping
from errands.envs.spaces import ActionText, AnyText
from errands.errors import ErrandsError, SettingError
from errands.shop.catalog import Catalog
from errands.shop.goal import Goal, GoalSet

__all__ = ["ShopEnv"]


class ShopEnv(gymnasium.Env[str, str]):
    """A shop with one customer.

    ## Action space
    A text: `search[words]` or `click[name]`, where name is one of
    `info["available_actions"]["clickables"]`. Anything else changes nothing and costs a step.

    ## Observation space
    A text: the page as `text` (nodes joined by ` [SEP] `), `text_rich` (a line a node, buttons
    marked), `html`, or its `url`. `num_prev_obs` and `num_prev_actions` put so many earlier
    observations and actions before it.

    ## Rewards
    0.0, and at the purchase the reward of the chosen `rules`, `released` or `paper`; its parts
    are in `info["reward_parts"]`.

    ## Starting state
    The search page of one goal: that of `reset(options={"goal": index})`, else one drawn from
    the `split` (`test`, `eval`, `train`, or None for all goals).

    ## Episode end
    Terminated by the purchase, truncated after `max_steps` (None: never). Later actions change
    nothing.

    ## Arguments
    `catalog`: a directory, a name (`demo`) or an open `Catalog`. `goals`: `synthetic`, `human`,
    a goal file or a goal set. `search_anywhere=False` allows searching on the search page only,
    as the paper says. The remaining ones switch single quirks of the original, see
    docs/compatibility.md: `show_attrs`, `special_queries`, `goal_draw` (`released`, `weighted`,
    `uniform`), `marks` (`released`, `true`), `after_purchase` (`locked`, `open`).

    ## Version history
    v0: first release.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": ["ansi", "html"],
        "render_fps": 4,
    }

    def __init__(
        self,
        catalog: str | os.PathLike[str] | Catalog = "demo",
        goals: str | os.PathLike[str] | GoalSet = "synthetic",
        split: str | None = None,
        observation: str = "text",
        rules: str = "released",
        max_steps: int | None = None,
        search_anywhere: bool = True,
        num_prev_obs: int = 0,
        num_prev_actions: int = 0,
        *,
        show_attrs: bool = False,
        special_queries: bool = False,
        goal_draw: str = "released",
        marks: str = "released",
        after_purchase: str = "locked",
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, "ansi", "html"):
            raise SettingError(f"render_mode={render_mode!r}: expected 'ansi', 'html' or None.")
        self.setting = Shopping(
            catalog=catalog,
            goals=goals,
            split=split,
            observation=observation,
            rules=rules,
            max_steps=max_steps,
            search_anywhere=search_anywhere,
            num_prev_obs=num_prev_obs,
            num_prev_actions=num_prev_actions,
            show_attrs=show_attrs,
            special_queries=special_queries,
            goal_draw=goal_draw,
            marks=marks,
            after_purchase=after_purchase,
        )
        self.render_mode = render_mode
        self.observation_space = AnyText()
        self.action_space = ActionText()
        self._episode: Episode | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Begin an episode; `options` may name the `goal` (an index in the whole goal list)."""
        super().reset(seed=seed)
        self._episode = self.setting.begin(self.np_random, options)
        return self._episode.first()

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Do `search[...]` or `click[...]`."""
        return self.episode.step(action)

    def render(self) -> str | None:
        """The page, as a person would read it."""
        if self.render_mode is None:
            return None
        return self.episode.html() if self.render_mode == "html" else self.episode.text_rich()

    @property
    def episode(self) -> Episode:
        """The episode being played."""
        if self._episode is None:
            raise ErrandsError("The environment has no episode yet; call reset() first.")
        return self._episode

    @property
    def goal(self) -> Goal:
        """The hidden goal: for oracles and for explaining rewards, not for agents."""
        return self.episode.goal

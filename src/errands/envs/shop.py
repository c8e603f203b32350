"""`errands/Shop-v0`: WebShop as a Gymnasium environment.

An episode begins on the search page with an instruction and ends with a purchase, whose reward
in [0, 1] says how well the product fits. Everything the environment needs of the catalogue is
mapped and shared, so one more environment costs a few kilobytes.
"""

import os
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from errands.envs.episode import OBSERVATIONS, Episode, Shopping
from errands.envs.screenshots import PICTURED, Camera, picture_space, shared_camera
from errands.envs.spaces import ActionText, AnyText
from errands.errors import ErrandsError, SettingError
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import Goal, GoalSet

__all__ = ["ShopEnv"]


class ShopEnv(gymnasium.Env[Any, str]):
    """A shop with one customer.

    ## Action space
    A text: `search[words]` or `click[name]`, where name is one of
    `info["available_actions"]["clickables"]`. Anything else changes nothing and costs a step.

    ## Observation space
    A text: the page as `text` (nodes joined by ` [SEP] `), `text_rich` (a line a node, buttons
    marked), `html`, or its `url`. `num_prev_obs` and `num_prev_actions` put so many earlier
    observations and actions before it. With a browser also `screenshot`, the pixels of the page
    (800 x 1280 x 3), and `html+screenshot`, a dictionary of both.

    ## Rewards
    0.0, and at the purchase the reward of the chosen `rules`, `released`, `paper` or `synonym`
    (see docs/reward.md); its parts are in `info["reward_parts"]`.

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
    `uniform`), `marks` (`released`, `true`), `after_purchase` (`locked`, `open`). `camera` is one
    that the caller closes; the default is that of the process.

    ## Version history
    v0: first release.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": ["ansi", "html", "rgb_array"],
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
        camera: Camera | None = None,
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise SettingError(
                f"render_mode={render_mode!r}: expected 'ansi', 'html', 'rgb_array' or None."
            )
        allowed = (*OBSERVATIONS, *PICTURED)
        if observation not in allowed:
            raise SettingError(f"observation={observation!r}: expected {', '.join(allowed)}.")
        self._pictured = observation in PICTURED
        if self._pictured and (num_prev_obs or num_prev_actions):
            raise SettingError(
                f"observation={observation!r} shows one page and nothing of earlier ones:"
                " num_prev_obs and num_prev_actions must be 0."
            )
        self.setting = Shopping(
            catalog=catalog,
            goals=goals,
            split=split,
            observation="html" if self._pictured else observation,
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
        self.observation_space: spaces.Space[Any] = AnyText()
        if observation == "screenshot":
            self.observation_space = picture_space()
        elif observation == "html+screenshot":
            parts = {"html": AnyText(), "screenshot": picture_space()}
            self.observation_space = spaces.Dict(parts)
        self.action_space = ActionText()
        self._mode = observation
        self._camera = camera
        self._shot: tuple[str, NDArray[np.uint8]] | None = None
        self._episode: Episode | None = None

    @property
    def observation(self) -> str:
        """What the environment shows."""
        return self._mode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; `options` may name the `goal` (an index in the whole goal list)."""
        super().reset(seed=seed)
        self._episode = self.setting.begin(self.np_random, options)
        seen, info = self._episode.first()
        return (self._pixels(seen) if self._pictured else seen), info

    def step(self, action: str) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Do `search[...]` or `click[...]`."""
        if not self._pictured:
            return self.episode.step(action)
        html, reward, terminated, truncated, info = self.episode.step(action)
        return self._pixels(html), reward, terminated, truncated, info

    def render(self) -> Any:
        """The page, as a person would read or see it."""
        if self.render_mode is None:
            return None
        if self.render_mode == "rgb_array":
            return self._picture(self.episode.html())
        return self.episode.html() if self.render_mode == "html" else self.episode.text_rich()

    def close(self) -> None:
        """End the browser, unless other environments take pictures, too."""
        self._shot = None
        if self._camera is None:
            shared_camera().release(self)

    def _pixels(self, html: str) -> Any:
        """The observation, where it is made of pixels."""
        picture = self._picture(html)
        return picture if self._mode == "screenshot" else {"html": html, "screenshot": picture}

    def _picture(self, html: str) -> NDArray[np.uint8]:
        """A page's pixels; those of the last one are kept, for an action may change nothing."""
        if self._shot is None or self._shot[0] != html:
            camera = self._camera or shared_camera()
            self._shot = html, camera.take(self, html)
        return self._shot[1].copy()

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

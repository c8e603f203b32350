"""`errands/Shop-v0`: WebShop as a Gymnasium environment.

An episode begins on the search page with an instruction and ends with a purchase, whose reward
in [0, 1] says how well the product fits. Everything the environment needs of the catalogue is
mapped and shared, so one more environment costs a few kilobytes.
"""

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from errands.browser.chromium import is_installed
from errands.envs.config import ShopConfig, config_from
from errands.envs.episode import ShopContext, ShopEpisode
from errands.envs.observations import SHOP_FORMATS, foreign_format
from errands.envs.screenshots import PICTURED, Camera, pictured, shared_camera
from errands.envs.snapshots import Snapshot
from errands.envs.spaces import ActionText, observation_space
from errands.errors import ErrandsError, SettingError
from errands.shop.goals import Goal

__all__ = ["ShopEnv"]


class ShopEnv(gymnasium.Env[Any, str]):
    """A shop with one customer.

    ## Action space
    A text: `search[words]` or `click[name]`, where name is one of
    `info["available_actions"]["clickables"]`. Anything else changes nothing and costs a step:
    `info["valid_action"]` is then False. `info["page_changed"]` says whether it led elsewhere.

    ## Observation space
    A text: the page as `text` (nodes joined by ` [SEP] `), `text_rich` (a line a node, buttons
    marked), `html`, or its `url`. `num_prev_obs` and `num_prev_actions` put so many earlier
    observations and actions before it. With a browser also `screenshot`, the pixels of the page
    (800 x 1280 x 3), and `html+screenshot`, a dictionary of both.

    ## Rewards
    0.0, and at the purchase the reward of the chosen `rules`: `released`, `paper`, `synonym`, or
    rules of your own (see docs/explanation/reward.md); its parts are in `info["reward_parts"]`.

    ## Starting state
    The search page of one goal: that of `reset(options={"goal": index})`, else one drawn from
    the `split`: `disjoint-test`, `disjoint-eval` and `disjoint-train` share no product and no
    wording; the original's `test`, `eval` and `train` are of one shuffled list, and warn where they
    share products. None is all goals.

    ## Episode end
    Terminated by the purchase, truncated after `max_steps` (None: never); `info` then has
    `score` and `success`. Later actions change nothing.

    ## Arguments
    The options of `ShopConfig`, in its order or by name, or a `config`, or a `context` that is
    open already. `camera` is one that the caller closes; the default is that of the process.

    ## Version history
    v0: first release.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        "render_modes": ["ansi", "html", "rgb_array"],
        "render_fps": 4,
    }

    def __init__(
        self,
        *arguments: Any,
        config: ShopConfig | None = None,
        context: ShopContext | None = None,
        camera: Camera | None = None,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            modes = ", ".join(map(repr, self.metadata["render_modes"]))
            raise SettingError(f"render_mode={render_mode!r}: expected {modes} or None.")
        if context is not None:
            config = context.config
        self.config = config_from(ShopConfig, config, arguments, options)
        self._pictured = self.config.observation in PICTURED
        self.context = context or ShopContext(self.config)
        self.render_mode = render_mode
        if render_mode != "rgb_array" and not is_installed():
            # What is listed is tried by Gymnasium's `check_env`.
            left = [mode for mode in self.metadata["render_modes"] if mode != "rgb_array"]
            self.metadata = {**self.metadata, "render_modes": left}
        self.observation_space = observation_space(self.config.observation)
        self.action_space = ActionText()
        self._camera = camera
        self._shot: tuple[str, NDArray[np.uint8]] | None = None
        self._episode: ShopEpisode | None = None

    @property
    def observation(self) -> str:
        """The name of what the environment shows."""
        foreign = foreign_format(SHOP_FORMATS, self.config.observation)
        return str(self.config.observation) if foreign is None else foreign.name

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode; `options` may name the `goal` (an index in the whole goal list)."""
        super().reset(seed=seed)
        self._episode = self.context.begin(self.np_random, options)
        seen, info = self._episode.first()
        return (self._pixels(seen) if self._pictured else seen), info

    def step(self, action: str) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Do `search[...]` or `click[...]`."""
        if not self._pictured:
            return self.episode.step(action)
        html, reward, terminated, truncated, info = self.episode.step(action)
        return self._pixels(html), reward, terminated, truncated, info

    def snapshot(self) -> Snapshot:
        """The episode and the generator of the next ones, as plain data that JSON can hold."""
        return self.episode.snapshot(self.np_random)

    def restore(self, snapshot: Snapshot) -> tuple[Any, dict[str, Any]]:
        """Go on where a snapshot was taken, here or in another environment of the same data and
        options; gives what the last reset or step showed."""
        self._episode, self.np_random = self.context.restored(snapshot)
        seen, info = self._episode.observation(), self._episode.info()
        return (self._pixels(seen) if self._pictured else seen), info

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
        return pictured(self.config.observation, html, self._picture(html))

    def _picture(self, html: str) -> NDArray[np.uint8]:
        """A page's pixels; those of the last one are kept, for an action may change nothing."""
        if self._shot is None or self._shot[0] != html:
            camera = self._camera or shared_camera()
            self._shot = html, camera.take(self, html)
        return self._shot[1].copy()

    @property
    def episode(self) -> ShopEpisode:
        """The episode being played."""
        if self._episode is None:
            raise ErrandsError("The environment has no episode yet; call reset() first.")
        return self._episode

    @property
    def goal(self) -> Goal:
        """The hidden goal: for oracles and for explaining rewards, not for agents."""
        return self.episode.goal

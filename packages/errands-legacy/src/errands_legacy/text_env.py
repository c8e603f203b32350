"""`WebAgentTextEnv`: the original's environment, played by `errands.shop`."""

import importlib
import operator
from collections.abc import Iterable
from typing import Any, Final

from errands.errors import SettingError
from errands.shop.navigation import SEARCH, Page, parse_action
from errands.shop.render.text import SEPARATOR, text, text_rich
from errands_legacy.goals import random_session
from errands_legacy.gym_base import GymEnv
from errands_legacy.html_text import plain_text, rich_text
from errands_legacy.pictures import PictureFeatures, no_picture
from errands_legacy.server import SimBrowser, SimServer
from errands_legacy.sources import PathLike, default_files

__all__ = ["OBSERVATION_MODES", "Clickable", "WebAgentTextEnv"]

OBSERVATION_MODES: Final = ("html", "text", "text_rich", "url")

_SERVER_OPTIONS: Final = (
    "filter_goals limit_goals num_products human_goals show_attrs catalog goals seed shuffle"
).split()


class Clickable(dict[str, Any]):
    """An element that can be clicked: its attributes, as BeautifulSoup's tags give them."""

    def __init__(self, name: str, target: int | str | None) -> None:
        if isinstance(target, str):
            super().__init__(type="radio", name=target, value=name)
        else:
            super().__init__({"class": ["btn" if target is None else "product-link"]})
        self.text = name

    def get_text(self) -> str:
        return self.text


class WebAgentTextEnv(GymEnv):
    """One visitor of the shop, by the original's interface (gym's of 2022).

    `step(action)` gives observation, reward, done and None; `reset(session)` gives the observation
    and None. Options are the original's, and `catalog`, `goals` and `shuffle` of `SimServer`;
    others, which forks of it have, are taken and kept in `kwargs`.
    """

    metadata: dict[str, Any] = {"render_modes": ["human", "ansi"]}  # noqa: RUF012

    def __init__(
        self,
        observation_mode: str = "html",
        file_path: PathLike | None = None,
        server: SimServer | None = None,
        attr_path: PathLike | None = None,
        **kwargs: Any,
    ) -> None:
        if observation_mode not in OBSERVATION_MODES:
            raise _unknown(observation_mode)
        self.observation_mode = observation_mode
        self.kwargs = kwargs
        self.file_path = file_path
        self.attr_path = attr_path
        for option in ("num_prev_obs", "num_prev_actions"):
            if not isinstance(kwargs.get(option, 0), int):
                raise SettingError(f"{option}={kwargs[option]!r}: expected 0 or more.")
        if server is None:
            options = {name: kwargs[name] for name in _SERVER_OPTIONS if name in kwargs}
            server = SimServer(file_path=file_path, attr_path=attr_path, **options)
        self.server: SimServer = server
        self.base_url = self.server.base_url
        self.browser = SimBrowser(self.server)
        self.session: Any = kwargs.get("session")
        self.session_prefix: str | None = kwargs.get("session_prefix")
        self.num_prev_obs: int = kwargs.get("num_prev_obs", 0)
        self.num_prev_actions: int = kwargs.get("num_prev_actions", 0)
        self.prev_obs: list[str] = []
        self.prev_actions: list[str] = []
        self.instruction_text = ""
        self._random_session: str | None = None
        self._features: PictureFeatures | None = None
        if kwargs.get("get_image"):
            folder = default_files().items.parent
            self._features = PictureFeatures(folder / "feat_conv.pt", folder / "feat_ids.pt")
        self.reset()

    def reset(self, session: Any = None, instruction_text: str | None = None) -> tuple[str, None]:
        """Begin an episode: on the goal of an index, in a named session, or on a goal drawn.

        `instruction_text` changes the attribute of that name alone, neither page nor goal.
        """
        index = None if session is None or isinstance(session, str) else _index(session)
        name = self._new_session() if session is None else self._prefixed(session)
        self.browser.get(f"{self.base_url}/{name}", name, index)
        self.session = name
        if self._random_session is not None:
            # Nobody can ask for it again, and sessions would fill the memory.
            self.server.user_sessions.pop(self._random_session, None)
        self._random_session = name if session is None else None
        if instruction_text is None:
            instruction_text = self.get_instruction_text()
        self.instruction_text = instruction_text
        seen = self.observation
        self.prev_obs = [seen]
        self.prev_actions = []
        return seen, None

    def _prefixed(self, session: Any) -> str:
        return f"{self.session_prefix or ''}{session}"

    def _new_session(self) -> str:
        """A name that no session of the server has."""
        while (name := self._prefixed(random_session())) in self.server.user_sessions:
            pass
        return name

    def step(self, action: str) -> tuple[str, float, bool, Any]:
        """Search or click; anything else, and what cannot be clicked here, changes nothing."""
        action = str(action)
        name, argument = parse_action(action)
        status: dict[str, Any] = {"reward": 0.0, "done": False}
        if argument is not None:
            argument = argument.lower()
            if name == "search":
                status = self.browser.search(argument)
            elif name == "click" and argument != "search" and argument in self._page.clicks:
                status = self.browser.click(argument)
        seen = self.observation
        shown = SEPARATOR.join([*self._history(action), seen])
        self.prev_obs.append(seen)
        del self.prev_obs[: -max(self.num_prev_obs, 1)]
        return shown, status["reward"], status["done"], self._info(status["done"])

    def _info(self, done: bool) -> Any:
        """The last part of what `step` gives: nothing, in the original."""
        return None

    def _history(self, action: str) -> Iterable[str]:
        """The earlier actions and observations that are asked for, oldest first."""
        self.prev_actions.append(action)
        past: list[str] = []
        for back in range(1, 1 + max(self.num_prev_obs, self.num_prev_actions)):
            if back <= min(len(self.prev_actions), self.num_prev_actions):
                past.append(self.prev_actions[-back])
            if back <= min(len(self.prev_obs), self.num_prev_obs):
                past.append(self.prev_obs[-back])
        return reversed(past)

    @property
    def _page(self) -> Page:
        return self.browser.page

    def get_available_actions(self) -> dict[str, Any]:
        """Whether there is a search bar, and the names that can be clicked."""
        page = self._page
        return {"has_search_bar": page.has_search_bar, "clickables": list(page.clicks)}

    @property
    def text_to_clickable(self) -> dict[str, Clickable]:
        """What can be clicked, by name."""
        return {name: Clickable(name, target) for name, target in self._page.clicks.items()}

    @text_to_clickable.setter
    def text_to_clickable(self, clickable: Any) -> None:
        """Forks that reset by themselves set it; the page says what can be clicked."""

    @property
    def observation(self) -> str:
        """The page in the environment's mode, without history."""
        return self._rendered(self.observation_mode)

    def _rendered(self, mode: str) -> str:
        page = self._page
        if mode == "html":
            return self.browser.page_source
        if mode == "url":
            return self.browser.current_url or ""
        session = self.browser.session
        instruction = self.server.instruction(session)
        score = self.server.user_sessions[session].get("reward")
        if mode == "text":
            return text(page, instruction, score)
        if mode == "text_rich":
            return text_rich(page, instruction, score, session=session)
        raise _unknown(mode)

    @property
    def state(self) -> dict[str, Any]:
        """Address, HTML and instruction."""
        return {
            "url": self.browser.current_url,
            "html": self.browser.page_source,
            "instruction_text": self.instruction_text,
        }

    def get_instruction_text(self) -> str:
        """What the page asks for, as it is written there."""
        space = " " if self._page.state.page == SEARCH else ""
        return f"Instruction:{space}{self.server.instruction(self.browser.session)}"

    def convert_html_to_text(self, html: str, simple: bool = False) -> str:
        """The text of a page's source, with marks of what this session has clicked or without."""
        if simple:
            return plain_text(html)
        address = self.browser.current_url or ""
        seen = self.server.user_sessions[self.session]["asins"]
        return rich_text(html, lambda value: f'"{value}"' in address, seen.__contains__)

    def _parse_html(self, html: str | None = None) -> Any:
        """A page, that of the browser if none is given, as BeautifulSoup reads it."""
        try:
            soup = importlib.import_module("bs4")
        except ImportError:
            raise SettingError("_parse_html needs `pip install beautifulsoup4`.") from None
        return soup.BeautifulSoup(self.browser.page_source if html is None else html, "html.parser")

    def get_image(self) -> Any:
        """The features of the product's picture; zeros where there is none, or none is known."""
        page = self._page
        if self._features is None or page.product is None or page.state.page != "item":
            return no_picture()
        return self._features.of(page.product.image)

    def render(self, mode: str = "human") -> str:
        """The page as text with its buttons marked, whatever the mode."""
        return self._rendered("text_rich")

    def close(self) -> None:
        """Forget the session if nobody else can name it."""
        if self._random_session is not None:
            self.server.user_sessions.pop(self._random_session, None)


def _unknown(mode: str) -> SettingError:
    return SettingError(f"observation_mode={mode!r}: expected {', '.join(OBSERVATION_MODES)}.")


def _index(session: Any) -> int:
    try:
        return operator.index(session)
    except TypeError:
        raise SettingError(
            f"session={session!r}: expected a goal's index, a session's name, or None."
        ) from None

"""Language-model agents for both domains: any chat model behind an OpenAI-compatible endpoint.

`make("shop" | "turk", env, settings)` gives the factory of a run's agents; they all share one
client, and with it the rate limit, the spending cap and the cache. See
docs/guides/language-models.md.
"""

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium

from errands.agents.agent import Agent, Mode
from errands.agents.llm.presets import PUBLISHED_STYLES, known_presets, preset_of
from errands.agents.llm.prompts import Prompt, load
from errands.agents.llm.settings import (
    ClientSettings,
    ShopSettings,
    TurkSettings,
    read,
    recorded,
)
from errands.agents.llm.shop.agent import ShopAgent, check_window
from errands.agents.llm.shop.published import PublishedShopAgent
from errands.agents.llm.transport.client import ChatModel, Conversation
from errands.agents.llm.turk.agent import TurkAgent, TurkPrompter
from errands.agents.llm.turk.conditions import with_condition
from errands.agents.llm.turk.demonstration_lists import list_for, listed_demonstrations
from errands.agents.llm.turk.demonstrations import DemonstrationStyle, demonstrations
from errands.envs.screenshots import no_pictures
from errands.envs.shop import ShopEnv
from errands.envs.turk import TurkEnv
from errands.errors import SettingError
from errands.turk.tasks.template import page_html

__all__ = ["LanguageModel", "make"]


class LanguageModel:
    """Makes the agents of a run, on one model."""

    name = "llm"
    mode: Mode = "model"

    def __init__(
        self,
        model: ChatModel,
        settings: Mapping[str, Any],
        player: Callable[[Conversation], Agent],
    ) -> None:
        self._model = model
        self.settings = settings
        self._player = player

    @property
    def spent(self) -> float:
        """What this run has cost so far, in US dollars."""
        return self._model.budget.spent

    def charge(self, cost: float) -> None:
        """Count what an earlier part of the run has cost: the cap is for all of it."""
        self._model.budget.spent += cost

    def agent(self, seed: int) -> Agent:
        return self._player(Conversation(self._model, seed))

    def close(self) -> None:
        self._model.close()


def make(domain: str, env: gymnasium.Env[Any, Any], settings: Mapping[str, Any]) -> LanguageModel:
    """The factory of language-model agents for an environment of this domain."""
    if domain == "shop" and isinstance(env, ShopEnv):
        no_pictures(
            env.observation,
            "is not for the agent llm, which reads the shop as text; take observation='text'",
        )
        client, play = read(settings, ShopSettings)
        tools = "-tools" if play.calls == "tools" else ""
        published = play.style in PUBLISHED_STYLES
        kind = "shop-published" if published else "shop"
        prompt = load(f"shop-{play.style}{tools}", kind, play.prompt)
        check_window(prompt, play)
        player = PublishedShopAgent if published else ShopAgent
        search_anywhere = env.context.shop.search_anywhere
        model = ChatModel(client)
        return LanguageModel(
            model,
            _kept(model, play, prompt),
            lambda talk: player(talk, prompt, play, search_anywhere=search_anywhere),
        )
    if domain == "turk" and isinstance(env, TurkEnv):
        client, work = read(with_condition(settings), TurkSettings)
        prompter = _turk_prompter(client, work, env)
        model = ChatModel(client)
        kept = _kept(model, work, prompter.prompt)
        return LanguageModel(
            model,
            {
                **kept,
                "demo_list": _list_name(work, env),
                "demonstrations": list(prompter.examples),
            },
            lambda talk: TurkAgent(talk, prompter),
        )
    raise SettingError(
        f"The agent llm plays 'shop' and 'turk', each in its own environment, not {domain!r} in"
        f" {type(env).__name__}."
    )


def _turk_prompter(client: ClientSettings, play: TurkSettings, env: TurkEnv) -> TurkPrompter:
    shows = env.observation
    if play.encoding not in ("auto", "relevant") and shows == "relevant":
        raise SettingError(
            f"encoding={play.encoding!r} needs the whole page, but the environment shows"
            " observation='relevant': take observation='html'."
        )
    if play.vision:
        _need_pictures(env, shows)
    tools = "-tools" if play.calls == "tools" else ""
    kind = f"turk-{play.ask}"
    prompt = load(f"{kind}{tools}", kind, play.prompt)
    as_served = play.encoding == "original-full"
    style = DemonstrationStyle(
        whole=play.ask == "whole",
        served=as_served,
        shrink=play.shrink if play.vision or "screenshot" in shows else None,
        scrolled=play.vision,
    )
    if play.demo_list == "drawn":
        driver = env.pages.driver
        examples = demonstrations(
            env.tasks, driver, count=play.demos, seed=play.demo_seed, style=style
        )
    else:
        chosen = list_for(play.demo_list, env.tasks)
        examples = listed_demonstrations(chosen, env.tasks, count=play.demos, style=style)

    def served(info: Mapping[str, Any]) -> str:
        task = env.tasks.task(str(info["task"]))
        return page_html(task, task.instances[int(info["row"])], mojibake=True)

    return TurkPrompter(
        play,
        prompt,
        examples,
        shows=shows,
        max_tokens=client.max_tokens or 512,
        served=served if as_served else None,
    )


def _list_name(play: TurkSettings, env: TurkEnv) -> str:
    """Which demonstrations a run keeps that it had: `fixed` is no name of a list."""
    return "drawn" if play.demo_list == "drawn" else list_for(play.demo_list, env.tasks).name


def _need_pictures(env: TurkEnv, shows: str) -> None:
    """Every page must be one that pictures can be taken of."""
    if "screenshot" in shows:
        raise SettingError(
            f"vision=true takes its own pictures, and the environment shows observation={shows!r}:"
            " take observation='html', or leave vision out."
        )
    if env.pages.driver == "dom":
        raise SettingError(
            "vision=true needs a browser, and the driver is 'dom': take driver='auto' or 'browser'."
        )
    env.pages.needs_pictures = True


def _kept(model: ChatModel, play: ShopSettings | TurkSettings, prompt: Prompt) -> dict[str, Any]:
    """The settings that a run keeps: no key, and what a prompt's file says, not only its path."""
    price = model.budget.price
    return {
        **recorded(model.settings, play),
        "base_url": model.base_url,
        "price_in": None if price is None else price.tokens_in,
        "price_out": None if price is None else price.tokens_out,
        "preset": f"{preset_of(model.settings.model).name}@{known_presets().version}",
        "prompt_version": prompt.version,
        "prompt_sha256": prompt.sha256,
    }

"""BrowserGym: the shop's website and form pages, for agents that see, click and type.

    from errands.integrations import browsergym

    browsergym.register("shop-demo")                    # browsergym/errands.shop.0, .1, ...
    browsergym.register("turk-demo")                    # browsergym/errands.turk.0, .1, ...
    env = gymnasium.make("browsergym/errands.shop.4")   # episode 4 of the protocol

The shop is the website of `errands serve`, started in this process unless a `url` is given; the
reward is what the site says of the session. A form page is served without a network, and scored
when it is submitted. Neither goals nor answers ever reach the browser.
"""

import base64
import copy
import functools
import json
import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import gymnasium
import msgspec

from errands.agents.llm.tools import ToolError
from errands.browser.chromium import MISSING_BROWSER, BrowserError, find
from errands.browser.libraries import without_integrity
from errands.browser.network_policy import ORIGIN, NetworkPolicy
from errands.browser.tab import WORLD, TabConfig, guard_script
from errands.envs.shop import ShopEnv
from errands.errors import ErrandsError, SettingError
from errands.home import home
from errands.integrations.episodes import ToolEpisodes, open_episodes
from errands.integrations.frameworks import require
from errands.integrations.reference import play_reference
from errands.runs.episode_source import TurkSource
from errands.shop.urls import parse
from errands.turk.browser.driver import probe_script
from errands.turk.pages.field import EXCLUDED, TEXTS, Field
from errands.turk.scoring.instance_score import ScoredField, instance_figure, score_fields
from errands.turk.scoring.metrics import SUBMITTED
from errands.turk.tasks.template import page_html
from errands.web.server import serve_shop

require("browsergym")

import browsergym.core  # noqa: E402
from browsergym.core.registration import register_task  # noqa: E402
from browsergym.core.task import AbstractBrowserTask  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Request, Route

__all__ = ["BrowserTask", "FormTask", "ShopTask", "prepare", "register"]

_BROWSERS: Final = "PLAYWRIGHT_BROWSERS_PATH"
_ENVIRONMENT: Final = {
    "pre_observation_delay": 0.0,
    "pw_context_kwargs": {"service_workers": "block", "accept_downloads": False},
}
_NOWHERE: Final = {"server": "http://127.0.0.1:9"}
"""A proxy that is not there: what a form page could still send comes to nothing."""
_SHOP_GOAL: Final = (
    "Buy the product in this web shop that fits the instruction best, with the options that it"
    " asks for. Instruction: "
)
_FORM_GOAL: Final = (
    "Fill in the form on this page as the page itself instructs you, then press its button to"
    " submit it."
)
_SUBMITS: Final = "input[type=submit], button[type=submit], button:not([type])"
_CLICKABLE: Final = "button, a.product-link, .pill a"
_LABELS: Final = (
    "(all) => all.map((one) =>"
    " (one.getAttribute('aria-label') ?? one.innerText).trim().toLowerCase())"
)

# Beside the page, after the probe: what the form holds, and what it held when it was first
# submitted, before handlers of the page could change anything. The page's own checks do not hold
# it up, as they do not for agents elsewhere.
_FORM_SCRIPT: Final = """
(() => {
  const ask = (name, question) => JSON.parse(errandsAsk(name, question)).answer;
  globalThis.errandsForm = () => {
    const fields = ask("fields", { names: null, excluded: __EXCLUDED__ });
    const names = fields.map((field) => field.name);
    return { fields, values: ask("values", { names, attributes: false }) };
  };
  globalThis.errandsSubmitted = null;
  const submitted = () => { globalThis.errandsSubmitted ??= globalThis.errandsForm(); };
  const unchecked = () => { for (const form of document.forms) form.noValidate = true; };
  // The end of a form in a template is the end of the form around it: its button stands alone.
  const alone = ({ target }) => {
    const button = target.closest?.("[type=submit], button:not([type])");
    if (button && !button.form) submitted();
  };
  window.addEventListener("submit", submitted, { capture: true });
  window.addEventListener("errands-submit", submitted);
  window.addEventListener("click", unchecked, { capture: true });
  window.addEventListener("click", alone, { capture: true });
  window.addEventListener("keydown", unchecked, { capture: true });
})();
"""
# In the page: a script that submits the form is heard, too.
_SUBMIT_SCRIPT: Final = """
HTMLFormElement.prototype.submit = function () {
  window.dispatchEvent(new Event("errands-submit"));
};
"""

Verdict = tuple[float, bool, str, dict[str, Any]]


class _FormContent(msgspec.Struct, frozen=True):
    """What a form held."""

    fields: list[Field]
    values: list[list[str]]
    """Of each field."""


@functools.cache
def prepare() -> Path:
    """Have BrowserGym find a Chromium, and return its path; tasks do it by themselves.

    BrowserGym starts two of them, and the one of its chat window is always the one that Playwright
    installs (`playwright install chromium`). Where there is none, the system's (or that of
    `ERRANDS_CHROMIUM`) is linked to where Playwright looks, in a folder of our own.
    """
    path = Path(browsergym.core._get_global_playwright().chromium.executable_path)
    if path.exists():
        return path
    system = find()
    if system is None:
        raise BrowserError(f"{MISSING_BROWSER}.")
    # Playwright reads the variable when it starts: nothing can have been opened with it yet.
    browsergym.core._get_global_playwright().stop()
    browsergym.core._set_global_playwright(None)
    os.environ[_BROWSERS] = str(home() / "browsergym")
    path = Path(browsergym.core._get_global_playwright().chromium.executable_path)
    path.parent.mkdir(parents=True, exist_ok=True)
    link = path.with_name(f"{path.name}-{os.getpid()}")
    link.symlink_to(system)
    link.replace(path)  # At once, as other processes may be doing the same.
    return path


def register(
    protocol: str = "shop-demo",
    *,
    name: str | None = None,
    url: str | None = None,
    **changes: Any,
) -> list[str]:
    """Make a protocol's episodes environments, and return their ids.

    They are `browsergym/NAME.0`, `browsergym/NAME.1`, ...; `name` is `errands.shop` or
    `errands.turk` unless another is given. `url` is that of a running `errands serve` with the
    protocol's catalogue and goals. `changes` are those of `open_episodes`.
    """
    episodes = open_episodes(protocol, **changes)
    told: dict[str, Any] = {"protocol": protocol, **changes}
    options = dict(_ENVIRONMENT)
    if episodes.domain == "shop":
        told["url"] = url
    elif url is not None:
        raise SettingError(f"url={url!r}: form pages are on no website; leave it out.")
    elif episodes.protocol.rules == SUBMITTED:
        raise SettingError(
            f"The protocol {episodes.protocol.id!r} has the rules {SUBMITTED!r}: here a form is"
            " read before it is sent; take 'paper' or 'released', or errands/Turk-v0."
        )
    else:
        options["pw_chromium_kwargs"] = {"proxy": _NOWHERE}
    kind = ShopTask if episodes.domain == "shop" else FormTask
    ids = []
    for number in range(len(episodes)):
        task = f"{name or f'errands.{episodes.domain}'}.{number}"
        ids.append(f"browsergym/{task}")
        gymnasium.registry.pop(ids[-1], None)
        register_task(task, kind, task_kwargs={"number": number, **told}, kwargs=options)
    return ids


class BrowserTask(AbstractBrowserTask):
    """An episode of a protocol."""

    def __init__(self, seed: int | None, *, number: int, protocol: str, **changes: Any) -> None:
        prepare()
        super().__init__(seed)
        self.slow_mo = 0
        self.locale = "en-US"
        self.timezone_id = "UTC"
        self.episodes: ToolEpisodes = open_episodes(protocol, **changes)
        self.number = number
        self._about = {"protocol": self.episodes.key, **self.episodes.row(number)}
        self._end: dict[str, Any] | None = None

    def setup(self, page: "Page") -> tuple[str, dict[str, Any]]:
        """Open the episode's page; the goal in words, and what is played."""
        page.context.route("**/*", self._answer)
        return self._open(page), dict(self._about)

    def validate(self, page: "Page", chat_messages: Sequence[Any]) -> Verdict:
        """How the episode stands: (reward, done, nothing to say, the result). The reward is 0.0
        before the end, and after it, too."""
        if self._end is not None:
            return 0.0, True, "", copy.deepcopy(self._end)
        result = self._about | self._result()
        if result["done"]:
            self._end = copy.deepcopy(result)
        return result["reward"], result["done"], "", result

    def cheat(self, page: "Page", chat_messages: Sequence[Any]) -> None:
        """Play as the known agents do, with real clicks: in the shop as `careful`, on a form with
        the answers that people gave."""
        for call in play_reference(self.episodes, self.number).calls:
            self.perform(page, call.name, call.arguments)

    @abstractmethod
    def _open(self, page: "Page") -> str:
        """Show the first page; returns the goal."""

    @abstractmethod
    def _result(self) -> dict[str, Any]:
        """`reward`, `success`, `done`, `truncated`, `steps`, `reward_parts`, after a step."""

    @abstractmethod
    def perform(self, page: "Page", name: str, arguments: Mapping[str, Any]) -> None:
        """Carry out a call of the episode's tools with clicks and keys; a `ToolError` where the
        page has nothing of that name."""

    @abstractmethod
    def _answer(self, route: "Route") -> None:
        """Answer what the browser asks the network for."""

    def _is_last(self, steps: int) -> bool:
        limit = self.episodes.protocol.max_steps
        return limit is not None and steps >= limit


class ShopTask(BrowserTask):
    """An errand in the shop's website; over when something is bought, or when as many pages were
    gone to as the protocol has steps.

    The browser is kept in its own session: in another one for the same goal it could be told,
    after a purchase, what is wanted.
    """

    def __init__(self, seed: int | None, *, url: str | None = None, **told: Any) -> None:
        super().__init__(seed, **told)
        self._site = _site(self.episodes) if url is None else url.rstrip("/")

    def _open(self, page: "Page") -> str:
        self._request = page.context.request
        goal = self._about["goal"]
        self._session = self._ask("POST", "/api/sessions", data={"goal": goal})
        page.goto(self._site + self._session["url"])
        env = self.episodes.source.env()
        assert isinstance(env, ShopEnv)
        instruction = env.context.goals[goal].instruction_text
        shown = page.locator("#instruction-text").text_content() or ""
        if instruction.split() != shown.removeprefix("Instruction:").split():
            raise SettingError(
                f"The website at {self._site} has another goal {goal} than the protocol"
                f" {self.episodes.protocol.id!r}; serve its catalogue and goals."
            )
        return f"{_SHOP_GOAL}{instruction}"

    def _result(self) -> dict[str, Any]:
        path = f"/api/sessions/{self._session['session']}/result"
        key = {"Authorization": f"Bearer {self._session['key']}"}
        told = self._ask("GET", path, headers=key)
        truncated = not told["done"] and self._is_last(told["steps"])
        return {
            "reward": told["reward"],
            "success": told["success"],
            "done": told["done"] or truncated,
            "truncated": truncated,
            "steps": told["steps"],
            "reward_parts": told["reward_parts"],
        }

    def _ask(self, method: str, path: str, **options: Any) -> Any:
        from playwright.sync_api import Error

        try:
            answer = self._request.fetch(f"{self._site}{path}", method=method, **options)
        except Error as failure:
            reason = (failure.message or "no reason given").strip().splitlines()[0]
            raise ErrandsError(
                f"The shop's website does not answer at {self._site} ({reason}); give the url of"
                " a running `errands serve`, or none."
            ) from None
        if not answer.ok:
            raise ErrandsError(
                f"The website at {self._site} answers {path} with {answer.status}; expected that"
                " of `errands serve` with the protocol's catalogue and goals."
            )
        return answer.json()

    def perform(self, page: "Page", name: str, arguments: Mapping[str, Any]) -> None:
        if name == "search":
            box = page.locator("#search_input")
            if not box.count():
                self._click(page, "back to search")
            box.fill(arguments["query"])
            self._click(page, "search")
        else:
            self._click(page, arguments["name"])

    def _click(self, page: "Page", name: str) -> None:
        found = page.locator(_CLICKABLE)
        labels = found.evaluate_all(_LABELS)
        found.nth(_index(labels, name.lower())).click()

    def _answer(self, route: "Route") -> None:
        request = route.request
        if not request.is_navigation_request() or self._is_own(request.url):
            route.continue_()
        else:
            route.fulfill(status=204)  # The browser stays where it is.

    def _is_own(self, url: str) -> bool:
        address = parse(urlsplit(url).path)
        is_site = url.startswith(f"{self._site}/")
        return is_site and address is not None and address.session == self._session["session"]


_SITES: dict[str, str] = {}


def _site(episodes: ToolEpisodes) -> str:
    """The address of a protocol's shop, which is started once in a process."""
    protocol = episodes.protocol
    shop = f"{protocol.data} {protocol.goals} {protocol.rules} {protocol.settings}"
    if shop not in _SITES:
        env = episodes.source.env()
        assert isinstance(env, ShopEnv)
        config = replace(
            env.context.config,
            split=None,
            max_steps=None,
            observation="html",
            goal_draw="weighted",
            marks="true",
        )
        _SITES[shop] = serve_shop(config)
    return _SITES[shop]


class FormTask(BrowserTask):
    """A form page; over when it is submitted, or after as many actions as the protocol has steps,
    when it is taken as it is."""

    def _open(self, page: "Page") -> str:
        source = self.episodes.source
        assert isinstance(source, TurkSource)
        task = source.tasks.task(self._about["task"])
        self._instance = task.instances[self._about["row"]]
        self._html = without_integrity(page_html(task, self._instance, accepted=True))
        self._policy = NetworkPolicy()
        self._page = page
        self._steps = 0
        page.add_init_script(guard_script(TabConfig()) + _SUBMIT_SCRIPT)
        self._devtools = page.context.new_cdp_session(page)
        self._devtools.send("Page.enable")
        script = _FORM_SCRIPT.replace("__EXCLUDED__", json.dumps(sorted(EXCLUDED)))
        self._devtools.send(
            "Page.addScriptToEvaluateOnNewDocument",
            {"source": probe_script() + script, "worldName": WORLD},
        )
        self._frame = self._devtools.send("Page.getFrameTree")["frameTree"]["frame"]["id"]
        page.goto(f"{ORIGIN}/")
        # There is no page before this one to go back to.
        self._devtools.send("Page.resetNavigationHistory")
        return _FORM_GOAL

    def _result(self) -> dict[str, Any]:
        self._steps += 1
        gone = self._page.is_closed()
        content = None if gone else self._content("errandsSubmitted")
        truncated = content is None and not gone and self._is_last(self._steps)
        if truncated:
            content = self._content("errandsForm()")
        scored = [] if content is None else self._scored(content)
        rules = self.episodes.protocol.rules
        reward = instance_figure(scored, rules) or 0.0
        return {
            "reward": reward,
            "success": reward >= 1.0,
            "done": gone or content is not None,
            "truncated": truncated,
            "steps": self._steps,
            "reward_parts": {one.name: one.scores[rules] for one in scored if rules in one.scores},
        }

    def _scored(self, content: _FormContent) -> list[ScoredField]:
        labels = self._instance.labels
        fields = [field for field in content.fields if field.name in labels]
        names = [field.name for field in content.fields]
        answers = dict(zip(names, content.values, strict=True))
        return score_fields(fields, answers, self._instance)

    def _content(self, expression: str) -> _FormContent | None:
        """What an expression says of the form, asked from beside the page."""
        place = {"frameId": self._frame, "worldName": WORLD}
        world = self._devtools.send("Page.createIsolatedWorld", place)["executionContextId"]
        question = {"expression": expression, "contextId": world, "returnByValue": True}
        answer = self._devtools.send("Runtime.evaluate", question)
        if "exceptionDetails" in answer:
            raise BrowserError(f"The form cannot be read: {answer['exceptionDetails']}")
        return msgspec.convert(answer["result"]["value"], _FormContent | None)

    def perform(self, page: "Page", name: str, arguments: Mapping[str, Any]) -> None:
        if name == "submit":
            _press(page.locator(_SUBMITS).locator("visible=true").first)
            return
        field, value = str(arguments["name"]), str(arguments["value"])
        content = self._content("errandsForm()")
        assert content is not None
        kind = content.fields[_index([one.name for one in content.fields], field)].type
        named = page.locator(f"[name={json.dumps(field, ensure_ascii=False)}]")
        if kind in TEXTS or kind == "range":
            named.first.fill(value)
        elif kind == "select":
            named.first.select_option(value=value)
        else:
            boxes = page.locator(f"input[type={kind}]").and_(named)
            values = boxes.evaluate_all("(all) => all.map((one) => one.value)")
            for wanted in value.split("|") if kind == "checkbox" else [value]:
                _press(boxes.nth(_index(values, wanted)))

    def _answer(self, route: "Route") -> None:
        request = route.request
        navigates = request.is_navigation_request()
        if navigates and not self._is_page(request):
            route.fulfill(status=204)
            return
        if navigates and request.method == "GET" and request.url == f"{ORIGIN}/":
            self._policy.expect(self._html, None)  # Also anew: then the form is empty again.
        asked = {"url": request.url, "method": request.method, "headers": request.headers}
        answer = self._policy.answer(asked, navigates=navigates)
        if answer is None:
            route.abort("namenotresolved")
        else:
            body = base64.b64decode(answer.body)
            route.fulfill(status=answer.status, headers=dict(answer.headers), body=body)

    def _is_page(self, request: "Request") -> bool:
        """Whether a request is for the page itself, not for a frame or another tab."""
        from playwright.sync_api import Error

        try:
            return request.frame == self._page.main_frame
        except Error:  # The frame of a tab that is only being opened.
            return False


def _index(names: Sequence[str], wanted: str) -> int:
    if wanted not in names:
        raise ToolError(f"The page has nothing called {wanted[:80]!r}.")
    return names.index(wanted)


def _press(element: "Locator") -> None:
    """A real click where the element can be reached, or else one by script."""
    from playwright.sync_api import TimeoutError as TooLate

    try:
        element.click(trial=True, timeout=1000)
    except TooLate:
        element.evaluate("(one) => one.click()")
    else:
        element.click()

"""BrowserGym's own environments, actions and observations, with the scripted model's calls.

A call becomes actions on the elements that the observation shows: found in its DOM, named by their
bids. Every reward comes from BrowserGym's `step`.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from scripted_model import Script

pytest.importorskip(
    "browsergym.core", reason="BrowserGym is not installed: pip install 'errands[browsergym]'"
)

import gymnasium
from browsergym.utils.obs import flatten_axtree_to_str, flatten_dom_to_str
from bs4 import BeautifulSoup, Tag

from errands.agents.llm.tools import ToolError
from errands.browser import chromium
from errands.envs.config import ShopConfig
from errands.errors import ErrandsError, SettingError
from errands.integrations import browsergym
from errands.integrations.episodes import open_episodes
from errands.testing.adapter import AdapterConformance, ScriptedCall, ScriptedModel
from errands.web.server import serve_shop

IN_PROCESS = False
EPISODES = 4
PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "integrations" / "browsergym.md"

pytestmark = [
    pytest.mark.filterwarnings("default"),
    pytest.mark.skipif(chromium.find() is None, reason="there is no Chromium"),
]


NOTHING = "nothing of that name"


def elements(html: str) -> list[Tag]:
    """What an observation's DOM shows that can be acted on."""
    return [one for one in BeautifulSoup(html, "html.parser").find_all(True) if one.get("bid")]


def label(element: Tag) -> str:
    """What a link or button is called, as the shop's environment has it."""
    text = element.get("aria-label") or re.sub("<::[a-z]+>", "", element.get_text(" "))
    return str(text).strip().lower()


def action(name: str, found: list[Tag], *arguments: str) -> str:
    """An action on the first of these elements."""
    bid = found[0]["bid"] if found else NOTHING
    return f"{name}({', '.join(map(repr, (bid, *arguments)))})"


def click(shown: list[Tag], name: str) -> str:
    links = [one for one in shown if one.name in ("a", "button")]
    return action("click", [one for one in links if label(one) == name.lower()])


def actions(call: ScriptedCall, shown: list[Tag]) -> Generator[str, list[Tag], None]:
    """A tool call as BrowserGym's actions; what each leads to is sent back."""
    if call.name == "search":
        if not any(one.get("id") == "search_input" for one in shown):
            shown = yield click(shown, "back to search")
        box = [one for one in shown if one.get("id") == "search_input"]
        shown = yield action("fill", box, call.arguments["query"])
        yield click(shown, "search")
    elif call.name == "click":
        yield click(shown, call.arguments["name"])
    elif call.name == "submit":
        yield action("click", [one for one in shown if one.get("type") == "submit"][-1:])
    else:
        name, value = call.arguments["name"], str(call.arguments["value"])
        named = [one for one in shown if one.get("name") == name]
        kind = (named[0].get("type") or named[0].name) if named else "text"
        if kind in ("radio", "checkbox"):
            for wanted in value.split("|") if kind == "checkbox" else [value]:
                found = [
                    one for one in shown if (one.get("name"), one.get("value")) == (name, wanted)
                ]
                shown = yield action("click", found)
        else:
            yield action("select_option" if kind == "select" else "fill", named, value)


class Player:
    """One environment, acted on as an agent would: by bids of what is shown."""

    def __init__(self, id: str) -> None:
        self.env = gymnasium.make(id)
        self.obs, self.info = self.env.reset()
        self.reward = 0.0
        self.done = False

    def __enter__(self) -> "Player":
        return self

    def __exit__(self, *_: object) -> None:
        self.env.close()

    @property
    def task(self) -> Any:
        return self.env.unwrapped.task

    @property
    def page(self) -> Any:
        return self.env.unwrapped.page

    def step(self, action: str) -> str:
        """Act; returns the error that the agent is shown."""
        self.obs, reward, self.done, truncated, self.info = self.env.step(action)
        assert not truncated
        self.reward += reward
        return str(self.obs["last_action_error"])

    def shown(self) -> list[Tag]:
        return elements(flatten_dom_to_str(self.obs["dom_object"]))

    def call(self, call: ScriptedCall) -> None:
        """Make a tool call by clicking and typing."""
        moves = actions(call, self.shown())
        with suppress(StopIteration):
            move = next(moves)
            while True:
                error = self.patiently(move)
                assert bool(error) == (NOTHING in move), error
                move = moves.send(self.shown())

    def patiently(self, move: str) -> str:
        """Act, and again where a busy machine took longer than the half second of BrowserGym's
        actions; what was done by then is not done twice."""
        for _ in range(10):
            error = self.step(move)
            if "Timeout" not in error:
                return error
            if "performing click action" in error:
                return self.step("noop(1000)")
        return error

    def fill(self, name: str, value: str) -> None:
        self.call(ScriptedCall("fill", {"name": name, "value": value}))

    def act(self, name: str, element: Tag, *arguments: str) -> None:
        assert not self.patiently(action(name, [element], *arguments))


def registered(script: ScriptedModel) -> list[str]:
    protocol = script.episodes.protocol
    return browsergym.register(
        protocol.id, episodes=protocol.episodes, max_steps=protocol.max_steps
    )


def play(script: ScriptedModel) -> list[float]:
    """As cheaply as BrowserGym allows: nothing is observed, and the task itself clicks and types,
    so that a call is one step."""
    ids = registered(script)
    rewards = []
    for played in script.played:
        env = gymnasium.make(ids[played.number], use_raw_page_output=True)
        env.reset()
        total = 0.0
        for call in played.calls:
            with suppress(ToolError):
                env.unwrapped.task.perform(env.unwrapped.page, *call)
            _, reward, _, _, _ = env.step("noop(0)")
            total += reward
        rewards.append(total)
        env.close()
    return rewards


@pytest.mark.parametrize("which", ["shop_script", "form_script"])
def test_every_reward_is_that_of_errands_run(which: str, request: pytest.FixtureRequest) -> None:
    script: Script = request.getfixturevalue(which)
    rewards = []
    for id, played in zip(registered(script), script.played, strict=True):
        with Player(id) as player:
            for call in played.calls:
                assert not player.done
                assert player.info["task_info"]["protocol"] == script.episodes.key
                player.call(call)
            assert player.done
            result = player.info["task_info"]
            assert result["protocol"] == script.episodes.key
            assert result["reward"] == player.reward
            assert result["success"] == (player.reward >= 1)
            assert result["reward_parts"]
            rewards.append(player.reward)
    assert rewards == script.rewards
    assert sum(rewards) / len(rewards) == sum(script.rewards) / len(script.rewards)


@pytest.mark.parametrize("which", ["shop_script", "form_script"])
def test_the_loop_of_browsergyms_experiments(
    which: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    experiments = pytest.importorskip(
        "browsergym.experiments", reason="pip install browsergym-experiments"
    )

    class Agent(experiments.Agent):  # type: ignore[misc, name-defined]
        def __init__(self, calls: Sequence[ScriptedCall]) -> None:
            self.calls = iter(calls)
            self.moves: Generator[str, list[Tag], None] | None = None

        def obs_preprocessor(self, obs: dict[str, Any]) -> dict[str, Any]:
            # No texts: the loop would count their tokens, with files from the network.
            return {"dom": [flatten_dom_to_str(obs["dom_object"])], "chat_messages": ()}

        def get_action(self, obs: dict[str, Any]) -> tuple[str, dict[str, Any]]:
            shown = elements(*obs["dom"])
            with suppress(StopIteration):
                if self.moves is not None:
                    return self.moves.send(shown), {}
            self.moves = actions(next(self.calls), shown)
            return next(self.moves), {}

    class AgentArgs(experiments.AbstractAgentArgs):  # type: ignore[misc, name-defined]
        def make_agent(self) -> Agent:
            return Agent(played.calls)

        def __reduce__(self) -> Any:  # The loop keeps its arguments; they are not read again.
            return str, ("the scripted model",)

    script: Script = request.getfixturevalue(which)
    played = script.played[2]
    [_, _, id, *_] = registered(script)
    env = experiments.EnvArgs(task_name=id.removeprefix("browsergym/"), max_steps=40)
    experiment = experiments.ExpArgs(env_args=env, agent_args=AgentArgs())
    experiment.prepare(tmp_path)
    experiment.run()
    [summary] = tmp_path.rglob("summary_info.json")
    told = json.loads(summary.read_text())
    assert told["err_msg"] is None
    assert (told["cum_reward"], told["terminated"]) == (played.reward, True)


class TestConformance(AdapterConformance):
    """Ours passes the kit for adapters."""

    count = 2

    calls_are_steps = False  # The website counts pages that were gone to.

    def play(self, script: ScriptedModel) -> list[float]:
        return play(script)


@pytest.mark.parametrize("which", ["shop_script", "form_script"])
def test_cheating_is_worth_what_the_known_agent_gets(
    which: str, request: pytest.FixtureRequest
) -> None:
    script: Script = request.getfixturevalue(which)
    for number in (2, 5):
        with Player(registered(script)[number]) as player:
            player.task.cheat(player.page, [])
            player.step("noop(0)")
            assert (player.reward, player.done) == (script.rewards[number], True)
            # Once: what is done after the end is worth nothing.
            player.step("noop(0)")
            assert (player.reward, player.done) == (script.rewards[number], True)


def test_observations_show_goal_and_page(shop_script: Script, form_script: Script) -> None:
    with Player(registered(shop_script)[4]) as player:
        instruction = shop_script.played[4].text.removeprefix("Instruction: ")
        assert player.obs["goal"].endswith(instruction)
        assert "button 'Search'" in flatten_axtree_to_str(player.obs["axtree_object"])
        assert player.obs["screenshot"].shape == (720, 1280, 3)
        assert player.obs["screenshot"].std() > 10
    with Player(registered(form_script)[1]) as player:
        shown = flatten_axtree_to_str(player.obs["axtree_object"])
        assert "Brightside Kettles" in shown
        assert "button 'Send it'" in shown
        assert player.obs["screenshot"].std() > 10
    with Player(registered(form_script)[0]) as player:  # The page itself has no button.
        assert "button 'Submit'" in flatten_axtree_to_str(player.obs["axtree_object"])


def test_wrong_actions_are_told_and_do_not_end_it(form_script: Script) -> None:
    with Player(registered(form_script)[0]) as player:
        for action in ("hello", "click('999999')", "click(", "fill('1')", "drive_home()", ""):
            assert player.step(action), action
            assert (player.reward, player.done) == (0, False)
        assert player.info["task_info"]["steps"] == 6


def test_the_browser_stays_in_its_own_session(shop_script: Script) -> None:
    with Player(registered(shop_script)[0]) as player:
        begin = player.obs["url"]
        site, session = begin.rsplit("/", 1)
        elsewhere = (
            f"{site}/fixed_{player.info['task_info']['goal']}",
            f"{site}/?goal={player.info['task_info']['goal']}",
            f"{site}/api/sessions/{session}/result",
            f"{site}/metrics",
            f"{site}/done/other/B000000000/%7B%7D",
            f"{site.replace('127.0.0.1', 'localhost')}/fixed_0",
            "https://example.com/",
            Path(__file__).as_uri(),
        )
        for url in elsewhere:
            player.step(f"goto({url!r})")
            assert player.obs["url"] in (begin, "about:blank"), url
            player.step("new_tab()")
            player.step(f"goto({url!r})")
            assert player.obs["url"] == "about:blank", url
            player.step("tab_close()")
        player.step(f"goto({begin!r})")
        for call in shop_script.played[0].calls:
            player.call(call)
        assert (player.reward, player.done) == (shop_script.rewards[0], True)


def test_who_closes_every_tab_may_come_back_to_the_shop(shop_script: Script) -> None:
    with Player(registered(shop_script)[2]) as player:
        begin = player.obs["url"]
        player.step("tab_close()")
        assert not player.done
        player.step(f"goto({begin!r})")
        for call in shop_script.played[2].calls:
            player.call(call)
        assert player.reward == shop_script.rewards[2] > 0


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A protocol of pages that do what pages should not."""
    pages = {
        "checks": """<input name="a" required><input name="b" required type="email">
            <script>document.forms[0].addEventListener("submit", (event) => {
              event.preventDefault(); event.stopImmediatePropagation(); });</script>
            <input type="submit" value="Go">""",
        "clears": """<input name="a"><script>window.addEventListener("submit", () => {
              document.querySelector("[name=a]").value = ""; document.body.hidden = true;
            }, true);</script><input type="submit" value="Go">""",
        "leaves": """<input name="a"><img src="https://example.com/spy.png">
            <a href="https://example.com/">away</a><script>fetch("http://127.0.0.1:9/spy");
            setTimeout(() => { location.href = "https://example.com/"; }, 0);
            document.title = "ready"; window.open("https://example.com/");</script>
            <input type="submit" value="Go">""",
        "scripted": """<input name="a"><button type="button" id="send"
            onclick="document.forms[0].submit()">Send</button>""",
    }
    place = tmp_path_factory.mktemp("own")
    for name, template in pages.items():
        (place / "tasks" / name).mkdir(parents=True)
        (place / "tasks" / name / "template.html").write_text(template)
        (place / "tasks" / name / "batch.csv").write_text("Title,n,Answer.a\nx,1,seven\n")
    names = ", ".join(f'"{name}"' for name in pages)
    (place / "own.toml").write_text(
        f'[own]\nversion = 1\ntitle = "Own"\ndomain = "turk"\ndata = "{place / "tasks"}"\n'
        f'tasks = [{names}]\nobservation = "html"\nrules = "paper"\nmax_steps = 50\n'
        '[own.settings]\ndriver = "dom"\n'
    )
    return f"{place / 'own.toml'}#own"


def own_page(own: str, task: str) -> Player:
    for id in browsergym.register(own, name="own"):
        number = int(id.rsplit(".", 1)[1])
        if open_episodes(own).row(number)["task"] == task:
            return Player(id)
    raise AssertionError(task)


@pytest.mark.parametrize("task", ["checks", "clears", "leaves"])
def test_submitting_ends_it_whatever_the_page_does(own: str, task: str) -> None:
    with own_page(own, task) as player:
        player.fill("a", "seven")
        assert not player.done
        player.call(ScriptedCall("submit", {}))
        assert (player.reward, player.done) == (1.0, True)
        assert player.info["task_info"]["reward_parts"] == {"a": 1.0}
        assert player.obs["open_pages_urls"] == ("http://task.invalid/",)


def test_the_enter_key_and_scripts_submit_too(own: str) -> None:
    for press in ("#send", "Enter"):
        with own_page(own, "scripted") as player:
            player.fill("a", "six")
            if press == "Enter":
                [box] = [one for one in player.shown() if one.get("name") == "a"]
                player.act("press", box, "Enter")
            else:
                player.act("click", next(x for x in player.shown() if x.get("id") == "send"))
            assert (player.reward, player.done) == (0.0, True)
            assert not player.info["task_info"]["success"]


def test_a_form_has_no_network_and_no_other_page(own: str) -> None:
    with own_page(own, "leaves") as player:
        assert player.page.title() == "ready"
        link = next(one for one in player.shown() if one.name == "a")
        player.act("click", link)
        for url in ("https://example.com/", "http://task.invalid/x", Path(__file__).as_uri()):
            player.step(f"goto({url!r})")
            assert player.obs["url"] == "http://task.invalid/", url
        player.fill("a", "seven")
        player.step("go_back()")
        assert player.obs["url"] == "http://task.invalid/"
        player.step("new_tab()")
        player.step("goto('http://task.invalid/')")
        assert player.obs["url"] == "about:blank"
        player.step("tab_close()")
        assert player.page.locator("[name=a]").input_value() == "seven"
        assert not player.done


def test_a_form_that_is_loaded_anew_is_empty(own: str) -> None:
    with own_page(own, "clears") as player:
        player.fill("a", "six")
        player.step("goto('about:blank')")
        assert not player.done
        player.step("goto('http://task.invalid/')")
        assert player.page.locator("[name=a]").input_value() == ""
        player.fill("a", "seven")
        player.call(ScriptedCall("submit", {}))
        assert (player.reward, player.done) == (1.0, True)


def test_closing_the_form_gives_it_up(own: str) -> None:
    with own_page(own, "clears") as player:
        player.fill("a", "seven")
        player.step("tab_close()")
        assert (player.reward, player.done) == (0.0, True)


def test_settings_that_make_no_sense_are_one_sentence() -> None:
    with pytest.raises(SettingError, match="leave it out"):
        browsergym.register("turk-demo", url="http://127.0.0.1:1")
    with pytest.raises(ErrandsError, match="no-such"):
        browsergym.register("no-such")
    [id] = browsergym.register("shop-demo", episodes=1, url="http://127.0.0.1:1/", name="wrong")
    with pytest.raises(ErrandsError, match=r"does not answer at http://127\.0\.0\.1:1 "):
        Player(id)


def test_a_website_of_ones_own_must_have_the_protocols_goals(shop_script: Script) -> None:
    for goals, same in (("human", True), ("synthetic", False)):
        url = serve_shop(ShopConfig("demo", goals, observation="html"))
        [id, *_] = browsergym.register("shop-demo", episodes=12, url=url, name="own-site")
        if same:
            with Player(id) as player:
                player.task.cheat(player.page, [])
                player.step("noop(0)")
                assert (player.reward, player.done) == (shop_script.rewards[0], True)
        else:
            with pytest.raises(SettingError, match="another goal"):
                Player(id)


def run(code: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_a_browser_is_found_or_asked_for(tmp_path: Path) -> None:
    prepare = "from errands.integrations import browsergym; print(browsergym.prepare())"
    nowhere = {"ERRANDS_HOME": str(tmp_path), "PLAYWRIGHT_BROWSERS_PATH": str(tmp_path / "none")}
    for _ in range(2):  # Again where the link is there already.
        found = run(prepare, **nowhere)
        path = Path(found.stdout.strip())
        assert path.is_relative_to(tmp_path / "browsergym"), found.stderr
        system = chromium.find()
        assert system is not None
        assert path.resolve() == system.resolve()
    none = run(prepare, **nowhere, PATH=str(tmp_path), ERRANDS_CHROMIUM="")
    assert "No Chromium was found" in none.stderr.splitlines()[-1]


def test_the_page_runs() -> None:
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        scope: dict[str, Any] = {}
        exec(compile(block, str(PAGE), "exec"), scope)
        assert scope["terminated"]

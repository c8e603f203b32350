"""The oracle as an agent scores what the oracle scores, step by step."""

from typing import Any

import pytest

from errands.agents.agent import AgentError
from errands.agents.oracles.oracle import Oracle, make
from errands.agents.registry import make_factory
from errands.envs.turk import TurkEnv
from errands.turk.browser.driver import BrowserDriver
from errands.turk.dom.driver import DomDriver
from errands.turk.drivers import Pages
from errands.turk.oracle.field_oracle import play_oracle
from errands.turk.pages.driver import ActionError
from errands.turk.scoring.instance_score import instance_figure, score_page
from errands.turk.tasks.task import Instance


def test_equal_on_all_demo_tasks(turk_env: TurkEnv, play: Any) -> None:
    factory = make_factory("oracle", "turk", turk_env, {})
    pages = Pages("dom")
    assert len(turk_env.tasks) == 35
    steps = 0
    for task in turk_env.tasks:
        for row in (0, len(task.instances) - 1):
            played = play(turk_env, factory, {"task": task.name, "row": row})
            page = pages.open(task, task.instances[row])
            done = play_oracle(page, task.instances[row])
            scored = score_page(page, task.instances[row])
            assert played.reward == (instance_figure(scored, "paper") or 0.0)
            assert played.terminated
            assert played.actions[-1] == "submit()"
            assert len(played.actions) >= len(done) + 1
            steps += len(played.actions)
            page.close()
    assert steps > 200
    pages.close()


def test_the_pointer_oracle_answers_what_no_field_takes(
    browser_driver: BrowserDriver, play: Any
) -> None:
    env = TurkEnv(driver=browser_driver)
    rewards = {}
    for name in ("oracle", "pointer-oracle"):
        played = play(
            env, make_factory(name, "turk", env, {}), {"task": "Order the Steps", "row": 0}
        )
        rewards[name] = played.reward
        assert played.actions[-1] == "submit()"
    assert rewards["oracle"] < rewards["pointer-oracle"] == 1.0
    env.close()


def test_it_must_be_shown_the_page() -> None:
    with pytest.raises(AgentError, match="shown"):
        Oracle().begin("", {})
    with pytest.raises(AgentError, match="without an episode"):
        Oracle().look(TurkEnv(driver="dom"))


class Desk:
    """A page where `second` works only after `first`, and `never` does not work at all."""

    HTML = """<form><input name="never" type="text" disabled><input name="second" type="text">
      <input name="first" type="text"><input name="box" type="checkbox" value="a"></form>"""

    def __init__(self) -> None:
        self._page: Any = DomDriver().open(self.HTML)

    def perform(self, action: Any) -> None:
        name = action.arguments["name"]
        if name == "never" or (name == "second" and not any(self._page.values("first"))):
            raise ActionError(f"{name} is asleep.")
        self._page.perform(action)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._page, name)


def test_fields_that_come_to_life(turk_env: TurkEnv) -> None:
    turk_env.reset(options={"task": turk_env.tasks.names[0], "row": 0})
    page: Any = Desk()
    labels = {"never": ("x",), "second": ("b",), "first": ("a",), "box": ("a",)}
    turk_env._page = page
    turk_env.instance = Instance("task", 0, {}, labels)
    agent: Any = make("turk", turk_env, {}).agent(0)
    agent.look(turk_env)
    agent.begin("", {"message": ""})
    info: Any = {"message": ""}
    actions = []
    while not actions or actions[-1] != "submit()":
        assert len(actions) < 30
        actions.append(agent.act("", info))
        info = turk_env.step(actions[-1])[4]
    assert page.values("second") == ["b"]
    assert page.values("box") == ["a"]
    assert page.values("never") in ([], [""])

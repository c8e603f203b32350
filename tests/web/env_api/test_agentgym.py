"""AgentGym's routes: what its client asks and is told, and what nobody should be able to break."""

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from served import Clock, Served, running

from errands.envs.shop import ShopEnv
from errands.shop.catalog.catalog import Catalog
from errands.web.core.limits import ServerLimits
from errands.web.env_api.agentgym import AgentGym, agentgym


class Gym(Served):
    """A server of AgentGym's routes, and its client's ways."""

    def __init__(self, gym: AgentGym, port: int, token: str | None = None) -> None:
        super().__init__(None, port, token)  # type: ignore[arg-type]
        self.gym = gym

    def make(self) -> int:
        status, number = self.ask("/create", method="POST")
        assert status == 200, number
        assert type(number) is int
        return number

    def get(self, what: str, number: Any) -> tuple[int, Any]:
        return self.ask(f"/{what}?env_idx={number}")

    def post(self, what: str, number: Any, **fields: Any) -> tuple[int, Any]:
        return self.ask(f"/{what}", {"env_idx": number, **fields})


@pytest.fixture(scope="module")
def gym(little: Catalog) -> Iterator[Gym]:
    limits = ServerLimits()
    shops = AgentGym(little, "synthetic", limits)
    with running([agentgym(shops)], limits) as port:
        yield Gym(shops, port)


def test_it_plays_as_the_environment_does(gym: Gym, little: Catalog) -> None:
    env = ShopEnv(little)
    number = gym.make()
    dice = random.Random(3)
    ends = 0
    for goal in range(12):
        seen, info = env.reset(options={"goal": goal})
        assert gym.post("reset", number, session_id=goal) == (200, [seen, None])
        told = f"Instruction: {info['instruction']}"
        assert gym.get("instruction_text", number) == (200, told)
        for _ in range(12):
            assert gym.get("available_actions", number) == (200, info["available_actions"])
            assert gym.get("observation", number) == (200, seen)
            clicks = info["available_actions"]["clickables"]
            action = f"search[{info['instruction']}]"
            if clicks and dice.random() < 0.8:
                action = f"click[{'buy now' if 'buy now' in clicks else dice.choice(clicks)}]"
            if dice.random() < 0.1:
                action = "nonsense"
            seen, reward, done, _, info = env.step(action)
            expected = {"state": seen, "reward": reward, "done": done, "info": None}
            assert gym.post("step", number, action=action) == (200, expected)
            status, state = gym.get("state", number)
            assert status == 200
            assert state["instruction_text"] == told
            assert state["url"].startswith("http://127.0.0.1:3000/")
            assert state["html"].startswith("<!DOCTYPE html>")
            if done:
                ends += 1
                # Nothing happens any more, and that is no error: the original answers, too.
                again = {**expected, "reward": 0.0}
                assert gym.post("step", number, action="search[a]") == (200, again)
                break
    assert ends > 3
    assert gym.post("close", number) == (200, {"closed": True})


@pytest.mark.shared
@pytest.mark.parametrize("kind", ["synthetic", "human"])
def test_it_plays_as_recorded(catalog_1k: Catalog, recorded: Path, kind: str) -> None:
    limits = ServerLimits()
    shops = AgentGym(catalog_1k, str(recorded / f"goals-{kind}.json"), limits)
    lines = (recorded / f"episodes-{kind}.jsonl").read_text().splitlines()
    with running([agentgym(shops)], limits) as port:
        gym = Gym(shops, port)
        number = gym.make()
        for episode in map(json.loads, lines[:13]):
            answer = gym.post("reset", number, session_id=episode["goal_index"])[1]
            assert answer == [episode["reset"]["text"], None]
            assert gym.get("instruction_text", number)[1] == episode["instruction"]
            for expected in episode["steps"]:
                turn = gym.post("step", number, action=expected["action"])[1]
                assert turn["state"] == expected["text"]
                assert turn["reward"] == pytest.approx(expected["reward"], abs=1e-6)
                assert turn["done"] == expected["done"]


def test_an_environment_begins_on_a_goal_that_is_drawn(gym: Gym, little: Catalog) -> None:
    goals = little.goals("synthetic")
    wanted = {f"Instruction: {goals[index].instruction_text}" for index in range(len(goals))}
    numbers = [gym.make() for _ in range(8)]
    told = [gym.get("instruction_text", number)[1] for number in numbers]
    assert set(told) <= wanted
    assert len(set(told)) > 1
    assert gym.get("observation", numbers[0])[1].startswith("WebShop [SEP] Instruction: [SEP] ")
    for body in ({}, {"session_id": None}):
        seen, nothing = gym.post("reset", numbers[0], **body)[1]
        assert seen.startswith("WebShop [SEP] ")
        assert nothing is None
    for number in numbers:
        gym.post("close", number)


def test_environments_are_listed_until_they_are_closed(gym: Gym) -> None:
    assert gym.ask("/") == (200, "ok")
    before = gym.ask("/list_envs")[1]
    numbers = [gym.make() for _ in range(3)]
    assert gym.ask("/list_envs") == (200, [*before, *numbers])
    for number in numbers:
        assert gym.post("close", number)[0] == 200
        assert gym.post("close", number)[0] == 404
    assert gym.ask("/list_envs") == (200, before)


def test_numbers_may_be_texts_and_other_fields_are_ignored(gym: Gym) -> None:
    number = gym.make()
    first = gym.post("reset", number, session_id=5)
    assert first[0] == 200
    assert gym.post("reset", str(number), session_id="5", more="x") == first
    assert gym.ask(f"/observation?env_idx={number}&more=x") == (200, first[1][0])


@pytest.mark.parametrize(
    ("path", "body", "status", "complaint"),
    [
        ("/step", {"env_idx": 1, "action": "x"}, 404, "There is no environment 1: it was never"),
        ("/reset", {"env_idx": 1}, 404, "POST /create makes another"),
        ("/close", {"env_idx": 1}, 404, "There is no environment 1"),
        ("/observation?env_idx=1", None, 404, "There is no environment 1"),
        ("/step", {"action": "x"}, 400, "missing required field `env_idx`"),
        ("/step", {"env_idx": "OWN"}, 400, "missing required field `action`"),
        ("/step", {"env_idx": "OWN", "action": 7}, 400, "`$.action`"),
        ("/step", {"env_idx": None, "action": "x"}, 400, "`$.env_idx`"),
        ("/step", {"env_idx": 2**70, "action": "x"}, 400, "`$.env_idx`"),
        ("/step", b"{", 400, "not JSON"),
        ("/step", b"\xff", 400, "not JSON"),
        ("/step", b"[" * 5000, 400, "message"),
        ("/reset", {"env_idx": "OWN", "session_id": 10**6}, 400, "There is no goal 1000000;"),
        ("/reset", {"env_idx": "OWN", "session_id": "four"}, 400, "`$.session_id`"),
        ("/reset", {"env_idx": "OWN", "session_id": 1.5}, 400, "`$.session_id`"),
        ("/observation", None, 400, "missing required field `env_idx`"),
        ("/state?env_idx=x", None, 400, "Expected `int`"),
        ("/state?env_idx=-1", None, 400, ">= 0"),
        ("/state?env_idx=%ff", None, 400, "utf-8"),
        ("/available_actions?env_idx", None, 400, "bad query field"),
        ("/instruction_text?env_idx=" + "9" * 5000, None, 400, "does not say what is wanted"),
        ("/create", None, 405, "another method"),
        ("/step", None, 405, "another method"),
        ("/elsewhere", None, 404, "/openapi.json"),
    ],
)
def test_nonsense_is_one_sentence(
    gym: Gym, path: str, body: Any, status: int, complaint: str
) -> None:
    number = gym.make()
    before = gym.get("observation", number)
    if isinstance(body, dict):
        body = {name: number if value == "OWN" else value for name, value in body.items()}
    got, answer = gym.ask(path, body)
    assert (got, answer["error"]["message"].count("\n")) == (status, 0)
    assert complaint in answer["error"]["message"]
    assert gym.get("observation", number) == before
    gym.post("close", number)


def test_an_action_that_is_too_long_does_nothing(gym: Gym) -> None:
    number = gym.make()
    before = gym.get("observation", number)[1]
    status, turn = gym.post("step", number, action=f"search[{'lamp ' * 1000}]")
    assert (status, turn) == (200, {"state": before, "reward": 0.0, "done": False, "info": None})
    assert gym.post("step", number, action=f"search[{'lamp ' * 800}]")[1]["state"] != before


def test_there_are_only_so_many_and_idle_ones_end(little: Catalog) -> None:
    limits = ServerLimits(sessions=3, idle_seconds=60, body_bytes=100)
    clock = Clock()
    shops = AgentGym(little, "synthetic", limits, clock)
    with running([agentgym(shops)], limits) as port:
        gym = Gym(shops, port)
        first, *_ = [gym.make() for _ in range(3)]
        status, answer = gym.ask("/create", method="POST")
        assert status == 429
        assert "The server allows 3 sessions at once" in answer["error"]["message"]
        clock.now += 40
        assert gym.get("observation", first)[0] == 200
        clock.now += 40
        shops.expire()
        assert gym.ask("/list_envs") == (200, [first])
        assert gym.make() != first
        status, answer = gym.post("step", first, action="x" * 100)
        assert (status, answer["error"]["code"]) == (413, "too_large")
        metrics = gym.raw("/metrics")[2].decode()
        assert re.search(r"^errands_agentgym_environments 2$", metrics, re.M)
        assert re.search(r"^errands_agentgym_created_total 4$", metrics, re.M)
        shops.draining = True
        assert gym.ask("/create", method="POST")[0] == 503


def test_it_asks_for_the_token_and_is_described(little: Catalog) -> None:
    limits = ServerLimits()
    shops = AgentGym(little, "synthetic", limits)
    with running([agentgym(shops, "/agentgym")], limits, "s3cret") as port:
        gym = Gym(shops, port, "s3cret")
        assert gym.ask("/agentgym/") == (200, "ok")
        assert gym.ask("/agentgym/create", method="POST")[0] == 200
        wrong = {"Authorization": "Bearer x"}
        assert gym.ask("/agentgym/create", method="POST", headers=wrong)[0] == 401
        described = gym.ask("/openapi.json")[1]["paths"]
        for name in (
            *("", "create", "reset", "step", "close", "list_envs"),
            *("available_actions", "instruction_text", "observation", "state"),
        ):
            assert f"/agentgym/{name}" in described

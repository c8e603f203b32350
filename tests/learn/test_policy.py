"""Trained models play."""

import json
import shutil
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch
from protocols import Rules

from errands.agents.agent import Agent
from errands.agents.registry import find_kind, make_factory
from errands.envs.shop import ShopEnv
from errands.errors import ErrandsError, SettingError
from errands.learn.data.batch import TokenLimits
from errands.learn.data.demonstrations import read_demonstrations
from errands.learn.imitation import ImitationConfig, train_choice
from errands.learn.models.choice import ChoiceConfig
from errands.learn.policy import make, open_policy
from errands.learn.trainer import TrainingOptions
from errands.runs.runner import run
from errands.runs.store.places import open_run
from errands.shop.catalog.catalog import Catalog

Checkpoints = Mapping[str, Path]
SETTINGS = {"search": "", "queries": "top"}


def _agent(shop: ShopEnv, folder: Path, choose: str, seed: int) -> Agent:
    return make(
        "il", "shop", shop, {**SETTINGS, "checkpoint": str(folder), "choose": choose}
    ).agent(seed)


def _actions(shop: ShopEnv, agent: Agent, goal: int) -> list[str]:
    seen, info = shop.reset(options={"goal": goal})
    agent.begin(seen, info)
    actions: list[str] = []
    while len(actions) < 12:
        action: Any = agent.act(seen, info)
        available = info["available_actions"]
        if available["has_search_bar"]:
            assert action.startswith("search[")
        else:
            assert action.removeprefix("click[").removesuffix("]") in available["clickables"]
        actions.append(action)
        seen, _, terminated, truncated, info = shop.step(action)
        if terminated or truncated:
            break
    return actions


def test_only_does_what_can_be_done_and_follows_its_seed(shop: ShopEnv, taught: Path) -> None:
    def played(choose: str, seed: int) -> list[list[str]]:
        return [_actions(shop, _agent(shop, taught, choose, seed), goal) for goal in range(6)]

    assert played("sample", 1) == played("sample", 1)
    assert played("sample", 1) != played("sample", 2)
    assert played("best", 1) == played("best", 2)


def test_the_best_does_not_go_round_in_circles(shop: ShopEnv, taught: Path) -> None:
    longest = 0
    for goal in range(6):
        agent = _agent(shop, taught, "best", 0)
        seen, info = shop.reset(options={"goal": goal})
        agent.begin(seen, info)
        done: Counter[tuple[str, str]] = Counter()
        is_over = False
        while not is_over:
            action: Any = agent.act(seen, info)
            if action.startswith("click["):
                # A third time only where nothing else is left.
                others = [f"click[{name}]" for name in info["available_actions"]["clickables"]]
                assert done[seen, action] < 2 or all(done[seen, other] >= 2 for other in others)
                done[seen, action] += 1
            seen, _, terminated, truncated, info = shop.step(action)
            is_over = terminated or truncated
        longest = max(longest, sum(done.values()))
    assert longest > 4, "nobody could have gone in circles"


def test_unless_it_is_to_be_as_published(shop: ShopEnv, taught: Path) -> None:
    """The best action of a page that looks the same is then always the same."""

    def steps_and_circles(breaker: str) -> tuple[int, int]:
        settings = {**SETTINGS, "checkpoint": str(taught), "choose": "best"}
        factory = make("il", "shop", shop, {**settings, "cycle_breaker": breaker})
        assert factory.settings["cycle_breaker"] == breaker
        most = steps = 0
        for goal in range(6):
            agent = factory.agent(0)
            seen, info = shop.reset(options={"goal": goal})
            agent.begin(seen, info)
            done: Counter[tuple[str, str]] = Counter()
            is_over = False
            while not is_over:
                action: Any = agent.act(seen, info)
                done[seen, action] += action.startswith("click[")
                steps += 1
                seen, _, terminated, truncated, info = shop.step(action)
                is_over = terminated or truncated
            most = max(most, *done.values())
        return steps, most

    (steps, most), (steps_off, most_off) = steps_and_circles("on"), steps_and_circles("off")
    assert steps_off > steps
    assert most_off > most
    with pytest.raises(SettingError, match="cycle_breaker=never"):
        steps_and_circles("never")


@pytest.fixture(scope="module")
def checkpoints(taught: Path, demos: str, tmp_path_factory: pytest.TempPathFactory) -> Checkpoints:
    """A checkpoint for each agent; that of reinforcement is an imitation in disguise."""
    place = tmp_path_factory.mktemp("player")
    shutil.copytree(taught, place / "rl")
    about = json.loads((taught / "about.json").read_text())
    (place / "rl" / "about.json").write_text(json.dumps({**about, "trained": "reinforcement"}))
    small = ChoiceConfig(encoder="gru", width=8, hidden=8, lengths=TokenLimits(page=16))
    config = ImitationConfig(choice=small, epochs=1, threads=1)
    train_choice(
        read_demonstrations(demos),
        place / "rnn",
        config,
        options=TrainingOptions(stop=lambda: True),
    )
    return {"il": taught, "rl": place / "rl", "rnn": place / "rnn"}


@pytest.mark.parametrize("name", ["il", "rl", "rnn"])
def test_the_table_of_agents_makes_it(shop: ShopEnv, checkpoints: Checkpoints, name: str) -> None:
    maker = make_factory(name, "shop", shop, {"checkpoint": str(checkpoints[name])})
    assert maker.name == name
    assert set(maker.settings) == set(find_kind(name).settings)
    again = make_factory(name, "shop", shop, maker.settings)
    assert _actions(shop, maker.agent(3), 2) == _actions(shop, again.agent(3), 2)


def test_plays_a_run(rules: Rules, taught: Path, tmp_path: Path) -> None:
    settings = {"checkpoint": str(taught), "choose": "sample"}
    finished = run(
        rules(episodes=3), "il", out=tmp_path / "run", settings=settings, allow_overlap=True
    )
    assert finished.kept == 3
    with closing(open_run(str(finished.place))) as store:
        assert not [one for one in store.episodes() if one.summary.status == "error"]


@pytest.mark.parametrize("settings", [{"observation": "text"}, {"num_prev_obs": 1}])
def test_other_pages_are_refused(little: Catalog, taught: Path, settings: dict[str, Any]) -> None:
    env = ShopEnv(catalog=little, **{"observation": "text_rich", **settings})
    with pytest.raises(SettingError, match="text_rich"):
        make("il", "shop", env, {**SETTINGS, "checkpoint": str(taught), "choose": "best"})


@pytest.mark.parametrize(
    ("checkpoint", "choose", "says"),
    [
        ("", "best", "needs its checkpoint"),
        ("nowhere", "best", "is no checkpoint"),
        ("nowhere", "worst", "best"),
    ],
)
def test_wrong_settings_are_named(shop: ShopEnv, checkpoint: str, choose: str, says: str) -> None:
    with pytest.raises(ErrandsError, match=says):
        make("il", "shop", shop, {**SETTINGS, "checkpoint": checkpoint, "choose": choose})


def test_opening_a_model_leaves_the_global_generator_alone(taught: Path, tmp_path: Path) -> None:

    fresh = shutil.copytree(taught, tmp_path / "copy")
    before = torch.get_rng_state()
    open_policy(str(fresh))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    ("name", "checkpoint", "says"),
    [
        ("rnn", "il", "a transformer model trained by imitation; play it with --agent il, not rnn"),
        ("rl", "il", "play it with --agent il, not rl"),
        ("il", "rl", "trained by reinforcement; play it with --agent rl, not il"),
        ("rnn", "rl", "play it with --agent rl, not rnn"),
        ("rl", "rnn", "play it with --agent il or rnn, not rl"),
    ],
)
def test_a_checkpoint_of_another_agent_is_refused(
    name: str, checkpoint: str, says: str, shop: ShopEnv, checkpoints: Checkpoints
) -> None:
    with pytest.raises(SettingError, match=says):
        make_factory(name, "shop", shop, {"checkpoint": str(checkpoints[checkpoint])})
    make_factory("il", "shop", shop, {"checkpoint": str(checkpoints["rnn"])})


def test_a_model_that_was_trained_further_is_opened_anew(taught: Path, tmp_path: Path) -> None:
    folder = tmp_path / "il"
    shutil.copytree(taught, folder)
    before = open_policy(str(folder))
    assert open_policy(str(folder)) is before
    weights = torch.load(folder / "weights.pt", weights_only=True)
    torch.save({name: weight + 1 for name, weight in weights.items()}, folder / "weights.pt")
    after = open_policy(str(folder))
    pair = zip(before.model.parameters(), after.model.parameters(), strict=True)
    assert not any(torch.equal(one, other) for one, other in pair)

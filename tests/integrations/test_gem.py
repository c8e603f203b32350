"""GEM's own registry, vector environments and wrappers, with the scripted model."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from scripted_model import Script

pytest.importorskip("gem", reason="GEM is not installed: pip install 'errands[gem]'")

import gem

from errands.errors import SettingError
from errands.integrations import gem as errands_gem
from errands.testing.adapter import AdapterConformance, ScriptedModel

IN_PROCESS = True
PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "integrations" / "gem.md"
NAMES = {"shop": "errands:shop", "turk": "errands:forms"}

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(autouse=True)
def _registered() -> None:
    errands_gem.register()


def made(script: ScriptedModel) -> Any:
    """The environment of a script's episodes; the id's own split is not for them."""
    protocol = script.episodes.protocol
    options = {
        "protocol": protocol.id,
        "training": False,
        "episodes": protocol.episodes,
        "max_steps": protocol.max_steps,
    }
    if protocol.domain == "turk":
        options["split"] = None
    return gem.make(NAMES[protocol.domain], **options)


def play(script: ScriptedModel) -> list[float]:
    errands_gem.register()
    env = made(script)
    rewards = []
    for played in script.played:
        env.reset(number=played.number)
        for call in played.calls:
            written = json.dumps({"name": call.name, "arguments": call.arguments})
            _, reward, terminated, truncated, _ = env.step(f"<tool_call>{written}</tool_call>")
            if terminated or truncated:
                break
        rewards.append(reward)
    return rewards


@pytest.mark.parametrize("which", ["shop_script", "form_script"])
def test_every_reward_is_that_of_errands_run(which: str, request: pytest.FixtureRequest) -> None:
    script: Script = request.getfixturevalue(which)
    env = made(script)
    rewards = []
    for number in range(len(script)):
        text, info = env.reset(number=number)
        assert info["protocol"] == script.episodes.key
        made_calls, ended = 0, False
        while not ended:
            call = script.after(text, made_calls)
            assert call is not None
            written = json.dumps({"name": call.name, "arguments": call.arguments})
            _, reward, terminated, truncated, info = env.step(f"<tool_call>{written}</tool_call>")
            ended, made_calls = terminated or truncated, made_calls + 1
            assert info["valid_action"]
        assert terminated
        assert info["reward"] == reward
        rewards.append(reward)
    assert rewards == script.rewards
    assert play(script) == script.rewards


def test_seeds_draw_the_same_episodes_and_move_nobody_elses() -> None:
    import random

    random.seed(7)
    before = random.getstate()
    first, second = gem.make("errands:shop"), gem.make("errands:shop")
    drawn = [[env.reset(seed=3)[1]["number"], env.reset()[1]["number"]] for env in (first, second)]
    assert drawn[0] == drawn[1]
    assert drawn[0][0] != drawn[0][1]
    assert random.getstate() == before


def test_vectors_of_gems_own_play_them(capsys: pytest.CaptureFixture[str]) -> None:
    envs = gem.make_vec(["errands:shop"] * 4, seed=0)
    seen, _ = envs.reset(seed=5)
    assert len(set(seen)) == 4
    seen, rewards, terminated, truncated, _ = envs.step(["search[lamp]"] * 4)
    assert all("Page 1" in page for page in seen)
    assert not rewards.any()
    assert not (terminated | truncated).any()


def test_a_spawned_one_goes_on_by_itself(shop_script: Script) -> None:
    env = made(shop_script)
    env.reset(number=2)
    env.step("search[red lamp]")
    other = env.spawn(same_state=True)
    assert other.step("click[back to search]")[0] == env.step("click[back to search]")[0]
    other.step("search[blue mug]")
    assert env.episode.tools.steps == 2
    assert other.episode.tools.steps == 3
    assert env.spawn().episode is None
    with pytest.raises(SettingError, match="no option 'x'"):
        env.spawn(x=1)


def test_random_actions_are_understood() -> None:
    for name in NAMES.values():
        env = gem.make(name)
        env.reset(seed=0)
        for _ in range(5):
            _, reward, terminated, truncated, _ = env.step(env.sample_random_action())
            assert not terminated
            assert not truncated
            assert not reward


def test_wrong_use_is_one_sentence() -> None:
    env = gem.make("errands:shop")
    with pytest.raises(SettingError, match="reset"):
        env.step("search[lamp]")
    with pytest.raises(SettingError, match="expected 0 to"):
        env.reset(number=10**6)
    with pytest.raises(SettingError, match="for testing"):
        gem.make("errands:shop", protocol="shop-demo")
    env.reset(seed=0)
    _, _, terminated, truncated, info = env.step("nonsense")
    assert not terminated
    assert not truncated
    assert not (info["valid_action"])


class TestConformance(AdapterConformance):
    """Ours passes the kit for adapters."""

    def play(self, script: ScriptedModel) -> list[float]:
        return play(script)


def test_the_page_runs() -> None:
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), {})

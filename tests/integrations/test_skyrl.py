"""SkyRL's own registry, environment interface and metrics, with the scripted model."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from scripted_model import Script

pytest.importorskip("skyrl_gym", reason="SkyRL is not installed: pip install 'errands[skyrl]'")

import skyrl_gym

from errands.errors import SettingError
from errands.integrations import skyrl
from errands.testing.adapter import AdapterConformance, ScriptedModel

IN_PROCESS = True
PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "integrations" / "skyrl.md"

pytestmark = pytest.mark.filterwarnings("default")


def made(row: dict[str, Any]) -> Any:
    """An environment as SkyRL's generator makes it."""
    extras = {name: value for name, value in row.items() if name not in ("prompt", "env_class")}
    return skyrl_gym.make(row["env_class"], env_config=None, extras=extras)


def rows_of(script: Script) -> list[dict[str, Any]]:
    protocol = script.episodes.protocol
    return skyrl.dataset(protocol.id, training=False, episodes=len(script))


def play(script: ScriptedModel) -> list[float]:
    """As SkyRL's generator does, but for the model."""
    skyrl.register()
    protocol = script.episodes.protocol
    told = {
        "protocol": protocol.id,
        "episodes": protocol.episodes,
        "max_steps": protocol.max_steps,
    }
    rewards = []
    for played in script.played:
        row = {"env_class": skyrl.ENVIRONMENT, "extra_info": {**told, "number": played.number}}
        env = made(row)
        env.init([])
        for call in played.calls:
            written = json.dumps({"name": call.name, "arguments": call.arguments})
            out = env.step(f"<tool_call>{written}</tool_call>")
            if out["done"]:
                break
        rewards.append(out["reward"])
        env.close()
    return rewards


@pytest.mark.parametrize("which", ["shop_script", "form_script"])
def test_every_reward_is_that_of_errands_run(which: str, request: pytest.FixtureRequest) -> None:
    script: Script = request.getfixturevalue(which)
    skyrl.register()
    rewards, metrics = [], []
    for row in rows_of(script):
        env = made(row)
        conversation, told = env.init(row["prompt"])
        assert conversation == row["prompt"]
        assert told["protocol"] == row["data_source"] == script.episodes.key
        made_calls, done, total = 0, False, 0.0
        while not done:
            text = "\n".join(message["content"] for message in conversation[:2])
            call = script.after(text, made_calls)
            assert call is not None
            written = json.dumps({"name": call.name, "arguments": call.arguments})
            answer = f"<tool_call>{written}</tool_call>"
            out = env.step(answer)
            conversation = [*conversation, {"role": "assistant", "content": answer}]
            conversation += out["observations"]
            done, made_calls = out["done"], made_calls + 1
            total += out["reward"]
            assert out["metadata"]["protocol"] == script.episodes.key
        rewards.append(total)
        metrics.append(env.get_metrics())
    assert rewards == script.rewards
    mean = skyrl.SkyRLEnv.aggregate_metrics(metrics)
    assert mean["reward"] == pytest.approx(sum(rewards) / len(rewards))
    assert mean["valid_share"] == 1
    assert play(script) == script.rewards


def test_wrong_answers_are_told_and_do_not_end_it(shop_script: Script) -> None:
    skyrl.register()
    env = made(rows_of(shop_script)[0])
    env.init([])
    for answer in ("hello", "<tool_call>{}</tool_call>", "click[nothing of that name]"):
        out = env.step(answer)
        assert (out["done"], out["reward"]) == (False, 0)
        assert not out["metadata"]["valid_action"]
        assert len(out["observations"]) == 1
    assert env.get_metrics()["valid_share"] == 0


@pytest.mark.parametrize("extras", [None, {}, {"extra_info": None}, {"extra_info": {"number": 1}}])
def test_rows_of_another_kind_are_refused_in_a_sentence(extras: Any) -> None:
    with pytest.raises(SettingError, match=r"skyrl\.dataset"):
        skyrl.SkyRLEnv(None, extras)


@pytest.mark.parametrize("number", ["x", 1.5, 10**9, -1])
def test_there_is_no_such_episode(number: Any) -> None:
    with pytest.raises(SettingError, match="expected 0 to"):
        skyrl.SkyRLEnv(None, {"extra_info": {"protocol": "shop-demo", "number": number}})


def test_training_refuses_what_is_tested() -> None:
    with pytest.raises(SettingError, match="for testing"):
        skyrl.dataset("shop-demo")
    assert len(skyrl.dataset("shop-learn-train", episodes=3)) == 3


class TestConformance(AdapterConformance):
    """Ours passes the kit for adapters."""

    def play(self, script: ScriptedModel) -> list[float]:
        return play(script)


def test_the_page_runs() -> None:
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(compile(block, str(PAGE), "exec"), {})

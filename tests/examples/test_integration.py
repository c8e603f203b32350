"""The example of an adapter passes the kit, and runs."""

import json

import integration as example
import pytest

from errands.testing import AdapterConformance, ScriptedModel


class TestChat(AdapterConformance):
    count = 3

    def play(self, script: ScriptedModel) -> list[float]:
        rewards = []
        for one in script.played:
            env = example.ChatEnv(script.episodes, one.number)
            reward = 0.0
            for call in one.calls:
                _, reward, _ = env.step(json.dumps(call._asdict()))
            rewards.append(reward)
        return rewards


@pytest.mark.parametrize("text", ["", "search[x]", "[]", '{"name": "search"}', '{"name": 3}'])
def test_what_is_no_call_is_answered(text: str) -> None:
    env = example.ChatEnv(example.open_episodes("shop-demo", episodes=1), 0)
    shown, reward, done = env.step(text)
    assert "Answer with" in shown
    assert (reward, done) == (0.0, False)


def test_it_runs(capsys: pytest.CaptureFixture[str]) -> None:
    example.main()
    assert len(capsys.readouterr().out.splitlines()) == 2

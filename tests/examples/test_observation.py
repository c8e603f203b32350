"""The example of an observation format passes the kit, runs, and is found by `module:attribute`."""

import observation as example
import pytest

from errands import ShopEnv
from errands.envs import Observation
from errands.testing import ObservationConformance


class TestButtons(ObservationConformance):
    def observation(self) -> Observation:
        return example.buttons


def test_it_runs(capsys: pytest.CaptureFixture[str]) -> None:
    example.main()
    assert "next >" in capsys.readouterr().out.splitlines()


def test_by_name() -> None:
    env = ShopEnv("demo", observation="observation:buttons")
    observation, info = env.reset(options={"goal": 0})
    assert observation.startswith(info["instruction"])

"""The example of an observation format runs, and is found by `module:attribute`."""

import observation as example
import pytest

from errands import ShopEnv


def test_it_runs(capsys: pytest.CaptureFixture[str]) -> None:
    example.main()
    assert "next >" in capsys.readouterr().out.splitlines()


def test_by_name() -> None:
    env = ShopEnv("demo", observation="observation:buttons")
    observation, info = env.reset(options={"goal": 0})
    assert observation.startswith(info["instruction"])

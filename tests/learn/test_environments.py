"""The training floor is what the protocol says."""

import msgspec
import pytest
from gymnasium.vector import AutoresetMode

from errands.errors import SettingError
from errands.learn.environments import open_training_env
from errands.runs.protocol import named_protocols
from errands.shop.catalog.catalog import Catalog
from errands.shop.splits import split_indices


def test_goals_are_those_of_the_protocol(little: Catalog) -> None:
    floor = open_training_env("shop-learn-train", 3, str(little.path))
    assert list(floor.goals) == list(split_indices("disjoint-train", little.goals("human")))
    assert floor.checksum == little.manifest.checksum
    assert floor.env.num_envs == 3
    assert floor.env.metadata["autoreset_mode"] is AutoresetMode.DISABLED
    pages, infos = floor.env.reset(options={"goal": floor.goals[0]})
    assert all("[button] Search [button_]" in page for page in pages)
    assert infos["instruction"][0] == little.goals("human")[floor.goals[0]].instruction_text


@pytest.mark.parametrize("protocol", ["shop-demo", "turk-demo"])
def test_a_protocol_that_shows_something_else_is_refused(protocol: str) -> None:
    with pytest.raises(SettingError, match="shop-learn-train"):
        open_training_env(protocol, 4)


def test_a_split_that_agents_are_tested_on_is_refused(little: Catalog) -> None:
    with pytest.raises(SettingError, match="tested on; train on others, as in shop-learn-train"):
        open_training_env("shop-learn", 4, str(little.path))


def test_what_makes_the_world_is_told(little: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    floor = open_training_env("shop-learn-train", 1, str(little.path))
    assert floor.test_goals == 0
    assert floor.protocol["split"] == "disjoint-train"
    assert (floor.protocol["id"], floor.protocol["max_steps"]) == ("shop-learn-train", 100)
    everything = msgspec.structs.replace(named_protocols()["shop-learn-train"], split="")
    monkeypatch.setattr("errands.learn.environments.find_protocol", lambda name: everything)
    tests = split_indices("disjoint-test", little.goals("human"))
    assert open_training_env("mine", 1, str(little.path)).test_goals == len(tests) > 0

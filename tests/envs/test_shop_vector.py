"""The vector environment plays exactly what single environments play."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from errands.envs.shop import ShopEnv
from errands.envs.shop_vector import ShopVectorEnv
from errands.errors import ErrandsError
from errands.shop.catalog.catalog import Catalog


def made(catalog: Catalog, count: int = 3, **arguments: Any) -> Any:
    return gymnasium.make_vec("errands/Shop-v0", num_envs=count, catalog=catalog, **arguments)


def purchase(infos: dict[str, Any], i: int) -> str:
    """The next action of a customer in a hurry."""
    available = infos["available_actions"][i]
    if available["has_search_bar"]:
        return f"search[{infos['instruction'][i].replace('[', ' ')}]"
    clickables = available["clickables"]
    if not clickables:
        return "wait"
    return "click[buy now]" if "buy now" in clickables else f"click[{clickables[-1]}]"


def test_make_vec_gives_the_native_one(little: Catalog) -> None:
    envs = made(little)
    assert isinstance(envs.unwrapped, ShopVectorEnv)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    observations, infos = envs.reset(seed=1)
    assert observations in envs.observation_space
    assert envs.action_space.sample() in envs.action_space
    assert infos["_goal"].all()
    assert infos["goal"].dtype == np.int64


def test_plays_what_single_environments_play(little: Catalog) -> None:
    envs = made(little, 4, goals="human", max_steps=6)
    singles = [ShopEnv(little, goals="human", max_steps=6) for _ in range(4)]
    observations, infos = envs.reset(seed=10)
    alone = [env.reset(seed=10 + i) for i, env in enumerate(singles)]
    over = [False] * 4
    finished = 0
    for _ in range(40):
        assert list(observations) == [seen for seen, _ in alone]
        assert infos["goal"].tolist() == [info["goal"] for _, info in alone]
        assert list(infos["available_actions"]) == [i["available_actions"] for _, i in alone]
        actions = [purchase(infos, i) for i in range(4)]
        observations, rewards, terminations, truncations, infos = envs.step(actions)
        for i, env in enumerate(singles):
            if over[i]:
                alone[i] = env.reset()
                assert (rewards[i], terminations[i], truncations[i]) == (0, False, False)
                over[i] = False
                continue
            seen, reward, terminated, truncated, info = env.step(actions[i])
            alone[i] = seen, info
            assert (rewards[i], terminations[i], truncations[i]) == (reward, terminated, truncated)
            over[i] = terminated or truncated
            finished += over[i]
            if terminated:
                assert infos["_reward_parts"][i]
                assert infos["reward_parts"][i] == info["reward_parts"]
    assert finished > 8


def test_searches_of_a_step_are_ranked_together(little: Catalog) -> None:
    """On as many threads as asked for; what comes is the same."""
    envs = [made(little, 6, max_steps=6, threads=threads) for threads in (1, 3)]
    ranked = []
    with pytest.MonkeyPatch.context() as patch:
        batch = Catalog.find_batch
        patch.setattr(
            Catalog, "find_batch", lambda *given: ranked.append(len(given[1])) or batch(*given)
        )
        (first, infos), (same, _) = (env.reset(seed=3) for env in envs)
        for _ in range(20):
            assert first == same
            actions = [purchase(infos, i) for i in range(6)]
            (first, *_, infos), (same, *_) = (env.step(actions) for env in envs)
    assert ranked
    assert max(ranked) > 2
    for env in envs:
        env.close()


def test_same_step_autoreset_keeps_the_final_page(little: Catalog) -> None:
    envs = made(little, 2, max_steps=1, autoreset="same_step")
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    first, _ = envs.reset(seed=0)
    observations, _, _, truncations, infos = envs.step(["search[x]", "wait"])
    assert truncations.all()
    assert all(seen.startswith("WebShop") for seen in observations)
    assert infos["final_obs"][1] == first[1]
    assert infos["final_info"][0]["goal"] is not None
    assert infos["_final_obs"].all()


def test_disabled_autoreset_waits_for_the_caller(little: Catalog) -> None:
    envs = made(little, 2, max_steps=2, autoreset="disabled")
    envs.reset(seed=0)
    envs.step(["wait", "wait"])
    _, _, _, truncations, _ = envs.step(["wait", "wait"])
    assert truncations.all()
    before = envs.step(["wait", "wait"])
    assert before[3].all()
    _, infos = envs.reset(options={"reset_mask": np.array([True, False]), "goal": 5})
    assert infos["_goal"].tolist() == [True, False]
    assert infos["goal"][0] == 5
    assert envs.step(["wait", "wait"])[3].tolist() == [False, True]


def test_goals_for_each_and_groups(little: Catalog) -> None:
    envs = made(little, 3)
    assert envs.reset(options={"goal": [4, 5, 4]})[1]["goal"].tolist() == [4, 5, 4]
    assert envs.reset(options={"goal": 9})[1]["goal"].tolist() == [9, 9, 9]
    assert envs.reset(seed=[1, 2, 1])[1]["goal"][0] == envs.reset(seed=1)[1]["goal"][0]


def test_seeds_repeat(little: Catalog) -> None:
    goals = [made(little, 5).reset(seed=3)[1]["goal"].tolist() for _ in range(2)]
    assert goals[0] == goals[1]


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda envs: envs.step(["x"]), "1 actions were given; expected 2"),
        (lambda envs: envs.reset(options={"goal": [1]}), "1 values were given; expected 2"),
        (lambda envs: envs.reset(options={"reset_mask": [True]}), "must have 2 places"),
    ],
)
def test_wrong_sizes_are_one_sentence(little: Catalog, call: Any, complaint: str) -> None:
    envs = made(little, 2)
    envs.reset(seed=0)
    with pytest.raises(ErrandsError, match=complaint):
        call(envs)


def test_wrong_arguments_are_one_sentence(little: Catalog) -> None:
    with pytest.raises(ErrandsError, match="num_envs=0"):
        ShopVectorEnv(0, catalog=little)
    with pytest.raises(ErrandsError, match="autoreset='never'"):
        ShopVectorEnv(2, catalog=little, autoreset="never")
    with pytest.raises(ErrandsError, match="call reset"):
        ShopVectorEnv(1, catalog=little).step(["x"])
    with pytest.raises(ErrandsError, match="first reset must be of all"):
        ShopVectorEnv(2, catalog=little).reset(options={"reset_mask": [True, False]})


def test_ordinary_vectorisation_works_too(little: Catalog) -> None:
    envs = made(little, 2, vectorization_mode="sync")
    observations, _ = envs.reset(seed=0)
    assert len(observations) == 2
    assert len(envs.step(["search[x]", "wait"])[0]) == 2


def test_a_failed_reset_changes_nothing(little: Catalog) -> None:
    envs = ShopVectorEnv(2, catalog=little)
    with pytest.raises(ErrandsError, match="There is no goal"):
        envs.reset(options={"goal": [0, 10**9]})
    with pytest.raises(ErrandsError, match="call reset"):
        envs.step(["x", "x"])
    envs.reset(options={"goal": [1, 2]})
    with pytest.raises(ErrandsError, match="There is no goal"):
        envs.reset(options={"goal": [3, 10**9]})
    assert envs.step(["x", "x"])[4]["goal"].tolist() == [1, 2]

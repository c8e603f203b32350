"""The vector environment of forms plays exactly what single environments play."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import iterate

from errands.browser import chromium
from errands.envs.turk import TurkEnv
from errands.envs.turk_vector import TurkVectorEnv
from errands.errors import ErrandsError, SettingError
from errands.turk.browser.driver import BrowserDriver
from errands.turk.drivers import Pages
from errands.turk.pages.driver import DriverError

TASK = "Teapot Reviews"


def made(count: int = 3, **arguments: Any) -> Any:
    return gymnasium.make_vec("errands/Turk-v0", num_envs=count, driver="dom", **arguments)


def test_make_vec_gives_the_native_one() -> None:
    envs = made()
    assert isinstance(envs.unwrapped, TurkVectorEnv)
    assert envs.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    observations, infos = envs.reset(seed=1)
    assert observations in envs.observation_space
    assert envs.action_space.sample() in envs.action_space
    assert infos["_task"].all()
    assert infos["row"].dtype == np.int64
    envs.close()
    envs.close()


def filled(info: dict[str, Any], number: int) -> str:
    """An answer: nonsense, one field, or the end."""
    if number % 4 == 0:
        return "nonsense"
    if number % 4 == 3:
        return "submit()"
    choices = [field for field in info["fields"] if field["options"] and field["visible"]]
    if not choices:
        return "modify_text('nowhere', 'x')"
    field = choices[number % len(choices)]
    return f"modify_{field['type']}({field['name']!r}, {field['options'][0]!r})"


@pytest.mark.parametrize("observation", ["html", "text", "relevant"])
def test_plays_what_single_environments_play(observation: str) -> None:
    envs = made(4, observation=observation, max_steps=3)
    singles = [TurkEnv(driver="dom", observation=observation, max_steps=3) for _ in range(4)]
    pages, infos = envs.reset(seed=10)
    alone = [env.reset(seed=10 + i) for i, env in enumerate(singles)]
    over = [False] * 4
    finished = 0
    for number in range(14):
        assert list(pages) == [seen for seen, _ in alone]
        for name in ("task", "row", "message", "valid_action", "page_changed", "fields"):
            assert infos[f"_{name}"].all()
            assert list(infos[name]) == [info[name] for _, info in alone]
        actions = [filled(info, number + i) for i, (_, info) in enumerate(alone)]
        pages, rewards, terminated, truncated, infos = envs.step(actions)
        for i, env in enumerate(singles):
            if over[i]:
                alone[i] = env.reset()
                assert (rewards[i], terminated[i], truncated[i]) == (0, False, False)
                over[i] = False
                continue
            seen, reward, ended, cut, info = env.step(actions[i])
            alone[i] = seen, info
            assert (rewards[i], terminated[i], truncated[i]) == (reward, ended, cut)
            over[i] = ended or cut
            finished += over[i]
            assert infos.get("_score", over)[i] == over[i]
            if over[i]:
                assert infos["score"][i] == info["score"] == reward
                assert infos["success"][i] == info["success"]
                assert infos["field_scores"][i] == info["field_scores"]
    assert finished > 8


def test_same_step_autoreset_keeps_the_final_page() -> None:
    envs = made(2, max_steps=1, autoreset="same_step")
    first, _ = envs.reset(seed=0)
    pages, _, terminated, truncated, infos = envs.step(["nonsense", "submit()"])
    assert (terminated.tolist(), truncated.tolist()) == ([False, True], [True, False])
    assert list(infos["final_obs"]) == list(first)
    assert "field_scores" in infos["final_info"][0]
    assert pages != first
    assert "score" not in infos


def test_disabled_autoreset_waits_for_the_caller() -> None:
    envs = made(2, max_steps=1, autoreset="disabled")
    envs.reset(seed=0)
    assert envs.step(["x", "x"])[3].all()
    assert envs.step(["x", "x"])[3].all()
    _, infos = envs.reset(options={"reset_mask": [True, False], "task": TASK, "row": 1})
    assert infos["_task"].tolist() == [True, False]
    assert (infos["task"][0], infos["row"][0]) == (TASK, 1)
    assert envs.step(["x", "x"])[3].all()


def test_a_failed_reset_changes_nothing() -> None:
    envs = TurkVectorEnv(2, driver="dom")
    with pytest.raises(ErrandsError, match="call reset"):
        envs.step(["x", "x"])
    before, _ = envs.reset(options={"task": TASK, "row": [0, 1]})
    for options in ({"task": [TASK, "Nothing"]}, {"task": TASK, "row": [1, 99]}, {"tusk": 1}):
        with pytest.raises(ErrandsError):
            envs.reset(options=options)
    assert envs.step(["x", "x"])[0] == before
    with pytest.raises(ErrandsError, match="1 actions were given; expected 2"):
        envs.step(["x"])


def test_wrong_arguments_are_one_sentence() -> None:
    with pytest.raises(SettingError, match="num_envs=0"):
        TurkVectorEnv(0)
    with pytest.raises(SettingError, match="autoreset='never'"):
        TurkVectorEnv(2, autoreset="never")
    with pytest.raises(SettingError, match="no option 'drivr'; did you mean 'driver'"):
        TurkVectorEnv(2, drivr="dom")


@pytest.mark.parametrize("mode", ["screenshot", "html+screenshot"])
def test_pixels_are_those_of_single_environments(mode: str, browser_driver: BrowserDriver) -> None:
    pages = Pages(browser_driver)
    envs = TurkVectorEnv(2, pages=pages, observation=mode, max_steps=1, autoreset="same_step")
    single = TurkEnv(pages=pages, observation=mode, max_steps=1)
    seen, infos = envs.reset(options={"task": TASK, "row": [0, 1]})
    action = filled({"fields": infos["fields"][0]}, 1)
    after, _, _, truncated, infos = envs.step([action, action])
    assert truncated.all()
    assert seen in envs.observation_space
    assert after in envs.observation_space
    for row in range(2):
        first, _ = single.reset(options={"task": TASK, "row": row})
        last, *_ = single.step(action)
        ours = list(iterate(envs.observation_space, seen))[row]
        assert data_equivalence(ours, first)
        assert data_equivalence(infos["final_obs"][row], last)
    single.close()
    envs.close()


def test_tasks_and_pages_are_shared() -> None:
    pages = Pages("dom")
    envs = TurkVectorEnv(8, pages=pages, driver="dom")
    assert len({id(env.tasks) for env in envs._envs}) == 1
    assert {id(env.pages) for env in envs._envs} == {id(pages)}
    envs.reset(options={"task": TASK, "row": 0})
    task = envs.tasks.task(TASK)
    assert all(env._task is task for env in envs._envs)
    envs.close()
    assert TurkVectorEnv(1, pages=pages, driver="dom").reset(seed=0)


def test_a_browser_plays_many_too() -> None:
    envs = TurkVectorEnv(2, driver="browser")
    try:
        _, infos = envs.reset(options={"task": TASK, "row": 0})
    except DriverError as failure:
        if str(failure) not in (chromium.MISSING_BROWSER, chromium.MISSING_PACKAGE):
            raise
        pytest.skip(str(failure))
    try:
        assert infos["valid_action"].all()
        infos = envs.step(["modify_radio('stars', '5')", "nonsense"])[4]
        assert infos["page_changed"].tolist() == [True, False]
        taken = envs.snapshot()
        pages, _ = envs.restore([taken[0], taken[0]])
        assert pages[0] == pages[1]
        assert len(set(envs.step(["submit()", "submit()"])[1])) == 1
    finally:
        envs.close()


def test_ordinary_vectorisation_works_too() -> None:
    envs = made(2, vectorization_mode="sync")
    assert len(envs.reset(seed=0)[0]) == 2
    assert len(envs.step(["submit()", "wait"])[0]) == 2

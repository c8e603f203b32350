"""Form pages on a machine without a browser: what can be played is drawn, the rest is named."""

import warnings

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

import errands  # noqa: F401
from errands.envs.turk import TurkEnv
from errands.turk import drivers
from errands.turk.pages.driver import DriverError
from errands.turk.tasks.loader import load_tasks


@pytest.fixture(autouse=True)
def no_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> None:
        raise DriverError("No Chromium was found.")

    monkeypatch.setattr(drivers, "is_installed", lambda: False)
    monkeypatch.setattr(drivers, "start_browser", refused)


@pytest.mark.filterwarnings("ignore:Without a browser")
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_gymnasium_checks_it() -> None:
    env = gymnasium.make("errands/Turk-v0", tasks="demo", max_steps=5)
    check_env(env.unwrapped, skip_render_check=True)


def test_only_what_can_be_played_is_drawn_and_the_rest_is_named() -> None:
    env = TurkEnv(tasks="demo")
    drawn = set()
    with warnings.catch_warnings(record=True) as remarks:
        warnings.simplefilter("always")
        for seed in range(60):
            env.reset(seed=seed)
            assert env.instance is not None
            drawn.add(env.instance.task)
    (remark,) = remarks
    assert "Without a browser only" in str(remark.message)
    assert "Highlight the Excuse" in str(remark.message)
    assert len(drawn) > 15
    pages = drivers.Pages("auto")
    tasks = load_tasks("demo")
    assert {pages.choice(tasks.task(name)) for name in drawn} == {"dom"}


@pytest.mark.filterwarnings("ignore:Without a browser")
def test_a_seed_leads_to_one_episode() -> None:
    env = TurkEnv(tasks="demo")
    first = [env.reset(seed=seed)[0] for seed in range(30)]
    assert first == [env.reset(seed=seed)[0] for seed in range(30)]
    assert first == [TurkEnv(tasks="demo").reset(seed=seed)[0] for seed in range(30)]


def test_a_task_that_is_named_is_refused_in_one_sentence() -> None:
    with pytest.raises(DriverError, match="not known to be the same without one"):
        TurkEnv(tasks="demo").reset(options={"task": "Highlight the Excuse"})


def test_tasks_that_all_need_a_browser() -> None:
    env = TurkEnv(tasks="demo", split="test_challenge")
    env.pages.can_open = lambda task: False  # type: ignore[method-assign]
    with pytest.raises(DriverError, match="Every task of demo needs a browser"):
        env.reset()

"""Drivers of one's own: as objects, by module:attribute, and by entry points."""

from importlib.metadata import EntryPoint
from typing import Any

import pytest

from errands import plugins, run
from errands.envs.turk import TurkEnv
from errands.errors import SettingError
from errands.turk.dom.driver import DomDriver
from errands.turk.drivers import DRIVERS, Pages, find_driver
from errands.turk.tasks.loader import load_tasks


class Own(DomDriver):
    """A driver that nobody has heard of."""

    closed = 0

    @property
    def name(self) -> str:
        return "own"

    def close(self) -> None:
        Own.closed += 1


OWN = Own()
NO_DRIVER = "words"
TASK = load_tasks("demo").task("Teapot Reviews")


@pytest.mark.parametrize("name", [f"{__name__}:Own", f"{__name__}:OWN"])
def test_a_class_or_a_driver_by_module_and_attribute(name: str) -> None:
    pages = Pages(name)
    assert pages.choice(TASK) == name
    assert pages.driver_for(TASK).name == "own"
    assert pages.driver_for(TASK) is pages.driver_for(TASK)
    before = Own.closed
    pages.close()
    assert Own.closed == before + 1


def test_an_object_stays_its_owners() -> None:
    before = Own.closed
    env = TurkEnv(driver=OWN)
    env.reset(options={"task": "Teapot Reviews", "row": 0})
    assert env.pages.choice(TASK) == "own"
    env.close()
    assert Own.closed == before


def test_a_class_is_made_and_closed_here() -> None:
    before = Own.closed
    env = TurkEnv(driver=Own)
    env.reset(options={"task": "Teapot Reviews", "row": 0})
    assert env.pages.choice(TASK) == f"{__name__}:Own"
    assert env.pages.driver_for(TASK).name == "own"
    env.close()
    assert Own.closed == before + 1


def test_an_installed_driver_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("theirs", f"{__name__}:Own", DRIVERS.group)
    monkeypatch.setattr(plugins, "_installed", lambda group: {"theirs": point})
    assert DRIVERS.names() == ["dom", "browser", "theirs"]
    assert Pages("theirs").driver_for(TASK).name == "own"
    with pytest.raises(SettingError, match="expected auto, dom, browser, theirs, or module"):
        Pages("their")


def test_what_is_no_driver_is_refused() -> None:
    with pytest.raises(SettingError, match="no module 'absent'"):
        find_driver("absent:Driver")
    with pytest.raises(SettingError, match="no driver but str: expected name, actions"):
        find_driver(f"{__name__}:NO_DRIVER")


@pytest.mark.parametrize(
    ("driver", "words"),
    [
        (4, "The page driver 4 is no driver but int: expected name, actions, open"),
        (object(), "no driver but object"),
        (dict, "no driver but dict"),
        (f"{__name__}:Onw", "has no 'Onw'"),
        (f"{__name__}:NO_DRIVER", "no driver but str"),
    ],
)
def test_what_can_be_no_driver_is_refused_at_once(driver: Any, words: str) -> None:
    with pytest.raises(SettingError, match=words):
        TurkEnv(driver=driver)
    if isinstance(driver, str):
        with pytest.raises(SettingError, match=words):
            run("turk", "oracle", data="demo", driver=driver)


def test_auto_is_the_browser_where_pictures_are_needed() -> None:
    task = load_tasks("demo", "test").task("Two Charts")
    pages = Pages()
    assert pages.choice(task) == "dom"
    pages.needs_pictures = True
    assert pages.choice(task) == "browser"
    env = TurkEnv(split="test", observation="html+screenshot")
    assert env.pages.choice(task) == "browser"
    own = Pages("dom")
    own.needs_pictures = True
    assert own.choice(task) == "dom", "who names a driver gets it"

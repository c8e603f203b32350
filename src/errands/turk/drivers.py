"""Choosing a driver: by name, as an object, or `auto`, which takes the browser unless a page is the
same without one: by construction, for nothing on it could act by itself, or by proof.

A driver of your own is named as `module:attribute` (a class or function without arguments, or a
driver), or by an entry point of the group `errands.drivers`; to test it, see
`errands.testing.DriverConformance`.
"""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from errands.browser.chromium import is_installed
from errands.errors import SettingError
from errands.extras import install_command
from errands.plugins import Registry, path_of
from errands.turk.dom.driver import DomDriver
from errands.turk.dom.scripts import may_act, read_scripts
from errands.turk.dom.submission import has_scripts
from errands.turk.pages.driver import Driver, DriverError, OpenPage
from errands.turk.pages.switching import SwitchingPage
from errands.turk.proofs import Proof, find_proof
from errands.turk.tasks.loader import TaskSet
from errands.turk.tasks.task import Instance, Task
from errands.turk.tasks.template import page_html

__all__ = ["AUTO", "DRIVERS", "Pages", "find_driver", "no_browser", "start_browser"]

AUTO: Final = "auto"
_OWN: Final = {
    "dom": "errands.turk.dom.driver:DomDriver",
    "browser": "errands.turk.drivers:start_browser",
}
DRIVERS: Final = Registry("page driver", "errands.drivers", _OWN)
DriverSource = str | Driver | Callable[[], Driver]
"""A name or `module:attribute`, a driver, or what makes one."""


def find_driver(source: DriverSource) -> Driver:
    """A driver by name, or of what makes one, started."""
    driver: Any = DRIVERS.find(source) if isinstance(source, str) else source
    if _makes_drivers(driver):
        driver = driver()
    if not isinstance(driver, Driver):
        raise _no_driver(source, driver)
    return driver


def _makes_drivers(driver: Any) -> bool:
    return isinstance(driver, type) or (callable(driver) and not isinstance(driver, Driver))


def _check(source: DriverSource) -> None:
    """Refuse what can be no driver before any page is opened; nothing is started."""
    if source == AUTO:
        return
    names = [AUTO, *DRIVERS.names()]
    if isinstance(source, str) and ":" not in source and source not in names:
        raise SettingError(f"driver={source!r}: expected {', '.join(names)}, or module:attribute.")
    driver = DRIVERS.find(source) if isinstance(source, str) else source
    if isinstance(driver, type):
        possible = hasattr(driver, "open")
    else:
        possible = callable(driver) or isinstance(driver, Driver)
    if not possible:
        raise _no_driver(source, driver)


def _no_driver(source: Any, value: Any) -> SettingError:
    kind = value.__name__ if isinstance(value, type) else type(value).__name__
    return SettingError(
        f"The page driver {source!r} is no driver but {kind}: expected name, actions, open and"
        " close, as in errands.turk.Driver."
    )


class Pages:
    """Opens instances with the driver that fits; drivers start when they are first needed.

    A driver that is given as an object is its owner's to close; one of a class is made here, and
    closed here. Where pages are to be submitted, `auto` takes the browser for all that have
    scripts: a proof says nothing about what they do then.
    """

    def __init__(
        self,
        driver: DriverSource = AUTO,
        *,
        browser: Callable[[], Driver] | None = None,
        on_remark: Callable[[str], None] = warnings.warn,
        submits: bool = False,
    ) -> None:
        _check(driver)
        self.driver: Any = driver
        self.submits = submits
        self.needs_pictures = False
        """Whether somebody will ask for screenshots: then `auto` is the browser for every task."""
        self._is_object = not isinstance(driver, str) and not _makes_drivers(driver)
        self._start_browser = browser or start_browser
        self._on_remark = on_remark
        self._has_browser: bool | None = None
        self._playable: dict[tuple[str, str], tuple[str, ...]] = {}
        self._dom: dict[str, tuple[Proof | None, Driver]] = {}
        self._started: dict[str, Driver] = {}

    def open(self, task: Task, instance: Instance, *, files: Path | None = None) -> OpenPage:
        """The instance's page, untouched; under `auto` one that goes over to the browser, where
        there is one, for what `dom` cannot do."""
        html = page_html(task, instance)
        driver = self.driver_for(task, instance)
        page = driver.open(html, files=files)
        if self.driver != AUTO or not isinstance(driver, DomDriver) or not self._browser_there():
            return page

        def in_browser() -> OpenPage:
            return self._started_for("browser", task).open(html, files=files)

        return SwitchingPage(page, in_browser)

    def driver_for(self, task: Task, instance: Instance | None = None) -> Driver:
        """The driver that a task, or one instance of it, runs on."""
        if self._is_object:
            owned: Driver = self.driver
            return owned
        name = self._name(task, instance)
        return self._dom_for(task) if name == "dom" else self._started_for(name, task)

    def _started_for(self, name: str, task: Task) -> Driver:
        if name not in self._started:
            browser = name == "browser"
            self._started[name] = self._browser(task) if browser else find_driver(self.driver)
        return self._started[name]

    def _browser(self, task: Task) -> Driver:
        try:
            return self._start_browser()
        except DriverError as failure:
            if self.driver == "browser":
                raise
            raise DriverError(
                f"The task {task.name!r} needs a browser, for it is not known to be the same"
                f" without one: {str(failure).rstrip('.')}. Then `errands run` or `errands turk"
                " verify` finds out once and for all whether it can do without."
            ) from None

    def _dom_for(self, task: Task) -> Driver:
        """`dom` with the effects that the task's proof was made with."""
        proof = _proof_of(task)
        known = self._dom.get(task.template_hash)
        if known is None or known[0] is not proof:
            rules = proof.effect_rules if proof is not None else ()
            known = self._dom[task.template_hash] = proof, DomDriver(effect_rules=rules)
        return known[1]

    def choice(self, task: Task) -> str:
        """The name of the driver that a task runs on."""
        return str(self.driver.name) if self._is_object else self._name(task)

    def shown_by(self, task: Task) -> str:
        """Who shows a task's pages, as far as it matters: `auto` shows them the same either way."""
        return AUTO if self.driver == AUTO else self.choice(task)

    def can_open(self, task: Task) -> bool:
        """Whether there is all that it takes: no browser, or one that is installed."""
        needs_browser = self.driver == AUTO and self._name(task) == "browser"
        return not needs_browser or self._browser_there()

    def playable(self, tasks: TaskSet) -> tuple[str, ...]:
        """The tasks that can be played here; the others are named in one remark."""
        known = self._playable.get((tasks.place, tasks.split))
        if known is not None:
            return known
        names = tuple(task.name for task in tasks if self.can_open(task))
        if not names:
            raise DriverError(
                f"Every task of {tasks.place} needs a browser, and there is none; run"
                f" {install_command('browser')}, and install Chromium."
            )
        others = [name for name in tasks.names if name not in names]
        if others:
            shown = ", ".join(others[:5])
            more = f" and {len(others) - 5} more" if len(others) > 5 else ""
            self._on_remark(
                f"Without a browser only {len(names)} of {len(tasks)} tasks are drawn; these need"
                f" one: {shown}{more}. {install_command('browser')}, and Chromium, bring it."
            )
        self._playable[tasks.place, tasks.split] = names
        return names

    def unproven(self, task: Task) -> bool:
        """Whether a proof, which there is not, could spare a task the browser that there is."""
        return (
            self.driver == AUTO
            and self._may_spare_browser(task)
            and _proof_of(task) is None
            and bool(read_scripts(task.template).reasons)
            and self._browser_there()
        )

    def new_browser(self) -> Driver:
        """A browser beside the one that plays; it is the caller's to close."""
        if self._start_browser is start_browser:
            return start_browser(pictures=False)
        return self._start_browser()

    def _may_spare_browser(self, task: Task) -> bool:
        return not self.needs_pictures and not (self.submits and has_scripts(task.template))

    def _browser_there(self) -> bool:
        if self._has_browser is None:
            self._has_browser = self._start_browser is not no_browser and (
                self._start_browser is not start_browser or is_installed()
            )
        return self._has_browser

    def _name(self, task: Task, instance: Instance | None = None) -> str:
        if not isinstance(self.driver, str):
            return path_of(self.driver)
        if self.driver != AUTO:
            return self.driver
        if not self._may_spare_browser(task):
            return "browser"
        proof = _proof_of(task)
        same = proof.allows_dom if proof is not None else not read_scripts(task.template).reasons
        # A proof is of a template: a row may bring what no other has brought.
        acts = same and instance is not None and any(map(may_act, instance.inputs.values()))
        return "dom" if same and not acts else "browser"

    def close(self) -> None:
        for driver in self._started.values():
            driver.close()
        self._dom, self._started = {}, {}


def _proof_of(task: Task) -> Proof | None:
    """The proof of a task's template, unless its table has grown since it was made."""
    proof = find_proof(task.template_hash)
    return proof if proof is not None and proof.covers(len(task.instances)) else None


def no_browser() -> Driver:
    """For `Pages` of a place that starts no browser, whatever is installed."""
    raise DriverError("none is started here.")


def start_browser(*, pictures: bool = True) -> Driver:
    """A browser that is known to work; without one, an error that says what to install."""
    from errands.turk.browser.driver import BrowserDriver

    driver = BrowserDriver(pictures=pictures)
    # It starts with its first page, and only then is it known whether there is one.
    driver.open("<title>ready</title>").close()
    return driver

"""Choosing a driver: by name, or `auto`, which takes the browser unless a proof says otherwise."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from errands.errors import SettingError
from errands.turk.dom.driver import DomDriver
from errands.turk.pages.driver import Driver, DriverError, OpenPage
from errands.turk.proofs import Proof, find_proof
from errands.turk.tasks.task import Instance, Task
from errands.turk.tasks.template import page_html

__all__ = ["DRIVERS", "Pages", "start_browser"]

DRIVERS: Final = ("auto", "dom", "browser")


class Pages:
    """Opens instances with the driver that fits; drivers start when they are first needed."""

    def __init__(
        self,
        driver: str = "auto",
        *,
        browser: Callable[[], Driver] | None = None,
    ) -> None:
        if driver not in DRIVERS:
            raise SettingError(f"driver={driver!r}: expected {', '.join(DRIVERS)}.")
        self.driver = driver
        self._make_browser = browser or start_browser
        self._dom: dict[str, tuple[Proof | None, Driver]] = {}
        self._browser: Driver | None = None

    def open(self, task: Task, instance: Instance, *, files: Path | None = None) -> OpenPage:
        """The instance's page, untouched."""
        return self.driver_for(task).open(page_html(task, instance), files=files)

    def driver_for(self, task: Task) -> Driver:
        """The driver that a task runs on."""
        if self.choice(task) == "dom":
            return self._dom_for(task)
        if self._browser is None:
            try:
                self._browser = self._make_browser()
            except DriverError as failure:
                if self.driver == "browser":
                    raise
                raise DriverError(
                    f"The task {task.name!r} is not proven to run without a browser, and there is"
                    f" none: {failure} With a browser, `errands turk verify` proves tasks once and"
                    " for all."
                ) from None
        return self._browser

    def _dom_for(self, task: Task) -> Driver:
        """`dom` with the effects that the task's proof was made with."""
        proof = find_proof(task.template_hash)
        known = self._dom.get(task.template_hash)
        if known is None or known[0] is not proof:
            effect_rules = proof.effect_rules if proof is not None else ()
            known = self._dom[task.template_hash] = proof, DomDriver(effect_rules=effect_rules)
        return known[1]

    def choice(self, task: Task) -> str:
        """`dom` or `browser`."""
        if self.driver != "auto":
            return self.driver
        proof = find_proof(task.template_hash)
        return "dom" if proof is not None and proof.allows_dom else "browser"

    def close(self) -> None:
        if self._browser is not None:
            self._browser.close()
        self._dom, self._browser = {}, None


def start_browser(*, pictures: bool = True) -> Driver:
    """A browser that is known to work; without one, an error that says what to install."""
    from errands.turk.browser.driver import BrowserDriver

    driver = BrowserDriver(pictures=pictures)
    # It starts with its first page, and only then is it known whether there is one.
    driver.open("<title>ready</title>").close()
    return driver

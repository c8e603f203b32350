"""A page driver of your own, in one file: the driver `dom` that counts the pages it opens.

    errands run turk --data demo --agent oracle --driver examples.driver:CountingDriver
    python examples/driver.py                 # the same from Python, on a demo task

To test it, subclass `errands.testing.DriverConformance`: see tests/examples/test_driver.py.
"""

from pathlib import Path

from errands import TurkEnv
from errands.turk import DomDriver, OpenPage


class CountingDriver(DomDriver):
    """What opens a page is a driver: `name`, `actions`, `open` and `close`."""

    opened = 0

    @property
    def name(self) -> str:
        return "counting"

    def open(self, html: str, *, files: Path | None = None) -> OpenPage:
        self.opened += 1
        return super().open(html, files=files)


def main() -> None:
    driver = CountingDriver()
    env = TurkEnv("demo", driver=driver)
    for row in range(3):
        env.reset(options={"task": "Teapot Reviews", "row": row})
    env.close()
    print(f"{driver.opened} pages")


if __name__ == "__main__":
    main()

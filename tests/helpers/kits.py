"""Running a conformance kit outside pytest: which of its tests fail."""

from typing import Any


def failures(kit: Any) -> set[str]:
    """The names of the tests of a kit that fail, without `test_`."""
    failed = set()
    for name in dir(kit):
        if name.startswith("test_"):
            try:
                getattr(kit, name)()
            except Exception:
                failed.add(name.removeprefix("test_"))
    return failed

"""Chromium's own sandbox: on wherever the system allows it."""

import pytest

from errands.browser.chromium import BrowserError, SandboxChoice, sandbox_choice


@pytest.mark.parametrize(
    ("system", "is_root", "has_namespaces", "wish", "choice"),
    [
        ("linux", False, True, None, SandboxChoice(True)),
        ("linux", False, True, "", SandboxChoice(True)),
        ("darwin", False, False, None, SandboxChoice(True)),
        ("linux", True, True, None, SandboxChoice(False, "the user is root")),
        (
            *("linux", False, False, None),
            SandboxChoice(False, "the system allows no user namespaces"),
        ),
        ("linux", False, True, "0", SandboxChoice(False)),
        ("linux", True, False, "1", SandboxChoice(True)),
    ],
)
def test_where_it_is_on(
    system: str, is_root: bool, has_namespaces: bool, wish: str | None, choice: SandboxChoice
) -> None:
    found = sandbox_choice(
        system, is_root=is_root, has_namespaces=lambda: has_namespaces, wish=wish
    )
    assert found == choice


def test_another_wish_is_one_sentence() -> None:
    with pytest.raises(BrowserError, match=r"ERRANDS_SANDBOX=yes: expected 1 \(on\) or 0 \(off\)"):
        sandbox_choice("linux", is_root=False, has_namespaces=lambda: True, wish="yes")

"""Which frameworks there are integrations for, and whether the installed one will do."""

import re
import sys
from collections.abc import Mapping
from importlib import metadata
from typing import Final

import msgspec

from errands.errors import ErrandsError
from errands.extras import install_command

__all__ = ["FRAMEWORKS", "Framework", "IntegrationError", "require"]


class IntegrationError(ErrandsError, ImportError):
    """A framework is not installed, or in a version that does not fit."""


class Framework(msgspec.Struct, frozen=True):
    """A framework that errands plugs into; its key in `FRAMEWORKS` is the extra's name."""

    title: str
    distribution: str
    """What is installed."""
    minimum: str
    """The oldest version that is known to work."""
    tested: str
    """The version that the tests ran against."""
    page: str
    """Its page in docs/."""
    python: str = ">=3.11"
    needs: Mapping[str, str] = {}
    """What else it is used with, and the oldest version of each that will do."""


FRAMEWORKS: Final[Mapping[str, Framework]] = {
    "inspect": Framework("Inspect", "inspect-ai", "0.3.285", "0.3.285", "inspect.md"),
    "trl": Framework("TRL", "trl", "1.16", "1.16.0", "trl.md", needs={"transformers": "5.13"}),
    "openenv": Framework("OpenEnv", "openenv", "0.10", "0.10.0", "openenv.md"),
    "mcp": Framework("MCP", "mcp", "1.30", "2.3.0", "mcp.md"),
    "verifiers": Framework("verifiers", "verifiers", "0.4", "0.4.0", "verifiers.md"),
    "verl": Framework("verl", "verl", "0.9.1", "0.9.1", "verl.md", ">=3.11,<3.13"),
    "nemo-gym": Framework("NeMo Gym", "nemo-gym", "0.4", "0.4.0", "nemo-gym.md", ">=3.12"),
    "skyrl": Framework("SkyRL", "skyrl-gym", "0.4", "0.4.0", "skyrl.md"),
    "ors": Framework("ORS", "openreward", "0.1.167", "0.1.167", "ors.md"),
    "gem": Framework("GEM", "gem-llm", "0.0.4", "0.1.0", "gem.md", ">=3.11,<3.13"),
    "harbor": Framework("Harbor", "harbor", "0.24", "0.24.0", "harbor.md", ">=3.12"),
    "browsergym": Framework("BrowserGym", "browsergym-core", "0.14.3", "0.14.3", "browsergym.md"),
}
"""Every framework, by the name of its extra."""


def require(name: str) -> str:
    """The installed version of a framework; an `IntegrationError` where there is none, or one that
    is too old. Called by each adapter before it imports its framework."""
    framework = FRAMEWORKS[name]
    install = f"run {install_command(name)}"
    if not _fits(sys.version_info[:2], framework.python):
        here = ".".join(map(str, sys.version_info[:2]))
        install = f"make an environment of Python {framework.python}, as this is {here}; {install}"
    try:
        version = metadata.version(framework.distribution)
    except metadata.PackageNotFoundError:
        raise IntegrationError(
            f"errands.integrations.{name.replace('-', '_')} needs {framework.title}"
            f" ({framework.distribution} {framework.minimum} or newer), which is not installed:"
            f" {install}."
        ) from None
    if _numbers(version) < _numbers(framework.minimum):
        raise IntegrationError(
            f"{framework.title} is installed in version {version}, and errands needs"
            f" {framework.minimum} or newer ({framework.tested} is tested): run"
            f" pip install --upgrade '{framework.distribution}>={framework.minimum}'."
        )
    for distribution, minimum in framework.needs.items():
        _require_also(framework.title, distribution, minimum)
    return version


def _require_also(title: str, distribution: str, minimum: str) -> None:
    try:
        version = metadata.version(distribution)
    except metadata.PackageNotFoundError:
        version = ""
    if _numbers(version) < _numbers(minimum):
        raise IntegrationError(
            f"{title} needs {distribution} {minimum} or newer, and"
            f" {f'{version} is' if version else 'none is'} installed: run"
            f" pip install --upgrade '{distribution}>={minimum}'."
        )


def _fits(version: tuple[int, ...], wanted: str) -> bool:
    """Whether a version is within bounds such as `>=3.11,<3.13`."""
    least, _, below = wanted.removeprefix(">=").partition(",<")
    return _numbers(least) <= version and (not below or version < _numbers(below))


def _numbers(version: str) -> tuple[int, ...]:
    """The release of a version, for comparing: 1.16.0rc1 counts as 1.16.0."""
    release = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, release[0].split("."))) if release else ()

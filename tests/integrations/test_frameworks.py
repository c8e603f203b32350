"""Which frameworks there are, and what is said where one is missing or too old."""

import re
import runpy
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from errands.extras import install_command
from errands.integrations.frameworks import FRAMEWORKS, IntegrationError, require

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_framework_that_is_missing_is_one_sentence(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(distribution: str) -> str:
        raise metadata.PackageNotFoundError(distribution)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(IntegrationError, match=re.escape(install_command(name))):
        require(name)


@pytest.mark.parametrize(
    ("name", "python", "wanted"),
    [
        ("nemo-gym", (3, 11), "make an environment of Python >=3.12, as this is 3.11; run "),
        ("nemo-gym", (3, 12), "not installed: run "),
        ("verl", (3, 13), "make an environment of Python >=3.11,<3.13, as this is 3.13; run "),
        ("verl", (3, 12), "not installed: run "),
    ],
)
def test_one_that_this_python_cannot_have_says_which_can(
    name: str, python: tuple[int, int], wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There the extra installs nothing, and to ask for it again would not help."""

    def missing(distribution: str) -> str:
        raise metadata.PackageNotFoundError(distribution)

    monkeypatch.setattr(metadata, "version", missing)
    monkeypatch.setattr(sys, "version_info", (*python, 0))
    with pytest.raises(IntegrationError, match=re.escape(wanted)):
        require(name)


def test_a_command_without_its_framework_has_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(distribution: str) -> str:
        raise metadata.PackageNotFoundError(distribution)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("errands.integrations.nemo_gym", run_name="__main__")
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert install_command("nemo-gym") in said


@pytest.mark.parametrize("name", FRAMEWORKS)
@pytest.mark.parametrize("old", ["0.0.1", "0.0.0.dev1", "0"])
def test_one_that_is_too_old_names_the_one_that_works(
    name: str, old: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "version", lambda distribution: old)
    with pytest.raises(IntegrationError, match=re.escape(FRAMEWORKS[name].minimum)) as caught:
        require(name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_the_tested_version_will_do(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    framework = FRAMEWORKS[name]
    installed = {framework.distribution: framework.tested, **framework.needs}
    monkeypatch.setattr(metadata, "version", installed.__getitem__)
    assert require(name) == framework.tested


@pytest.mark.parametrize("name", [name for name in FRAMEWORKS if FRAMEWORKS[name].needs])
@pytest.mark.parametrize("old", ["0.0.1", None])
def test_what_it_is_used_with_is_checked_too(
    name: str, old: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    framework = FRAMEWORKS[name]
    for lacking, minimum in framework.needs.items():

        def version(distribution: str, lacking: str = lacking) -> str:
            if distribution != lacking:
                return {framework.distribution: framework.tested, **framework.needs}[distribution]
            if old is None:
                raise metadata.PackageNotFoundError(distribution)
            return old

        monkeypatch.setattr(metadata, "version", version)
        with pytest.raises(IntegrationError, match=re.escape(f"{lacking}>={minimum}")) as caught:
            require(name)
        assert "\n" not in str(caught.value)


def test_each_has_an_extra_with_its_minimum_and_no_upper_bound() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for name, framework in FRAMEWORKS.items():
        wanted = extras["optional-dependencies"][name]
        own = [need for need in wanted if re.match(rf"{framework.distribution}\b", need)]
        assert len(own) == 1, f"the extra {name} asks for {framework.distribution}"
        assert f">={framework.minimum}" in own[0]
        for need in wanted:
            assert "<" not in need.partition(";")[0], f"{need} has an upper bound"


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_each_has_a_page(name: str) -> None:
    page = ROOT / "docs" / "guides" / "integrations" / FRAMEWORKS[name].page
    assert page.is_file()
    assert f"errands[{name}]" in page.read_text()

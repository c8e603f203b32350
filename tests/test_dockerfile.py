"""The Dockerfile says what the package has; there is no engine in the tests to build it with."""

import re
import tomllib
from pathlib import Path

from typer.main import get_command

from errands.cli.serve import app

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "Dockerfile").read_text()


def test_serve_is_installed_and_reachable_from_outside() -> None:
    [extras] = re.findall(r"'\.\[([a-z,]+)\]'", TEXT)
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert "serve" in set(extras.split(",")) <= set(known)
    options = {option.name: option for option in get_command(app).params}
    assert f"EXPOSE {options['port'].default}\n" in TEXT
    assert f"{options['host'].envvar}=0.0.0.0" in TEXT
    assert 'ENTRYPOINT ["errands"]' in TEXT


def test_what_is_copied_is_there_and_not_ignored() -> None:
    ignored = set((ROOT / ".dockerignore").read_text().split())
    [names] = re.findall(r"^COPY (pyproject.*) \./$", TEXT, re.MULTILINE)
    for name in [*names.split(), "src"]:
        assert (ROOT / name).exists()
        assert name not in ignored

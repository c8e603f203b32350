"""How Ray is asked for, whether it is installed or not."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from errands.cli import app
from errands.errors import SettingError
from errands.extras import install_command
from errands.runs.runner import run
from errands.runs.workers.ray_pool import time_slice


def test_ray_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(SettingError, match=re.escape(install_command("ray"))):
        run("shop-demo", "rule", episodes=2, out=tmp_path / "r", ray="local")


@pytest.mark.parametrize(
    ("words", "address"),
    [
        (["shop-demo", "--ray"], ""),
        (["--ray", "shop-demo"], ""),
        (["shop-demo", "--ray", "auto"], "auto"),
        (["shop-demo", "--ray", "head:6379"], "head:6379"),
        (["shop-demo", "--ray=head:6379"], "head:6379"),
        (["--ray", "10.0.0.1:6379", "shop-demo"], "10.0.0.1:6379"),
        (["shop-demo", "--ray", "ray://head:10001"], "ray://head:10001"),
        (["shop-demo", "--ray", "--workers", "3"], ""),
        (["shop-demo"], None),
    ],
)
def test_an_address_may_be_left_out(
    words: list[str], address: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}

    def listen(protocol: str, agent: str, **settings: Any) -> None:
        asked.update(settings, protocol=protocol)
        raise SettingError("heard")

    monkeypatch.setattr("errands.cli.run.run", listen)
    CliRunner().invoke(app, ["run", "--agent", "rule", *words])
    assert (asked["protocol"], asked["ray"]) == ("shop-demo", address)


def test_many_workers_answer_less_often() -> None:
    """So that the runner hears a number of answers a second that it can read."""
    assert time_slice(1) == time_slice(40) == 0.1
    for workers in (100, 1000, 8000):
        assert workers / time_slice(workers) <= 500

"""The command that installs an extra, by where Errands came from."""

import json
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from errands import extras
from errands.extras import TORCH_FOR_CPU, install_command

ROOT = Path(__file__).resolve().parents[1]
Origin = Callable[[dict[str, Any] | None], None]


class Distribution:
    """What pip wrote down about an installation."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.told = told

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return json.dumps(self.told) if self.told else None


@pytest.fixture
def origin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Origin]:
    """Says where Errands came from; None: it was not installed."""

    def given(told: dict[str, Any] | None) -> None:
        def distribution(name: str) -> Distribution:
            if told is None:
                raise metadata.PackageNotFoundError(name)
            return Distribution(told)

        extras._origin.cache_clear()
        monkeypatch.setattr(metadata, "distribution", distribution)

    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    yield given
    extras._origin.cache_clear()


def test_by_origin(origin: Origin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clone = tmp_path / "a clone"
    clone.mkdir()
    origin({})
    assert install_command("serve") == "pip install 'errands[serve]'"
    origin({"url": clone.as_uri(), "dir_info": {}})
    assert install_command("serve") == f"pip install '{clone}[serve]'"
    origin({"url": clone.as_uri(), "dir_info": {"editable": True}})
    monkeypatch.chdir(clone)
    assert install_command("serve") == "pip install --editable '.[serve]'"
    wheel = "file:///tmp/errands-1-py3-none-any.whl"
    origin({"url": wheel, "archive_info": {}})
    assert install_command("serve") == f"pip install 'errands[serve] @ {wheel}'"
    origin(None)
    monkeypatch.chdir(ROOT)
    assert install_command("serve") == "pip install --editable '.[serve]'"


def test_the_pip_is_of_this_python(origin: Origin, monkeypatch: pytest.MonkeyPatch) -> None:
    origin({})
    monkeypatch.setenv("PATH", "/nowhere")
    assert install_command("mcp") == f"{sys.executable} -m pip install 'errands[mcp]'"


def test_torch_is_named_for_machines_without_a_gpu(origin: Origin) -> None:
    origin({})
    assert f"without a GPU first pip install {TORCH_FOR_CPU}" in install_command("train")
    pinned = (ROOT / "constraints.txt").read_text().splitlines()
    assert TORCH_FOR_CPU.removesuffix("+cpu") in pinned

"""How to install what only some parts of Errands need: the command that works where this one runs.

Installed from a clone, an extra is asked for by the clone's folder, since no index may know
Errands; and the pip that is meant is the one of this Python.
"""

import functools
import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

__all__ = ["TORCH_FOR_CPU", "install_command"]

TORCH_FOR_CPU: Final = "torch==2.13.0+cpu"
"""PyTorch without CUDA: 200 MB instead of 6 GB. PyTorch's own index for CPUs has it."""

_WITH_TORCH: Final = frozenset({"train", "hf", "trl", "verl"})


def install_command(extra: str) -> str:
    """The command that installs an extra; before PyTorch, that of its build for CPUs."""
    command = shlex.join([*_pip(), "install", *_source(extra)])
    if extra not in _WITH_TORCH:
        return command
    for_cpu = shlex.join([*_pip(), "install", TORCH_FOR_CPU])
    return f"{command} (without a GPU first {for_cpu}, from PyTorch's index for CPUs)"


def _pip() -> list[str]:
    pip = shutil.which("pip")
    is_ours = pip is not None and Path(pip).parent == Path(sys.executable).parent
    return ["pip"] if is_ours else [sys.executable, "-m", "pip"]


def _source(extra: str) -> list[str]:
    """The words after `pip install`."""
    address, is_editable = _origin()
    if not address:
        return [f"errands[{extra}]"]
    path = Path(unquote(urlsplit(address).path))
    if not path.is_dir():
        return [f"errands[{extra}] @ {address}"]
    place = "." if path == Path.cwd() else os.fspath(path)
    return [*(["--editable"] if is_editable else []), f"{place}[{extra}]"]


@functools.cache
def _origin() -> tuple[str, bool]:
    """Where Errands was installed from, as the file of PEP 610 has it, and whether as editable;
    empty for an index."""
    # Slow to import, and asked for only where something is missing.
    from importlib import metadata

    try:
        told: dict[str, Any] = json.loads(
            metadata.distribution("errands").read_text("direct_url.json") or "{}"
        )
    except metadata.PackageNotFoundError:
        # Used from its sources, without an installation.
        clone = Path(__file__).resolve().parents[2]
        return (clone.as_uri() if (clone / "pyproject.toml").is_file() else "", True)
    return told.get("url", ""), told.get("dir_info", {}).get("editable", False)

"""Builds the C library into the wheel, or beside the sources of an editable installation.

A machine without a C compiler gets one from PyPI for the time of the build.
"""

import importlib.util
import sys
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path(__file__).resolve().parent / "src" / "errands" / "native"


def native() -> ModuleType:
    """The module `errands.native`, without the package around it."""
    spec = importlib.util.spec_from_file_location("errands_native", FOLDER / "__init__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class NativeLibrary(BuildHookInterface):  # type: ignore[type-arg]
    """The hook that hatchling calls."""

    def dependencies(self) -> list[str]:
        return [] if native().compiler() else ["ziglang"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        module = native()
        command = module.compiler()
        if command is None:
            sys.exit("Errands needs a C compiler to be built; install one, or the package ziglang.")
        for old in FOLDER.glob("*.so"):
            old.unlink()
        module.build(FOLDER / module.library_name(), command)
        system = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{system}"

"""The C library is built where it is missing, is never one of other sources, and checks arrays."""

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from errands import native as module
from errands.native import Array, Size, build, compiler, library_name, native

COUNT = """
import numpy as np
from errands.shop.build.hash_counter import HashCounter
counter = HashCounter()
counter.add_words("one two one")
print(len(counter))
"""


def count(copy: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Call a C function in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", COUNT],
        env={"PYTHONPATH": os.fspath(copy), "PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Errands as a fresh clone has it: its sources, and no library."""
    package = tmp_path / "src" / "errands"
    package.mkdir(parents=True)
    source = Path(module.__file__).parents[1]
    for entry in source.iterdir():
        if entry.name != "native":
            (package / entry.name).symlink_to(entry)
    (package / "native").mkdir()
    for entry in (source / "native").glob("*.[chp]*"):
        (package / "native" / entry.name).write_bytes(entry.read_bytes())
    return tmp_path


def test_a_checkout_builds_the_library_once_and_again_for_other_sources(checkout: Path) -> None:
    home = checkout / "home"
    folder = checkout / "src" / "errands" / "native"
    assert count(checkout / "src", ERRANDS_HOME=str(home)).stdout == "2\n"
    (built,) = (home / "native").iterdir()
    begun = built.stat().st_mtime_ns
    assert count(checkout / "src", ERRANDS_HOME=str(home)).stdout == "2\n"
    assert list((home / "native").iterdir()) == [built]
    assert built.stat().st_mtime_ns == begun
    with (folder / "native.h").open("a") as header:
        header.write("/* Another source. */\n")
    assert count(checkout / "src", ERRANDS_HOME=str(home)).stdout == "2\n"
    assert len(list((home / "native").iterdir())) == 2


def test_without_library_and_compiler_one_sentence_says_what_to_run(checkout: Path) -> None:
    (checkout / "empty").mkdir()
    ran = count(
        checkout / "src",
        ERRANDS_HOME=str(checkout / "home"),
        PATH=str(checkout / "empty"),
    )
    assert ran.returncode == 1
    assert "there is no C compiler to build it; run: " in ran.stderr.splitlines()[-1]
    assert f"pip install --editable {checkout}" in ran.stderr.splitlines()[-1]


def test_a_machine_that_keeps_nothing_and_a_compiler_that_fails(checkout: Path) -> None:
    home = checkout / "home"
    home.write_text("no folder")
    assert count(checkout / "src", ERRANDS_HOME=str(home)).stdout == "2\n"
    ran = count(checkout / "src", ERRANDS_HOME=str(checkout / "other"), CC="false")
    assert "is not built, and false could not build it; run: " in ran.stderr.splitlines()[-1]


def test_sources_compile_without_a_warning(tmp_path: Path) -> None:
    command = compiler()
    assert command is not None
    out = tmp_path / library_name()
    build(out, [*command, "-Wall", "-Wextra", "-Werror", "-Wno-sign-compare"])
    assert ctypes.CDLL(str(out)).json_scan


def test_what_is_no_array_of_the_type_never_reaches_c() -> None:
    function = native("hash_counter_enter", *[Array(np.uint64), Array(np.int64), Size] * 2)
    keys, counts = np.zeros(8, np.uint64), np.zeros(8, np.int64)
    function(keys, counts, 8, keys[:0], counts[:0], 0)
    with pytest.raises(ctypes.ArgumentError, match=r"contiguous array of .*uint64.*, not float64"):
        function(np.zeros(8), counts, 8, keys[:0], counts[:0], 0)
    with pytest.raises(ctypes.ArgumentError, match="contiguous array"):
        function(keys[::2], counts, 4, keys[:0], counts[:0], 0)

"""The command `errands`: in this process, which is quick, and in one of its own, as by a shell."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from errands.cli import main, output
from errands.cli.demo import shop

__all__ = ["Done", "in_process", "in_shell"]

Done = subprocess.CompletedProcess[str]


def in_shell(*words: object, cwd: Path | None = None, **environment: str) -> Done:
    """The command in a process of its own: for its start, its streams and its end."""
    return subprocess.run(
        [sys.executable, "-m", "errands", *map(str, words)],
        env={**os.environ, "COLUMNS": "200", **environment},
        cwd=cwd, text=True, capture_output=True, check=False, timeout=600,
    )  # fmt: skip


def in_process(*words: object, cwd: Path | None = None, keys: str = "", **environment: str) -> Done:
    """The same, without the second that a new process takes to import everything."""
    with contextlib.ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in {"COLUMNS": "200", **environment}.items():
            patch.setenv(name, value)
        for console in (output.results, output.remarks, shop.stage):
            # Where COLUMNS was set when a console was made, Rich goes by that for ever.
            patch.setattr(console, "_width", None)
        patch.setattr(sys, "argv", ["errands", *map(str, words)])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(keys.encode())))
        stack.enter_context(contextlib.chdir(cwd or os.getcwd()))
        out, err = (stack.enter_context(_caught(name, patch)) for name in ("stdout", "stderr"))
        status: Any = 0
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
        except Exception:
            traceback.print_exc()
            status = 1
        sys.stdout.flush()
        sys.stderr.flush()
        said = []
        for file in (out, err):
            file.seek(0)
            said.append(file.read())
    return subprocess.CompletedProcess(list(words), int(status), *said)


@contextlib.contextmanager
def _caught(name: str, patch: pytest.MonkeyPatch) -> Iterator[IO[str]]:
    """What goes to a standard stream, of worker processes too, goes to a file."""
    number = {"stdout": 1, "stderr": 2}[name]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
        before = os.dup(number)
        os.dup2(file.fileno(), number)
        patch.setattr(sys, name, open(number, "w", encoding="utf-8", closefd=False))  # noqa: SIM115
        try:
            yield file
        finally:
            os.dup2(before, number)
            os.close(before)

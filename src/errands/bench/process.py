"""Programs that are measured: what one costs from beginning to end, and a server under load."""

import contextlib
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TextIO

from errands.errors import ErrandsError

__all__ = [
    "Cost", "ServerProcess", "cpu_seconds", "environment", "errands_command",
    "family_cpu_seconds", "family_memory", "measure", "server",
]  # fmt: skip

_PAUSE: Final = 0.1
"""Seconds between two looks at the memory."""


class Cost(NamedTuple):
    """What one program took."""

    seconds: float
    cpu: float
    private: int
    """Bytes that belong to it and its children alone, when they were most."""
    resident: int
    """The same with mapped files, which the system may take back; shared pages count twice."""
    output: str


_CODE: Final = "import sys; from errands.cli import main; sys.argv[0] = 'errands'; main()"
_CHILD_CODE: Final = f"""
import ctypes, os
try:
    ctypes.CDLL(None).prctl(1, 15)
except (OSError, AttributeError):
    pass
if os.getppid() == {{parent}}:
    {_CODE}
"""
"""Linux asks it to end when whoever started it ends, however that comes about."""


def errands_command(*arguments: str | Path, is_child: bool = False) -> list[str]:
    """This very version of Errands, as a program; as a child it does not outlive this one."""
    code = _CHILD_CODE.format(parent=os.getpid()) if is_child else _CODE
    return [sys.executable, "-c", code, *map(str, arguments)]


def environment() -> dict[str, str]:
    """Variables for a program that is to import what this one does."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def measure(command: Sequence[str]) -> Cost:
    """Run a program to its end and watch it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    pipe = subprocess.PIPE
    try:
        process = subprocess.Popen(
            command, stdout=pipe, stderr=pipe, text=True, errors="replace", env=environment()
        )
    except (OSError, ValueError) as failure:
        raise ErrandsError(f"{command[0]} cannot be started ({failure}).") from None
    private = resident = 0
    over = threading.Event()

    def watch() -> None:
        nonlocal private, resident
        while not over.wait(_PAUSE):
            alone, mapped = family_memory(process.pid)
            private, resident = max(private, alone), max(resident, alone + mapped)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        output, complaint = process.communicate()
    finally:
        process.kill()
        over.set()
        watcher.join()
    seconds = time.perf_counter() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode:
        words = [line.strip("│ ") for line in complaint.splitlines() if any(map(str.isalpha, line))]
        reason = words[-1] if words else f"exit status {process.returncode}"
        raise ErrandsError(f"A program that was measured failed: {reason}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(seconds, cpu, private, resident, output)


class ServerProcess(NamedTuple):
    """A server that runs."""

    process: "subprocess.Popen[str]"
    port: int
    log: TextIO
    """What it says on standard error."""

    def said(self) -> str:
        """Its log so far."""
        # The position is its own, too: it must not write over what it wrote.
        return os.pread(self.log.fileno(), 2**20, 0).decode("utf-8", "replace")


@contextlib.contextmanager
def server(words: Sequence[str]) -> Iterator[ServerProcess]:
    """A server on a free port; `words` are what `errands serve` is told."""
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            errands_command("serve", "--port", "0", *words, is_child=True),
            text=True,
            stdout=subprocess.PIPE,
            stderr=log,
            env=environment(),
        )
        assert process.stdout is not None
        try:
            port = re.search(r":(\d+)$", process.stdout.readline().strip())
            if port is None:
                process.wait()
                log.seek(0)
                raise ErrandsError(f"The server did not start: {log.read().strip()}")
            yield ServerProcess(process, int(port[1]), log)
        finally:
            process.terminate()
            process.wait()
            process.stdout.close()


def cpu_seconds(pid: int) -> float:
    """CPU time of a process that runs, in its own code and in the system's."""
    return sum(_ticks(pid)[:2]) / os.sysconf("SC_CLK_TCK")


def family_cpu_seconds(root: int) -> float:
    """CPU time of a process and all its descendants, those included that ended and were noticed."""
    total = 0
    for pid in _family(root):
        with contextlib.suppress(OSError, ValueError):
            total += sum(_ticks(pid))
    return total / os.sysconf("SC_CLK_TCK")


def _ticks(pid: int) -> list[int]:
    """CPU time in its own code and in the system's, then the same of children that were noticed."""
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    return list(map(int, stat.rpartition(")")[2].split()[11:15]))


def _family(root: int) -> Iterator[int]:
    """A process and its descendants."""
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        yield pid
        with contextlib.suppress(OSError, ValueError):  # It has just ended.
            for task in Path(f"/proc/{pid}/task").iterdir():
                waiting += map(int, (task / "children").read_text().split())


def family_memory(root: int) -> tuple[int, int]:
    """Bytes of a process and its descendants: anonymous or shared memory, and mapped files."""
    private = mapped = 0
    for pid in _family(root):
        try:
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                name, _, rest = line.partition(":")
                if name in ("RssAnon", "RssShmem"):
                    private += int(rest.split()[0]) * 1024
                elif name == "RssFile":
                    mapped += int(rest.split()[0]) * 1024
        except (OSError, ValueError):
            continue  # It has just ended.
    return private, mapped

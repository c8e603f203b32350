"""What a program costs: its time and the most memory that it and its children held."""

import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from errands.errors import ErrandsError

__all__ = ["Cost", "errands_command", "measure"]

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


def errands_command(*arguments: str | Path) -> list[str]:
    """This very version of Errands, as a program."""
    code = "import sys; from errands.cli import main; sys.argv[0] = 'errands'; main()"
    return [sys.executable, "-c", code, *map(str, arguments)]


def measure(command: Sequence[str]) -> Cost:
    """Run a program to its end and watch it."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    private = resident = 0
    over = threading.Event()

    def watch() -> None:
        nonlocal private, resident
        while not over.wait(_PAUSE):
            alone, mapped = _memory(process.pid)
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
        said = [line.strip("│ ") for line in complaint.splitlines() if any(map(str.isalpha, line))]
        reason = said[-1] if said else f"exit status {process.returncode}"
        raise ErrandsError(f"A program that was measured failed: {reason}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(seconds, cpu, private, resident, output)


def _memory(root: int) -> tuple[int, int]:
    """Bytes of a process and its descendants: anonymous or shared memory, and mapped files."""
    private = mapped = 0
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        try:
            for task in Path(f"/proc/{pid}/task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
            for line in Path(f"/proc/{pid}/status").read_text().splitlines():
                name, _, rest = line.partition(":")
                if name in ("RssAnon", "RssShmem"):
                    private += int(rest.split()[0]) * 1024
                elif name == "RssFile":
                    mapped += int(rest.split()[0]) * 1024
        except (OSError, ValueError):
            continue  # It has just ended.
    return private, mapped

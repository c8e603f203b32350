"""What a program costs is seen from outside, its children included."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from errands.bench.process import environment, errands_command, family_cpu_seconds, measure
from errands.errors import ErrandsError
from errands.shop.catalog.catalog import Catalog

HOLD = "held = bytearray(200_000_000); held[::4096] = b'x' * len(held[::4096])"
CHILD = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {HOLD!r} + {';import time;time.sleep(.5)'!r}])"  # noqa: E501


def test_memory_of_children_counts() -> None:
    cost = measure([sys.executable, "-c", CHILD])
    assert cost.private > 200_000_000
    assert cost.resident >= cost.private
    assert cost.seconds >= 0.5
    assert 0 < cost.cpu < 60


def test_output_is_handed_over_and_failure_told() -> None:
    assert measure(errands_command("--version")).output.strip()
    with pytest.raises(ErrandsError, match=r"failed: .*no catalogue 'nowhere'"):
        measure(errands_command("catalog", "info", "nowhere"))


def test_the_time_of_a_family_has_that_of_children_which_have_ended() -> None:
    before = family_cpu_seconds(os.getpid())
    code = "import time\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert 0.25 < family_cpu_seconds(os.getpid()) - before < 30
    assert family_cpu_seconds(2**31 - 1) == 0


STARTS = """
import sys, time
from errands.bench.process import server
with server(["--environments", "--data", sys.argv[1]]) as serving:
    print(serving.process.pid, flush=True)
    time.sleep(60)
"""


def test_a_server_ends_with_whoever_measures_it(little: Catalog) -> None:
    """However that comes about: a soak that is cut off leaves no server behind."""
    command = [sys.executable, "-c", STARTS, str(little.path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment()) as measuring:
        assert measuring.stdout is not None
        server = Path("/proc", measuring.stdout.readline().strip().decode())
        assert b"serve" in (server / "cmdline").read_bytes()
        os.kill(measuring.pid, signal.SIGKILL)
        for _ in range(200):
            if not server.exists() or (server / "stat").read_text().rpartition(")")[2][1] == "Z":
                break
            time.sleep(0.05)
        else:
            raise AssertionError("the server is still there")

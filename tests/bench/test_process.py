"""What a program costs is seen from outside, its children included."""

import os
import subprocess
import sys

import pytest

from errands.bench.process import errands_command, family_cpu_seconds, measure
from errands.errors import ErrandsError

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

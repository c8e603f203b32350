"""The kit for page drivers says what it needs."""

import subprocess
import sys
from pathlib import Path

FORGOTTEN = """
from errands.testing import DriverConformance

class TestMine(DriverConformance):
    pass
"""


def test_a_kit_without_its_fixture_says_what_to_override(tmp_path: Path) -> None:
    tests = tmp_path / "test_mine.py"
    tests.write_text(FORGOTTEN)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=line"]
    done = subprocess.run(
        [*command, "--maxfail=1", str(tests)], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "NotImplementedError: Override the fixture `driver(self)` in your class" in done.stdout
    assert "fixture 'driver' not found" not in done.stdout

"""What the example says before anything is trained (`make test-integrations` trains)."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from errands.extras import install_command
from errands.shop.catalog.catalog import Catalog

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "train_with_trl.py"


def run(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(EXAMPLE), *options], capture_output=True, text=True, check=False
    )


def test_help_has_examples_and_needs_no_trl() -> None:
    shown = run("--help")
    assert shown.returncode == 0
    assert "python examples/train_with_trl.py --out" in shown.stdout


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--data", "no-such-shop"), "no-such-shop"),
        (("--protocol", "no-such-protocol"), "no protocol 'no-such-protocol'"),
        (("--protocol", "shop-demo"), "which is for testing"),
        (("--set", "top"), "--set top: expected NAME=VALUE"),
        (("--set", "tops=3"), "no setting 'tops'"),
        (("--split", "test"), "which is for testing"),
        (("--split", "disjoint-eval"), "which is for testing"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path: Path, options: tuple[str, ...], why: str) -> None:
    shown = run("--out", str(tmp_path), *options)
    assert shown.returncode == 2
    assert why in shown.stderr
    assert "Traceback" not in shown.stderr
    assert len(shown.stderr.strip().splitlines()) == 1


def test_without_trl_it_says_what_to_install(little: Catalog, tmp_path: Path) -> None:
    if importlib.util.find_spec("trl") is not None:
        pytest.skip("TRL is installed here")
    shown = run("--out", str(tmp_path), "--data", str(little.path))
    assert shown.returncode == 2
    assert install_command("trl") in shown.stderr
    assert "Traceback" not in shown.stderr

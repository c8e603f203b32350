"""A run plays on the bytes that its checksum says, or not at all."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from little_runs import little_protocol

from errands.errors import DamageError, SettingError
from errands.runs.runner import run
from errands.shop.catalog.catalog import Catalog


def test_a_run_verifies_its_catalogue(little: Catalog, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(little.path, tmp_path / "copy"))
    protocol = little_protocol(Catalog.open(folder), 2)
    assert run(protocol, "rule", out=tmp_path / "healthy").info.verified == "quick"
    norms = folder / "index" / "norms.npy"
    data = bytearray(norms.read_bytes())
    data[-20:] = bytes(20)
    norms.write_bytes(data)
    with pytest.raises(DamageError, match=r"index/norms\.npy has another checksum"):
        run(protocol, "rule", out=tmp_path / "damaged")
    assert not (tmp_path / "damaged").exists()
    assert run(protocol, "rule", out=tmp_path / "off", verify="off").info.verified == "off"
    with pytest.raises(SettingError, match="verify='no': expected full, quick, off"):
        run(protocol, "rule", verify="no")  # type: ignore[arg-type]
    command = [sys.executable, "-m", "errands", "run", "shop-demo", "--agent", "rule"]
    done = subprocess.run([*command, "--data", folder], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("errands: ")
    assert "index/norms.npy" in done.stderr

"""`errands verify-reward --web` as a process that is killed: no score is lost."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from command import in_process
from effort import effort
from scoring_served import Desk, played, read

from errands.shop.catalog.catalog import Catalog
from errands.verify.hand_scores import read_hand_scores

CODE = "from errands.cli import main; main()"


def started(*words: str) -> tuple["subprocess.Popen[str]", Desk]:
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, "verify-reward", *words, "--web", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.fullmatch(r"Serving 6 purchases to score on http://127\.0\.0\.1:(\d+)\n", line)
    assert found, line + process.communicate()[1]
    return process, Desk(int(found[1]))


def test_a_killed_server_loses_no_score(little: Catalog, tmp_path: Path) -> None:
    place = played(little, tmp_path / "run")
    id = read(place).info.id
    path = place / "hand-scores.jsonl"
    words = (str(place), "--sample", "6")
    kills = effort(1, 3)
    for done in range(1, kills + 1):
        process, desk = started(*words)
        assert f"{done - 1} of 6 scored" in desk.ask("/scoring")[1]
        assert desk.score(done)[0] == 303
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert len(read_hand_scores(path, id)) == done
    with path.open("ab") as file:
        file.write(b'{"run":"' + id.encode())  # as if the machine had died while it wrote
    process, desk = started(*words)
    assert f"{kills} of 6 scored" in desk.ask("/scoring")[1]
    assert desk.ask("/scoring", Host="evil.example")[0] == 421
    second = subprocess.run(
        [sys.executable, "-c", CODE, "verify-reward", *words, "--web", "--port", "0"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert second.returncode != 0
    assert "being written by another server" in " ".join(second.stderr.split())
    for number in range(kills + 1, 7):
        assert desk.score(number)[0] == 303
    assert "by hand" in desk.ask("/scoring")[1]
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 0
    assert "Traceback" not in said
    told = in_process("verify-reward", place, "--hand", path)
    assert told.returncode == 0
    assert "6 trajectories" in told.stdout
    assert "released and by hand" in told.stdout

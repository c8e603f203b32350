"""Damaged runs: whoever reads them, or goes on with them, gets a sentence or an answer."""

import json
import os
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import msgspec
import run_damage
from catalog_damage import WAYS
from effort import effort
from little_runs import little_protocol

from errands.runs.runner import run
from errands.runs.store.journal import Journal
from errands.runs.store.places import open_run
from errands.runs.store.rows import pack_body, summary_row
from errands.shop.catalog.catalog import Catalog

CASES = effort(60, 500)


def test_a_damaged_run_is_a_sentence_or_an_answer(little: Catalog, tmp_path: Path) -> None:
    protocol = little_protocol(little, 8)
    place = tmp_path / "run"
    run(protocol, "rule", out=place, observations="full")
    _leave_in_a_journal(place, 7)
    (place / "protocol.json").write_bytes(msgspec.json.encode(protocol))
    done = subprocess.run(
        [sys.executable, run_damage.__file__, place, "0", str(CASES)],
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, (done.stdout[-500:], done.stderr[-2000:])
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    cases, outcomes = lines[::2], lines[1::2]
    assert len(cases) == len(outcomes) == CASES
    assert len({(case["file"], case["way"]) for case in cases}) == 2 * len(WAYS)
    counts: Counter[str] = Counter()
    for case, outcome in zip(cases, outcomes, strict=True):
        assert len(outcome) == len(run_damage.READERS)
        for reader, (kind, said) in outcome.items():
            assert kind in ("answer", "sentence"), (case, reader, said)
            counts[f"{reader} {kind}"] += 1
    print(f"{CASES:,} damaged runs: {dict(counts)}")
    assert all(
        counts[f"{reader} {kind}"] > 0.05 * CASES
        for reader in run_damage.READERS
        for kind in ("answer", "sentence")
    ), counts


def _leave_in_a_journal(place: Path, number: int) -> None:
    """Have an episode lie where a killed process would have left it."""
    with closing(open_run(place)) as store:
        episode = store.episode(number)
        store.drop([number])
    journal = Journal(place / "run.sqlite", fsync=False)
    journal.append((summary_row(episode.summary), pack_body(episode)))
    journal.close()
    assert any(name.startswith("run.sqlite.kept-") for name in os.listdir(place))

"""Damaged catalogues: verified, a sentence that names the file; unverified, a sentence or an
answer. Never a signal, a traceback, or memory without end."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import catalog_damage
import pytest
from catalog_damage import WAYS
from effort import effort

from errands.shop.build.builder import generate_catalog

CASES = effort(200, 2000)


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enough products for frequent terms, whose search is another."""
    out = tmp_path_factory.mktemp("catalogs") / "healthy"
    generate_catalog(out, products=600, seed=5)
    return out


def test_damage_is_named_or_harmless(healthy: Path) -> None:
    files = sum(path.is_file() for path in healthy.rglob("*"))
    # A sample of all files and ways: the numbers of a whole round, spread.
    first = 0 if files * len(WAYS) <= CASES else files * 3
    done = subprocess.run(
        [sys.executable, catalog_damage.__file__, healthy, str(first), str(CASES)],
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, (done.stdout[-500:], done.stderr[-2000:])
    *lines, end = map(json.loads, done.stdout.splitlines())
    assert end["megabytes"] < 500
    cases, outcomes = lines[::2], lines[1::2]
    assert len(cases) == len(outcomes) == CASES
    assert len({case["file"] for case in cases}) == files
    counts: Counter[str] = Counter()
    for case, outcome in zip(cases, outcomes, strict=True):
        told = case, outcome
        (kind, said), (unverified, _) = outcome["quick"], outcome["off"]
        assert kind in ("answer", "sentence"), told
        assert unverified in ("answer", "sentence"), told
        if kind == "answer":
            assert outcome["right"], told
            # What a manifest says may be written in other bytes.
            assert outcome["same"] or case["file"] == "manifest.json", told
        else:
            assert case["file"] in said, told
        counts[f"quick {kind}"] += 1
        counts[f"off {unverified}"] += 1
    print(f"{CASES:,} damaged catalogues: {dict(counts)}")
    # The damage was one, and not all of it shows by itself.
    assert counts["quick sentence"] > 0.9 * CASES
    assert counts["off sentence"] > 0.2 * CASES
    assert counts["off answer"] > 0.2 * CASES

"""`make results`: play docs/explanation/results.md's runs, check them as a leaderboard does.

Every run that results/template.md asks for is played, made a submission in results/, and played
once more by the leaderboard, whose site goes to build/leaderboard. Submissions on the data in
../shared are reproducible ones, which hold no text of it. What cannot be played here, because its
data or a browser is absent, keeps the submission that is there, and is told.

    python tests/make_results.py [AGENT@PROTOCOL ...]     # some of them only
"""

import shutil
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from errands.errors import ErrandsError
from errands.leaderboard import leaderboard, read_submission, write_site
from errands.leaderboard.making import submission_of
from errands.leaderboard.results_page import WantedRun, fill, wanted_runs
from errands.leaderboard.submission import SUFFIX, SubmittedRun, pack
from errands.runs import Protocol, find_protocol, open_run, run
from errands.shop.build.builder import build_catalog

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "results"
TEMPLATE = RESULTS / "template.md"
PAGE = ROOT / "docs" / "explanation" / "results.md"
BUILD = ROOT / "build" / "results"
SHARED = ROOT.parent / "shared" / "data"
ORIGINALS = {"webshop", "webshop-1k", "turkingbench"}
"""Data that is not ours; all other is made by Errands itself."""


def data_places() -> dict[str, str]:
    """Where the originals are, as far as they are here; the catalogue is built anew."""
    places = {}
    originals = SHARED / "webshop-1k"
    if originals.is_dir():
        shop = BUILD / "shop-1k"
        build_catalog(
            shop,
            items=originals / "items_shuffle_1000.json",
            attributes=originals / "items_ins_v2_1000.json",
            human=originals / "items_human_ins.json",
            replace=True,
        )
        places["webshop-1k"] = str(shop)
    if (SHARED / "turkingbench").is_dir():
        places["turkingbench"] = str(SHARED / "turkingbench")
    return places


def play(wanted: WantedRun, protocol: Protocol, data: dict[str, str]) -> SubmittedRun:
    """A run, new, as a submission: nothing of ../shared may be in one that is committed."""
    place = BUILD / "runs" / f"{wanted.protocol}-{wanted.agent}"
    shutil.rmtree(place, ignore_errors=True)
    finished = run(
        wanted.protocol,
        wanted.agent,
        out=place,
        data=data.get(protocol.data),
        workers=2 if protocol.domain == "turk" else 1,
        on_remark=lambda remark: None,
    )
    store = open_run(finished.place)
    try:
        made = submission_of(
            store, kind="reproducible" if protocol.data in ORIGINALS else "actions"
        )
    finally:
        store.close()
    if made.figures.errors:
        raise ErrandsError(f"{made.figures.errors} of {len(made.episodes)} episodes failed")
    return made


def timeless(submitted: SubmittedRun) -> Any:
    """All that a second play of the same must give again."""
    return msgspec.structs.replace(submitted, started="", versions={})


def keep(wanted: WantedRun, made: SubmittedRun) -> str:
    """Write a submission, unless it says what the one that is there says."""
    path = RESULTS / f"{wanted.agent}@{wanted.protocol}{SUFFIX}"
    if path.is_file():
        before, _ = read_submission(path)
        if timeless(before) == timeless(made):
            return "as before"
    path.write_bytes(pack(made))
    return "written"


def page_of(folder: Path) -> str:
    """The page that the submissions of a folder give."""
    runs = [read_submission(path)[0] for path in sorted(folder.glob(f"*{SUFFIX}"))]
    return fill(TEMPLATE.read_text("utf-8"), runs)


def main(only: list[str]) -> int:
    begun = time.monotonic()
    data = data_places()
    left: list[str] = []
    for wanted in wanted_runs(TEMPLATE.read_text("utf-8")):
        name = f"{wanted.agent}@{wanted.protocol}"
        if only and name not in only:
            continue
        protocol = find_protocol(wanted.protocol)
        if protocol.data in ORIGINALS - set(data):
            left.append(f"{name}: the data {protocol.data!r} is not in {SHARED}")
            continue
        started = time.monotonic()
        try:
            how = keep(wanted, play(wanted, protocol, data))
        except ErrandsError as failure:
            left.append(f"{name}: {failure}")
            continue
        print(f"{name}: {how}, {time.monotonic() - started:.1f} s", flush=True)
    checked = leaderboard(RESULTS, data, title="Errands: the agents that ship with it", workers=2)
    front = write_site(checked, ROOT / "build" / "leaderboard")
    PAGE.write_text(page_of(RESULTS), encoding="utf-8")
    for reason in left:
        print(f"Not remade: {reason}.")
    for unchecked in checked.board.unchecked:
        print(f"Not checked: {unchecked.file}: {unchecked.reason}.")
    for refused in checked.board.refused:
        print(f"Refused: {refused.file}: {refused.reason}")
    print(f"{PAGE} and {front}: {time.monotonic() - begun:.0f} s")
    return 1 if checked.board.refused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

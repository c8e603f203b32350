"""A leaderboard that proves itself: runs as single files, replayed before they count.

`submission` is such a file, `making` writes one of a run; `replaying` does its actions again,
`checking` says whether what was claimed came back; `board` is the whole leaderboard as data, and
`site` shows it.
"""

from typing import TYPE_CHECKING

from errands.lazy import lazy_exports

__all__ = ["SubmittedRun", "leaderboard", "read_submission", "submit", "write_site"]

if TYPE_CHECKING:
    from errands.leaderboard.board import leaderboard
    from errands.leaderboard.making import submit
    from errands.leaderboard.site.writing import write_site
    from errands.leaderboard.submission import SubmittedRun, read_submission
else:
    __getattr__ = lazy_exports(__name__)

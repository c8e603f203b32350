"""Going through candidates, one after the other: what is next, what was said, how far it is.

The terminal and the web page are two faces of this; neither keeps anything itself.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from errands.errors import SettingError
from errands.mining.candidates import AttributeCandidate, Candidates
from errands.mining.decisions import Decisions
from errands.mining.proposal import DROP, USES

__all__ = [
    "BULKS",
    "KEYS",
    "Review",
    "ReviewProgress",
    "check_bulk",
    "check_group",
    "kept_uses",
    "ranks_of",
]

KEYS: Final[Mapping[str, str]] = dict(zip("1234", USES, strict=True)) | {"d": DROP, " ": DROP}
"""What a key says of the candidate that is shown."""

BULKS: Final = ("drops", "all")
"""What can be accepted of the filter in one go: what it would drop, or everything."""


class ReviewProgress(NamedTuple):
    """How far a review is."""

    total: int
    decided: int
    kept: int
    dropped: int

    @property
    def left(self) -> int:
        return self.total - self.decided


class Review:
    """Candidates and the decisions about them."""

    def __init__(self, mined: Candidates, decisions: Decisions, group: str | None = None) -> None:
        """With `group`, only the candidates of that category or query."""
        check_group(mined, group)
        self.mined = mined
        self.decisions = decisions
        self.candidates = tuple(
            one
            for one in mined.candidates
            if group is None or any(member.name == group for member in one.groups)
        )
        self._by_phrase = {one.phrase: one for one in self.candidates}
        self._later: set[str] = set()

    def progress(self) -> ReviewProgress:
        said = [self.decisions.made.get(one.phrase) for one in self.candidates]
        decided = [use for use in said if use is not None]
        dropped = decided.count(DROP)
        return ReviewProgress(len(said), len(decided), len(decided) - dropped, dropped)

    def next(self) -> AttributeCandidate | None:
        """The best candidate without an answer; those put off come last."""
        made = self.decisions.made
        left = [one for one in self.candidates if one.phrase not in made]
        return next(
            (one for one in left if one.phrase not in self._later), left[0] if left else None
        )

    def find(self, phrase: str) -> AttributeCandidate | None:
        return self._by_phrase.get(phrase)

    def answer(self, phrase: str, use: str) -> None:
        """Decide about a candidate; on disk when this returns."""
        if phrase not in self._by_phrase:
            raise SettingError(f"There is no candidate {phrase[:80]!r} to decide about.")
        self.decisions.decide(phrase, use)

    def later(self, phrase: str) -> None:
        """Put a candidate off until the others are answered."""
        self._later.add(phrase)

    def undo(self) -> str | None:
        """Take the last answer back; gives its phrase."""
        phrase = self.decisions.undo()
        if phrase is not None:
            self._later.discard(phrase)
        return phrase

    def accept(self, what: str) -> int:
        """Take the filter's word for all that is left of `drops`, or of `all`; gives how many."""
        check_bulk(what)
        made = self.decisions.made
        left = [
            (one.phrase, one.proposal.use)
            for one in self.candidates
            if one.phrase not in made and (what == "all" or one.proposal.use == DROP)
        ]
        self.decisions.decide_all(left)
        return len(left)


def check_group(mined: Candidates, group: str | None) -> None:
    """A group to go through must be there."""
    if group is not None and group not in mined.groups:
        raise SettingError(
            f"There is no group {group!r}; there are {', '.join(list(mined.groups)[:20])}."
        )


def check_bulk(what: str) -> None:
    """What can be accepted unseen."""
    if what not in BULKS:
        raise SettingError(f"{what!r} cannot be accepted; expected {' or '.join(BULKS)}.")


def kept_uses(
    mined: Candidates, decisions: Mapping[str, str], *, accept_rest: bool = False
) -> dict[str, str]:
    """Phrase to use of all that is kept; without an answer, it is if the filter would and may."""
    made: dict[str, str] = {}
    for one in mined.candidates:
        use = decisions.get(one.phrase, one.proposal.use if accept_rest else DROP)
        if use in USES:
            made[one.phrase] = use
    return made


def ranks_of(mined: Candidates) -> dict[str, int]:
    """Phrase to how likely people would say it, as the filter thinks; 0 is not listed."""
    return {one.phrase: one.proposal.rank for one in mined.candidates if one.proposal.rank}

"""Instructions that people write for products: who has taken up what, what came of it.

A writing begins as a product that somebody has taken up. They hand in an instruction, or give
the product back. The first ones of everybody are trials, which the admin reviews; who is
qualified by them goes on, and what they hand in is accepted at once unless the settings say
otherwise. A product that was taken up and left goes back after a day.
"""

import json
import secrets
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec

from errands.crowd.accounts.accounts import Person
from errands.crowd.accounts.qualifications import Qualification, Qualifications
from errands.crowd.instructions.checks import (
    DraftProblem,
    InstructionDraft,
    ShownProduct,
    problems,
    shown,
    tidied,
)
from errands.crowd.instructions.collection import WritingSettings, read_settings
from errands.crowd.instructions.product_draw import draw_product
from errands.crowd.store.database import Database, Row
from errands.errors import ErrandsError
from errands.shop.catalog.catalog import Catalog

__all__ = [
    "KIND",
    "STATUSES",
    "TABLES",
    "AlreadyDone",
    "NotAllowed",
    "NotFound",
    "Status",
    "Submission",
    "WriterAccount",
    "WritingAssignment",
    "WritingAssignments",
    "assignment_of_row",
]

TABLES: Final = """
CREATE TABLE writings (
  id {id},
  person BIGINT NOT NULL REFERENCES people,
  asin TEXT NOT NULL,
  shown TEXT NOT NULL,
  status TEXT NOT NULL,
  is_trial INTEGER NOT NULL,
  instruction TEXT NOT NULL,
  attributes TEXT NOT NULL,
  options TEXT NOT NULL,
  comment TEXT NOT NULL,
  taken DOUBLE PRECISION NOT NULL,
  submitted DOUBLE PRECISION,
  reviewed DOUBLE PRECISION,
  reviewer BIGINT REFERENCES people,
  note TEXT NOT NULL,
  pay DOUBLE PRECISION NOT NULL,
  UNIQUE (person, asin)
);
CREATE UNIQUE INDEX writings_in_hand ON writings (person) WHERE status = 'taken';
CREATE INDEX writings_by_product ON writings (asin);
CREATE INDEX writings_by_status ON writings (status);
"""

KIND: Final = "instructions"
"""Of the qualification."""
LAPSE_SECONDS: Final = 24 * 3600.0
"""After which a product that was taken up goes back by itself."""

Status = Literal["taken", "submitted", "accepted", "refused", "given_back"]
STATUSES: Final[tuple[Status, ...]] = ("taken", "submitted", "accepted", "refused", "given_back")
WriterStatus = Literal["trial", "waiting", "granted", "refused"]

COLUMNS: Final = (
    "id, person, asin, shown, status, is_trial, instruction, attributes, options, comment, taken,"
    " submitted, reviewed, reviewer, note, pay"
)
_OCCUPIED: Final = "('taken', 'submitted', 'accepted')"
_HANDED_IN: Final = "('submitted', 'accepted', 'refused')"


class NotFound(ErrandsError):
    """There is no such writing, or it is somebody else's."""


class NotAllowed(ErrandsError):
    """Somebody may not write now."""


class AlreadyDone(ErrandsError):
    """What was asked for cannot be done any more."""


class WritingAssignment(msgspec.Struct, frozen=True):
    """One product in somebody's hands, and what they wrote."""

    id: int
    person: int
    asin: str
    shown: ShownProduct
    status: Status
    is_trial: bool
    instruction: str
    attributes: tuple[str, ...]
    options: dict[str, str]
    comment: str
    taken: float
    submitted: float | None
    reviewed: float | None
    reviewer: int | None
    note: str
    pay: float
    """Dollars, as the settings were when it was handed in."""


class WriterAccount(msgspec.Struct, frozen=True):
    """How somebody stands."""

    standing: WriterStatus
    """Doing trials, waiting for their review, or with a decision."""
    trials_wanted: int
    trials_handed_in: int
    trials_reviewed: int
    trials_accepted: int
    accepted: int
    refused: int
    waiting: int
    earned: float
    """For all that was accepted."""
    note: str
    """The admin's, with the decision."""

    @property
    def may_write(self) -> bool:
        return self.standing in ("trial", "granted")

    @property
    def may_be_granted(self) -> bool:
        return self.trials_reviewed >= self.trials_wanted


class Submission(NamedTuple):
    """What became of a submission."""

    writing: WritingAssignment
    problems: list[DraftProblem]
    """If there are any, nothing was noted."""
    is_new: bool
    """False: the same was handed in before, and nothing changed."""


class WritingAssignments:
    """All writings of a site."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock
        self.qualifications = Qualifications(database, clock)

    @property
    def settings(self) -> WritingSettings:
        return read_settings(self._database)

    def account(self, person: int) -> WriterAccount:
        """How somebody stands."""
        return self._account(self._database.rows, person)

    def in_hand(self, person: int) -> WritingAssignment | None:
        """What somebody has taken up and not handed in."""
        return self._one("person = ? AND status = 'taken'", (person,))

    def of(self, person: int, id: int) -> WritingAssignment:
        """One of somebody's own."""
        found = self._one("id = ? AND person = ?", (id, person))
        if found is None:
            raise NotFound("You have no such writing.")
        return found

    def any(self, id: int) -> WritingAssignment | None:
        """Anybody's, for the admin."""
        return self._one("id = ?", (id,))

    def take(self, person: Person, catalog: Catalog) -> WritingAssignment | None:
        """A product to write about: the one in hand, else a new one; None if none is left."""
        now = self._clock()
        with self._database.writing() as run:
            held = run(
                f"SELECT {COLUMNS} FROM writings WHERE person = ? AND status = 'taken'",
                (person.id,),
            )
            if held:
                return assignment_of_row(held[0])
            account = self._account(run, person.id)
            if not account.may_write:
                raise NotAllowed(_why_not(account))
            run(
                "UPDATE writings SET status = 'given_back' WHERE status = 'taken' AND taken < ?",
                (now - LAPSE_SECONDS,),
            )
            run(
                "INSERT INTO collecting VALUES ('salt', ?) ON CONFLICT (name) DO NOTHING",
                (json.dumps(secrets.token_hex(16)),),
            )
            settings = read_settings(self._database)
            own = {
                asin for (asin,) in run("SELECT asin FROM writings WHERE person = ?", (person.id,))
            }
            [(number,)] = run("SELECT coalesce(max(id), 0) + 1 FROM writings")

            def is_free(asin: str) -> bool:
                [(count,)] = run(
                    f"SELECT count(*) FROM writings WHERE asin = ? AND status IN {_OCCUPIED}",
                    (asin,),
                )
                return asin not in own and count < settings.wanted

            def free_among() -> Callable[[str], bool]:
                rows = run(
                    f"SELECT asin FROM writings WHERE status IN {_OCCUPIED}"
                    " GROUP BY asin HAVING count(*) >= ?",
                    (settings.wanted,),
                )
                full = own.union(asin for (asin,) in rows)
                return lambda asin: asin not in full

            product = draw_product(catalog, settings.seed, number, is_free, free_among)
            if product is None:
                return None
            seen = json.dumps(msgspec.to_builtins(shown(product)))
            [row] = run(
                "INSERT INTO writings (person, asin, shown, status, is_trial, instruction,"
                " attributes, options, comment, taken, note, pay)"
                " VALUES (?, ?, ?, 'taken', ?, '', '[]', '{}', '', ?, '', 0)"
                f" RETURNING {COLUMNS}",
                (person.id, product.asin, seen, int(account.standing == "trial"), now),
            )
        return assignment_of_row(row)

    def give_back(self, person: int, id: int) -> WritingAssignment:
        """Let somebody else have a product; it does not come again."""
        rows = self._database.run(
            "UPDATE writings SET status = 'given_back' WHERE id = ? AND person = ?"
            f" AND status IN ('taken', 'given_back') RETURNING {COLUMNS}",
            (id, person),
        )
        if rows:
            return assignment_of_row(rows[0])
        self.of(person, id)
        raise AlreadyDone("This instruction has been handed in; it cannot be given back.")

    def hand_in(self, person: int, id: int, draft: InstructionDraft) -> Submission:
        """Check an instruction and keep it; it is on disk when this returns."""
        draft = tidied(draft)
        with self._database.writing() as run:
            rows = run(f"SELECT {COLUMNS} FROM writings WHERE id = ? AND person = ?", (id, person))
            if not rows:
                raise NotFound("You have no such writing.")
            held = assignment_of_row(rows[0])
            if held.status == "given_back":
                raise AlreadyDone(
                    "This product was given back (by you, or after a day by itself); take another."
                )
            if held.status != "taken":
                if _draft_of(held) == draft:
                    return Submission(held, [], False)
                raise AlreadyDone("Another instruction has been handed in for this product.")
            account = self._account(run, person)
            # Who was allowed to take it up may hand it in, though they wait by now.
            if account.standing == "refused":
                raise NotAllowed(_why_not(account))
            wrong = problems(held.shown, draft)
            if wrong:
                return Submission(held, wrong, False)
            settings = read_settings(self._database)
            is_checked = held.is_trial or settings.review
            [row] = run(
                "UPDATE writings SET status = ?, instruction = ?, attributes = ?, options = ?,"
                f" comment = ?, submitted = ?, pay = ? WHERE id = ? RETURNING {COLUMNS}",
                (
                    "submitted" if is_checked else "accepted",
                    draft.instruction,
                    json.dumps(draft.attributes),
                    json.dumps(draft.options),
                    draft.comment,
                    self._clock(),
                    settings.pay,
                    id,
                ),
            )
        return Submission(assignment_of_row(row), [], True)

    def review(
        self, id: int, verdict: Literal["accepted", "refused"], reviewer: Person, note: str = ""
    ) -> WritingAssignment:
        """Accept or refuse what was handed in, or change one's mind."""
        rows = self._database.run(
            "UPDATE writings SET status = ?, reviewed = ?, reviewer = ?, note = ?"
            f" WHERE id = ? AND status IN {_HANDED_IN} RETURNING {COLUMNS}",
            (verdict, self._clock(), reviewer.id, note, id),
        )
        if rows:
            return assignment_of_row(rows[0])
        if self.any(id) is None:
            raise NotFound("There is no such instruction.")
        raise AlreadyDone("Nothing has been handed in for this product, so it cannot be reviewed.")

    def decide(
        self, person: int, verdict: Literal["granted", "refused"], decider: Person, note: str = ""
    ) -> Qualification:
        """Let somebody go on after their trials, or not."""
        if verdict == "granted":
            account = self.account(person)
            if not account.may_be_granted:
                raise AlreadyDone(
                    f"{account.trials_reviewed} of {account.trials_wanted} trials are reviewed;"
                    " review all of them before you qualify somebody."
                )
        return self.qualifications.decide(person, KIND, verdict, decider.id, note)

    def _one(self, where: str, values: tuple[Any, ...]) -> WritingAssignment | None:
        rows = self._database.rows(f"SELECT {COLUMNS} FROM writings WHERE {where}", values)
        return assignment_of_row(rows[0]) if rows else None

    def _account(self, ask: Callable[..., list[Row]], person: int) -> WriterAccount:
        rows = ask(
            "SELECT status, is_trial, count(*), sum(pay),"
            " sum(CASE WHEN reviewed IS NULL THEN 0 ELSE 1 END)"
            " FROM writings WHERE person = ? GROUP BY status, is_trial",
            (person,),
        )
        decided = ask(
            "SELECT status, note FROM qualifications WHERE person = ? AND kind = ?", (person, KIND)
        )
        status, note = decided[0] if decided else ("", "")
        return account_of(rows, read_settings(self._database).trials, status, note)


def account_of(
    rows: Sequence[Sequence[Any]], trials: int, decision: str, note: str
) -> WriterAccount:
    """An account out of counts: status, whether trials, how many, their pay, how many reviewed."""

    def total(status: str) -> int:
        return sum(int(row[2]) for row in rows if row[0] == status)

    tried = [row for row in rows if row[1] and row[0] in ("submitted", "accepted", "refused")]
    handed_in = sum(int(row[2]) for row in tried)
    standing: Any = decision or ("waiting" if handed_in >= trials else "trial")
    return WriterAccount(
        standing=standing,
        trials_wanted=trials,
        trials_handed_in=handed_in,
        trials_reviewed=sum(int(row[4]) for row in tried),
        trials_accepted=sum(int(row[2]) for row in tried if row[0] == "accepted"),
        accepted=total("accepted"),
        refused=total("refused"),
        waiting=total("submitted"),
        earned=sum(float(row[3]) for row in rows if row[0] == "accepted"),
        note=note,
    )


def assignment_of_row(row: Row) -> WritingAssignment:
    """A writing out of `COLUMNS`."""
    named = dict(zip(COLUMNS.split(", "), row, strict=True))
    for name in ("shown", "attributes", "options"):
        named[name] = json.loads(named[name])
    named["is_trial"] = bool(named["is_trial"])
    return msgspec.convert(named, WritingAssignment)


def _draft_of(writing: WritingAssignment) -> InstructionDraft:
    return InstructionDraft(
        writing.instruction, writing.attributes, writing.options, writing.comment
    )


def _why_not(account: WriterAccount) -> str:
    if account.standing == "refused":
        return "You have not been qualified for writing instructions."
    return "Your trial examples are being reviewed; come back when that is done."

"""Writing assignments: products for which people write instructions.

An assignment begins with a product that is drawn for a worker. They submit an instruction, or
return the product. The first ones of everybody are trials, which the admin reviews; who is
qualified by them goes on, and what they submit is accepted at once unless the settings say
otherwise. An assignment that nobody goes on with expires after a day.

Nothing begins until an administrator has opened it; what is promised and earned never exceeds the
budget.
"""

import json
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec

from errands.crowd.accounts.accounts import Person, Qualification, save_qualification
from errands.crowd.budget import MOST_BUDGET, covers
from errands.crowd.errors import Conflict, NotAllowed, NotFound
from errands.crowd.instructions.checks import (
    DraftProblem,
    InstructionDraft,
    ShownProduct,
    problems,
    shown,
    tidied,
)
from errands.crowd.store.database import (
    Database,
    ReadDatabase,
    Run,
    column_names,
    record_of,
    select,
    select_one,
    where,
)
from errands.errors import SettingError
from errands.shop.catalog.catalog import Catalog
from errands.shop.product import Product
from errands.shop.synthetic.rng import Rng

__all__ = [
    "CLOSED",
    "KIND",
    "LAPSE_SECONDS",
    "PAGE",
    "STATUSES",
    "TABLES",
    "Status",
    "Submission",
    "Writer",
    "WriterAccount",
    "WritingAssignment",
    "WritingAssignmentPage",
    "WritingAssignments",
    "WritingSettings",
    "checked_settings",
    "committed",
    "listed",
    "read_settings",
    "waiting",
    "write_settings",
    "writers",
]

TABLES: Final = """
CREATE TABLE collecting (name TEXT PRIMARY KEY, value TEXT NOT NULL);
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
TO_VERSION_3: Final = """
UPDATE writings SET pay = coalesce(
  (SELECT CAST(value AS DOUBLE PRECISION) FROM collecting WHERE name = 'pay'), 0.15)
  WHERE status = 'taken';
INSERT INTO collecting SELECT 'budget', CAST(total AS TEXT) FROM (SELECT sum(pay) AS total
  FROM writings WHERE status IN ('taken', 'submitted', 'accepted')) spent WHERE total > 0;
"""

KIND: Final = "instructions"
"""Of the qualification."""
CLOSED: Final = "There are no instructions to write at the moment."
LAPSE_SECONDS: Final = 24 * 3600.0
"""After which a product that was taken up goes back by itself."""

Status = Literal["taken", "submitted", "accepted", "refused", "given_back"]
STATUSES: Final[tuple[Status, ...]] = ("taken", "submitted", "accepted", "refused", "given_back")
WriterStatus = Literal["trial", "waiting", "granted", "refused"]

_OCCUPIED: Final = "('taken', 'submitted', 'accepted')"
_HANDED_IN: Final = "('submitted', 'accepted', 'refused')"
_COUNTS: Final = (
    "status, is_trial, count(*), sum(pay), sum(CASE WHEN reviewed IS NULL THEN 0 ELSE 1 END)"
)
DRAWS: Final = 200
"""Draws before those that are left must be so few that one had better look."""
WALK: Final = 20_000
"""Products that are then looked at, from a drawn one on: all of them in a small catalogue."""
PAGE: Final = 50
"""Assignments on one page of a list."""
_DONE: Final = "already_done"
"""The code of what cannot be done any more."""


class WritingSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings; the pay is what WebShop's writers got."""

    is_open: bool = False
    """Whether new assignments begin."""
    pay: Annotated[float, msgspec.Meta(ge=0, le=1000)] = 0.15
    """Dollars for an instruction."""
    budget: Annotated[float, msgspec.Meta(ge=0, le=MOST_BUDGET)] = 0.0
    """Dollars for all of them."""
    wanted: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 1
    """Instructions for each product."""
    trials: Annotated[int, msgspec.Meta(ge=2, le=5)] = 3
    """Examples that somebody writes before they are qualified."""
    review: bool = False
    """Whether what qualified people write waits for a review, too."""
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**62)] = 0
    """Of the generator that draws products."""


def read_settings(source: ReadDatabase) -> WritingSettings:
    """The settings as they are."""
    stored = {
        name: json.loads(value)
        for name, value in source.rows("SELECT name, value FROM collecting")
        if name in WritingSettings.__struct_fields__
    }
    return checked_settings(stored)


def write_settings(database: Database, settings: WritingSettings) -> None:
    """Save all of them; what was begun keeps its pay, which the budget has to cover."""
    checked = checked_settings(settings)
    with database.writing() as run:
        spent = _committed(run)
        if not covers(checked.budget, 0.0, spent):
            raise SettingError(
                f"${spent:,.2f} are promised or earned already; the budget cannot be less."
            )
        for name, value in msgspec.to_builtins(checked).items():
            run(
                "INSERT INTO collecting VALUES (?, ?) ON CONFLICT (name) DO"
                " UPDATE SET value = excluded.value",
                (name, json.dumps(value)),
            )


def committed(source: ReadDatabase) -> float:
    """Dollars that are promised or earned."""
    return _committed(source.rows)


def _committed(run: Run) -> float:
    [(total,)] = run(f"SELECT coalesce(sum(pay), 0) FROM writings WHERE status IN {_OCCUPIED}")
    return float(total)


def checked_settings(values: "dict[str, Any] | WritingSettings") -> WritingSettings:
    """Settings that are possible, or a sentence why they are not."""
    try:
        return msgspec.convert(msgspec.to_builtins(values), WritingSettings)
    except msgspec.ValidationError as failure:
        raise SettingError(f"The settings are not possible: {failure}.") from None


class WritingAssignment(msgspec.Struct, frozen=True):
    """One product for somebody, and what they wrote."""

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
    """Dollars, as the settings were when it began."""


_COLUMNS: Final = column_names(WritingAssignment)


class WriterAccount(msgspec.Struct, frozen=True):
    """How far somebody has come: trials, decision, earnings."""

    status: WriterStatus = msgspec.field(name="standing")
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
        return self.status in ("trial", "granted")

    @property
    def may_be_granted(self) -> bool:
        return self.trials_reviewed >= self.trials_wanted


class Submission(NamedTuple):
    """What became of a submission."""

    assignment: WritingAssignment
    problems: list[DraftProblem]
    """If there are any, nothing was noted."""
    is_new: bool
    """False: the same was submitted before, and nothing changed."""


class WritingAssignmentPage(msgspec.Struct, frozen=True):
    """One page of a list, the newest first."""

    total: int
    page: int
    """From 1."""
    pages: int
    writings: list[WritingAssignment]


class Writer(msgspec.Struct, frozen=True):
    """Somebody who has written, or has begun to."""

    person: int
    name: str
    account: WriterAccount


class WritingAssignments:
    """All writing assignments of a site."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock

    @property
    def settings(self) -> WritingSettings:
        return read_settings(self._database)

    @property
    def is_offered(self) -> bool:
        """Whether new ones can begin: they are open, and the budget covers another."""
        settings = self.settings
        return settings.is_open and covers(settings.budget, committed(self._database), settings.pay)

    def account(self, person: int) -> WriterAccount:
        """How far somebody has come: trials, decision, earnings."""
        return self._account(self._database.rows, person)

    def open_one(self, person: int) -> WritingAssignment | None:
        """What somebody has begun and not submitted."""
        return self._one("person = ? AND status = 'taken'", (person,))

    def of(self, person: int, id: int) -> WritingAssignment:
        """One of somebody's own."""
        return _existing(self._one("id = ? AND person = ?", (id, person)))

    def any(self, id: int) -> WritingAssignment | None:
        """Anybody's, for the admin."""
        return self._one("id = ?", (id,))

    def begin(self, person: Person, catalog: Catalog) -> WritingAssignment | None:
        """A product to write about: the one begun already, else a new one; None if none is left."""
        now = self._clock()
        with self._database.writing() as run:
            begun = self._one("person = ? AND status = 'taken'", (person.id,), run)
            if begun is not None:
                return begun
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
            if not settings.is_open or not covers(settings.budget, _committed(run), settings.pay):
                raise Conflict(CLOSED, "closed")
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

            product = _draw_product(catalog, settings.seed, number, is_free, free_among)
            if product is None:
                return None
            seen = json.dumps(msgspec.to_builtins(shown(product)))
            [row] = run(
                "INSERT INTO writings (person, asin, shown, status, is_trial, instruction,"
                " attributes, options, comment, taken, note, pay)"
                " VALUES (?, ?, ?, 'taken', ?, '', '[]', '{}', '', ?, '', ?)"
                f" RETURNING {_COLUMNS}",
                (
                    *(person.id, product.asin, seen, int(account.status == "trial"), now),
                    settings.pay,
                ),
            )
        return record_of(WritingAssignment, row)

    def return_(self, person: int, id: int) -> WritingAssignment:
        """Let somebody else have a product; it does not come again."""
        rows = self._database.run(
            "UPDATE writings SET status = 'given_back' WHERE id = ? AND person = ?"
            f" AND status IN ('taken', 'given_back') RETURNING {_COLUMNS}",
            (id, person),
        )
        if rows:
            return record_of(WritingAssignment, rows[0])
        self.of(person, id)
        raise Conflict("This instruction has been submitted; it cannot be returned.", _DONE)

    def submit(self, person: int, id: int, draft: InstructionDraft) -> Submission:
        """Check an instruction and store it; it is on disk when this returns."""
        draft = tidied(draft)
        with self._database.writing() as run:
            before = _existing(self._one("id = ? AND person = ?", (id, person), run))
            if before.status == "given_back":
                raise Conflict(
                    "This product was returned (by you, or after a day by itself); start another.",
                    _DONE,
                )
            if before.status != "taken":
                if _draft_of(before) == draft:
                    return Submission(before, [], False)
                raise Conflict("Another instruction has been submitted for this product.", _DONE)
            account = self._account(run, person)
            # Who was allowed to begin it may submit it, though they wait by now.
            if account.status == "refused":
                raise NotAllowed(_why_not(account))
            wrong = problems(before.shown, draft)
            if wrong:
                return Submission(before, wrong, False)
            settings = read_settings(self._database)
            is_checked = before.is_trial or settings.review
            [row] = run(
                "UPDATE writings SET status = ?, instruction = ?, attributes = ?, options = ?,"
                f" comment = ?, submitted = ? WHERE id = ? RETURNING {_COLUMNS}",
                (
                    "submitted" if is_checked else "accepted",
                    draft.instruction,
                    json.dumps(draft.attributes),
                    json.dumps(draft.options),
                    draft.comment,
                    self._clock(),
                    id,
                ),
            )
        return Submission(record_of(WritingAssignment, row), [], True)

    def review(
        self, id: int, verdict: Literal["accepted", "refused"], reviewer: Person, note: str = ""
    ) -> WritingAssignment:
        """Accept or refuse what was submitted, or change one's mind."""
        with self._database.writing() as run:
            rows = run(
                "UPDATE writings SET status = ?, reviewed = ?, reviewer = ?, note = ?"
                f" WHERE id = ? AND status IN {_HANDED_IN} RETURNING {_COLUMNS}",
                (verdict, self._clock(), reviewer.id, note, id),
            )
            budget, spent = read_settings(self._database).budget, _committed(run)
            if verdict == "accepted" and not covers(budget, 0.0, spent):
                raise Conflict(
                    f"The budget of ${budget:,.2f} does not cover it; raise it first.", "no_budget"
                )
        if rows:
            return record_of(WritingAssignment, rows[0])
        if self.any(id) is None:
            raise NotFound("There is no such instruction.")
        raise Conflict(
            "Nothing has been submitted for this product, so it cannot be reviewed.", _DONE
        )

    def decide(
        self, person: int, verdict: Literal["granted", "refused"], decider: Person, note: str = ""
    ) -> Qualification:
        """Let somebody go on after their trials, or not."""
        if verdict == "granted":
            account = self.account(person)
            if not account.may_be_granted:
                raise Conflict(
                    f"{account.trials_reviewed} of {account.trials_wanted} trials are reviewed;"
                    " review all of them before you qualify somebody.",
                    _DONE,
                )
        return save_qualification(
            self._database,
            Qualification(person, KIND, verdict, self._clock(), decider.id, note),
        )

    def _one(
        self, condition: str, values: tuple[Any, ...], run: Run | None = None
    ) -> WritingAssignment | None:
        source = f"writings WHERE {condition}"
        return select_one(run or self._database.rows, WritingAssignment, source, values)

    def _account(self, run: Run, person: int) -> WriterAccount:
        rows = run(
            f"SELECT {_COUNTS} FROM writings WHERE person = ? GROUP BY status, is_trial", (person,)
        )
        decided = run(
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
    status: Any = decision or ("waiting" if handed_in >= trials else "trial")
    return WriterAccount(
        status=status,
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


def _existing(assignment: WritingAssignment | None) -> WritingAssignment:
    if assignment is None:
        raise NotFound("You have no such assignment.")
    return assignment


def _draft_of(one: WritingAssignment) -> InstructionDraft:
    return InstructionDraft(one.instruction, one.attributes, one.options, one.comment)


def _why_not(account: WriterAccount) -> str:
    if account.status == "refused":
        return "You have not been qualified for writing instructions."
    return "Your trial examples are being reviewed; come back when that is done."


def listed(
    source: ReadDatabase, *, person: int | None = None, status: Status | None = None, page: int = 1
) -> WritingAssignmentPage:
    """Assignments of somebody, of a status, or all."""
    clause, values = where({"person = ?": person, "status = ?": status})
    [(total,)] = source.rows(f"SELECT count(*) FROM writings {clause}", values)
    pages = max(1, -(-total // PAGE))
    page = min(max(1, page), pages)
    writings = select(
        source.rows,
        WritingAssignment,
        f"writings {clause} ORDER BY id DESC LIMIT ? OFFSET ?",
        (*values, PAGE, (page - 1) * PAGE),
    )
    return WritingAssignmentPage(int(total), page, pages, writings)


def waiting(source: ReadDatabase, most: int = PAGE) -> list[WritingAssignment]:
    """What waits for a review, who waits longest first."""
    return select(
        source.rows,
        WritingAssignment,
        "writings WHERE status = 'submitted' ORDER BY submitted, id LIMIT ?",
        (most,),
    )


def writers(source: ReadDatabase) -> list[Writer]:
    """Everybody who has begun; those who wait for a decision first."""
    counts: dict[int, list[Sequence[Any]]] = {}
    rows = source.rows(f"SELECT person, {_COUNTS} FROM writings GROUP BY person, status, is_trial")
    for person, *rest in rows:
        counts.setdefault(person, []).append(rest)
    named = source.rows(
        "SELECT p.id, p.name, coalesce(q.status, ''), coalesce(q.note, '') FROM people p"
        " LEFT JOIN qualifications q ON q.person = p.id AND q.kind = ?"
        " WHERE p.id IN (SELECT person FROM writings) ORDER BY p.id",
        (KIND,),
    )
    trials = read_settings(source).trials
    everybody = [
        Writer(id, name, account_of(counts[id], trials, status, note))
        for id, name, status, note in named
    ]
    return sorted(everybody, key=lambda writer: writer.account.status != "waiting")


def _draw_product(
    catalog: Catalog,
    seed: int,
    number: int,
    is_free: Callable[[str], bool],
    free_among: Callable[[], Callable[[str], bool]],
) -> Product | None:
    """The product for the number-th writing: one that is free and has an attribute to write of.

    The same seed, number and free products give the same product. `is_free` is asked for a few
    products, what `free_among` gives for many.
    """
    if not len(catalog):
        return None
    rng = Rng(f"writing/{seed}/{number}")
    for _ in range(DRAWS):
        product = catalog.product_at(rng.below(len(catalog)))
        if shown(product).attributes and is_free(product.asin):
            return product
    is_left = free_among()
    for product in _walk(catalog, rng.below(len(catalog))):
        if shown(product).attributes and is_left(product.asin):
            return product
    return None


def _walk(catalog: Catalog, first: int) -> Iterator[Product]:
    count = len(catalog)
    return (catalog.product_at((first + step) % count) for step in range(min(WALK, count)))

"""Accounts of people: who they are, what they may do, and how they log in.

The admin has a password. Everybody else has a link whose token nobody can guess; the database
holds only the token's fingerprint, so a link is shown once and renewed when it is lost. A login
is a random key in a cookie, kept the same way.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Sequence
from typing import Final, Literal

import msgspec

from errands.crowd.store.database import (
    Database,
    Run,
    column_names,
    record_of,
    select,
    select_one,
    where,
)
from errands.errors import SettingError

__all__ = [
    "TABLES",
    "Accounts",
    "Invitation",
    "Person",
    "Qualification",
    "Role",
    "add_guest",
    "check_password",
    "save_qualification",
]

TABLES: Final = """
CREATE TABLE people (
  id {id},
  name TEXT NOT NULL,
  role TEXT NOT NULL,
  token TEXT NOT NULL UNIQUE,
  secret TEXT NOT NULL,
  is_active INTEGER NOT NULL,
  made DOUBLE PRECISION NOT NULL,
  is_guest INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE logins (
  key TEXT PRIMARY KEY,
  person BIGINT NOT NULL REFERENCES people,
  until DOUBLE PRECISION NOT NULL
);
CREATE TABLE qualifications (
  person BIGINT NOT NULL REFERENCES people,
  kind TEXT NOT NULL,
  status TEXT NOT NULL,
  at DOUBLE PRECISION NOT NULL,
  decider BIGINT NOT NULL REFERENCES people,
  note TEXT NOT NULL,
  PRIMARY KEY (person, kind)
);
"""
TO_VERSION_3: Final = "ALTER TABLE people ADD COLUMN is_guest INTEGER NOT NULL DEFAULT 0;"

Role = Literal["admin", "requester", "worker"]
QualificationStatus = Literal["granted", "refused"]
ADMIN: Final = "admin"
LOGIN_SECONDS: Final = 12 * 3600.0
SHORTEST_PASSWORD: Final = 8
LONGEST_NAME: Final = 80


class Person(msgspec.Struct, frozen=True):
    """Somebody with an account."""

    id: int
    name: str
    role: Role
    is_active: bool
    made: float
    is_guest: bool = False
    """Came by the link of a project, and sees nothing but projects they are assigned to."""


_COLUMNS: Final = column_names(Person)


class Invitation(msgspec.Struct, frozen=True):
    """A person and the token of their link, which is known only now."""

    person: Person
    token: str


class Qualification(msgspec.Struct, frozen=True):
    """The last decision about somebody."""

    person: int
    kind: str
    status: QualificationStatus
    at: float
    decider: int
    note: str


class Accounts:
    """All accounts."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock
        self._salt = secrets.token_bytes(32)
        self._proven: tuple[str, bytes] | None = None
        """What the database holds of a password, and our own fingerprint of it: programs send it
        with every request, and stretching takes a while."""

    def has_admin(self) -> bool:
        return bool(self._database.rows("SELECT 1 FROM people WHERE role = ?", (ADMIN,)))

    def set_password(self, password: str) -> None:
        """Give the admin a password; logins made with the old one end."""
        check_password(password)
        secret = _stretched(password)
        with self._database.writing() as run:
            if run("UPDATE people SET secret = ? WHERE role = ? RETURNING id", (secret, ADMIN)):
                run("DELETE FROM logins WHERE person IN (SELECT id FROM people WHERE role = ?)",
                    (ADMIN,))  # fmt: skip
            else:
                unused = _fingerprint(secrets.token_urlsafe(24))
                self._insert(run, "admin", ADMIN, unused, secret)

    def admin(self, password: str) -> Person | None:
        """The admin, if that is the password. Takes a while, so that guessing does."""
        person, secret = self._admin()
        if person is None or not _matches(password, secret):
            return None
        self._proven = secret, self._print_of(password)
        return person

    def proven_admin(self, password: str) -> Person | None:
        """The admin, if that password was right before and still is; takes no time."""
        person, secret = self._admin()
        if self._proven is None or self._proven[0] != secret:
            return None
        return person if hmac.compare_digest(self._proven[1], self._print_of(password)) else None

    def _admin(self) -> tuple[Person | None, str]:
        rows = self._database.rows(
            f"SELECT {_COLUMNS}, secret FROM people WHERE role = ?", (ADMIN,)
        )
        return (record_of(Person, rows[0][:-1]), rows[0][-1]) if rows else (None, "")

    def _print_of(self, password: str) -> bytes:
        return hmac.digest(self._salt, password.encode("utf-8", "surrogatepass"), "sha256")

    def invite(self, name: str, role: Role) -> Invitation:
        """Make an account with a link."""
        return self.invite_all([name], role)[0]

    def invite_all(self, names: Sequence[str], role: Role) -> list[Invitation]:
        """Make accounts with links: all, or none."""
        if role not in ("requester", "worker"):
            raise SettingError(f"Nobody can be invited as {role!r}; expected requester or worker.")
        cleaned = [" ".join(name.split()) for name in names]
        if not cleaned:
            raise SettingError("Somebody has to be named to be invited.")
        for name in cleaned:
            if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
                raise SettingError(
                    f"{name[:LONGEST_NAME]!r} is no name; expected 1 to {LONGEST_NAME} characters."
                )
        invited = []
        with self._database.writing() as run:
            for name in cleaned:
                token = secrets.token_urlsafe(24)
                person = self._insert(run, name, role, _fingerprint(token), "")
                invited.append(Invitation(person, token))
        return invited

    def renew(self, id: int) -> Invitation | None:
        """Another link for somebody; the old one and their logins end."""
        token = secrets.token_urlsafe(24)
        person = self._change(id, "token = ?", _fingerprint(token))
        return None if person is None else Invitation(person, token)

    def set_active(self, id: int, is_active: bool) -> Person | None:
        """Unblock somebody, or block them; nobody blocks the admin."""
        return self._change(id, "is_active = ?", int(is_active), end_logins=not is_active)

    def _change(
        self, id: int, assignment: str, value: str | int, *, end_logins: bool = True
    ) -> Person | None:
        with self._database.writing() as run:
            rows = run(
                f"UPDATE people SET {assignment} WHERE id = ? AND role <> ? RETURNING {_COLUMNS}",
                (value, id, ADMIN),
            )
            if end_logins:
                run("DELETE FROM logins WHERE person = ?", (id,))
        return record_of(Person, rows[0]) if rows else None

    def everybody(self, role: Role | None = None) -> list[Person]:
        """All, in the order in which they came."""
        clause, values = where({"role = ?": role})
        return select(self._database.rows, Person, f"people {clause} ORDER BY id", values)

    def person(self, id: int) -> Person | None:
        return select_one(self._database.rows, Person, "people WHERE id = ?", (id,))

    def by_token(self, token: str) -> Person | None:
        """Whose link has that token, if they may come in."""
        return select_one(
            self._database.rows,
            Person,
            "people WHERE token = ? AND is_active = 1",
            (_fingerprint(token),),
        )

    def log_in(self, person: Person) -> str:
        """A new login; its key, for a cookie."""
        key = secrets.token_urlsafe(24)
        now = self._clock()
        with self._database.writing() as run:
            run("DELETE FROM logins WHERE until < ?", (now,))
            run(
                "INSERT INTO logins VALUES (?, ?, ?)",
                (_fingerprint(key), person.id, now + LOGIN_SECONDS),
            )
        return key

    def by_login(self, key: str) -> Person | None:
        """Who has that login, if it lasts and they may come in."""
        return select_one(
            self._database.rows,
            Person,
            "logins JOIN people ON id = person WHERE key = ? AND until >= ? AND is_active = 1",
            (_fingerprint(key), self._clock()),
        )

    def log_out(self, key: str) -> None:
        self._database.run("DELETE FROM logins WHERE key = ?", (_fingerprint(key),))

    def _insert(self, run: Run, name: str, role: Role, token: str, secret: str) -> Person:
        return _insert_person(run, name, role, token, secret, self._clock())


def add_guest(run: Run, name: str, at: float) -> Invitation:
    """A worker who came by the link of a project; inside a transaction."""
    token = secrets.token_urlsafe(24)
    person = _insert_person(run, name, "worker", _fingerprint(token), "", at, is_guest=True)
    return Invitation(person, token)


def _insert_person(
    run: Run, name: str, role: Role, token: str, secret: str, at: float, *, is_guest: bool = False
) -> Person:
    [row] = run(
        "INSERT INTO people (name, role, token, secret, is_active, made, is_guest)"
        f" VALUES (?, ?, ?, ?, 1, ?, ?) RETURNING {_COLUMNS}",
        (name, role, token, secret, at, int(is_guest)),
    )
    return record_of(Person, row)


def save_qualification(database: Database, decision: Qualification) -> Qualification:
    """Note a decision, which takes the place of an earlier one."""
    database.run(
        "INSERT INTO qualifications VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (person, kind) DO"
        " UPDATE SET status = excluded.status, at = excluded.at, decider = excluded.decider,"
        " note = excluded.note",
        msgspec.structs.astuple(decision),
    )
    return decision


def _fingerprint(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def check_password(password: str) -> None:
    """An admin's password must not be guessed in no time."""
    if len(password) < SHORTEST_PASSWORD:
        raise SettingError(
            f"The admin's password needs {SHORTEST_PASSWORD} characters or more; it has"
            f" {len(password)}."
        )


def _stretched(password: str, salt: bytes | None = None) -> str:
    salt = secrets.token_bytes(16) if salt is None else salt
    data = password.encode("utf-8", "surrogatepass")
    return f"{salt.hex()}:{hashlib.scrypt(data, salt=salt, n=2**14, r=8, p=1).hex()}"


def _matches(password: str, secret: str) -> bool:
    salt = bytes.fromhex(secret.partition(":")[0])
    return hmac.compare_digest(_stretched(password, salt), secret)

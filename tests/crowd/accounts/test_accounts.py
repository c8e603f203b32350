"""Who may come in."""

import pytest

from errands.crowd.accounts.accounts import LOGIN_SECONDS, Accounts
from errands.crowd.store.database import Database
from errands.errors import SettingError


@pytest.fixture
def people(database: Database) -> Accounts:
    return Accounts(database)


def test_the_admins_password(people: Accounts) -> None:
    assert not people.has_admin()
    assert people.admin("anything") is None
    with pytest.raises(SettingError, match="8 characters"):
        people.set_password("short")
    people.set_password("long enough")
    assert people.has_admin()
    assert people.admin("long enougH") is None
    admin = people.admin("long enough")
    assert admin is not None
    assert admin.role == "admin"
    key = people.log_in(admin)
    people.set_password("another one")
    assert people.admin("long enough") is None
    assert people.admin("another one") == admin
    assert people.by_login(key) is None, "a new password ends what the old one began"


def test_a_link_lets_one_person_in(people: Accounts, database: Database) -> None:
    ann, bob = people.invite_all(["  Ann   Lee ", "Bob"], "worker")
    assert ann.person.name == "Ann Lee"
    assert people.by_token(ann.token) == ann.person
    assert people.by_token(bob.token) == bob.person
    assert people.by_token(ann.token[:-1]) is None
    assert people.by_token("") is None
    assert len(ann.token) >= 32
    held = str(database.rows("SELECT * FROM people"))
    assert ann.token not in held, "who reads the database learns no link"
    again = people.renew(ann.person.id)
    assert again is not None
    assert people.by_token(ann.token) is None
    assert people.by_token(again.token) == ann.person


def test_somebody_who_is_kept_out(people: Accounts) -> None:
    rita = people.invite("Rita", "requester")
    key = people.log_in(rita.person)
    assert people.by_login(key) == rita.person
    out = people.set_active(rita.person.id, False)
    assert out is not None
    assert not out.is_active
    assert people.by_login(key) is None
    assert people.by_token(rita.token) is None
    people.set_active(rita.person.id, True)
    assert people.by_token(rita.token) == rita.person
    assert people.by_login(key) is None
    assert people.set_active(99, False) is None
    assert people.renew(99) is None


def test_the_admin_has_no_link_and_cannot_be_kept_out(people: Accounts) -> None:
    people.set_password("long enough")
    [admin] = people.everybody("admin")
    assert people.renew(admin.id) is None
    assert people.set_active(admin.id, False) is None
    assert people.admin("long enough") == admin
    with pytest.raises(SettingError, match="admin"):
        people.invite("Eve", "admin")


def test_logins_end(database: Database) -> None:
    now = [1000.0]
    people = Accounts(database, lambda: now[0])
    rita = people.invite("Rita", "requester").person
    key = people.log_in(rita)
    now[0] += LOGIN_SECONDS
    assert people.by_login(key) == rita
    now[0] += 1
    assert people.by_login(key) is None
    other = people.log_in(rita)
    people.log_out(other)
    assert people.by_login(other) is None


@pytest.mark.parametrize("name", ["", "  ", "x" * 81, "a\x07b"])
def test_names_that_are_none(people: Accounts, name: str) -> None:
    with pytest.raises(SettingError, match="no name"):
        people.invite_all(["Ann", name], "worker")
    assert people.everybody() == []

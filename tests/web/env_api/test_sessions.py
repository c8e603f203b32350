"""Sessions by themselves: ids, limits and expiry, with a clock that a test winds."""

from typing import Any

import pytest
from served import Clock

from errands.web.core.http_errors import HttpError
from errands.web.core.limits import ServerLimits
from errands.web.env_api.sessions import Sessions


class Idler:
    is_slow = False

    def reset(self, seed: int | None, options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        return "", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return "", 0.0, False, False, {}

    def close(self) -> None:
        pass


def made(**limits: Any) -> tuple[Sessions, Clock]:
    clock = Clock()
    return Sessions(ServerLimits(**limits), clock), clock


def test_ids_cannot_be_guessed() -> None:
    sessions, _ = made()
    ids = {sessions.open(Idler(), "a").id for _ in range(1000)}
    assert len(ids) == 1000
    assert min(map(len, ids)) >= 32
    assert len({id[:4] for id in ids}) > 900


def test_what_is_not_there_is_refused() -> None:
    sessions, _ = made()
    session = sessions.open(Idler(), "a")
    assert sessions.find(session.id) is session
    assert sessions.close(session.id) is session
    for call in (sessions.find, sessions.close):
        with pytest.raises(HttpError, match="no such session") as refused:
            call(session.id)
        assert (refused.value.status, refused.value.code) == (404, "unknown_session")


def test_idle_sessions_expire_and_used_ones_do_not() -> None:
    sessions, clock = made(idle_seconds=10)
    first, second, third = (sessions.open(Idler(), "a") for _ in range(3))
    clock.now += 9
    assert sessions.expire() == []
    sessions.find(first.id)
    clock.now += 1
    assert sessions.expire() == [second, third]
    assert len(sessions) == 1
    clock.now += 9
    assert sessions.expire() == [first]
    assert len(sessions) == 0


def test_a_session_at_work_does_not_expire() -> None:
    sessions, clock = made(idle_seconds=10)
    session = sessions.open(Idler(), "a")
    session.in_use += 1
    clock.now += 100
    assert sessions.expire() == []
    session.in_use -= 1
    clock.now += 10
    assert sessions.expire() == [session]


def test_limits_of_all_and_of_one_client() -> None:
    sessions, clock = made(sessions=5, sessions_per_client=3, idle_seconds=10)
    mine = [sessions.open(Idler(), "mine") for _ in range(3)]
    with pytest.raises(HttpError, match="A client may have 3 sessions") as refused:
        sessions.open(Idler(), "mine")
    assert (refused.value.status, refused.value.retry_after) == (429, 5)
    for _ in range(2):
        sessions.open(Idler(), "yours")
    with pytest.raises(HttpError, match="The server allows 5 sessions"):
        sessions.open(Idler(), "theirs")
    sessions.close(mine[0].id)
    sessions.open(Idler(), "mine")
    clock.now += 10
    assert len(sessions.expire()) == 5
    sessions.room_for("mine", 3)


def test_form_pages_have_a_limit_of_their_own() -> None:
    class FormPage(Idler):
        is_slow = True

    sessions, _ = made(sessions=5, turk_sessions=2)
    sessions.open(Idler(), "a")
    form_page = sessions.open(FormPage(), "a", form_pages=True)
    sessions.open(FormPage(), "a", form_pages=True)
    with pytest.raises(HttpError, match="Of form pages, the server allows 2 sessions"):
        sessions.open(FormPage(), "a", form_pages=True)
    sessions.open(Idler(), "a")
    sessions.close(form_page.id)
    sessions.room_for("a", 1, form_pages=True)


def test_closing_all() -> None:
    sessions, _ = made()
    opened = [sessions.open(Idler(), "a") for _ in range(3)]
    assert sessions.close_all() == opened
    assert len(sessions) == 0

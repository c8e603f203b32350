"""Who may work on a project: all, those assigned, those who joined by a link."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from errands.crowd.accounts.accounts import Accounts
from errands.crowd.errors import Conflict, NotFound
from errands.crowd.hits.assignments import Assignments
from errands.crowd.hits.project_workers import ProjectWorkers
from errands.crowd.hits.projects import Project, Projects, Terms
from errands.crowd.store.database import Database
from errands.errors import SettingError


class Setting:
    def __init__(self, database: Database) -> None:
        self.people = Accounts(database)
        self.owner = self.people.invite("Rita", "requester").person.id
        self.ann, self.bob = (
            self.people.invite(name, "worker").person.id for name in ("Ann", "Bob")
        )
        self.projects, self.work = Projects(database), Assignments(database)
        self.workers = ProjectWorkers(database)

    def publish(self, *, is_restricted: bool = False) -> Project:
        terms = Terms("N", is_restricted=is_restricted, wanted=9)
        return self.projects.publish(self.owner, terms, "<input name=a>", ["n"], [{"n": "1"}])


@pytest.fixture
def setting(database: Database) -> Setting:
    return Setting(database)


def test_only_those_assigned_may_work(setting: Setting) -> None:
    everybody, few = setting.publish(), setting.publish(is_restricted=True)
    setting.workers.assign(few.id, [setting.ann, setting.ann])
    assert setting.workers.assigned(few.id) == [setting.ann]
    for project, person, may in (
        (everybody, setting.ann, True),
        (everybody, setting.bob, True),
        (few, setting.ann, True),
        (few, setting.bob, False),
    ):
        assert setting.workers.may_work(project.id, person) is may
        assert (setting.work.upcoming(project, person) is not None) is may
    with pytest.raises(NotFound, match="no such work"):
        setting.work.accept(few, setting.bob)
    setting.workers.assign(few.id, [setting.bob])
    assert setting.work.accept(few, setting.bob).item == 0
    assert not setting.workers.may_work(few.id, setting.ann)
    for nobody in (setting.owner, 99):
        with pytest.raises(NotFound, match="could be assigned"):
            setting.workers.assign(few.id, [setting.ann, nobody])
    assert setting.workers.assigned(few.id) == [setting.bob], "all or nothing"


def test_who_joins_sees_that_project_only(setting: Setting) -> None:
    project, other = setting.publish(is_restricted=True), setting.publish()
    assert setting.workers.link(project.id) is None
    link = setting.workers.set_link(project.id, 2, " C1 ")
    assert (link.joined, link.most, link.completion, link.is_full) == (0, 2, "C1", False)
    first = setting.workers.join(link.code, "5f1e ")
    assert (first.person.name, first.person.is_guest) == ("5f1e", True)
    assert setting.people.by_token(first.token) == first.person
    assert setting.workers.has_joined(project.id, first.person.id)
    assert setting.work.accept(project, first.person.id).item == 0
    assert not setting.workers.may_work(other.id, first.person.id)
    with pytest.raises(NotFound):
        setting.workers.assign(other.id, [first.person.id])
    with pytest.raises(Conflict, match="already"):
        setting.workers.join(link.code, "5f1e")
    assert setting.workers.join(link.code).person.name == "Participant 2"
    with pytest.raises(Conflict, match="taken"):
        setting.workers.join(link.code)
    assert setting.workers.set_link(project.id, 3).code == link.code, "more places, the same link"
    setting.workers.assign(project.id, [])
    assert setting.workers.may_work(project.id, first.person.id), "who joined stays"
    setting.workers.end_link(project.id)
    with pytest.raises(NotFound):
        setting.workers.join(link.code)
    again = setting.workers.set_link(project.id, 2)
    assert (again.joined, again.is_full) == (2, True), "those of earlier links count"
    assert again.code != link.code


def test_links_that_are_refused(setting: Setting) -> None:
    project = setting.publish()
    for most in (0, -1, 10_001):
        with pytest.raises(SettingError, match="People who may join"):
            setting.workers.set_link(project.id, most)
    with pytest.raises(SettingError, match="completion"):
        setting.workers.set_link(project.id, 1, "x" * 81)
    link = setting.workers.set_link(project.id, 1)
    with pytest.raises(SettingError, match="ID"):
        setting.workers.join(link.code, "x" * 81)
    with pytest.raises(NotFound):
        setting.workers.join("", "x")


def test_no_more_join_than_there_are_places(setting: Setting) -> None:
    project = setting.publish()
    code = setting.workers.set_link(project.id, 3).code

    def join(number: int) -> bool:
        try:
            return bool(setting.workers.join(code, f"p{number}"))
        except Conflict:
            return False

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(join, range(12))) == 3
    link = setting.workers.link(project.id)
    assert link is not None
    assert link.joined == 3

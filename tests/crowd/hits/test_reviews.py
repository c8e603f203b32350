"""Submissions are found, approved and rejected; files of results say so, and can say it."""

import csv
import io

import pytest

from errands.crowd.accounts.accounts import Accounts
from errands.crowd.errors import Conflict, NotFound
from errands.crowd.hits.assignments import Assignment, Assignments
from errands.crowd.hits.projects import Project, Projects, Terms
from errands.crowd.hits.results import results_csv
from errands.crowd.hits.reviews import PAGE, Decision, ResultFilter, Reviews
from errands.crowd.hits.uploads import import_results
from errands.crowd.store.database import Database
from errands.errors import SettingError, TaskError

TEMPLATE = '${n}<input name="a"><input name="b">'
APPROVED = Decision("approved")


class Setting:
    """A project that pays a dollar, done by two workers."""

    def __init__(self, database: Database, items: int = 3, budget: float = 100.0) -> None:
        self.people = Accounts(database)
        self.owner = self.people.invite("Rita", "requester").person.id
        self.projects, self.work = Projects(database), Assignments(database)
        self.reviews = Reviews(database)
        inputs = [{"n": str(number)} for number in range(items)]
        terms = Terms("N", wanted=2, pay=1.0)
        self.project = self.projects.publish(
            self.owner, terms, TEMPLATE, ["n"], inputs, budget=budget
        )
        self.ann, self.bob = (
            self.people.invite(name, "worker").person.id for name in ("Ann", "Bob")
        )

    def submit(self, person: int, **answers: str) -> Assignment:
        return self.work.submit(self.work.accept(self.now(), person).key, answers)

    def now(self) -> Project:
        project = self.projects.project(self.project.id)
        assert project is not None
        return project

    def decide(self, one: Assignment, decision: Decision) -> Assignment:
        return self.reviews.decide(self.project.id, one.mark, decision, self.owner)

    def found(self, **chosen: object) -> list[str]:
        wanted = ResultFilter(**chosen)  # type: ignore[arg-type]
        return [one.answers["a"] for one in self.reviews.page(self.project.id, wanted).results]

    def csv(self) -> str:
        done = self.work.done(self.project.id)
        items = self.projects.items(self.project.id)
        return results_csv(self.project, TEMPLATE, items, done).decode()

    def bring(self, text: str) -> int:
        return import_results(
            *(self.projects, self.work, self.reviews, self.project, text.encode(), self.owner)
        ).decided


@pytest.fixture
def setting(database: Database) -> Setting:
    return Setting(database)


def test_a_rejection_is_not_paid_and_its_instance_goes_to_others(setting: Setting) -> None:
    one = setting.submit(setting.ann, a="x")
    setting.submit(setting.bob, a="y")
    assert setting.now().committed == 2.0
    rejected = setting.decide(one, Decision("rejected", " Not what was asked. "))
    assert (rejected.verdict, rejected.feedback) == ("rejected", "Not what was asked.")
    assert (rejected.decider, rejected.status) == (setting.owner, "submitted")
    progress = setting.work.progress(setting.now())
    assert (progress.done, progress.rejected, progress.waiting, progress.owed) == (1, 1, 1, 1.0)
    assert setting.work.done_by(setting.ann) == {setting.project.id: (1, 0.0)}
    assert setting.now().committed == 1.0
    assert setting.work.accept(setting.now(), setting.ann).item == 1, "not the same again"
    cem = setting.people.invite("Cem", "worker").person.id
    assert setting.work.accept(setting.now(), cem).item == 0, "somebody else does it"


def test_a_mind_is_changed_as_far_as_the_budget_goes(database: Database) -> None:
    setting = Setting(database, items=1, budget=2.0)
    one = setting.submit(setting.ann, a="x")
    setting.submit(setting.bob, a="y")
    setting.decide(one, Decision("rejected", "no"))
    cem = setting.people.invite("Cem", "worker").person.id
    setting.submit(cem, a="z")
    with pytest.raises(Conflict, match="does not cover"):
        setting.decide(one, APPROVED)
    setting.projects.set_budget(setting.project.id, 3.0)
    assert setting.decide(one, APPROVED).verdict == "approved"
    assert setting.now().committed == 3.0


def test_decisions_that_are_refused(setting: Setting) -> None:
    one = setting.submit(setting.ann, a="x")
    with pytest.raises(SettingError, match="needs a reason"):
        setting.decide(one, Decision("rejected", "  "))
    with pytest.raises(SettingError, match="1,000 characters"):
        setting.decide(one, Decision("rejected", "x" * 1001))
    with pytest.raises(NotFound):
        setting.reviews.decide(setting.project.id, "other", APPROVED, setting.owner)
    with pytest.raises(NotFound):
        setting.reviews.decide(setting.project.id + 1, one.mark, APPROVED, setting.owner)
    open_one = setting.work.accept(setting.now(), setting.bob)
    with pytest.raises(NotFound):
        setting.decide(open_one, APPROVED)


def test_submissions_are_found(setting: Setting) -> None:
    setting.submit(setting.ann, a="Été 100%", b="under_score")
    second = setting.submit(setting.ann, a="100 x")
    third = setting.submit(setting.bob, a='say "hi"')
    setting.decide(second, APPROVED)
    setting.decide(third, Decision("rejected", "no"))
    assert setting.found() == ["Été 100%", 'say "hi"', "100 x"]
    assert setting.found(status="submitted") == ["Été 100%"]
    assert setting.found(status="approved") == ["100 x"]
    assert setting.found(status="rejected", worker=f"W{setting.bob}") == ['say "hi"']
    assert setting.found(worker=f"W{setting.ann}", item=1) == ["100 x"]
    assert setting.found(text="100%") == ["Été 100%"], "a percent sign is one"
    assert setting.found(text="under_SCORE") == ["Été 100%"]
    assert setting.found(text='"hi"') == ['say "hi"']
    assert setting.found(text="undrescore") == []
    assert setting.reviews.workers(setting.project.id) == [f"W{setting.ann}", f"W{setting.bob}"]


def test_pages_of_submissions(database: Database) -> None:
    setting = Setting(database, items=PAGE + 1)
    for number in range(PAGE + 1):
        setting.submit(setting.ann, a=str(number))
    last = setting.reviews.page(setting.project.id, ResultFilter(), 99)
    assert (last.total, last.page, last.pages) == (PAGE + 1, 2, 2)
    assert [one.answers["a"] for one in last.results] == [str(PAGE)]
    assert setting.reviews.approve_all(setting.project.id, ResultFilter(text="1"), 1) == 9 + 2 + 1
    waiting = setting.work.progress(setting.now()).waiting
    assert waiting == PAGE + 1 - 12
    assert setting.reviews.approve_all(setting.project.id, ResultFilter(status="rejected"), 1) == 0


def test_results_say_what_was_decided_as_mechanical_turk_does(setting: Setting) -> None:
    setting.decide(setting.submit(setting.ann, a="good"), APPROVED)
    setting.decide(setting.submit(setting.ann, a="bad"), Decision("rejected", "Empty."))
    setting.submit(setting.ann, a="open")
    rows = list(csv.DictReader(io.StringIO(setting.csv())))
    assert [row["AssignmentStatus"] for row in rows] == ["Approved", "Rejected", "Submitted"]
    assert [bool(row["ApprovalTime"]) for row in rows] == [True, False, False]
    assert [bool(row["RejectionTime"]) for row in rows] == [False, True, False]
    assert [row["RequesterFeedback"] for row in rows] == ["", "Empty.", ""]
    assert {row["Approve"] + row["Reject"] for row in rows} == {""}


def test_a_file_approves_and_rejects(setting: Setting) -> None:
    for answer in ("good", "bad", "open"):
        setting.submit(setting.ann, a=answer)
    rows = list(csv.DictReader(io.StringIO(setting.csv())))
    rows[0]["Approve"], rows[1]["Reject"] = "x", "Too short."

    def file() -> str:
        out = io.StringIO()
        writer = csv.DictWriter(out, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
        return out.getvalue()

    assert setting.bring(file()) == 2
    done = setting.work.done(setting.project.id)
    assert [(one.verdict, one.feedback) for one in done] == [
        ("approved", ""),
        ("rejected", "Too short."),
        ("", ""),
    ]
    rows[2]["Approve"] = rows[2]["Reject"] = "x"
    with pytest.raises(TaskError, match="both approves and rejects"):
        setting.bring(file())
    rows[2]["Approve"] = ""
    with pytest.raises(TaskError, match="without a reason"):
        setting.bring(file())
    assert setting.work.done(setting.project.id) == done, "nothing of it was taken"

"""Projects and assignments: who gets what, once, in time, and paid as promised."""

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from errands.crowd.accounts.accounts import Accounts
from errands.crowd.database import open_database
from errands.crowd.errors import Conflict, NotFound
from errands.crowd.hits.assignments import Assignments, ImportedAnswers
from errands.crowd.hits.projects import Project, Projects, Terms, checked_hosts
from errands.crowd.hits.task_page import is_blank
from errands.crowd.store.database import Database
from errands.errors import SettingError, TaskError

TEMPLATE = '<p>${word}</p><input name="a">'


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Setting:
    """A requester, two workers, and everything they use."""

    def __init__(self, database: Database) -> None:
        self.clock = Clock()
        people = Accounts(database, self.clock)
        self.people = people
        self.owner = people.invite("Rita", "requester").person.id
        self.ann, self.bob, self.cem = (
            people.invite(name, "worker").person.id for name in ("Ann", "Bob", "Cem")
        )
        self.projects = Projects(database, self.clock)
        self.work = Assignments(database, self.clock)

    def publish(self, items: int = 3, *, budget: float = 100.0, **terms: object) -> Project:
        wanted = Terms("Words", **terms)  # type: ignore[arg-type]
        inputs = [{"word": f"w{number}"} for number in range(items)]
        return self.projects.publish(self.owner, wanted, TEMPLATE, ["word"], inputs, budget=budget)


@pytest.fixture
def setting(database: Database) -> Setting:
    return Setting(database)


def test_a_project_is_kept(setting: Setting) -> None:
    made = setting.publish(wanted=2, pay=0.25, hosts=["Pics.Example.org", "pics.example.org"])
    assert (made.items, made.wanted, made.pay, made.is_open) == (3, 2, 0.25, True)
    assert made.hosts == ["pics.example.org"]
    assert setting.projects.project(made.id) == made
    assert setting.projects.template(made.id) == TEMPLATE
    assert [item.inputs for item in setting.projects.items(made.id)][1] == {"word": "w1"}
    assert setting.projects.item(made.id, 3) is None
    assert setting.projects.all(setting.ann) == []
    assert setting.projects.all(setting.owner) == [made]


def test_impossible_terms(setting: Setting) -> None:
    for terms in (
        {"name": " "},
        {"name": "x" * 121},
        {"name": "x", "wanted": 0},
        {"name": "x", "pay": float("nan")},
        {"name": "x", "pay": -0.1},
        {"name": "x", "minutes": 0},
        {"name": "x", "hosts": ["x; script-src *"]},
        {"name": "x", "about": "x" * 2001},
    ):
        with pytest.raises(SettingError):
            setting.projects.publish(setting.owner, Terms(**terms), TEMPLATE, ["w"], [{"w": ""}])  # type: ignore[arg-type]
    with pytest.raises(TaskError, match="no rows"):
        setting.projects.publish(setting.owner, Terms("x"), TEMPLATE, ["w"], [])
    assert setting.projects.all() == [], "nothing is left of them"


@pytest.mark.parametrize("host", ["*", "a b.org", "x", "evil.org/path", "'self'", "-a.org", "a..b"])
def test_what_is_no_host(host: str) -> None:
    with pytest.raises(SettingError):
        checked_hosts([host])


def test_the_lowest_number_first_and_each_once(setting: Setting) -> None:
    project = setting.publish(wanted=1)
    work = setting.work
    first = work.accept(project, setting.ann)
    assert first.item == 0
    assert work.accept(project, setting.ann).id == first.id, "one at a time"
    assert work.accept(project, setting.bob).item == 1
    work.submit(first.key, {"a": "1"})
    second = work.accept(project, setting.ann)
    assert second.item == 2
    with pytest.raises(Conflict, match="nothing left"):
        work.accept(project, setting.cem)
    assert work.upcoming(project, setting.cem) is None


def test_several_workers_an_instance(setting: Setting) -> None:
    project = setting.publish(items=1, wanted=2)
    for person in (setting.ann, setting.bob):
        taken = setting.work.accept(project, person)
        setting.work.submit(taken.key, {"a": "x"})
        with pytest.raises(Conflict):
            setting.work.accept(project, person)
    with pytest.raises(Conflict):
        setting.work.accept(project, setting.cem)


def test_the_instance_that_was_shown_is_the_one_accepted(setting: Setting) -> None:
    project = setting.publish()
    assert setting.work.accept(project, setting.ann, 2).item == 2
    assert setting.work.accept(project, setting.bob, 2).item == 0, "somebody was faster"
    assert setting.work.accept(project, setting.cem, 99).item == 1


def test_submissions_are_taken_once(setting: Setting) -> None:
    project = setting.publish(pay=0.5)
    taken = setting.work.accept(project, setting.ann)
    setting.clock.now += 30
    sent = {"a": "first \0 ünï 𝔘\n=1+1"}
    assert setting.work.submit(taken.key, sent).status == "submitted"
    for again in (sent, {"a": "second"}):
        with pytest.raises(Conflict, match="already"):
            setting.work.submit(taken.key, again)
    [done] = setting.work.done(project.id)
    assert (done.answers, done.submitted, done.pay) == (sent, 1030.0, 0.5)
    assert setting.work.done_by(setting.ann) == {project.id: (1, 0.5)}
    with pytest.raises(Conflict):
        setting.work.submit("guess", {})
    with pytest.raises(Conflict):
        setting.work.return_(done)


def test_returned_and_skipped_go_to_others(setting: Setting) -> None:
    project = setting.publish(items=2)
    taken = setting.work.accept(project, setting.ann)
    setting.work.return_(taken)
    with pytest.raises(Conflict, match="returned"):
        setting.work.submit(taken.key, {"a": "late"})
    setting.work.skip(project.id, 1, setting.ann)
    setting.work.skip(project.id, 1, setting.ann)
    with pytest.raises(NotFound):
        setting.work.skip(project.id, 7, setting.ann)
    assert setting.work.upcoming(project, setting.ann) is None
    assert setting.work.skipped(project.id, setting.ann) == 2
    assert setting.work.accept(project, setting.bob).item == 0
    setting.work.unskip(project.id, setting.ann)
    assert setting.work.accept(project, setting.ann).item == 1


def test_time_runs_out(setting: Setting) -> None:
    project = setting.publish(items=1, minutes=5)
    taken = setting.work.accept(project, setting.ann)
    setting.clock.now += 299
    with pytest.raises(Conflict):
        setting.work.accept(project, setting.bob)
    setting.clock.now += 1
    late = setting.work.of_worker(taken.id, setting.ann)
    assert late is not None
    assert late.status == "expired"
    other = setting.work.accept(project, setting.bob)
    assert other.item == 0
    with pytest.raises(Conflict, match="time was up"):
        setting.work.submit(taken.key, {"a": "late"})
    setting.clock.now += 300
    assert setting.work.progress(project).accepted == 0
    kept = setting.work.submit(taken.key, {"a": "late, but nobody else did it"})
    assert kept.status == "submitted"
    with pytest.raises(Conflict):
        setting.work.submit(other.key, {"a": "even later"})


def test_terms_change_for_what_comes(setting: Setting) -> None:
    project = setting.publish(pay=0.1)
    taken = setting.work.accept(project, setting.ann)
    changed = setting.projects.change(project.id, Terms("Words", pay=9.0, wanted=2))
    assert changed is not None
    setting.projects.set_open(project.id, False)
    closed = setting.projects.project(project.id)
    assert closed is not None
    assert setting.work.submit(taken.key, {"a": "x"}).pay == 0.1, "as promised when accepted"
    with pytest.raises(Conflict, match="closed"):
        setting.work.accept(closed, setting.bob)
    assert setting.projects.all(only_open=True) == []


def test_what_is_whose(setting: Setting) -> None:
    project = setting.publish()
    taken = setting.work.accept(project, setting.ann)
    assert setting.work.of_worker(taken.id, setting.bob) is None
    assert setting.work.by_key(taken.key) == taken
    setting.people.set_active(setting.ann, False)
    assert setting.work.by_key(taken.key) is None


def test_progress_and_shares(setting: Setting) -> None:
    project = setting.publish(items=2, wanted=2, pay=0.5)
    for person, seconds in ((setting.ann, 10), (setting.bob, 20)):
        taken = setting.work.accept(project, person)
        setting.clock.now += seconds
        setting.work.submit(taken.key, {"a": "x"})
    setting.work.accept(project, setting.ann)
    progress = setting.work.progress(project)
    assert (progress.waiting, progress.rejected) == (2, 0)
    assert (progress.wanted, progress.done, progress.accepted) == (4, 2, 1)
    assert (progress.finished_items, progress.workers, progress.owed) == (1, 2, 1.0)
    shares = setting.work.shares(project.id)
    assert [(one.person, one.done, one.earned, one.seconds) for one in shares] == [
        (setting.ann, 1, 0.5, 10.0),
        (setting.bob, 1, 0.5, 20.0),
    ]


def test_a_file_that_comes_twice_at_once_is_there_once(setting: Setting) -> None:
    project = setting.publish(items=2, wanted=2)
    both = threading.Barrier(2)

    def records() -> Iterator[ImportedAnswers]:
        # Waits for the other, who must not be here at the same time.
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(0.3)
        yield ImportedAnswers(0, {"a": "x"}, "M1", "AX")

    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(setting.work.import_answers, project.id, records()) for _ in range(2)]
    assert sorted(one.result() for one in asked) == [0, 1]
    assert len(setting.work.done(project.id)) == 1


def test_answers_from_elsewhere_are_brought_in_once(setting: Setting) -> None:
    project = setting.publish(items=2, wanted=2)
    records = [
        ImportedAnswers(0, {"a": "x"}, "M1", "AX", 1.0, 2.0),
        ImportedAnswers(0, {"a": "x"}),
        ImportedAnswers(0, {"a": "x"}),
        ImportedAnswers(1, {"a": "x"}),
    ]
    assert setting.work.import_answers(project.id, records) == 4
    assert setting.work.import_answers(project.id, records) == 0
    [first, *_] = setting.work.done(project.id)
    assert (first.mark, first.worker, first.accepted, first.person) == ("M1", "AX", 1.0, None)
    assert setting.work.by_key(first.key) is None
    with pytest.raises(Conflict):
        setting.work.submit(first.key, {"a": "forged"})
    upcoming = setting.work.upcoming(project, setting.ann)
    assert upcoming is not None
    assert upcoming.number == 1, "the other has enough"


def test_many_at_once_get_different_instances(setting: Setting) -> None:
    project = setting.publish(items=12)
    got: list[int] = []

    def accept(person: int) -> None:
        for _ in range(4):
            taken = setting.work.accept(project, person)
            got.append(taken.item)
            setting.work.submit(taken.key, {"a": "x"})

    threads = [
        threading.Thread(target=accept, args=[person])
        for person in (setting.ann, setting.bob, setting.cem)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == list(range(12))


def test_it_is_there_when_opened_again(place: str) -> None:
    with open_database(place) as database:
        setting = Setting(database)
        project = setting.publish()
        taken = setting.work.accept(project, setting.ann)
        setting.work.submit(taken.key, {"a": "kept"})
    with open_database(place) as database:
        [done] = Assignments(database).done(project.id)
        assert done.answers == {"a": "kept"}


def test_paid_work_is_off_until_there_is_a_budget(setting: Setting) -> None:
    project = setting.publish(pay=0.1, budget=0.0)
    assert (project.is_open, project.can_pay, project.is_offered) == (True, False, False)
    assert setting.work.upcoming(project, setting.ann) is None
    with pytest.raises(Conflict, match=r"does not cover another \$0\.10"):
        setting.work.accept(project, setting.ann)
    setting.projects.set_budget(project.id, 0.3)
    for person in (setting.ann, setting.bob, setting.cem):
        setting.work.accept(project, person)
    full = setting.projects.project(project.id)
    assert full is not None
    assert full.committed == pytest.approx(0.3), "0.1 three times is covered to the cent"
    assert not full.is_offered
    with pytest.raises(Conflict, match=r"\$0\.30 are promised"):
        setting.projects.set_budget(project.id, 0.2)
    for wrong in (-1.0, float("nan"), 1e9):
        with pytest.raises(SettingError, match="Budget"):
            setting.projects.set_budget(project.id, wrong)


def test_work_without_pay_needs_no_budget(setting: Setting) -> None:
    project = setting.publish(budget=0.0)
    assert setting.work.accept(project, setting.ann).pay == 0.0


def test_a_budget_is_not_exceeded_however_many_come_at_once(setting: Setting) -> None:
    project = setting.publish(items=40, pay=0.7, budget=5.0)
    people = [setting.people.invite(f"W {n}", "worker").person.id for n in range(12)]

    def accept(person: int) -> int:
        try:
            return bool(setting.work.accept(project, person))
        except Conflict:
            return False

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(accept, people)) == 7, "7 of 0.70 fit into 5 dollars"
    after = setting.projects.project(project.id)
    assert after is not None
    assert after.committed == pytest.approx(4.9)


def test_late_answers_do_not_exceed_the_budget(setting: Setting) -> None:
    project = setting.publish(items=2, pay=1.0, budget=1.0, minutes=5)
    late = setting.work.accept(project, setting.ann)
    setting.clock.now += 300
    assert setting.work.accept(project, setting.bob, 1).item == 1
    with pytest.raises(Conflict, match="budget"):
        setting.work.submit(late.key, {"a": "late"})


def test_nothing_filled_in_is_asked_about(setting: Setting) -> None:
    project = setting.publish()
    taken = setting.work.accept(project, setting.ann)
    for empty in ({}, {"a": " \n"}):
        with pytest.raises(Conflict) as refused:
            setting.work.submit(taken.key, empty)
        assert refused.value.code == "empty"
    assert setting.work.submit(taken.key, {}, allow_empty=True).status == "submitted"


def test_what_counts_as_filled_in() -> None:
    slider = '<input type="range" name="r"><input type="hidden" name="h">'
    assert is_blank(f"{slider}<input type=radio name=a>", {"r": "5", "h": "x"})
    assert not is_blank(f"{slider}<input type=radio name=a>", {"r": "5", "a": "yes"})
    assert not is_blank(slider, {"r": "5", "h": ""}), "there is nothing else to fill in"
    assert not is_blank('<input name="q${n}">', {"q7": "x"})
    assert is_blank('<input name="q${n}">', {"q7": ""})


def test_drafts_are_kept_until_they_are_sent(setting: Setting) -> None:
    project = setting.publish(items=1, minutes=5)
    taken = setting.work.accept(project, setting.ann)
    draft = {"a": ["ünï 🦆"], "b": ["1", "2"]}
    setting.work.save_draft(taken, draft)
    kept = setting.work.by_key(taken.key)
    assert kept is not None
    assert kept.draft == draft
    with pytest.raises(SettingError, match="most that is kept"):
        setting.work.save_draft(taken, {"a": ["x" * 2**18]})
    setting.clock.now += 300
    late = setting.work.of_worker(taken.id, setting.ann)
    assert late is not None
    assert (late.status, late.draft) == ("expired", draft)
    setting.work.save_draft(late, {"a": ["more"]})
    again = setting.work.resume(late)
    assert (again.status, again.until, again.draft) == ("accepted", 1600.0, {"a": ["more"]})
    with pytest.raises(Conflict, match="Only what has expired"):
        setting.work.resume(again)
    done = setting.work.submit(taken.key, {"a": "x"})
    assert done.draft == {}
    with pytest.raises(Conflict, match="no draft"):
        setting.work.save_draft(done, draft)


def test_what_somebody_else_does_is_not_resumed(setting: Setting) -> None:
    project = setting.publish(items=1, minutes=5)
    taken = setting.work.accept(project, setting.ann)
    setting.clock.now += 300
    setting.work.accept(project, setting.bob)
    late = setting.work.of_worker(taken.id, setting.ann)
    assert late is not None
    with pytest.raises(Conflict, match="somebody else"):
        setting.work.resume(late)

"""Uploads, results and agreement: files that come and go, and figures worked out by hand."""

import csv
import io
import time
from collections import UserDict
from collections.abc import Iterator
from pathlib import Path
from weakref import WeakSet

import msgspec
import pytest
from typer.testing import CliRunner

from errands.cli import app
from errands.crowd.accounts.accounts import Accounts
from errands.crowd.hits.agreement import (
    agreements,
    fleiss_kappa,
    krippendorff_alpha,
    pair_agreement,
)
from errands.crowd.hits.assignments import Assignments
from errands.crowd.hits.batch_file import (
    check_template,
    distinct,
    mturk_time,
    read_batch,
    read_template,
    time_of,
)
from errands.crowd.hits.projects import Project, Projects, Terms
from errands.crowd.hits.results import (
    answer_names,
    match_results,
    results_csv,
    task_records,
)
from errands.crowd.hits.task_page import field_kinds
from errands.crowd.store.database import Database
from errands.errors import TaskError
from errands.turk.tasks.loader import load_tasks


def test_a_table_of_inputs() -> None:
    batch = read_batch("word,page,HITId\nété,1,x\nhiver,02,y\n".encode("utf-8-sig"))
    assert batch.columns == ("word", "page")
    assert [row.inputs for row in batch.rows] == [
        {"word": "été", "page": "1"},
        {"word": "hiver", "page": "02"},
    ]
    assert not batch.has_answers
    assert read_batch(b"HITId,x\n1,2\n", "${HITId}").columns == ("HITId", "x")
    latin = read_batch("word\nété\n".encode("latin-1"))
    assert latin.rows[0].inputs == {"word": "été"}


def test_a_file_of_results() -> None:
    batch = read_batch(b"HITId,Title,WorkerId,Input.Title,Input.w,Answer.a\nH,T,W1,it,x,yes\n")
    assert batch.columns == ("Title", "w")
    [row] = batch.rows
    assert row.inputs == {"Title": "it", "w": "x"}
    assert (row.answers, row.noted["WorkerId"]) == ({"a": "yes"}, "W1")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b"a,b\n", "no rows"),
        (b"a,a\n1,2\n", "more than once"),
        (b'a\n"open', "never closed"),
        (b"a\n1,2\n", "cells in the row"),
    ],
)
def test_tables_that_are_refused(data: bytes, said: str) -> None:
    with pytest.raises(TaskError, match=said) as failure:
        read_batch(data)
    assert str(failure.value).startswith("The CSV file ")


def test_templates_that_are_refused() -> None:
    with pytest.raises(TaskError, match="empty"):
        read_template(b" \n")
    with pytest.raises(TaskError, match="nothing to fill in"):
        read_template(b"<p>read this</p><!-- <input> -->")
    with pytest.raises(TaskError, match="most is"):
        read_template(b"<input>" + b"x" * 2**20)
    with pytest.raises(TaskError, match=r"\$\{absent\}"):
        check_template("${there} ${absent} ${not-a-word}", ["there"])
    check_template("${there}", ["there", "more"])


def test_rows_that_agree_are_one_instance() -> None:
    assert distinct([{"a": "1"}, {"a": "2"}, {"a": "1"}]) == [{"a": "1"}, {"a": "2"}]


def test_times() -> None:
    assert mturk_time(1_700_000_000.9) == "Tue Nov 14 22:13:20 UTC 2023"
    assert time_of("Tue Nov 14 22:13:20 UTC 2023") == 1_700_000_000
    assert time_of("Tue Nov 14 14:13:20 PST 2023") == 1_700_000_000
    assert time_of("2023-11-14 22:13:20") == 1_700_000_000
    for text in ("", "yesterday", "Tue Foo 14 22:13:20 UTC 2023", "Tue Nov 14 22:13:20 XYZ 2023"):
        assert time_of(text) is None


@pytest.mark.parametrize(
    "text",
    ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "Fri Dec 31 23:59:59 PST 9999"],
)
def test_times_in_no_year_are_none(text: str) -> None:
    assert time_of(text) is None, "results could not be written with it"


def test_fields_of_a_template() -> None:
    template = (
        '<input name="b"><select name="a"></select><input type=radio name=b><input type=submit'
        ' name=s><input type=hidden name=assignmentId><input name="q${i}"><textarea name=t>'
    )
    assert field_kinds(template) == {"b": "text", "a": "select", "t": "textarea"}


def publish(database: Database, name: str) -> tuple[Project, Projects, Assignments]:
    task = load_tasks("demo").task(name)
    people = Accounts(database)
    owner = people.invite("Rita", "requester").person.id
    projects, work = Projects(database), Assignments(database)
    columns = list(task.instances[0].inputs)
    inputs = [instance.inputs for instance in task.instances]
    made = projects.publish(owner, Terms(name, wanted=9), task.template, columns, inputs, task=name)
    assert work.import_answers(made.id, task_records(task)) > 0
    return made, projects, work


@pytest.mark.parametrize("name", ["Cat or Committee", "Weekend Questionnaire", "Count the Ducks"])
def test_results_are_a_task_folder_again(database: Database, tmp_path: Path, name: str) -> None:
    task = load_tasks("demo").task(name)
    project, projects, work = publish(database, name)
    content = results_csv(project, task.template, projects.items(project.id), work.done(project.id))
    folder = tmp_path / name
    folder.mkdir()
    (folder / "template.html").write_text(task.template)
    (folder / "batch.csv").write_bytes(content)
    again = load_tasks(folder).task(folder.name)
    assert [one.id for one in again.instances] == [one.id for one in task.instances]
    for one, other in zip(again.instances, task.instances, strict=True):
        assert {field: one.labels[field] for field in task.fields} == other.labels
    # Its own rows are known by their names: taken in again, nothing is new.
    found = match_results(project, projects.items(project.id), read_batch(content, task.template))
    assert (found.strangers, found.rejected) == (0, 0)
    assert work.import_answers(project.id, found.records) == 0


def test_what_workers_submit_is_a_task_folder_with_these_labels(
    database: Database, tmp_path: Path
) -> None:
    name = "Cat or Committee"
    task = load_tasks("demo").task(name)
    people, projects, work = Accounts(database), Projects(database), Assignments(database)
    owner = people.invite("Rita", "requester").person.id
    columns = list(task.instances[0].inputs)
    inputs = [instance.inputs for instance in task.instances]
    project = projects.publish(owner, Terms(name, wanted=3), task.template, columns, inputs)
    for place in range(3):
        worker = people.invite(f"Worker {place}", "worker").person.id
        for instance in task.instances:
            taken = work.accept(project, worker)
            answers = {field: held[place] for field, held in instance.labels.items()}
            # Browsers send texts, and nothing for what is not chosen.
            work.submit(taken.key, {name: str(value) for name, value in answers.items() if value})
    content = results_csv(project, task.template, projects.items(project.id), work.done(project.id))
    folder = tmp_path / name
    folder.mkdir()
    (folder / "template.html").write_text(task.template)
    (folder / "batch.csv").write_bytes(content)
    again = load_tasks(folder).task(folder.name)
    for one, other in zip(again.instances, task.instances, strict=True):
        assert one.inputs == other.inputs
        assert one.labels == {field: held[:3] for field, held in other.labels.items()}
    said = CliRunner().invoke(app, ["turk", "info", str(folder)])
    assert said.exit_code == 0, said.output
    assert "radio" in said.output


def test_results_have_the_columns_of_mechanical_turk(database: Database) -> None:
    project, projects, work = publish(database, "Cat or Committee")
    worker = Accounts(database).invite("Ann", "worker").person.id
    taken = work.accept(project, worker)
    work.submit(taken.key, {"author": "cat", "cat_word": '=HYPERLINK("x")', "new": 'a,\n"b"'})
    content = results_csv(project, projects.template(project.id), projects.items(project.id),
                          work.done(project.id))  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(content.decode())))
    header = list(rows[0])
    assert header[:3] == ["HITId", "HITTypeId", "Title"]
    assert header.index("WorkTimeInSeconds") < header.index("Input.line")
    assert header.index("Input.line") < header.index("Answer.author") < header.index("Approve")
    [own] = [row for row in rows if row["WorkerId"] == f"W{worker}"]
    assert own["Answer.cat_word"] == '=HYPERLINK("x")', "data is data"
    assert own["Answer.new"] == 'a,\n"b"'
    assert own["AssignmentStatus"] == "Submitted"
    assert taken.key not in content.decode(), "a key opens a page"
    assert len({row["AssignmentId"] for row in rows}) == len(rows)


def test_results_say_what_was_promised_for_each(database: Database) -> None:
    people, projects, work = Accounts(database), Projects(database), Assignments(database)
    owner = people.invite("Rita", "requester").person.id
    terms = Terms("Words", wanted=2, pay=0.5)
    project = projects.publish(
        owner, terms, "<input name=a>", ["word"], [{"word": "w"}], budget=1.0
    )
    for pay in (0.5, 0.1):
        changed = projects.change(project.id, msgspec.structs.replace(terms, pay=pay))
        assert changed is not None
        taken = work.accept(changed, people.invite("Ann", "worker").person.id)
        work.submit(taken.key, {"a": "x"})
    content = results_csv(changed, "", projects.items(project.id), work.done(project.id))
    rows = csv.DictReader(io.StringIO(content.decode()))
    assert [row["Reward"] for row in rows] == ["$0.50", "$0.10"]


def test_a_header_with_many_columns_is_soon_read() -> None:
    names = [f"c{number}" for number in range(50_000)]
    begun = time.process_time()
    batch = read_batch("{0}\n{0}\n".format(",".join(names)).encode())
    assert list(batch.columns) == names
    assert time.process_time() - begun < 5, "pairs of columns are not compared one by one"


def test_a_file_from_elsewhere_is_matched_by_its_inputs(database: Database) -> None:
    people, projects, work = Accounts(database), Projects(database), Assignments(database)
    owner = people.invite("Rita", "requester").person.id
    inputs = [{"n": "3.0", "t": "x"}, {"n": "4", "t": ""}]
    project = projects.publish(owner, Terms("N", wanted=3), "<input name=a>", ["n", "t"], inputs)
    file = (
        b"HITId,AssignmentId,WorkerId,AssignmentStatus,AcceptTime,SubmitTime,Input.n,Input.t,"
        b"Answer.a\n"
        b"H,A1,W9,Approved,Tue Nov 14 22:13:20 UTC 2023,Tue Nov 14 22:14:20 UTC 2023,3,x,one\n"
        b"H,A2,W9,Rejected,,,3,x,two\nH,A3,W9,Approved,,,5,x,three\nH,A4,W9,Approved,,,4,NA,\n"
    )
    found = match_results(project, projects.items(project.id), read_batch(file))
    assert (len(found.records), found.rejected, found.strangers, found.empty) == (1, 1, 1, 1)
    assert work.import_answers(project.id, found.records) == 1
    [done] = work.done(project.id)
    assert (done.mark, done.worker, done.item, done.answers) == ("A1", "W9", 0, {"a": "one"})
    assert (done.accepted, done.submitted) == (1_700_000_000, 1_700_000_060)
    for bad, said in (
        (b"n,t\n3,x\n", "nothing to import"),
        (b"n,Answer.a\n3,x\n", "no column Input.t"),
        (b"n,t,Answer.a\n9,9,x\n", "No row"),
    ):
        with pytest.raises(TaskError, match=said):
            match_results(project, projects.items(project.id), read_batch(bad))


# Fleiss' own table (1971): 10 subjects, 14 raters, 5 categories; kappa 0.210.
FLEISS = [
    (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
]  # fmt: skip


def test_fleiss_kappa_of_a_known_table() -> None:
    units = [["abcde"[place] for place, n in enumerate(row) for _ in range(n)] for row in FLEISS]
    assert fleiss_kappa(units) == pytest.approx(0.210, abs=5e-4)
    assert pair_agreement(units) == pytest.approx(0.378, abs=5e-4)


def test_krippendorff_alpha_of_a_known_table() -> None:
    # Krippendorff's example of two observers and ten binary units: alpha 0.095.
    one, two = "0100000010", "1110010000"
    units = [list(pair) for pair in zip(one, two, strict=True)]
    assert krippendorff_alpha(units) == pytest.approx(0.095, abs=5e-4)
    # Four observers with gaps: alpha 0.743.
    table = ["123321412***", "1233224125*3", "*3332342251*", "12332441251*"]
    columns = [[cell for cell in column if cell != "*"] for column in zip(*table, strict=True)]
    assert krippendorff_alpha(columns) == pytest.approx(0.743, abs=5e-4)


def test_figures_that_are_not_defined() -> None:
    assert pair_agreement([["a"]]) is None
    assert fleiss_kappa([]) is None
    assert fleiss_kappa([["a", "a"], ["a", "a"]]) is None
    assert krippendorff_alpha([["a", "a"], ["a", "a"]]) is None
    assert fleiss_kappa([["a", "b"], ["a", "b", "b"]]) is None, "unequal numbers of answers"
    assert krippendorff_alpha([["a", "a"], ["b", "b", "b"]]) == 1.0


def given_by(item: int, **answers: str) -> tuple[int, dict[str, str]]:
    return item, answers


def test_texts_without_end_are_not_compared() -> None:
    """Two workers could keep the server busy with every look at a project."""
    given = [given_by(0, t=f"{word} " * 300_000) for word in ("ab", "ba")]
    [found] = agreements(given, ["t"], {"t": "textarea"})
    assert (found.same, found.rouge) == (0.0, None)


def test_answers_with_nobody_to_agree_with_are_not_kept() -> None:
    """A project may have hundreds of thousands, and its page is looked at often."""

    class Answered(UserDict[str, str]):
        __hash__ = object.__hash__

    alive: WeakSet[Answered] = WeakSet()

    def many() -> Iterator[tuple[int, Answered]]:
        for item in range(1000):
            for _ in range(1 + (item < 5)):
                answered = Answered(a="x")
                alive.add(answered)
                assert len(alive) < 20
                yield item, answered

    [found] = agreements(many(), ["a"], {"a": "radio"})
    assert (found.units, found.answers, found.same) == (5, 10, 1.0)


def test_agreement_field_by_field() -> None:
    given = [
        given_by(0, r="a", c="on", t="the cat ran"),
        given_by(0, r="a", t="The cats are running!"),
        given_by(1, r="b"),
        given_by(1, r="a"),
        given_by(2, r="a"),
    ]
    names = answer_names(
        "<input type=radio name=r><input name=t>", (answers for _, answers in given)
    )
    assert names == ["r", "t", "c"]
    kinds = {"r": "radio", "t": "text", "c": "checkbox"}
    radio, text, box = agreements(given, names, kinds)
    assert (radio.units, radio.answers, radio.same) == (2, 4, 0.5)
    assert radio.kappa == pytest.approx(-1 / 3)
    assert radio.alpha == pytest.approx(0.0)
    assert (text.units, text.same, text.kappa) == (1, 0.0, None)
    assert text.rouge == pytest.approx(4 / 7)
    assert (box.units, box.same) == (2, 0.5), "a box that is not ticked is an answer"

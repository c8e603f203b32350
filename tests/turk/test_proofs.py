"""Proofs: kept, found, and believed by `auto`, which believes nothing else."""

import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from errands.errors import SettingError
from errands.turk import proofs
from errands.turk.actions.action import Action
from errands.turk.dom.driver import DomDriver
from errands.turk.dom.effects import CHECKED, UNCHECKED, Effect, EffectRule, Target, Trigger
from errands.turk.drivers import Pages
from errands.turk.pages.driver import Driver, DriverError
from errands.turk.proofs import (
    EDITION,
    Proof,
    find_proof,
    keep_proof,
    proofs_folder,
    write_proofs,
)
from errands.turk.tasks.loader import load_tasks
from errands.turk.tasks.task import Instance, Task


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ERRANDS_HOME", str(tmp_path))


def no_browser() -> Driver:
    raise DriverError("There is no browser.")


def test_kept_and_found() -> None:
    assert find_proof("abc") is None
    keep_proof(Proof("abc", True, EDITION, 2, 5))
    assert find_proof("abc") == Proof("abc", True, EDITION, 2, 5)
    keep_proof(Proof("abc", False, EDITION, 2, 5, "differs"))
    found = find_proof("abc")
    assert found is not None
    assert not found.equal


def test_proofs_of_another_edition_count_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    keep_proof(Proof("abc", True, EDITION, 2, 5))
    monkeypatch.setattr(proofs, "EDITION", EDITION + 1)
    assert find_proof("abc") is None


def test_reactions_are_kept_with_the_proof_and_used() -> None:
    task = load_tasks("demo").task("Teapot Reviews")
    field = next(f for f in DomDriver().open(task.template).fields() if f.type == "radio")
    name, (first, second, *_) = field.name, field.options
    takes_back = EffectRule(
        Trigger(name, 0, CHECKED),
        (Effect(Target(name, 0), "checked", False), Effect(Target(name, 0), "@title", None)),
        Trigger(name, 1, UNCHECKED),
    )
    proof = Proof(task.template_hash, True, EDITION, 2, 5, effect_rules=(takes_back,))
    keep_proof(proof)
    assert find_proof(task.template_hash) == proof
    for driver in ("auto", "dom"):
        page = Pages(driver, browser=no_browser).open(task, task.instances[0])
        for answer, held in ((first, []), (second, [second])):
            page.perform(Action("modify_radio", {"name": name, "value": answer}))
            assert page.values(name) == held


def test_a_proof_without_reactions_is_read() -> None:
    keep_proof(Proof("abc", True, EDITION, 2, 5))
    path = proofs_folder() / "abc.json"
    path.write_text(path.read_text().replace(',"reactions":[]', ""))
    assert "effect_rules" not in path.read_text()
    assert find_proof("abc") == Proof("abc", True, EDITION, 2, 5)
    keep_proof(Proof("abc", True, EDITION - 1, 2, 5))
    assert find_proof("abc") is None


def test_auto_takes_the_browser_unless_proven() -> None:
    task = load_tasks("demo").task("Teapot Reviews")
    pages = Pages("auto", browser=no_browser)
    keep_proof(Proof(task.template_hash, False, EDITION, 2, 5, "differs"))
    assert pages.choice(task) == "browser"
    with pytest.raises(DriverError, match=r"not known to be the same without one.*turk verify"):
        pages.open(task, task.instances[0])
    keep_proof(Proof(task.template_hash, True, EDITION, 2, 5))
    assert pages.choice(task) == "dom"
    pages.open(task, task.instances[0]).close()
    keep_proof(Proof(task.template_hash, True, EDITION, 2, 5, pointer=True))
    assert pages.choice(task) == "browser"
    pages.close()


def test_proofs_of_the_demo_tasks_ship() -> None:
    tasks = load_tasks("demo")
    proven = [task.name for task in tasks if find_proof(task.template_hash) is not None]
    assert len(proven) == len(tasks)
    on_dom = [task.name for task in tasks if Pages("auto").choice(task) == "dom"]
    assert len(on_dom) >= 20


def test_wrong_driver_is_one_sentence() -> None:
    with pytest.raises(SettingError, match="expected auto, dom, browser"):
        Pages("horse")


def made_task(template: str, *values: str) -> Task:
    rows = [Instance("t", row, {"x": value}, {"a": ("1",)}) for row, value in enumerate(values)]
    return Task("t", template, rows, ("a",))


def test_a_page_on_which_nothing_acts_needs_no_proof() -> None:
    task = made_task("<p>${x}</p><input name=a>", "one", "<script>two()</script>")
    pages = Pages("auto", browser=no_browser)
    assert pages.choice(task) == "dom"
    assert pages.open(task, task.instances[0]).text() == "one"
    with pytest.raises(DriverError, match="not known to be the same"):
        pages.open(task, task.instances[1])
    acting = made_task("<input name=a onclick='x()'>", "one")
    assert pages.choice(acting) == "browser"
    keep_proof(Proof(task.template_hash, False, EDITION, 1, 1, "differs"))
    assert pages.choice(task) == "browser", "a proof has the last word"


def test_proofs_in_a_file_tell_nothing_of_the_pages(tmp_path: Path) -> None:
    reasons = [
        "row 3: modify_radio('q', 'a'): text: 'Secret words: here' against ''",
        "row 0: load: visible of 'it': True against False",
        "not proven within 600 seconds",
    ]
    proofs = [Proof(f"{n}", False, EDITION, 1, 1, reason) for n, reason in enumerate(reasons)]
    write_proofs(tmp_path / "proofs.jsonl", proofs)
    lines = (tmp_path / "proofs.jsonl").read_bytes().splitlines()
    assert [msgspec.json.decode(line, type=Proof).reason for line in lines] == [
        "row 3: modify_radio('q', 'a'): text",
        "row 0: load: visible of 'it'",
        "not proven within 600 seconds",
    ]


REAL = Path(__file__).resolve().parents[3] / "shared" / "data" / "turkingbench" / "tasks"


@pytest.mark.skipif(not REAL.is_dir(), reason="../shared/data/turkingbench is not here")
def test_proofs_of_the_shared_tasks_ship() -> None:
    tasks = load_tasks(REAL)
    proofs = {task.name: find_proof(task.template_hash) for task in tasks}
    assert all(proof is not None for proof in proofs.values())
    pages = Pages("auto", browser=no_browser)
    assert sum(pages.choice(task) == "dom" for task in tasks) >= 60
    for name in ("Ethical rule-of-thumb quality", "Advice Gen", "Annotation subj_obj"):
        assert pages.choice(tasks.task(name)) == "browser"


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
@pytest.mark.parametrize(
    "failing", ["", "verify --shard 1/2", "compare --shard 1/2", "--shard 2/2"]
)
def test_make_turk_proofs_ends_where_a_shard_fails(tmp_path: Path, failing: str) -> None:
    programs = tmp_path / "venv" / "bin"
    programs.mkdir(parents=True)
    words = "".join(f'*"{word}"' for word in (failing or "never").split(" --"))
    errands = f'#!/bin/sh\ncase "$*" in {words}*) sleep 0.1; exit 3;; esac\n'
    for name, text in (("errands", errands), ("python", '#!/bin/sh\ntouch "$2/written"\n')):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    for mark in (".base", ".ready"):
        (tmp_path / "venv" / mark).touch()
    root = Path(__file__).resolve().parents[2]
    places = f"VENV={tmp_path}/venv", f"PROOFS={tmp_path}/proofs"
    done = subprocess.run(["make", "-C", root, "turk-proofs", *places], capture_output=True)
    assert (done.returncode == 0) == (not failing), done.stderr
    assert (tmp_path / "proofs" / "written").exists() == (not failing)

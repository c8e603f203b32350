"""Proof on first use: paid once, kept whatever it says, and no result depends on it."""

import csv
import json
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from command import in_process
from effort import effort, only_slow

from errands import run
from errands.envs.turk import TurkEnv
from errands.errors import SettingError
from errands.runs.episode import Summary
from errands.runs.runner import RunResult
from errands.runs.store.places import open_run
from errands.turk import proofs
from errands.turk.actions.action import Action
from errands.turk.browser.driver import BrowserDriver
from errands.turk.drivers import Pages, no_browser
from errands.turk.effects.first_use import prove_on_first_use
from errands.turk.pages.driver import Unsupported
from errands.turk.proofs import adopt_proofs, find_proof, own_proofs, proofs_folder
from errands.turk.tasks.loader import load_tasks

REVEALS = """<p>${word}</p>
<input type="radio" name="q" value="yes" onclick="show('')"> Yes
<input type="radio" name="q" value="no" onclick="show('none')"> No
<div id="more" style="display:none"><select name="s"><option>a<option>b</select></div>
<script>function show(how) { document.getElementById('more').style.display = how }</script>"""
FLIPS = REVEALS.replace(".style.display = how", ".hidden ^= 1").replace(' style="display:none"', "")
PLAIN = '<p>${word}</p><input type="radio" name="q" value="yes"> Yes <p><input name="s"> why'
ROWS = effort(2, 4)
TASKS = {"Flips": FLIPS, "Plain": PLAIN, "Reveals": REVEALS}


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("ERRANDS_HOME", str(tmp_path / "home"))
    yield
    proofs._of_process.clear()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three tasks that nobody has judged."""
    place = tmp_path_factory.mktemp("tasks")
    for name, template in TASKS.items():
        (place / name).mkdir()
        (place / name / "template.html").write_text(template)
        with (place / name / "batch.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["Input.word", "Answer.q", "Answer.s"])
            rows.writerows([f"word {n}", ("yes", "no")[n % 2], "b"] for n in range(ROWS))
    return place


def outcome(result: RunResult) -> list[Any]:
    """All that came of the episodes, and every page that was shown."""
    with closing(open_run(result.place)) as store:
        return [
            (
                episode.summary.reward,
                episode.summary.parts["fields"],
                [(step.action, step.digest, step.observation) for step in episode.steps],
            )
            for episode in sorted(store.episodes(), key=lambda each: each.summary.number)
        ]


def played(folder: Path, out: Path, agent: str = "random", **options: Any) -> RunResult:
    remarks = options.pop("remarks", [])
    result = run("turk", agent, data=str(folder), out=out, on_remark=remarks.append, **options)
    assert result.kept == ROWS * len(TASKS)
    return result


def test_a_run_finds_out_once_and_plays_the_same(
    folder: Path, tmp_path: Path, browser_driver: BrowserDriver
) -> None:
    stages: list[tuple[str, int, int | None]] = []
    told: list[str] = []
    unproven = played(folder, tmp_path / "0", prove=0, remarks=told)
    assert told == []
    assert not proofs_folder().exists()
    first = played(
        folder, tmp_path / "1", remarks=told, progress=lambda *stage: stages.append(stage)
    )
    assert len(told) == 1
    assert told[0].startswith("2 tasks have scripts and no proof yet")
    assert "at most 60 s each" in told[0]
    assert stages == [("proving", n, 2) for n in range(3)]
    choice = {task.name: Pages().choice(task) for task in load_tasks(str(folder))}
    assert choice == {"Flips": "browser", "Plain": "dom", "Reveals": "dom"}
    proof = find_proof(load_tasks(str(folder)).task("Flips").template_hash)
    assert proof is not None
    assert "visible of 's'" in proof.reason
    again = played(
        folder, tmp_path / "2", remarks=told, progress=lambda *stage: stages.append(stage)
    )
    workers = played(folder, tmp_path / "3", remarks=told, workers=2)
    assert (len(told), len(stages)) == (1, 3), "and never again"
    assert unproven.info.protocol_key == first.info.protocol_key == again.info.protocol_key
    assert workers.info.protocol_key == first.info.protocol_key
    expected = outcome(played(folder, tmp_path / "4", driver="browser"))
    for one in (unproven, first, again, workers):
        assert outcome(one) == expected


@only_slow
def test_a_run_that_was_begun_unproven_goes_on_proven(
    folder: Path, tmp_path: Path, browser_driver: BrowserDriver
) -> None:
    expected = outcome(played(folder, tmp_path / "whole", prove=0))

    def stop(summary: Summary) -> None:
        if summary.number == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        played(folder, tmp_path / "run", prove=0, on_episode=stop)
    resumed = played(folder, tmp_path / "run", resume=True)
    assert 0 < resumed.played < ROWS * len(TASKS)
    assert proofs_folder().is_dir()
    assert outcome(resumed) == expected


@only_slow
def test_too_little_time_is_remembered_and_more_of_it_decides(
    folder: Path, tmp_path: Path, browser_driver: BrowserDriver
) -> None:
    task = load_tasks(str(folder)).task("Reveals")
    first = played(folder, tmp_path / "1", prove=0.001)
    proof = find_proof(task.template_hash)
    assert proof is not None
    assert (proof.equal, proof.undecided) == (False, 0.001)
    assert proof.reason == "not decided within 0.001 seconds"
    assert Pages().choice(task) == "browser"
    told: list[str] = []
    again = played(folder, tmp_path / "2", remarks=told)
    assert told == [], "it was paid"
    assert outcome(again) == outcome(first)
    words = ("turk", "verify", folder, "--task", "Reveals", "--resume", "--json")
    done = in_process(*words, "--seconds", 60, cwd=tmp_path)
    verified = json.loads(done.stdout)
    assert (verified["proof"]["equal"], verified["proof"]["undecided"]) == (True, 0)
    assert verified["driver"] == "dom"
    before = (proofs_folder() / f"{task.template_hash}.json").stat().st_mtime_ns
    in_process(*words, "--seconds", 90, cwd=tmp_path)
    after = (proofs_folder() / f"{task.template_hash}.json").stat().st_mtime_ns
    assert before == after, "what is decided is passed over"


@only_slow
def test_an_environment_proves_only_if_asked_to(
    folder: Path, browser_driver: BrowserDriver
) -> None:
    task = load_tasks(str(folder)).task("Reveals")
    start = {"options": {"task": "Reveals", "row": 1}}
    env = TurkEnv(str(folder), observation="text")
    first, _ = env.reset(**start)
    env.step("modify_radio('q', 'yes')")
    saved = env.snapshot()
    assert find_proof(task.template_hash) is None
    env.close()
    env = TurkEnv(str(folder), observation="text", prove=60)
    assert env.reset(**start)[0] == first
    proof = find_proof(task.template_hash)
    assert proof is not None
    assert proof.equal
    assert env.pages.choice(task) == "dom"
    _, again = env.restore(saved)
    assert [(field["name"], field["visible"]) for field in again["fields"]] == [
        ("q", True), ("s", True),
    ], "who showed a page under auto does not matter"  # fmt: skip
    env.close()
    for wrong in (-1, "60", True, float("nan"), 1e9):
        with pytest.raises(SettingError, match=r"prove=.*expected the seconds"):
            TurkEnv(str(folder), prove=wrong)
        with pytest.raises(SettingError, match=r"prove=.*expected the seconds"):
            run("turk", "oracle", data=str(folder), prove=wrong)  # type: ignore[arg-type]


def test_nothing_is_proven_where_it_is_of_no_use(folder: Path) -> None:
    tasks = load_tasks(str(folder))
    pairs = [(task, "train") for task in tasks]
    pictured = Pages()
    pictured.needs_pictures = True
    for pages in (Pages("dom"), Pages(browser=no_browser), pictured, Pages(submits=True)):
        assert prove_on_first_use(pairs, pages) == []
    assert not proofs_folder().exists()


def test_a_page_that_fails_is_left_to_the_browser(folder: Path) -> None:
    class Broken(BrowserDriver):
        def open(self, html: str, *, files: Path | None = None) -> Any:
            from errands.turk.pages.driver import DriverError

            raise DriverError("the page fell apart")

    task = load_tasks(str(folder)).task("Reveals")
    (proof,) = prove_on_first_use([(task, "train")], Pages(browser=Broken), 5)
    assert (proof.equal, proof.undecided, proof.reason) == (False, 5, "the page fell apart")
    assert prove_on_first_use([(task, "train")], Pages(browser=Broken), 5) == []


def test_a_home_that_cannot_be_written_to(
    folder: Path, tmp_path: Path, browser_driver: BrowserDriver
) -> None:
    """The proof holds for the process, and goes to workers with their job."""
    (tmp_path / "home").write_text("a file, where a folder should be")
    task = load_tasks(str(folder)).task("Reveals")
    pages = Pages(browser=lambda: browser_driver)
    prove_on_first_use([(task, "train")], pages)
    assert Pages().choice(task) == "dom"
    sent = own_proofs([task.template_hash])
    proofs._of_process.clear()
    assert find_proof(task.template_hash) is None
    adopt_proofs(sent)
    assert find_proof(task.template_hash) == sent[0]


def test_no_proof_outlasts_its_time(folder: Path, browser_driver: BrowserDriver) -> None:
    """Also where it goes into trying a page out."""
    radios = "".join(
        f'<input type="radio" name="{name}" value="{value}" onclick="act()">'
        for name in ("q", "s", *"abcdefgh")
        for value in "yn"
    )
    script = "document.body.classList.toggle('on', Math.random() < 0.5)"
    (folder.parent / "slow" / "Slow").mkdir(parents=True)
    place = folder.parent / "slow" / "Slow"
    place.joinpath("template.html").write_text(
        f"${{word}}{radios}<style>.on [name=h] {{display: none}}</style>"
        f"<script>function act() {{ {script} }}</script>"
    )
    place.joinpath("batch.csv").write_text("Input.word,Answer.q,Answer.s\none,y,n\ntwo,n,y\n")
    task = load_tasks(str(place.parent)).task("Slow")
    begun = time.monotonic()
    (proof,) = prove_on_first_use([(task, "train")], Pages(browser=lambda: browser_driver), 2)
    assert not proof.equal
    assert time.monotonic() - begun < 60


def test_a_proven_page_goes_over_to_the_browser_for_a_click(
    folder: Path, browser_driver: BrowserDriver
) -> None:
    task = load_tasks(str(folder)).task("Reveals")
    pages = Pages(browser=lambda: browser_driver)
    prove_on_first_use([(task, "train")], pages)
    page = pages.open(task, task.instances[0])
    page.perform(Action("modify_radio", {"name": "q", "value": "yes"}))
    page.perform(Action("modify_select", {"name": "s", "value": "b"}))
    page.perform(Action("click", {"selector": "[value=no]"}))
    assert page.values_of(["q", "s"]) == {"q": ["no"], "s": ["b"]}
    assert [field.visible for field in page.fields(["q", "s"])] == [True, False]
    assert page.screenshot().startswith(b"\x89PNG")
    page.close()
    alone = Pages(browser=no_browser).open(task, task.instances[0])
    with pytest.raises(Unsupported, match="'dom' has no action 'click'"):
        alone.perform(Action("click", {"selector": "[value=no]"}))


def test_a_table_that_grew_is_judged_anew(
    folder: Path, tmp_path: Path, browser_driver: BrowserDriver
) -> None:
    """A trial with a few rows says nothing about a row that was not there."""
    place = tmp_path / "tasks" / "Rare"
    place.mkdir(parents=True)
    script = (
        "<script>if ('${word}' === 'rare') document.querySelector('[name=s]').hidden = 1</script>"
    )
    place.joinpath("template.html").write_text(REVEALS.partition("<script>")[0] + script)
    pages = Pages(browser=lambda: browser_driver)
    rows = ["one,yes,b", "two,no,b"]
    for more, choice in ([], "dom"), (["rare,yes,b"], "browser"), ([], "browser"):
        rows += more
        place.joinpath("batch.csv").write_text("\n".join(["Input.word,Answer.q,Answer.s", *rows]))
        task = load_tasks(str(place.parent)).task("Rare")
        prove_on_first_use([(task, "train")], pages)
        assert pages.choice(task) == choice
    assert prove_on_first_use([(task, "train")], pages) == [], "also that is known now"


def test_what_ships_decides_where_time_was_too_short() -> None:
    shipped = proofs._shipped()
    name = next(iter(shipped))
    proofs.keep_proof(proofs.Proof(name, False, proofs.EDITION, 0, 0, undecided=60))
    assert find_proof(name) is shipped[name]
    proofs.keep_proof(proofs.Proof(name, False, proofs.EDITION, 2, 0, "differs"))
    found = find_proof(name)
    assert found is not None
    assert found.reason == "differs"

"""The rules `submitted`: what counts, with and without a browser, and what does not move."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from errands.envs.turk import TurkEnv
from errands.errors import SettingError
from errands.reports import report
from errands.reports.statistics.turk_figures import task_figures, turk_figures
from errands.runs.episode import Summary
from errands.runs.protocol import find_protocol, named_protocols
from errands.runs.runner import run
from errands.turk.browser.driver import BrowserDriver
from errands.turk.dom.driver import DomDriver
from errands.turk.drivers import Pages
from errands.turk.pages.driver import DriverError, OpenPage
from errands.turk.tasks.loader import load_tasks

PLAIN = "<p>${q}</p><input type=hidden name=h value='red'><input name=a><input name=off disabled>"
SCRIPTED = (
    "<p>${q}</p><input name=a><input type=hidden name=h><script>"
    "document.querySelector('form').addEventListener('submit', () => {"
    " const a = document.querySelector('[name=a]');"
    " document.querySelector('[name=h]').value = a.value + '!'; a.value = 'spoilt' })</script>"
)
TABLE = "q,Answer.h,Answer.a,Answer.off,Answer.absent\n1,red,x,y,z\n1,blue,x,y,z\n"


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> str:
    place: Path = tmp_path_factory.mktemp("tasks")
    for name, template in {"Plain": PLAIN, "Scripted": SCRIPTED}.items():
        (place / name).mkdir()
        (place / name / "template.html").write_text(template)
        (place / name / "batch.csv").write_text(
            TABLE.replace("red", "x!" if "S" in name else "red")
        )
    return str(place)


@pytest.fixture
def in_browser(tasks: str, browser_driver: BrowserDriver) -> Iterator[TurkEnv]:
    env = TurkEnv(tasks, rules="submitted", driver=browser_driver)
    yield env
    env.close()


def finish(env: TurkEnv, task: str, *actions: str) -> tuple[float, dict[str, Any]]:
    env.reset(options={"task": task, "row": 0})
    for action in actions:
        env.step(action)
    _, reward, terminated, _, info = env.step("submit()")
    assert terminated
    return float(reward), info


def test_hidden_fields_count_and_disabled_or_absent_ones_do_not(tasks: str) -> None:
    env = TurkEnv(tasks, rules="submitted", driver="dom")
    reward, info = finish(env, "Plain")
    assert info["field_scores"] == {
        "paper": {"a": 0.0, "off": 0.0},
        "released": {"a": 0.0, "off": 0.0},
        "submitted": {"a": 0.0, "h": 1.0},
    }
    assert (reward, info["score"]) == (0.5, 0.5)
    reward, info = finish(env, "Plain", "modify_text('a', 'x')")
    assert (reward, info["success"]) == (1.0, True)
    env.close()


def test_the_list_of_fields_has_the_hidden_ones(tasks: str) -> None:
    env = TurkEnv(tasks, rules="submitted", driver="dom")
    _, info = env.reset(options={"task": "Plain", "row": 0})
    assert {field["name"]: field["visible"] for field in info["fields"]} == {
        "a": True, "off": True, "h": False,
    }  # fmt: skip
    env.close()


def test_submitting_runs_the_pages_handlers(in_browser: TurkEnv) -> None:
    reward, info = finish(in_browser, "Scripted", "modify_text('a', 'x')")
    # The handler spoils a displayed field: read before for the other rules, sent as it is then.
    assert info["field_scores"]["paper"] == {"a": 1.0}
    assert info["field_scores"]["submitted"] == {"a": 0.0, "h": 1.0}
    assert reward == 0.5


def test_other_rules_submit_nothing(tasks: str, browser_driver: BrowserDriver) -> None:
    for rules in ("paper", "released"):
        env = TurkEnv(tasks, rules=rules, driver=browser_driver)
        reward, info = finish(env, "Scripted", "modify_text('a', 'x')")
        assert reward == 1.0
        assert set(info["field_scores"]) == {"paper", "released"}
        assert env.page.values_of(["a", "h"]) == {"a": ["x"], "h": [""]}
        env.close()


def test_an_episode_without_steps_left_is_taken_as_submitted(
    tasks: str, browser_driver: BrowserDriver
) -> None:
    env = TurkEnv(tasks, rules="submitted", driver=browser_driver, max_steps=1)
    env.reset(options={"task": "Scripted", "row": 0})
    _, reward, terminated, truncated, info = env.step("modify_text('a', 'x')")
    assert (terminated, truncated, reward) == (False, True, 0.5)
    assert info["field_scores"]["submitted"]["h"] == 1.0
    env.close()


def test_a_snapshot_of_the_end_has_the_same_scores(in_browser: TurkEnv) -> None:
    _, info = finish(in_browser, "Scripted", "modify_text('a', 'x')")
    _, again = in_browser.restore(in_browser.snapshot())
    assert again["field_scores"] == info["field_scores"]


def test_a_page_with_scripts_is_an_error_without_a_browser(tasks: str) -> None:
    env = TurkEnv(tasks, rules="submitted", driver="dom")
    env.reset(options={"task": "Scripted", "row": 0})
    with pytest.raises(DriverError, match=r"scripts.*'browser'"):
        env.step("submit()")
    env.close()


def test_auto_takes_the_browser_for_pages_with_scripts() -> None:
    proven = load_tasks("demo").task("Delivery Trouble Report")
    assert Pages().choice(proven) == "dom"
    assert Pages(submits=True).choice(proven) == "browser"
    plain = load_tasks("demo").task("Cat or Committee")
    assert Pages(submits=True).choice(plain) == Pages().choice(plain) == "dom"
    assert Pages("dom", submits=True).choice(proven) == "dom"


def test_unknown_rules_are_refused() -> None:
    with pytest.raises(SettingError, match="paper, released, submitted"):
        TurkEnv(rules="sent")


def test_the_protocol_plays_by_these_rules() -> None:
    protocol = find_protocol("turk-challenge-submitted")
    assert protocol.rules == "submitted"
    assert protocol.split == named_protocols()["turk-challenge"].split == "test_challenge"


def test_a_run_and_its_report_show_what_was_submitted(tasks: str, tmp_path: Path) -> None:
    folder = tmp_path / "tasks"
    shutil.copytree(Path(tasks) / "Plain", folder / "Plain")
    played: list[Summary] = []
    for rules in ("submitted", "paper"):
        result = run(
            "turk", "oracle", data=str(folder), rules=rules, driver="dom",
            out=tmp_path / rules, on_episode=played.append,
        )  # fmt: skip
        assert result.kept == 1
    assert [one.parts["fields"] for one in played] == [
        [["a", "text", 1.0, 1.0, 1.0], ["off", "text", 0.0, 0.0, None],
         ["h", "hidden", None, None, 1.0]],
        [["a", "text", 1.0, 1.0, None], ["off", "text", 0.0, 0.0, None]],
    ]  # fmt: skip
    assert [one.reward for one in played] == [1.0, 0.5]
    assert [one.submitted for one in task_figures(played[:1])] == [1.0]
    assert [one.submitted for one in task_figures(played[1:])] == [None]
    figures = [turk_figures([(0, one.parts)]) for one in played]
    assert [list(one.rules) for one in figures] == [
        ["paper", "released", "submitted"], ["paper", "released"],
    ]  # fmt: skip
    report(tmp_path / "submitted", tmp_path / "report")
    text = "".join(path.read_text() for path in (tmp_path / "report").glob("*.md"))
    assert "score, submitted rules" in text


def test_episodes_from_before_these_rules_can_still_be_read() -> None:
    old = {"task": "t", "row": 0, "fields": [["a", "text", 1.0, 0.5]]}
    figures = turk_figures([(0, old)])
    assert list(figures.rules) == ["paper", "released"]
    assert figures.rules["released"].macro.mean == 0.5


def test_a_driver_from_before_these_rules_is_one_sentence(tasks: str) -> None:
    class OldPage:
        def __init__(self, page: OpenPage) -> None:
            self._page = page

        def __getattr__(self, name: str) -> Any:
            if name == "submission":
                raise AttributeError(name)
            return getattr(self._page, name)

    class OldDriver(DomDriver):
        def open(self, html: str, *, files: Path | None = None) -> Any:
            return OldPage(super().open(html, files=files))

    env = TurkEnv(tasks, rules="submitted", driver=OldDriver())
    env.reset(options={"task": "Plain", "row": 0})
    with pytest.raises(DriverError, match="OldPage cannot be submitted"):
        env.step("submit()")
    env.close()
    assert finish(TurkEnv(tasks, driver=OldDriver()), "Plain", "modify_text('a', 'x')")[0] == 0.5

"""Pages made to fit, and screenshots made smaller."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from errands.agents.llm.transport.images import png, smaller
from errands.agents.llm.transport.messages import estimate, message_tokens
from errands.agents.llm.turk.excerpts import (
    field_names,
    fit,
    fit_all,
    original_window,
    window,
)
from errands.browser.screenshots import decode
from errands.turk.dom.driver import DomDriver
from errands.turk.drivers import Pages
from errands.turk.tasks.loader import load_tasks

TASKS = Path(__file__).resolve().parents[5] / "shared" / "data" / "turkingbench" / "tasks"
HEAD = "<html><head><style>b{color:red}</style><script>let x = 1;</script></head><body>"
PAGE = (
    f"{HEAD}<!-- a secret --><h1>Read this first.</h1>"
    + "".join(f'<p class="c" style="x">filler {n}</p>' for n in range(200))
    + '<p>Here: <input type="text" name="here"></p>'
    + "".join(f'<p class="c" style="x">more {n}</p>' for n in range(200))
    + '<select name="there"><option>one</option></select></body></html>'
)


def test_what_fits_is_left_alone() -> None:
    assert fit(PAGE, len(PAGE), "here") == (PAGE, "")


def test_scripts_styles_and_comments_go_first() -> None:
    fitted = fit(PAGE, len(PAGE) - 50, "here")
    assert "color:red" not in fitted.html
    assert "let x" not in fitted.html
    assert "secret" not in fitted.html
    assert 'class="c"' in fitted.html
    assert fitted.note == "(The page was too long. Left out: scripts, styles and comments.)"


def test_then_the_looks() -> None:
    fitted = fit(PAGE, 10_000, "here")
    assert 'class="c"' not in fitted.html
    assert "filler 199" in fitted.html
    assert "more 199" in fitted.html
    assert "attributes for the looks" in fitted.note


@pytest.mark.parametrize("room", [500, 1000, 4000])
def test_then_what_is_far_from_the_field(room: int) -> None:
    fitted = fit(PAGE, room, "here")
    assert len(fitted.html) <= room
    assert "Read this first." in fitted.html
    assert '<input type="text" name="here">' in fitted.html
    assert "errands-here" not in fitted.html
    assert "[...]" in fitted.html
    assert "characters far from the field" in fitted.note


def test_a_whole_page_keeps_the_lines_around_each_field() -> None:
    fitted = fit_all(PAGE, 2500, ["here", "there"])
    assert len(fitted.html) <= 2500
    for needed in ("Read this first.", 'name="here"', 'name="there"'):
        assert needed in fitted.html
    many = fit_all(PAGE, 600, ["here", "there"] * 10)
    assert "fields are not shown" in many.note


@given(st.integers(1, 3000), st.sampled_from(["here", "there", "nowhere", "'\""]))
def test_it_always_fits(room: int, name: str) -> None:
    assert len(fit(PAGE, room, name).html) <= max(room, 100)


def test_windows_are_the_drivers_own() -> None:
    tasks = load_tasks("demo", "test")
    pages = Pages("dom")
    for task in tasks:
        page = pages.open(task, task.instances[0])
        for field in page.fields(list(task.fields)):
            assert window(page.html(), field.name) == page.html(field.name)
    assert window(PAGE, "nowhere") == ""
    pages.close()


def test_names_are_found_on_the_page() -> None:
    assert field_names(PAGE) == ["here", "there"]
    page = DomDriver().open('<input name="a" type="hidden"><textarea name="b"></textarea>')
    assert field_names(page.html()) == ["b"]


@pytest.mark.parametrize("factor", [1.0, 2.0, 2.11, 7.5, 16.0])
def test_smaller_pictures_keep_their_colours(factor: float) -> None:
    rng = np.random.default_rng(0)
    picture = rng.integers(0, 256, (80, 128, 3), np.uint8)
    picture[:, :, 0] = 200
    shrunk = smaller(picture, factor)
    assert shrunk.shape == (round(80 / factor), round(128 / factor), 3)
    assert set(shrunk[:, :, 0].ravel()) == {200}
    assert abs(float(shrunk.mean()) - float(picture.mean())) < 2
    assert np.array_equal(decode(png(shrunk)), shrunk)


def test_tokens_are_guessed_on_the_safe_side() -> None:
    assert estimate("word " * 300) >= 300
    assert estimate("ключ" * 10) >= 20
    assert message_tokens([{"role": "user", "content": "x" * 300}]) == 105


def fragments(count: int, name: str = "b") -> str:
    return "".join(f"<{name}>{n}</{name}>" for n in range(count))


def test_the_original_sent_five_pieces_before_the_field_and_nine_after() -> None:
    page = f'<div><p>{fragments(9)}<input name="here">{fragments(9)}</p></div>'
    lines = original_window(page, "here").split("\n")
    assert len(lines) == 15
    assert lines[5] == '<input name="here">'
    assert lines[4] == "8</b>"
    assert lines[-1] == "<b>"


@pytest.mark.parametrize(
    "field",
    [
        ' <input name="here">',
        'Yes <input name="here">',
        '<textarea name="here"></textarea>',
        '<select name="here"><option>one</option></select>',
    ],
)
def test_the_original_missed_fields_that_are_no_piece_of_their_own(field: str) -> None:
    page = f"<div><p>{fragments(9)}{field}</p></div>"
    sent = original_window(page, "here")
    assert sent.split("\n")[:3] == ["<div>", "<p>", "<b>"]
    assert len(sent.split("\n")) == 9
    assert "here" not in sent
    assert "here" in window(page, "here")
    assert original_window(page, "nowhere") == ""


def test_how_often_the_original_sent_the_field() -> None:
    if not TASKS.is_dir():
        pytest.skip(f"{TASKS} is absent: TurkingBench's own tasks are not here")
    pages = Pages("dom")
    shown = {}
    for task in load_tasks(TASKS, "all"):
        page = pages.open(task, task.instances[0])
        html = page.html()
        names = [field.name for field in page.fields(list(task.fields)) if field.visible]
        assert all(f'name="{name}"' in window(html, name) for name in names), task.name
        sent = [f'name="{name}"' in original_window(html, name) for name in names]
        shown[task.name] = (sum(sent), len(sent))
    pages.close()
    for never in ("Reddit In-group Analysis", "Creating Answers to Questions"):
        assert shown[never][0] == 0 < shown[never][1]
    share = sum(sent for sent, _ in shown.values()) / sum(total for _, total in shown.values())
    assert share == pytest.approx(0.64, abs=0.01)

"""What a page sends when it is submitted: its own handlers run, and it stays where it is."""

from pathlib import Path

import pytest
from effort import effort

from errands.turk.actions.action import Action
from errands.turk.browser.driver import BrowserDriver
from errands.turk.dom.driver import DomDriver
from errands.turk.dom.submission import has_scripts
from errands.turk.oracle.field_oracle import play_oracle
from errands.turk.pages.driver import DriverError, OpenPage
from errands.turk.pages.field import SubmittedField
from errands.turk.tasks.loader import load_tasks
from errands.turk.tasks.template import page_html

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data" / "turkingbench"
DEMO = load_tasks("demo")
PREVIEW = "<input type=submit id=submitButton disabled>"


@pytest.fixture(scope="module")
def driver(browser_driver: BrowserDriver) -> BrowserDriver:
    return browser_driver


def sent(page: OpenPage, *names: str) -> dict[str, tuple[str, ...]]:
    fields = page.submission(list(names) or None)
    page.close()
    return {field.name: field.values for field in fields}


def scripted(body: str, script: str) -> str:
    return f"<form id=f action=/away>{body}</form><script>{script}</script>"


@pytest.mark.parametrize(
    "script",
    [
        "f.onsubmit = () => { h.value = 'now' }",
        "f.addEventListener('submit', (e) => { e.preventDefault(); h.value = 'now' })",
        "document.addEventListener('submit', () => { h.value = 'now'; return false }, true)",
        "submitButton.onclick = () => { h.value = 'now'; return false }",
        "submitButton.addEventListener('click', () => { h.value = 'now'; f.submit() })",
        "f.addEventListener('formdata', (e) => e.formData.set('h', 'now'))",
    ],
)
def test_handlers_write_what_is_sent(driver: BrowserDriver, script: str) -> None:
    body = f"<input type=hidden name=h id=h><input name=must required>{PREVIEW}"
    page = driver.open(scripted(body, script))
    assert page.values("h") == [""], "nothing is written before"
    assert sent(page) == {"h": ("now",), "must": ("",)}


def test_a_handler_in_the_markup(driver: BrowserDriver) -> None:
    html = "<form onsubmit='h.value += 1; return false'><input type=hidden name=h id=h></form>"
    assert sent(driver.open(html)) == {"h": ("1",)}


def test_the_page_stays_as_it_was_but_for_its_handlers(driver: BrowserDriver) -> None:
    page = driver.open(scripted(f"<input name=a required>{PREVIEW}", "window.n = 1"))
    before = page.html()
    page.submission()
    assert page.html() == before
    page.perform(Action("modify_text", {"name": "a", "value": "x"}))
    assert sent(page) == {"a": ("x",)}


@pytest.mark.parametrize(
    ("buttons", "pressed"),
    [
        ("<input type=submit id=a><input type=submit id=b>", "b"),
        (f"<button type=submit id=a>Go</button>{PREVIEW}", "a"),
        (f"<button id=a>Submit</button>{PREVIEW}", "a"),
        (f"<button id=a>Add a row</button>{PREVIEW}", "submitButton"),
        ("<input type=submit id=submitButton><button type=button id=a>x</button>", "submitButton"),
        ("<button id=a>Show</button>", ""),
    ],
)
def test_which_button_is_pressed(driver: BrowserDriver, buttons: str, pressed: str) -> None:
    script = "document.onclick = (e) => { h.value += e.target.id }"
    page = driver.open(scripted(f"<input type=hidden name=h id=h>{buttons}", script))
    assert sent(page)["h"] == (pressed,)


def test_fields_that_a_handler_makes_or_takes_away(driver: BrowserDriver) -> None:
    script = (
        "f.onsubmit = () => { gone.remove(); off.disabled = true;"
        " f.insertAdjacentHTML('beforeend', '<input type=hidden name=made value=1>') }"
    )
    body = "<input name=gone id=gone><input name=off id=off><input name=stays>"
    assert sent(driver.open(scripted(body, script))) == {"stays": ("",), "made": ("1",)}


def test_what_is_added_without_a_control_is_text(driver: BrowserDriver) -> None:
    script = "f.addEventListener('formdata', (e) => e.formData.append('x', '7'))"
    page = driver.open(scripted("<input name=a>", script))
    assert page.submission(["x"]) == [SubmittedField("x", "hidden", ("7",))]
    page.close()


def test_a_page_that_takes_its_form_away(driver: BrowserDriver) -> None:
    script = "f.onsubmit = () => { document.body.innerHTML = 'Thank you' }"
    assert sent(driver.open(scripted("<input type=hidden name=h value=1>", script))) == {
        "h": ("1",)
    }


def test_names_that_shadow_what_forms_have(driver: BrowserDriver) -> None:
    names = "submit elements requestSubmit setAttribute removeAttribute noValidate action".split()
    body = "".join(f"<input name={name} value=1>" for name in names)
    page = driver.open(scripted(body, "0"))
    assert sent(page) == dict.fromkeys(names[1:], ("1",))


def test_a_handler_that_fails_or_hangs(driver: BrowserDriver) -> None:
    page = driver.open(scripted("<input name=a value=1>", "f.onsubmit = () => { throw 1 }"))
    assert sent(page) == {"a": ("1",)}
    with BrowserDriver(step_seconds=0.5) as impatient:
        page = impatient.open(scripted("<input name=a>", "f.onsubmit = () => { for (;;); }"))
        with pytest.raises(DriverError, match="within"):
            page.submission()
        page.close()


@pytest.mark.parametrize("name", [n for n in DEMO.names if not has_scripts(DEMO.task(n).template)])
def test_both_drivers_send_the_same_without_scripts(driver: BrowserDriver, name: str) -> None:
    task = DEMO.task(name)
    instance = task.instances[-1]
    answers = []
    for each in (driver, DomDriver()):
        page = each.open(page_html(task, instance))
        untouched = page.submission()
        play_oracle(page, instance)
        answers.append((untouched, page.submission()))
        page.close()
    assert answers[0] == answers[1]
    assert answers[0][0] != answers[0][1]


@pytest.mark.shared
def test_both_drivers_send_the_same_on_real_tasks_without_scripts(driver: BrowserDriver) -> None:
    if not SHARED.is_dir():
        pytest.skip(f"there are no shared tasks at {SHARED}")
    tasks = load_tasks(SHARED)
    plain = [name for name in tasks.names if not has_scripts(tasks.task(name).template)]
    assert len(plain) > 5
    for name in plain[:: effort(3, 1)]:
        task = tasks.task(name)
        html = page_html(task, task.instances[0])
        page = driver.open(html)
        assert page.submission() == DomDriver().open(html).submission(), name
        page.close()


@pytest.mark.parametrize(
    ("html", "scripts"),
    [
        ("<form><input name=a></form>", False),
        ("<script type='application/json'>{}</script>", False),
        ("<script></script>", False),
        ("<p>onclick= is a word here</p>", False),
        ("<script>1</script>", True),
        ("<script src=x.js></script>", True),
        ("<script type=module>1</script>", True),
        ("<form onsubmit='x()'>", True),
        ("<p title='a' once on>", False),
        ("<p onclick=x()>", True),
    ],
)
def test_pages_with_scripts_need_a_browser(html: str, scripts: bool) -> None:
    assert has_scripts(html) == scripts
    page = DomDriver().open(html)
    if scripts:
        with pytest.raises(DriverError, match="'browser'"):
            page.submission()
    else:
        page.submission()

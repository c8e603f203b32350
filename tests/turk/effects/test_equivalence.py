"""Proofs, with and without learned reactions, on templates written here."""

import pytest

from errands.turk.browser.driver import BrowserDriver
from errands.turk.dom.driver import DomDriver
from errands.turk.effects.equivalence import prove_equivalence
from errands.turk.proofs import Proof
from errands.turk.tasks.loader import load_tasks
from errands.turk.tasks.task import Instance, Task

RADIOS = """<!DOCTYPE html><input type="radio" name="q" value="yes" onclick="said(this)">
<input type="radio" name="q" value="no" onclick="said(this)">"""


def proof_of(body: str, browser: BrowserDriver, *answers: dict[str, str]) -> Proof:
    given = answers or ({"q": "yes", "t": "one"}, {"q": "no", "t": "two"})
    rows = tuple(
        Instance("t", row, {"x": str(row)}, {name: (value,) for name, value in each.items()})
        for row, each in enumerate(given)
    )
    return prove_equivalence(Task("t", body, rows, tuple(given[0])), rows, DomDriver(), browser)


def test_a_driver_agrees_with_itself() -> None:
    chosen = load_tasks("demo").task("Fridge Notes")
    driver = DomDriver()
    proof = prove_equivalence(chosen, chosen.instances[:2], driver, driver)
    assert proof.equal
    assert proof.fields > 2
    assert proof.template == chosen.template_hash


def test_a_page_without_fields_is_not_proven_equal() -> None:
    row = Instance("t", 0, {"x": "0"}, {"q": ("yes",)})
    task = Task("t", "<p>nothing to fill in</p><b name=q></b>", (row,), ("q",))
    proof = prove_equivalence(task, [row], DomDriver(), DomDriver())
    assert not proof.equal
    assert not proof.allows_dom
    assert "nothing to compare" in proof.reason


def test_a_page_without_scripts_needs_no_effects(browser_driver: BrowserDriver) -> None:
    proof = proof_of(RADIOS.replace("said(this)", "") + "<input name=t>", browser_driver)
    assert proof.equal
    assert proof.effect_rules == ()


@pytest.mark.parametrize(
    "body",
    [
        # Shows and hides.
        """<div id="d" style="display:none"><input name="t"></div><script>function said(b) {
            const style = document.getElementById('d').style;
            style.display = b.value === 'yes' ? '' : 'none' }</script>""",
        # Folds, with a transition and a sheet that is known to the browser alone.
        """<div id="d" class="shut"><input name="t"></div><script>
            const sheet = new CSSStyleSheet();
            sheet.replaceSync('.fold {transition: opacity 9s; opacity: 1} .gone {display: none}');
            document.adoptedStyleSheets = [sheet];
            function said(b) { document.getElementById('d').className =
                b.value === 'yes' ? 'fold' : 'gone' }</script>""",
        # Disables and overwrites a text.
        """<textarea name="t"></textarea><script>function said(b) {
            const t = document.querySelector('textarea'); t.disabled = b.value === 'no';
            if (t.disabled) t.value = '--NONE--' }</script>""",
        # Copies into a hidden field.
        """<input type="hidden" name="t"><script>function said(b) {
            document.querySelector('[name=t]').value = 'chose ' + b.value }</script>""",
    ],
    ids=["shows", "folds", "overwrites", "copies"],
)
def test_reactions_are_learnt_and_proven(body: str, browser_driver: BrowserDriver) -> None:
    proof = proof_of(RADIOS + body, browser_driver)
    assert proof.reason == ""
    assert proof.equal
    assert proof.effect_rules


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        # Counts clicks: what holds afterwards is never the same.
        (
            """<input type="hidden" name="t" value="0"><script>let n = 0; function said() {
            document.querySelector('[name=t]').value = ++n }</script>""",
            "values of 't'",
        ),
        # Every other click.
        (
            """<div id="d"><input name="t"></div><script>function said() {
            const part = document.getElementById('d'); part.hidden = !part.hidden }</script>""",
            "visible of 't'",
        ),
        # Another field each time.
        (
            """<p id="p"></p><input name="t"><script>function said(b) {
            document.querySelector('[name=t]').hidden = b.value === 'no';
            document.getElementById('p').append(
                Object.assign(document.createElement('input'), {name: 'more'})) }</script>""",
            "come and go",
        ),
        # What is typed is used elsewhere.
        (
            """<input name="t" oninput="copy.value = t.value"><input type="hidden" id="copy"
            name="u"><script>const t = document.querySelector('[name=t]');
            const copy = document.getElementById('copy'); function said() {}</script>""",
            "values of 'u'",
        ),
    ],
    ids=["counts", "flips", "adds", "copies what is typed"],
)
def test_what_cannot_be_said_is_not_proven(
    body: str, reason: str, browser_driver: BrowserDriver
) -> None:
    answers = {"q": "no", "t": "one", "u": ""}, {"q": "yes", "t": "two", "u": ""}
    proof = proof_of(RADIOS + body, browser_driver, *answers)
    assert not proof.equal
    assert reason in proof.reason
    assert proof.effect_rules == ()


def test_what_differs_at_load_is_not_learnt(browser_driver: BrowserDriver) -> None:
    body = "<input name=t><script>function said(b) { document.querySelector('[name=t]').hidden ="
    proof = proof_of(
        f"{RADIOS}{body} b.value === 'no' }} said({{value: 'no'}})</script>", browser_driver
    )
    assert not proof.equal
    assert "load: visible of 't'" in proof.reason


def test_every_row_must_agree(browser_driver: BrowserDriver) -> None:
    """What is learnt from the first rows is not true of the last."""
    body = """<input name="t" id="t"><script>function said(b) {
        const away = '${x}' === '3' ? 'yes' : 'no';
        document.getElementById('t').hidden = b.value === away }</script>"""
    rows = [{"q": answer, "t": ""} for answer in ("yes", "no", "yes", "no")]
    proof = proof_of(RADIOS + body, browser_driver, *rows)
    assert not proof.equal
    assert proof.reason.startswith("row ")

"""Proofs, with and without learned reactions, on templates written here."""

from pathlib import Path

import pytest
from effort import effort, sampled

from errands.turk.actions.action import Action
from errands.turk.browser.driver import BrowserDriver
from errands.turk.dom.driver import DomDriver
from errands.turk.dom.effects import LOAD
from errands.turk.drivers import Pages
from errands.turk.effects.equivalence import ProofConfig, prove_equivalence
from errands.turk.pages.comparison import PagePair
from errands.turk.proofs import Proof
from errands.turk.tasks.loader import load_tasks
from errands.turk.tasks.task import Instance, Task
from errands.turk.tasks.template import page_html

RADIOS = """<!DOCTYPE html><input type="radio" name="q" value="yes" onclick="said(this)">
<input type="radio" name="q" value="no" onclick="said(this)"><br>"""


QUICK = ProofConfig(rows=3, most_rows=effort(4, 6), loads=effort(3, 6), walk=effort(5, 15))


def task_of(body: str, *answers: dict[str, str]) -> Task:
    given = answers or ({"q": "yes", "t": "one"}, {"q": "no", "t": "two"})
    rows = tuple(
        Instance("t", row, {"x": str(row)}, {name: (value,) for name, value in each.items()})
        for row, each in enumerate(given)
    )
    return Task("t", body, rows, tuple(given[0]))


def proof_of(body: str, browser: BrowserDriver, *answers: dict[str, str]) -> Proof:
    return prove_equivalence(task_of(body, *answers), browser, QUICK)


def test_a_driver_agrees_with_itself() -> None:
    chosen = load_tasks("demo").task("Address Cleanup")
    proof = prove_equivalence(chosen, DomDriver(), QUICK)
    assert proof.equal
    assert proof.method == "construction"
    assert proof.fields > 2
    assert proof.template == chosen.template_hash


def test_a_page_without_scripts_is_the_same_by_construction(browser_driver: BrowserDriver) -> None:
    proof = proof_of(RADIOS.replace(' onclick="said(this)"', "") + "<input name=t>", browser_driver)
    assert (proof.equal, proof.method, proof.scripts) == (True, "construction", ())
    assert proof.effect_rules == ()


def test_what_was_covered_is_told(browser_driver: BrowserDriver) -> None:
    body = RADIOS + "<input name=t><script>function said() {}</script>"
    proof = proof_of(body, browser_driver)
    assert proof.method == "coverage"
    assert proof.scripts == ("an inline script", "2 event handlers")
    done = proof.coverage
    assert done is not None
    assert (done.rows, done.values) == (2, 5)
    assert done.pairs == 2 * 2 * 3 + 2 + 3 * 2, "every value before and after every other"
    assert done.pairs_left == 0
    assert done.walks == 2


def test_a_template_without_fields_is_not_equal(browser_driver: BrowserDriver) -> None:
    proof = proof_of("<p>Nothing to fill in</p>", browser_driver)
    assert not proof.equal
    assert proof.reason == "no answer has a field on the page"


def test_an_option_that_nobody_picks_reveals_a_field(browser_driver: BrowserDriver) -> None:
    """As the oracle plays it, nothing ever happens on this page."""
    body = """<!DOCTYPE html><select name="q" onchange="said(this)"><option>yes<option>no
        <option>other</select><div id="d" hidden><input name="t"></div><script>function said(s) {
        document.getElementById('d').hidden = s.value !== 'other' }</script>"""
    proof = proof_of(body, browser_driver, {"q": "yes", "t": ""}, {"q": "no", "t": ""})
    assert proof.equal
    effects = {effect.what for rule in proof.effect_rules for effect in rule.effects}
    assert "shown" in effects
    flips = body.replace("hidden = s.value !== 'other'", "hidden ^= s.value === 'other'")
    proof = proof_of(flips, browser_driver, {"q": "yes", "t": ""}, {"q": "no", "t": ""})
    assert not proof.equal
    assert "modify_select('q', 'other'): visible of 't'" in proof.reason


def test_a_script_that_acts_on_one_rare_row(browser_driver: BrowserDriver) -> None:
    body = """<!DOCTYPE html><p id="kind">${kind}</p><input name="t"><script>
        if (document.getElementById('kind').innerText === 'special')
            document.querySelector('[name=t]').hidden = true</script>"""
    rows = tuple(
        Instance("t", row, {"kind": "special" if row == 61 else f"kind {row}"}, {"t": ("one",)})
        for row in range(80)
    )
    proof = prove_equivalence(Task("t", body, rows, ("t",)), browser_driver, QUICK)
    assert not proof.equal
    assert proof.reason.startswith("row 61: load: visible of 't'")


@pytest.mark.parametrize("when", sampled(["", "document.onchange = () =>"], ""))
def test_what_comes_long_after_is_met(when: str, browser_driver: BrowserDriver) -> None:
    """An agent may think for a minute, and the page goes on meanwhile."""
    body = f"""{RADIOS}<input name=t><script>function said() {{}}
        {when} setTimeout(() => {{ document.querySelector('[name=t]').hidden = true }}, 90000)"""
    proof = proof_of(f"{body}</script>", browser_driver)
    assert not proof.equal
    assert "visible of 't'" in proof.reason
    later = body.replace("90000", "900000")
    assert proof_of(f"{later}</script>", browser_driver).equal, "up to a stated time"


def test_fields_that_are_listed_in_another_order(browser_driver: BrowserDriver) -> None:
    """A text field stands a little higher than the button before it on its line."""
    body = RADIOS.replace("<br>", "") + "<input name=t><script>function said() {}</script>"
    proof = proof_of(body, browser_driver)
    assert not proof.equal
    assert proof.reason == "row 0: load: order: ('q', 't') against ('t', 'q')"
    plain = body.replace(' onclick="said(this)"', "").partition("<script>")[0]
    assert proof_of(plain, browser_driver).method == "construction"
    assert proof_of(plain, browser_driver).equal, "always without a browser, so always in one order"


def test_what_two_other_choices_decide(browser_driver: BrowserDriver) -> None:
    """An effect may depend on one other choice, not on two: then it takes the browser."""
    radios = "".join(
        f'<input type="radio" name="{name}" value="{value}">' for name in "quw" for value in "ab"
    )
    body = f"""<!DOCTYPE html>{radios}<p id="p" style="display:none"><input name="t"></p><script>
        const all = document.querySelectorAll('[type=radio]');
        all.forEach((each) => each.onclick = () => {{
            const ticked = document.querySelectorAll('[value=a]:checked').length;
            document.getElementById('p').style.display = ticked === 2 ? '' : 'none' }})</script>"""
    proof = proof_of(body, browser_driver, {"q": "a", "u": "a", "w": "a", "t": ""})
    assert not proof.equal
    assert "visible of 't'" in proof.reason


REAL = Path(__file__).resolve().parents[4] / "shared" / "data" / "turkingbench" / "tasks"
CLAIMS = "Ethical rule-of-thumb quality", "Advice Gen"


@pytest.mark.skipif(not REAL.is_dir(), reason="../shared/data/turkingbench is not here")
@pytest.mark.parametrize("name", sampled(CLAIMS, "Ethical rule-of-thumb quality"))
def test_claims_that_were_wrong(name: str, browser_driver: BrowserDriver) -> None:
    """Both were "proven equal" by what the oracle does."""
    task = load_tasks(REAL).task(name)
    proof = prove_equivalence(task, browser_driver)
    assert not proof.equal
    assert Pages("auto").choice(task) == "browser"


@pytest.mark.skipif(not REAL.is_dir(), reason="../shared/data/turkingbench is not here")
def test_the_actions_that_showed_it(browser_driver: BrowserDriver) -> None:
    tasks = load_tasks(REAL)
    for name, calls, field in [
        ("Ethical rule-of-thumb quality", [("agency-fwd", "experience")], None),
        ("Advice Gen", [("s1-q0", "1a"), ("s1-q1", "nothelpful")], "s1-q2"),
    ]:
        task = tasks.task(name)
        html = page_html(task, task.instances[0])
        with PagePair(DomDriver(), browser_driver, html) as pair:
            for one, value in calls:
                pair.act(Action("modify_radio", {"name": one, "value": value}))
        different = {each.field for each in pair.differences if each.what == "visible"}
        assert len(different) >= 6 if field is None else field in different


REACTIONS = {
    # Shows and hides.
    "shows": """<div id="d" style="display:none"><input name="t"></div><script>function said(b) {
            const style = document.getElementById('d').style;
            style.display = b.value === 'yes' ? '' : 'none' }</script>""",
    # Folds, with a transition and a sheet that is known to the browser alone.
    "folds": """<div id="d" class="shut"><input name="t"></div><script>
            const sheet = new CSSStyleSheet();
            sheet.replaceSync('.fold {transition: opacity 9s; opacity: 1} .gone {display: none}');
            document.adoptedStyleSheets = [sheet];
            function said(b) { document.getElementById('d').className =
                b.value === 'yes' ? 'fold' : 'gone' }</script>""",
    # Disables and overwrites a text.
    "overwrites": """<textarea name="t"></textarea><script>function said(b) {
            const t = document.querySelector('textarea'); t.disabled = b.value === 'no';
            if (t.disabled) t.value = '--NONE--' }</script>""",
    # Copies into a hidden field.
    "copies": """<input type="hidden" name="t"><script>function said(b) {
            document.querySelector('[name=t]').value = 'chose ' + b.value }</script>""",
}


@pytest.mark.parametrize("kind", sampled(REACTIONS, "shows"))
def test_reactions_are_learnt_and_proven(kind: str, browser_driver: BrowserDriver) -> None:
    proof = proof_of(RADIOS + REACTIONS[kind], browser_driver)
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


def test_what_scripts_always_do_at_load_is_learnt(browser_driver: BrowserDriver) -> None:
    body = "<input name=t><script>function said(b) { document.querySelector('[name=t]').hidden ="
    html = f"{RADIOS}{body} b.value === 'no' }} said({{value: 'no'}})</script>"
    proof = proof_of(html, browser_driver)
    assert proof.equal
    assert any(rule.trigger == LOAD for rule in proof.effect_rules)
    page = DomDriver(effect_rules=proof.effect_rules).open(html)
    assert [field.visible for field in page.fields(["t"])] == [False]


def test_a_text_that_scripts_write_needs_the_browser(browser_driver: BrowserDriver) -> None:
    body = (
        "<p id=p></p><input name=t><script>p.textContent = 'Read me'; function said() {}</script>"
    )
    proof = proof_of(RADIOS + body, browser_driver)
    assert not proof.equal
    assert proof.reason == "row 0: load: text: '' against 'Read me'"


def test_every_row_must_agree(browser_driver: BrowserDriver) -> None:
    """What is learnt from the first rows is not true of the last."""
    body = """<input name="t" id="t"><script>function said(b) {
        const away = '${x}' === '3' ? 'yes' : 'no';
        document.getElementById('t').hidden = b.value === away }</script>"""
    rows = [{"q": answer, "t": ""} for answer in ("yes", "no", "yes", "no")]
    proof = proof_of(RADIOS + body, browser_driver, *rows)
    assert not proof.equal
    assert proof.reason.startswith("row ")

"""The oracle on pages whose answers get in each other's way."""

from errands.turk.browser.driver import BrowserDriver
from errands.turk.oracle.field_oracle import play_oracle
from errands.turk.scoring.instance_score import score_page
from errands.turk.tasks.task import Instance

_CLEARS = """
<input type=text name=subject>
<input type=checkbox name=none value=no onclick="
  subject = document.querySelector('[name=subject]');
  subject.value = this.checked ? '--NONE--' : ''; subject.disabled = this.checked">
"""


def _instance(**labels: tuple[str, ...]) -> Instance:
    return Instance("t", 0, {}, labels)


def test_a_box_that_overwrites_a_text_is_unticked_where_somebody_left_it(
    browser_driver: BrowserDriver,
) -> None:
    instance = _instance(subject=("dog", "no", "no"), none=("", "no", "no"))
    page = browser_driver.open(_CLEARS)
    play_oracle(page, instance)
    assert page.values("none") == []
    scored = score_page(page, instance)
    assert {field.scores["released"] for field in scored} == {1.0}
    page.close()


def test_a_box_that_everybody_ticked_stays(browser_driver: BrowserDriver) -> None:
    instance = _instance(subject=("dog", "cat"), none=("no", "no"))
    page = browser_driver.open(_CLEARS)
    done = play_oracle(page, instance)
    assert page.values("none") == ["no"]
    assert page.values("subject") == ["--NONE--"]
    assert len(done) <= 3
    page.close()


def test_what_a_later_answer_overwrote_is_written_again(browser_driver: BrowserDriver) -> None:
    html = (
        "<input name=a><input type=checkbox name=b value=x"
        " onclick=\"document.querySelector('[name=a]').value = ''\">"
    )
    instance = _instance(a=("hello",), b=("x",))
    page = browser_driver.open(html)
    play_oracle(page, instance)
    assert (page.values("a"), page.values("b")) == (["hello"], ["x"])
    page.close()

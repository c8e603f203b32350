"""Answers that only the page can write, found by trying out what clicks and drags do."""

from collections.abc import Mapping

import pytest
from effort import only_slow

from errands.turk.browser.driver import BrowserDriver
from errands.turk.oracle.closeness import FARTHEST, closeness
from errands.turk.oracle.page_work import PageWork, is_moment
from errands.turk.oracle.pointer_oracle import play_pointer, rehearse
from errands.turk.oracle.unreached import MISSED, unreached_fields
from errands.turk.pages.driver import try_action
from errands.turk.pages.elements import buttons, clickables
from errands.turk.scoring.instance_score import score_page
from errands.turk.tasks.task import Instance, Label

Labels = dict[str, tuple[Label, ...]]


@pytest.fixture(scope="module")
def driver(browser_driver: BrowserDriver) -> BrowserDriver:
    return browser_driver


def sent(driver: BrowserDriver, html: str, labels: Labels) -> Mapping[str, tuple[str, ...]]:
    """What a page sends that the pointer oracle has answered."""
    page = rehearse(lambda: driver.open(html), Instance("made", 0, {}, labels))
    fields = page.submission(list(labels))
    page.close()
    return {field.name: field.values for field in fields}


def page_of(body: str, script: str) -> str:
    return f"<form id=f>{body}<input type=hidden name=h id=h></form><script>{script}</script>"


def test_squares_that_go_round_are_left_where_they_are_right(driver: BrowserDriver) -> None:
    cells = "".join(f"<td id=c{n}>.</td>" for n in range(4))
    script = (
        "const states = ['.', 'x', 'y']; document.querySelectorAll('td').forEach((td) => {"
        " td.onclick = () => { td.textContent = states[(states.indexOf(td.textContent) + 1) % 3] }"
        "}); f.onsubmit = () => { h.value ="
        " [...document.querySelectorAll('td')].map((td, n) => td.textContent === '.' ? ''"
        " : n + td.textContent).filter(Boolean).join(' ') }"
    )
    html = page_of(f"<table><tr>{cells}</table>", script)
    assert sent(driver, html, {"h": ("0x 2y 3x",)}) == {"h": ("0x 2y 3x",)}


def test_a_choice_then_a_button(driver: BrowserDriver) -> None:
    script = (
        "let on = ''; document.querySelectorAll('li').forEach((li) => { li.onclick = () => {"
        " on = li.id; document.querySelectorAll('li').forEach((e) => {"
        " e.className = e === li ? 'on' : '' }) } }); const has = new Set();"
        "b.onclick = () => { if (!has.delete(on)) has.add(on);"
        " h.value = [...has].sort().join('|') }"
    )
    html = page_of(
        "<ul><li id=p1>1<li id=p2>2<li id=p3>3</ul><button type=button id=b>Take</button>", script
    )
    assert sent(driver, html, {"h": ("p1|p3",)}) == {"h": ("p1|p3",)}


def test_two_clicks_that_belong_together(driver: BrowserDriver) -> None:
    words = "".join(f"<span class=w id={side}{n}>{side}{n}</span> " for side in "ab" for n in "12")
    script = (
        "let first = null; const links = new Set(); f.onclick = ({ target }) => {"
        " if (target.className === 'w on') { target.className = 'w'; first = null; return }"
        " if (target.className !== 'w') return;"
        " if (!first) { first = target; target.className = 'w on'; return }"
        " const link = [first.id, target.id].sort().join('-');"
        " if (!links.delete(link)) links.add(link); first.className = 'w'; first = null;"
        " h.value = [...links].sort().join(' ') }"
    )
    html = page_of(f"<p>{words}</p>", script)
    assert sent(driver, html, {"h": ("a1-b2 a2-b1",)}) == {"h": ("a1-b2 a2-b1",)}


def test_a_number_by_plus_and_minus(driver: BrowserDriver) -> None:
    script = (
        "plus.onclick = () => { h.value = +h.value + 1 };minus.onclick = () => { h.value -= 1 }"
    )
    body = "<button type=button id=minus>-</button><button type=button id=plus>+</button>"
    for number in (-2, 7):
        assert sent(driver, page_of(body, script), {"h": (number,)}) == {"h": (str(number),)}


def test_steps_with_next_and_back(driver: BrowserDriver) -> None:
    steps = "".join(
        f"<div class=s><i class=o>{n}no</i> <i class=o>{n}yes</i></div>" for n in range(3)
    )
    script = (
        "let at = 0; const got = []; const s = document.querySelectorAll('.s');"
        "const show = () => s.forEach((e, n) => { e.hidden = n !== at });"
        "document.querySelectorAll('.o').forEach((o) => { o.onclick = () => {"
        " got[at] = o.textContent; o.title = 'chosen'; h.value = got.join(' ') } });"
        "back.onclick = () => { at = Math.max(0, at - 1); show() };"
        "next.onclick = () => { if (got[at]) at = Math.min(2, at + 1); show() }; show()"
    )
    nav = "<button type=button id=back>Back</button><button type=button id=next>Next</button>"
    html = page_of(steps + nav, script)
    assert sent(driver, html, {"h": ("0yes 1no 2yes",)}) == {"h": ("0yes 1no 2yes",)}


def test_words_marked_into_several_fields(driver: BrowserDriver) -> None:
    html = (
        "<form><p>Ann met Bob in Rome</p>"
        "<input type=hidden name=who><input type=hidden name=where>"
        "<button type=button id=a>Name</button><button type=button id=b>Town</button></form>"
        "<script>"
        "const lists = {who: [], where: []}; const take = (key) => () => {"
        " const word = String(getSelection()); if (!word) return;"
        " for (const list of Object.values(lists)) {"
        "  if (list.includes(word)) list.splice(list.indexOf(word), 1) }"
        " lists[key].push(word); for (const each in lists) {"
        "  document.querySelector(`[name=${each}]`).value = lists[each].sort().join('|') } };"
        "a.onclick = take('who'); b.onclick = take('where')</script>"
    )
    labels: Labels = {"who": ("Ann|Bob",), "where": ("Rome",)}
    assert sent(driver, html, labels) == {"who": ("Ann|Bob",), "where": ("Rome",)}


@pytest.mark.parametrize("adds", ["b.onclick", "t.onchange"])
def test_words_written_into_a_box_that_is_no_field(driver: BrowserDriver, adds: str) -> None:
    script = (
        "const has = []; const add = () => { if (t.value && !has.includes(t.value)) {"
        " has.push(t.value); h.value = has.join('|') } t.value = '' };"
        f"{adds} = add"
    )
    body = "<input id=t><button type=button id=b>Add</button>"
    labels: Labels = {"h": ("an apple|7 pears",)}
    assert sent(driver, page_of(body, script), labels) == {"h": ("an apple|7 pears",)}


def test_answers_of_one_worker_are_kept_together(driver: BrowserDriver) -> None:
    """A square is one thing or the other: no page holds the first answer of both fields."""
    script = (
        "const to = { '': 'x', x: 'y', y: '' }; const cells = document.querySelectorAll('td');"
        "const of = (kind) => [...cells].filter((c) => c.className === kind).map((c) => c.id);"
        "f.onclick = ({ target }) => { if (!target.id.startsWith('c')) return;"
        " target.className = to[target.className];"
        " h.value = of('x').join(' '); g.value = of('y').join(' ') }"
    )
    cells = "<table><tr><td id=c0 class=''>s<td id=c1 class=''>t</table>"
    html = page_of(f"<input type=hidden name=g id=g>{cells}", script)
    labels: Labels = {"h": ("c0 c1", "c0"), "g": (None, "c1")}
    assert sent(driver, html, labels) == {"h": ("c0",), "g": ("c1",)}


@only_slow
def test_a_page_that_cannot_be_solved_is_given_up(driver: BrowserDriver) -> None:
    squares = "".join(f"<i class=x>{n}</i>" for n in range(9))
    body = f"{squares}<button type=button>b</button>"
    html = page_of(body, "f.onclick = (e) => { e.target.className += 'y' }")
    instance = Instance("made", 0, {}, {"h": ("never",)})
    page = driver.open(html)
    assert play_pointer(page, instance) == []
    page.close()


def test_the_plan_is_what_leads_there_and_works_on_another_page(driver: BrowserDriver) -> None:
    script = (
        "document.querySelectorAll('i').forEach((i) => { i.onclick = () => { h.value = i.id } })"
    )
    html = page_of("".join(f"<i id=i{n}>{n}</i>" for n in range(6)), script)
    instance = Instance("made", 0, {}, {"h": ("i5",)})
    page = driver.open(html)
    plan = play_pointer(page, instance)
    page.close()
    page = driver.open(html)
    assert all(try_action(page, action) for action in plan)
    assert page.values("h") == ["i5"]
    page.close()


def test_reasons_for_what_is_not_reached(driver: BrowserDriver) -> None:
    html = (
        "<form><input type=hidden name=clock value=1><input type=hidden name=h>"
        "<select name=s><option>a</select><select name=e><option>a</select>"
        "<input name=fine value=1><input name=blank><input type=submit name=b></form>"
    )
    labels: Labels = {
        "clock": (1580000000.5, 1580000100), "h": ("x",), "s": ("z", "z"), "e": (None, None),
        "fine": (1,), "blank": (None,), "gone": ("x",), "b": ("x",), "nobody": (None,),
    }  # fmt: skip
    instance = Instance("made", 0, {}, labels)
    page = driver.open(html)
    reasons = unreached_fields(page, instance, score_page(page, instance, submit=True))
    page.close()
    assert reasons == {
        "clock": "its answers are times that a clock wrote",
        "h": MISSED,
        "s": "the majority's 'z' is not among its options",
        "e": "most left it empty, and it has no empty option",
        "gone": "the page has no control of this name",
        "b": "a submit sends nothing",
    }


def test_closeness_shows_the_way() -> None:
    def rising(answers: list[str], *texts: str) -> None:
        near = [closeness(text, answers) for text in texts]
        assert near == sorted(near)
        assert len(set(near)) == len(near)

    rising(["0-0 1-2"], "", "0-0", "0-0 1-2")
    rising(["P1|P3"], "P2", "P1|P2|P4", "P1|P2", "P1")
    rising(["AC BD E"], "A B C D E", "AC B D E", "AC BD E")
    rising(["5"], "", "1", "3", "5")
    assert closeness("x", []) == FARTHEST
    assert closeness("b", ["a", "b"]).exact == 1.0


def test_moments_are_no_answers() -> None:
    assert is_moment("1580000000")
    assert not is_moment("12")
    assert not is_moment("at noon")


def test_what_can_be_clicked(driver: BrowserDriver) -> None:
    html = (
        "<body><p>plain <b>text</b></p><p class=a>marked</p><td>no table</td>"
        "<table><tr><td>1<td><span id=s>2</span></table><img src=x><svg><rect id=r /></svg>"
        "<label id=l>x<i id=i>y</i></label><button id=b type=button><i id=j>z</i></button>"
        "<input id=n><div id=outer><div id=inner>q</div></div></body>"
    )
    page = driver.open(html)
    tree = PageWork(page, Instance("made", 0, {}, {})).tree()
    found = [node for selector in clickables(tree) for node in tree.css(selector)]
    page.close()
    assert [(node.tag, node.attributes.get("id")) for node in found] == [
        ("p", None), ("td", None), ("span", "s"), ("img", None), ("svg", None), ("div", "inner"),
    ]  # fmt: skip
    assert buttons(tree, clicked=False) == ['[id="b"]']


def test_a_field_that_goes_away_is_no_mishap(driver: BrowserDriver) -> None:
    script = (
        "document.querySelectorAll('i').forEach((i) => { i.onclick = () => {"
        " const g = document.querySelector('[name=g]'); if (g) g.value = i.id;"
        " if (i.id === 'i2') { g?.remove(); h.value = 'done' } } })"
    )
    body = "<input type=hidden name=g><i id=i0>0</i><i id=i1>1</i><i id=i2>2</i><i id=i3>3</i>"
    labels: Labels = {"g": ("never",), "h": ("done",)}
    assert sent(driver, page_of(body, script), labels) == {"h": ("done",)}

"""What an agent reads is the same under both drivers: text, markup, the lines around a field."""

from collections.abc import Sequence

import pytest

from errands.turk.actions.action import Action, Value
from errands.turk.browser.driver import BrowserDriver
from errands.turk.dom.driver import DomDriver
from errands.turk.pages.comparison import PagePair, canonical_html, shown_style

BOOTSTRAP = (
    '<link rel="stylesheet" integrity="sha384-x" crossorigin="anonymous"'
    ' href="https://maxcdn.bootstrapcdn.com/bootstrap/4.0.0/css/bootstrap.min.css">'
)
PAGES = {
    "inline and block": "<p>one <b>two</b><i>three</i><div>four<span>five</span>six</div>seven",
    "blocks by style": "<style>span {display: block} .in {display: inline}</style><span>a</span>"
    "<span>b</span><div class=in>c</div><div class=in>d</div>",
    "blocks by place": "<span style=float:left>a</span><span>b</span><b style=position:absolute>c"
    "</b><div style=display:flex><span>d</span><span>e</span></div>",
    "unknown tags": "<crowd-form>a<crowd-input>b</crowd-input></crowd-form><center>c</center>"
    "<nobr>d</nobr><font>e</font>",
    "tables": "<table><caption>t</caption><tr><th>a<th>b<tr><td>c<td>d</table>",
    "lists": "<ul><li>a<li>b<ul><li>c</ul></ul><dl><dt>d<dd>e</dl>",
    "breaks": "a<br>b<br><br>c<hr>d<wbr>e",
    "kept white space": "<pre>a\n  b\n\nc</pre><p style=white-space:pre-line>d\n   e</p>"
    "<p style='white-space: nowrap'>f\ng</p><pre><table><tr><td>h\ni</table></pre>",
    "spaces": "a&nbsp;&nbsp;b &#8195; c &#12288;d&#65279;e &#8203;f",
    "hidden": "a<span hidden>b</span><span style=display:none>c</span><i style=visibility:hidden>d"
    "<b style=visibility:visible>e</b></i><span style=opacity:0>f</span>",
    "folded": "<details><summary>a</summary>b<p>c</details><details open><summary>d</summary>e"
    "</details><dialog>f</dialog>",
    "controls": "a<input value=b>c<textarea>d</textarea>e<select name=t><option>f<option hidden>g"
    "<optgroup label=h><option>i</select>j<button>k<br>l</button>m<input type=submit value=n>",
    "not read": "<script>a</script><style>b{}</style><noscript>c</noscript><template>d</template>"
    "<title>e</title><iframe>f</iframe><canvas>g</canvas><video>h</video><object>i</object>j",
    "drawings": "<svg><text>a</text><text>b<tspan>c</tspan></text></svg><svg><g><text>d</text></g>"
    "<desc>e</desc></svg>f",
    "a library": f"{BOOTSTRAP}<label class=btn>a</label><label class='form-check-label'>b</label>"
    "<span class='d-none'>c</span><span class='d-block'>d</span><div class=row><span class=col>e"
    "</span><span class=col>f</span></div><div class=collapse>g</div><span class=badge>h</span>"
    "<div class='custom-control'><input type=radio name=t class=custom-control-input></div>"
    "<small class='form-text'>i</small><span class=sr-only>j</span>",
    "markup": "<p title='a > b & \"c\"' data-x='<i>'>d<input name=t value='<&>'><input name=u>",
}


@pytest.mark.parametrize("name", PAGES)
def test_text_and_markup(name: str, browser_driver: BrowserDriver) -> None:
    html = f"<!DOCTYPE html><body>{PAGES[name]}"
    with PagePair(DomDriver(), browser_driver, html) as pair:
        assert pair.first.text() == pair.second.text()
        pair.look_closely("load", [field.name for field in pair.state.fields])
        assert pair.differences == []


STRANGERS = {
    "unclosed formatting before a text area": "<div><b>x</div><textarea name=t>a &amp; &lt;b"
    "</textarea>",
    "a disabled drop-down": "<select name=s disabled><option>1</select><fieldset disabled>"
    "<select name=u><option>1</select></fieldset>",
    "a legend": "<fieldset><legend style='display:inline-block'>Q1</legend>text</fieldset>",
    "one name, two kinds": "<input name=q><textarea name=q>x</textarea><button name=q value=y>z",
    "a step without a tag": "<style>.x {display: none} :not(:checked) ~ .x {display: block}</style>"
    "<input type=radio name=r value=1 checked><input type=radio name=r value=2><p class=x>q</p>",
}


@pytest.mark.parametrize("name", STRANGERS)
def test_what_a_stranger_found(name: str, browser_driver: BrowserDriver) -> None:
    with PagePair(DomDriver(), browser_driver, f"<!DOCTYPE html><body>{STRANGERS[name]}") as pair:
        pair.act(Action("modify_radio", {"name": "r", "value": "2"}))
        for call in ("text", "radio", "range"):
            for value in ("nan", "", "None"):
                pair.act(Action(f"modify_{call}", {"name": "s", "value": value}))
        pair.look_closely("in the end", [field.name for field in pair.state.fields])
        assert pair.differences == []


def test_options_of_a_drop_down_are_read(browser_driver: BrowserDriver) -> None:
    html = "<p>Pick<select name=q><option value=1>Paris<option value=2>Rome</select>one"
    for driver in (DomDriver(), browser_driver):
        page = driver.open(html)
        assert page.text() == "Pick\nParis\nRome\none"
        page.close()


def test_differences_of_the_view_are_told(browser_driver: BrowserDriver) -> None:
    html = "<p id=p>a</p><input name=t><script>p.title = 'x'; p.append('b')</script>"
    with PagePair(DomDriver(), browser_driver, html) as pair:
        assert [str(each) for each in pair.differences] == ["load: text: 'a' against 'ab'"]
        (closer,) = pair.look_closely("load")
        assert closer.what == "html"
        assert "title" in str(closer.second)


def test_looks_do_not_count() -> None:
    plain = canonical_html("<p class='b a' style='color: red; display: none; height: 3px'>")
    assert plain == canonical_html("<p class='a b focus' style='DISPLAY:none'>")
    assert plain != canonical_html("<p class='a b'>")
    assert plain != canonical_html("<p class='a' style='display: none'>")
    assert shown_style("width: 3px; visibility: hidden;display :none") == (
        "display: none; visibility: hidden"
    )


NUMBERS = (
    "+5", "0x10", "1_000", "5.", ".5", "-0", "1e3", "1e-7", "0.00001", "1e309", "Infinity", "NaN",
    " 7 ", "\u00a07", "7\x85", "\ufeff7", "\u0663", "--5", "+-5", "5e", "99.99", "12abc", "1,5",
    5, 5.5, True,
)  # fmt: skip


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("<input type=number name=f>", NUMBERS),
        ("<input type=range name=f>", NUMBERS),
        ("<input type=range name=f min=-5 max=5 step=2>", NUMBERS),
        ("<input type=range name=f value=33 step=7>", NUMBERS),
        ("<input type=date name=f>", ("2024-02-30", "\u0662024-01-15", " 2024-01-15 ", True)),
        ("<input type=url name=f>", ("  padded  ", "\ud800x", "a\r\nb")),
        ("<textarea name=f maxlength=5></textarea>", ("😀😀😀", "x\ud800", "a\r\nb", True)),
        ("<input type=radio name=f value=0><input type=radio name=f value=3>", (".5", "3.9", 3.9)),
    ],
)
def test_what_fields_make_of_a_value(
    field: str, values: Sequence[Value], browser_driver: BrowserDriver
) -> None:
    kind = "range" if "range" in field else "radio" if "radio" in field else "text"
    with PagePair(DomDriver(), browser_driver, f"<!DOCTYPE html>{field}") as pair:
        for value in values:
            pair.act(Action(f"modify_{kind}", {"name": "f", "value": value}))
        assert pair.differences == []

"""Reading a page: could anything on it act by itself?"""

import pytest

from errands.turk.dom.scripts import may_act, read_scripts

CDN = "https://maxcdn.bootstrapcdn.com/bootstrap/4.0.0/js/bootstrap.min.js"


@pytest.mark.parametrize(
    "html",
    [
        "<p>Words</p><input name=t>",
        "<script src='https://code.jquery.com/jquery-3.2.1.slim.min.js'></script>",
        f"<script src='{CDN}'></script>",
        "<script src='https://elsewhere.example/x.js'></script>",  # Never loaded.
        "<script type='text/template'><b>x</b></script>",
        "<script> </script>",
        "<a href='javascript:open()'>by a pointer alone</a>",
        "<style>a:hover {color: red} p {display: none}</style>",
        "<iframe src='https://elsewhere.example/x'></iframe>",
        "<p class=sr-only>words</p>",
    ],
)
def test_nothing_acts(html: str) -> None:
    assert read_scripts(html).reasons == ()


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        ("<script>x()</script>", "an inline script"),
        ("<script>x()</script><script type=module>y()</script>", "2 inline scripts"),
        ("<svg><script>x()</script></svg>", "an inline script"),
        ("<input onclick='x()'>", "an event handler"),
        ("<body onload='x()'>", "an event handler"),
        (f"<script src='{CDN}'></script><a data-toggle=collapse>", "Bootstrap with parts"),
        ("<script src='own.js'></script>", "the script 'own.js'"),
        ("<iframe srcdoc='<script>x()</script>'></iframe>", "a frame with markup of its own"),
        ("<meta http-equiv=Refresh content=5>", "a page that reloads itself"),
        ("<style>@keyframes x {to {opacity: 0}}</style>", "an animation"),
        ("<style>p:hover i {display: block}</style>", "under the mouse or the focus"),
        ("<style>p:focus ~ i {max-height: 9px}</style>", "under the mouse or the focus"),
        ("<script type='text/javascript1.5'>x()</script>", "an inline script"),
        ("<script src='lib//app.js'></script>", "the script 'lib//app.js'"),
        ("<iframe src='frame.html'></iframe>", "a frame with a file of the task"),
        ("<object data='javascript:x()'></object>", "a frame with a file of the task"),
        ("<svg><set attributeName=display to=none /></svg>", "an animated drawing"),
        ("<noscript>x</noscript>", "without scripts"),
        ("<style>@-webkit-KEYFRAMES x {}</style>", "an animation"),
        ("<style>div {max-height: 0; overflow: hidden}</style>", "a layout"),
        ("<p style='margin-left: -999px'>", "a layout"),
        ("<style>p {display: var(--d, none)}</style>", "a layout"),
        ("<p class=sr-only><input name=a>", "a layout"),
        ("<style>:invalid + p {display: none}</style>", "the state of fields"),
        ("<form class=was-validated>", "the state of fields"),
    ],
)
def test_something_may_act(html: str, reason: str) -> None:
    (told,) = read_scripts(html).reasons
    assert reason in told


def test_what_scripts_name() -> None:
    scripts = read_scripts(
        """<p>${other}</p><input onclick="if ('${kind}' == 'a b') x()"><script>
        $('label:contains("_UNK_")').hide(); const n = ${count}</script>"""
    )
    assert scripts.variables == {"kind", "count"}
    assert {"a b", "_UNK_"} <= scripts.literals
    assert not scripts.timers
    assert read_scripts("<script>setTimeout(x, 5)</script>").timers


@pytest.mark.parametrize("value", ["<b>x</b>", "one = two", "a < b", "season=4"])
def test_values_that_bring_nothing(value: str) -> None:
    assert not may_act(value)


@pytest.mark.parametrize(
    "value",
    ["<SCRIPT>x</script>", "<img src=x onerror = 'x()'>", "<a href='javascript:x'>", "<style>"],
)
def test_values_that_may_act(value: str) -> None:
    assert may_act(value)

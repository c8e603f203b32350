"""Whatever reads foreign texts does work that grows with their length, and no faster.

Work is counted: calls of functions, ours and Python's own. What one call of a regular expression
does is proved in `test_patterns`; what is left (copies of texts, other people's C) is measured in
`make test-slow`, where a machine has nothing else to do.
"""

import contextlib
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from effort import SLOW, only_slow

from errands.agents.llm.shop.grammar import read as read_shop_answer
from errands.agents.llm.transport.messages import ChatAnswer
from errands.agents.llm.turk.actions import read as read_turk_answer
from errands.agents.llm.turk.excerpts import fit, original_window, window
from errands.agents.page_reading import groups, offers, read_instruction
from errands.browser.libraries import library, without_integrity
from errands.crowd.hits.batch_file import read_batch
from errands.crowd.hits.task_page import field_kinds, task_page
from errands.mining.plain_text import bullets_in, plain, plain_html
from errands.mining.product_file import item_of
from errands.mining.table.column_map import ColumnMap
from errands.mining.table.table_file import TableFile
from errands.nesting import DEEPEST, MOST_ATTRIBUTES, MOST_OPTIONS, shallow, too_deep
from errands.prices import money, prices_of
from errands.reports.html.frames import visible_text
from errands.shop import urls
from errands.shop.build.json_stream import decode_json
from errands.shop.navigation import parse_action
from errands.shop.rewards.title_tokens import tokens as title_tokens
from errands.shop.search.analyzer import analyze
from errands.transfer.fetch.robots_txt import read_robots
from errands.transfer.sites.amazon import Amazon
from errands.transfer.sites.claims import unread_results
from errands.transfer.sites.ebay import Ebay
from errands.transfer.sites.markup import parse
from errands.transfer.sites.record import SiteResults
from errands.transfer.sites.schema_data import things
from errands.transfer.sites.schema_org import SchemaOrg
from errands.transfer.sites.shopify import shopify_product
from errands.turk.actions.grammar import parse_answer
from errands.turk.dom.css import parse_declarations, parse_sheet
from errands.turk.dom.driver import DomDriver, parsed
from errands.turk.dom.media import media_matches
from errands.turk.dom.scripts import read_scripts
from errands.turk.pages.driver import DriverError
from errands.turk.tasks.markup import start_tags
from errands.turk.tasks.table import read_table
from errands.turk.tasks.template import substitute
from errands.web.core.auth import cookie

FIELD = '<input name="a">'
MAP = ColumnMap(columns={"title": ("title",), "options": ("options",)})

PARSERS: dict[str, Callable[[str], object]] = {
    "without_integrity": without_integrity,
    "library": lambda text: library(f"https://code.jquery.com/{text}"),
    "task_page": lambda text: task_page(text, {}, action="/", assignment="", is_preview=False),
    "own form": lambda text: task_page(
        f'<form action="externalSubmit">{text}', {}, action="/", assignment="", is_preview=False
    ),
    "field_kinds": field_kinds,
    "start_tags": lambda text: list(start_tags(text)),
    "start_tags of one name": lambda text: list(start_tags(text, only=("form",))),
    "substitute": lambda text: substitute(text, [("a", "b")]),
    "parse_answer": parse_answer,
    "turk answer": lambda text: read_turk_answer(ChatAnswer(text=text)),
    "shop answer": lambda text: read_shop_answer(ChatAnswer(text=text), thinks=True),
    "parse_action": parse_action,
    "parse_sheet": lambda text: parse_sheet.__wrapped__(text),
    "nested rules": lambda text: parse_sheet.__wrapped__("a{display:none;" + text),
    "selector": lambda text: parse_sheet.__wrapped__(text + "{display:none}"),
    "declarations": lambda text: parse_declarations.__wrapped__("display:none;" + text),
    "media_matches": lambda text: media_matches.__wrapped__(text),
    "json-ld": lambda text: things(
        parse(f'<script type="application/ld+json">{text}</script>', keep_scripts=True)
    ),
    "microdata": lambda text: things(parse(text, keep_scripts=True)),
    "amazon": lambda text: Amazon().read_item(text, "https://www.amazon.com/dp/B000000000"),
    "ebay": lambda text: Ebay().read_item(text, "https://www.ebay.com/itm/123456789"),
    "robots.txt": lambda text: read_robots(f"User-agent: *\n{text}", "errands"),
    "plain_html": plain_html,
    "bullets_in": bullets_in,
    "visible_text": visible_text,
    "prices_of": prices_of,
    "money": money,
    "shown": lambda text: SchemaOrg().read_item(
        f"<h1>x</h1><b class=price>{text}", "https://a.b/c"
    ),
    "claims": lambda text: unread_results(text, SiteResults()),
    "shopify": lambda text: shopify_product(
        parse(f'<script type="application/json">{{"variants":{text}</script>', keep_scripts=True)
    ),
    "title_tokens": title_tokens,
    "analyze": analyze,
    "dom page": parsed,
    "scripts": read_scripts,
    "fit": lambda text: fit(text, 500, "a"),
    "window": lambda text: window(text + FIELD, "a"),
    "original_window": lambda text: original_window(text + FIELD, "a"),
    "table": lambda text: read_table(text.encode()),
    "batch": lambda text: read_batch(text.encode()),
    "shop address": urls.parse,
    "json": lambda text: decode_json(text.encode()),
    "instruction": read_instruction,
    "offers": lambda text: offers(text, ("a",)),
    "groups": lambda text: groups(text, ("a",)),
    "cookie": lambda text: cookie(
        {"headers": [(b"cookie", f'a="{text}"'.encode("latin-1", "replace"))]}, "a"
    ),
}
"""All that reads what others wrote."""

PIECES = (
    *("[", "{", "(", '"', "'", "<", "a", "&", "&&{", "a{", "a,", "}", ";", "@", "/*", "\\", "${"),
    *("<a ", "<form ", '<form "', "<script integrity=", "<script>", "<!--", "<noscript", "<div>"),
    *("\n", " ", "\t", ",", '"\n', "1", "1.", "_name", "_1", "| ebay ", "not (", "@media("),
    *("Action:", "search[", "modify_text(", "modify_text('", '{"name":', '["', "it's ", "```\n"),
    *("]]>", "//", "%2", "/a", "*", "[button] ", "<input name=a>", "<a itemscope itemprop=b>"),
)
"""What hostile texts are made of, each repeated."""
IN_SHORT = (
    "[",
    "&&{",
    '<form "',
    "<script integrity=",
    "<div>",
    " ",
    ";",
    "_name",
    "modify_text('",
)


def _quietly(parser: Callable[[str], object], text: str) -> None:
    with contextlib.suppress(Exception):
        parser(text)


def _events(parser: Callable[[str], object], text: str) -> int:
    """How many functions are called while a text is read."""
    count = 0

    def counted(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        _quietly(parser, text)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("name", PARSERS)
def test_calls_grow_with_the_text(name: str) -> None:
    parser = PARSERS[name]
    _quietly(parser, "a")  # what is made once
    for piece in PIECES if SLOW else IN_SHORT:
        # Four times the text; the square of it would be sixteen times the calls.
        one, four = (_events(parser, piece * (n // len(piece))) for n in (1_000, 4_000))
        assert four <= 6 * one + 200, f"{piece!r}: {one} calls, then {four}"


def test_options_without_number_are_left_out_one_after_the_other() -> None:
    def read(text: str) -> None:
        row = {"title": "cotton shirt", "options": text}
        assert len(item_of(row, MAP, remarks)["customization_options"]) == 9

    remarks: list[str] = []
    one, four = (_events(read, ";".join(f"o{i}: x|y" for i in range(n))) for n in (1_000, 4_000))
    assert four <= 5 * one, f"{one} calls, then {four}"
    assert sum("combinations" in remark for remark in remarks) == 1_000 - 9 + 4_000 - 9


def test_many_columns_are_not_each_compared_with_all(tmp_path: Path) -> None:
    compared = 0

    class Name(str):
        __hash__ = str.__hash__

        def strip(self, chars: str | None = None) -> "Name":
            return self

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str(self) == other

    path = tmp_path / "table.csv"
    path.write_text("title\nshirt\n")
    names = [Name(f"c{i}") for i in range(2_000)]
    assert TableFile(path)._columns(iter([list(names)])) == tuple(names)
    assert compared < 20_000


def test_lists_in_lists_are_not_read_once_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    def counted(text: object) -> str:
        nonlocal read
        read += len(str(text))
        return plain(text)

    read = 0
    monkeypatch.setattr("errands.mining.plain_text.plain", counted)
    text = "<ul><li>" * 1_500 + "seen " * 20_000
    assert len(bullets_in(text)) > 1
    assert read <= 20 * len(text)
    assert bullets_in("<ul><li>a<ul><li>b</ul><li>c</ul>") == ["ab", "b", "c"]


@only_slow
@pytest.mark.parametrize("name", PARSERS)
def test_time_grows_with_the_text(name: str) -> None:
    parser = PARSERS[name]
    for piece in PIECES:
        seconds = []
        for n in (10_000, 20_000, 40_000, 80_000):
            text, runs = piece * (n // len(piece)), []
            for _ in range(3):
                begun = time.thread_time()
                _quietly(parser, text)
                runs.append(time.thread_time() - begun)
            seconds.append(min(runs))
        # Eight times the text; the square of it would be sixty-four times the work.
        assert seconds[-1] < 0.02 or seconds[-1] < 24 * seconds[0], f"{piece!r}: {seconds}"


@pytest.mark.parametrize("name", PARSERS)
@pytest.mark.parametrize("piece", ["[", "(", "{", ":is(", "@media x{", "not (", "<b>", "<div>"])
def test_no_nesting_is_too_deep_for_the_stack(name: str, piece: str) -> None:
    refusal = Exception("none")
    try:
        PARSERS[name](piece * 5_000)
    except Exception as error:
        refusal = error
    assert not isinstance(refusal, RecursionError)
    assert str(refusal), f"{type(refusal)} says nothing"


def test_nested_rules_are_bounded_before_they_are_written_out() -> None:
    for source in (
        "a{" + "&" * 80 + "{" + "&" * 80 + "{" + "&" * 80 + "{" + "&" * 80 + "{color:red}}}}}",
        "a{" + "&," * 2_000 + "&{" + "&," * 2_000 + "&{display:none}}}",
    ):
        made: list[int] = []

        def written(frame: Any, event: str, argument: Any, made: list[int] = made) -> None:
            if event == "call" and frame.f_code.co_name == "_rule":
                made.append(len(frame.f_locals["prelude"]))

        before = sys.getprofile()
        sys.setprofile(written)
        try:
            sheet = parse_sheet.__wrapped__(source)
        finally:
            sys.setprofile(before)
        assert sum(made) < 3_000_000
        assert len(sheet.rules) <= 20_000
    assert len(parse_sheet.__wrapped__("a," * 21_000 + "a{display:none}").rules) == 20_000


@pytest.mark.parametrize(
    ("rules", "elements"),
    [
        ("a{display:block}" * 1_100, "<a>x</a>" * 1_000),
        (".b{display:block}" * 9_000, "<a>x</a>" * 6_000),
    ],
)
def test_rules_times_elements_are_bounded(rules: str, elements: str) -> None:
    page = DomDriver().open(f"<style>{rules}</style><p class=b>{elements}<input name=a>")
    with pytest.raises(DriverError, match="too many rules for so many elements"):
        page.text()


def test_ordinary_nesting_is_read_as_before() -> None:
    sheet = parse_sheet(".a, .b { & .c { display: none; &.d { opacity: 0 } } e { float: left } }")
    assert [rule.source for rule in sheet.rules] == [
        ":is(:is(.a, .b) .c).d",
        ":is(.a, .b) .c",
        ":is(.a, .b) e",
    ]


def test_pages_are_read_as_deep_as_parsers_are_quick() -> None:
    page = "<div>" * DEEPEST + "in<i>side</i>" + "</div>" * DEEPEST
    assert too_deep(page) is None
    assert shallow(page) == page
    deeper = "<p>seen" + "<div>" * (DEEPEST + 5) + "unseen"
    assert too_deep(deeper) == len("<p>seen") + len("<div>") * DEEPEST
    assert plain_html(deeper) == "seen"
    assert visible_text(deeper) == "seen"
    assert shallow("<li>" * 10 + "x") == "<li>" * 10 + "x"
    assert too_deep("<div></div>" * 10_000) is None
    assert too_deep("<my-own>" * 5_000) == len("<my-own>") * DEEPEST


def test_pages_are_read_as_wide_as_parsers_are_quick() -> None:
    many = " ".join(f"a{i}='{'>' * 30}'" for i in range(MOST_ATTRIBUTES))
    assert too_deep(f"<b {many}>") is None
    for hidden in ("", '<!-- <b x=" -->', "<script>'<b x=\"'</script>", "<b x='>' y=\">\">"):
        for tag in ("b", "script", "my-own"):
            assert too_deep(f"<p>seen{hidden}<{tag} {many} more>") == len(f"<p>seen{hidden}")
    assert plain_html(f"<p>seen<b {many} more>unseen") == "seen"
    # What scripts compare is no tag with thousands of attributes.
    assert too_deep("<script>" + "if (j <i && a == b) c = d; " * 5_000 + "</script>") is None
    options = "<option>x" * MOST_OPTIONS
    assert too_deep(f"<select>{options}</select>" * 3) is None
    assert too_deep(f"<select>{options}<!--</select>--><option>") is not None
    # End tags that close nothing take time for all that are open.
    assert too_deep("<p><b>x</b></p></font>" * 20_000) is None
    assert too_deep("<span>x</svg>" * 5_000) == len("<span>x</svg>") * DEEPEST
    assert too_deep("<span><!-- </span> -->" * 5_000) == len("<span><!-- </span> -->") * DEEPEST
    assert (too_deep("<b>x</svg>" * 50_000) or 0) < len("<b>x</svg>") * 15_000
    with pytest.raises(DriverError, match="end tags for nothing"):
        DomDriver().open("<b>x</svg>" * 50_000)

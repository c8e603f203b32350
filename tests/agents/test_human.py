"""A person plays by a terminal; here the terminal is a file."""

import io
import sys
from typing import Any

import pytest

from errands.agents.agent import EndOfRun
from errands.agents.human import PersonShopper, field_value, page_lines, shop_action
from errands.agents.registry import make_factory
from errands.agents.terminal import Terminal
from errands.envs.shop import ShopEnv
from errands.envs.turk import TurkEnv
from errands.shop.catalog.catalog import Catalog
from errands.turk.pages.field import Field

Typed = Any


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Typed:
    def type_in(*lines: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))

    return type_in


@pytest.mark.parametrize("observation", ["text", "text_rich", "html", "url"])
def test_shopping(
    little: Catalog,
    play: Any,
    typed: Typed,
    capsys: pytest.CaptureFixture[str],
    observation: str,
) -> None:
    env = ShopEnv(little, observation=observation, max_steps=20)
    typed("", "what", "s [red] shoes", "3", "click[Description]", "2", "99", "Buy Now")
    factory = make_factory("human", "shop", env, {})
    assert factory.mode == "person"
    played = play(env, factory, {"goal": 0})
    first = little.search("red shoes")[0].asin.lower()
    assert played.actions == [
        "search[red] shoes]",
        f"click[{first}]",
        "click[Description]",
        "click[< prev]",
        "click[buy now]",
    ]
    shown = capsys.readouterr().out
    assert shown.count("That was not understood") == 3
    assert env.goal.instruction_text in shown
    numbered = [line for line in shown.splitlines() if line.strip().startswith("[3] ")]
    assert any(first in line.lower() for line in numbered)


def test_chosen_options_are_marked(
    little: Catalog, play: Any, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    product = next(item for item in little if len(item.options) == 1)
    value = next(iter(product.options.values()))[0]
    env = ShopEnv(little, max_steps=20)
    typed(f"s {product.title}", product.asin, value, "description", "< prev", "buy now")
    play(env, make_factory("human", "shop", env, {}), {"goal": 0})
    assert env.episode.page.options == {next(iter(product.options)): value}
    marked = [line for line in capsys.readouterr().out.splitlines() if "(clicked)" in line]
    assert len([line for line in marked if value in line]) == 2


def test_quitting_ends_the_run(little: Catalog, turk_env: TurkEnv, play: Any, typed: Typed) -> None:
    env = ShopEnv(little, max_steps=20)
    typed("s shoes", "quit", "s never read")
    with pytest.raises(EndOfRun, match="quit"):
        play(env, make_factory("human", "shop", env, {}), {"goal": 0})
    typed("s shoes")
    with pytest.raises(EndOfRun, match="input has ended"):
        play(env, make_factory("human", "shop", env, {}), {"goal": 0})
    typed("quit")
    with pytest.raises(EndOfRun, match="quit"):
        play(
            turk_env,
            make_factory("human", "turk", turk_env, {}),
            {"task": turk_env.tasks.names[0], "row": 0},
        )


def test_every_form_can_be_filled_in(turk_env: TurkEnv, play: Any, typed: Typed) -> None:
    """What the oracle would do, typed by hand, scores what the oracle scores."""
    oracle = make_factory("oracle", "turk", turk_env, {})
    person = make_factory("human", "turk", turk_env, {})
    for name in turk_env.tasks.names:
        where = {"task": name, "row": 0}
        wanted = play(turk_env, oracle, where)
        _, info = turk_env.reset(options=where)
        answers = [f"!{action}" for action in wanted.actions[:-1]]
        typed(*answers, *[""] * (2 * len(info["fields"]) + 4))
        assert play(turk_env, person, where).reward == wanted.reward, name


def test_a_form_field_by_field(
    turk_env: TurkEnv, play: Any, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in turk_env.tasks.names:
        _, info = turk_env.reset(options={"task": name, "row": 0})
        fields = [field for field in info["fields"] if field["visible"]]
        if fields and fields[0]["type"] == "radio":
            break
    first = fields[0]
    typed("nonsense", "1", *[""] * (len(info["fields"]) + 3))
    played = play(turk_env, make_factory("human", "turk", turk_env, {}), {"task": name, "row": 0})
    value = first["options"][0]
    assert played.actions[0] == f"modify_radio({first['name']!r}, {value!r})"
    assert played.actions[-1] == "submit()"
    shown = capsys.readouterr().out
    assert f"[1] {value}" in shown
    assert "not one of the options" in shown


def test_what_did_not_work_is_asked_again(
    turk_env: TurkEnv, play: Any, typed: Typed, capsys: pytest.CaptureFixture[str]
) -> None:
    name = turk_env.tasks.names[0]
    typed("!modify_text('no such field', 'x')", *[""] * 40)
    played = play(turk_env, make_factory("human", "turk", turk_env, {}), {"task": name, "row": 0})
    assert played.actions == ["modify_text('no such field', 'x')", "submit()"]
    assert "That did not work" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("line", "action"),
    [
        ("1", "click[next >]"),
        ("0", None),
        ("3", None),
        ("9" * 5000, None),
        ("BUY NOW", "click[buy now]"),
        ("s  a hat ", "search[a hat]"),
        ("s ", None),
        ("search[a hat]", "search[a hat]"),
        ("jump[x]", None),
        ("buy", None),
    ],
)
def test_shop_lines(line: str, action: str | None) -> None:
    assert shop_action(line, ["next >", "buy now"]) == action


@pytest.mark.parametrize(
    ("line", "kind", "value"),
    [
        ("1", "radio", "5"),
        ("5", "radio", "5"),
        ("2", "select", "2"),
        ("4", "radio", None),
        ("=a, b", "radio", "a, b"),
        ("1, 3", "checkbox", "5|a, b"),
        ("a, b", "checkbox", "a, b"),
        ("1, x", "checkbox", None),
        ("any, thing", "textarea", "any, thing"),
        ("=quit", "text", "quit"),
        ("7", "range", "7"),
    ],
)
def test_field_lines(line: str, kind: str, value: str | None) -> None:
    assert field_value(line, Field("q", kind, True, ("5", "2", "a, b"))) == value


HOSTILE = (
    "[red]not markup[/red] [/] [link=http://x]y[/link] :smile: \x1b[2J\x1b]0;t\x07 \u202eabc\x9b1m"
)


def test_hostile_pages(capsys: pytest.CaptureFixture[str]) -> None:
    """Page texts reach the terminal as texts: no markup, no control characters."""
    info = {
        "instruction": HOSTILE,
        "available_actions": {"has_search_bar": False, "clickables": [HOSTILE.lower(), "[bold]"]},
    }
    shopper = PersonShopper(Terminal(read=lambda: "2"))
    shopper.begin("", info)
    assert shopper.act(f"Page [SEP] {HOSTILE} [SEP] [bold]", info) == "click[[bold]]"
    shown = capsys.readouterr().out
    assert shown.count("[red]not markup[/red] [/] [link=http://x]y[/link] :smile:") == 2
    assert "[2] [bold]" in shown
    for character in "\x1b\x07\x9b\u202e":
        assert character not in shown


def test_pixels_show_nothing() -> None:
    assert page_lines(None) == []
    assert page_lines({"html": "<p>a</p><p>b</p>", "screenshot": None}) == ["a", "b"]

"""The rows of the paper's table 4 as settings."""

import msgspec
import pytest

from errands.agents.llm.settings import TurkSettings, read
from errands.agents.llm.turk.conditions import published_table, usual_settings, with_condition
from errands.errors import SettingError
from errands.runs.protocol import named_protocols

TABLE = published_table()
MODELS = [row for row in TABLE.rows if row.settings]

PAPER = {
    "gpt4-relevant": ("relevant", False, 5000, 21.3),
    "gpt4-full": ("full", False, 82_000, 39.3),
    "gpt4v-relevant": ("relevant", True, 8400, 24.5),
    "gpt4v-full": ("full", True, 86_000, 41.7),
    "claude-full": ("full", False, 82_000, 22.6),
}
"""Text encoding, vision, input length and score of table 4."""


@pytest.mark.parametrize("form", ["", "-original"])
@pytest.mark.parametrize("name", PAPER)
def test_rows_are_the_papers(name: str, form: str) -> None:
    encoding, vision, tokens, score = PAPER[name]
    row = TABLE.row(name + form)
    settings = TABLE.settings(row)
    assert settings["encoding"] == (f"original-{encoding}" if form else encoding)
    assert (settings["vision"], settings["demos"], settings["repairs"]) == (vision, 7, 0)
    assert (row.input_tokens, row.score) == (tokens, score)
    if encoding == "full":
        assert settings["budget"] == tokens


def test_the_table_is_whole() -> None:
    assert {row.name for row in MODELS} == {f"{name}{form}" for name in PAPER
                                            for form in ("", "-original")}  # fmt: skip
    agents = {row.agent: row.score for row in TABLE.rows if not row.settings}
    assert agents == {"do-nothing": 7.8, "oracle": 100.0}
    assert TABLE.rows[0].name == "do-nothing"
    assert TABLE.rows[-1].name == "oracle"
    protocol = named_protocols()[TABLE.protocol]
    assert (protocol.split, protocol.per_task, protocol.rules) == ("test", 20, "released")


@pytest.mark.parametrize("row", MODELS, ids=lambda row: row.name)
def test_every_row_is_made_of_settings(row: msgspec.Struct) -> None:
    client, play = read(with_condition({"model": "m", "condition": row.name}), TurkSettings)
    for name, value in TABLE.settings(row).items():
        assert getattr(play if hasattr(play, name) else client, name) == value
    assert play.condition == row.name


@pytest.mark.parametrize("name", [None, "null"])
def test_no_condition_sets_nothing(name: str | None) -> None:
    assert with_condition({"condition": name, "demos": 2}) == {"condition": name, "demos": 2}


def test_the_number_of_demonstrations_and_the_sampling_are_the_users() -> None:
    mine = {"condition": "gpt4-full", "demos": "3", "demo_list": "drawn", "temperature": "null"}
    settings = with_condition({"model": "m", **mine})
    assert {name: settings[name] for name in mine} == mine
    assert settings["encoding"] == "full"
    assert settings["max_tokens"] == 256


@pytest.mark.parametrize(
    "setting", ["encoding", "vision", "budget", "ask", "calls", "field_info", "repairs", "shrink"]
)
def test_what_a_condition_sets_is_not_set_beside_it(setting: str) -> None:
    with pytest.raises(SettingError, match=f"gpt4-full sets {setting} itself"):
        with_condition({"condition": "gpt4-full", setting: "1"})


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("gpt4-ful", "'gpt4-full'"),
        ("zzz", "expected one of gpt4-relevant, "),
        ("oracle", "There is no condition 'oracle'"),
        (7, "There is no condition '7'"),
    ],
)
def test_an_unknown_condition_is_a_sentence(name: object, says: str) -> None:
    with pytest.raises(SettingError, match=says):
        with_condition({"condition": name})


def test_the_old_name_of_a_setting_is_told() -> None:
    with pytest.raises(SettingError, match="view of the agent llm is called encoding now"):
        read({"model": "m", "view": "full"}, TurkSettings)


def test_usual_settings_are_those_that_need_not_be_told() -> None:
    plain = usual_settings("turk", {"model": "m"})
    assert (plain["temperature"], plain["demos"], plain["extra"]) == (0.0, 0, {})
    assert not {"model", "base_url", "price_in"} & plain.keys()
    row = usual_settings("turk", {"model": "m", "condition": "gpt4v-full"})
    assert (row["temperature"], row["demos"], row["vision"]) == (1.0, 7, True)
    assert "window" in usual_settings("shop", {})

"""The paper's table 4 and figures over runs."""

from typing import Any

import msgspec
import pytest
from played import MemoryStore, run_info

from errands.agents.llm.turk.conditions import published_table
from errands.errors import SettingError
from errands.reports.content import command_of, gather
from errands.reports.formatting import DASH
from errands.reports.markdown import to_markdown
from errands.reports.paper_figures import paper_figures, table_record
from errands.reports.tables import Value, table_4

TABLE = published_table()


def as_row(store: MemoryStore, name: str, protocol: str = "turk-test", **settings: Any) -> Any:
    """The same episodes, as if they were a run of a row of the table."""
    row = next(row for row in TABLE.rows if row.name == name)
    given = {}
    if row.settings:
        given = {"model": "m", "condition": name, **TABLE.settings(row), **settings}
    info = run_info("turk", row.agent, len(store.numbers()), agent_settings=given)
    said = {**info.protocol, "id": protocol}
    info = msgspec.structs.replace(info, protocol=said, id=f"{name} {settings}")
    return MemoryStore(info, store.episodes())


def test_rows_stand_in_the_papers_order_with_what_was_published(
    oracle: MemoryStore, idle: MemoryStore
) -> None:
    names = ["oracle", "claude-full", "gpt4v-full", "gpt4-full", "gpt4-relevant", "do-nothing"]
    report = gather([as_row(oracle if name == "oracle" else idle, name) for name in names])
    table = table_4(report.runs)
    at = list(table.head).index("published")
    assert table.head[at - 1] == "score, released rules"
    rows = list(table.rows)
    conditions = ["do-nothing", "gpt4-relevant", "gpt4-full", "gpt4v-full", "claude-full", "oracle"]
    assert [row[0].row4.condition for row in rows] == conditions  # type: ignore[union-attr]
    assert [row[at] for row in rows] == ["7.8", "21.3", "39.3", "41.7", "22.6", "100.0"]
    assert [row[1:4] for row in rows][1:4] == [
        ["T", "relevant", "7"],
        ["T", "full", "7"],
        ["T + V", "full", "7"],
    ]
    assert any("Xu et al. 2024, table 4" in note for note in report.notes)
    assert not any("Not all of the published pages" in note for note in report.notes)
    store = as_row(idle, "do-nothing")
    key = "turk-test@1 data:0123 without:12"
    store.info = msgspec.structs.replace(store.info, protocol_key=key)
    notes = gather([store]).notes
    assert any("Not all of the published pages, or others: do-nothing" in note for note in notes)
    assert "| published |" in to_markdown(report)


@pytest.mark.parametrize(
    ("protocol", "settings"),
    [("turk-demo", {}), ("turk-test", {"demos": 3}), ("turk-test", {"condition": None})],
)
def test_no_score_was_published_for_other_runs(
    idle: MemoryStore, protocol: str, settings: dict[str, Any]
) -> None:
    report = gather([as_row(idle, "gpt4-full", protocol, **settings)])
    assert "published" not in table_4(report.runs).head
    assert not any("Published" in note for note in report.notes)


def test_the_figures(oracle: MemoryStore, idle: MemoryStore) -> None:
    runs = [as_row(idle, "gpt4-full", demos=demos) for demos in (7, 0, 3)]
    report = gather([*runs, as_row(oracle, "oracle")])
    four, six, seven, eight = paper_figures(report)
    assert four.caption.startswith("Table 4.")
    work = report.runs[3].figures.turk
    assert work is not None
    released = work.rules["released"]
    assert [row[0] for row in six.rows] == [one.task for one in released.tasks]
    for row, task in zip(six.rows, released.tasks, strict=True):
        assert isinstance(row[4], Value)
        assert row[4].estimate.mean == pytest.approx(100 * (task.all.mean or 0))
    assert seven.head == ["agent", "0", "3", "7"]
    assert [row[0] for row in seven.rows] == ["llm m, gpt4-full"]
    published = {str(row[0]): row[-1] for row in eight.rows}
    assert eight.head[-1] == "published (GPT4, gpt4-full)"
    assert (published["checkbox"], published["textarea"], published["range"]) == ("61", "18", DASH)


def test_figures_are_of_the_released_rules(oracle: MemoryStore) -> None:
    """A field that only one of the rules gives points for tells them apart."""
    episodes = []
    for episode in oracle.episodes():
        fields = [[name, kind, 0.0, 1.0] for name, kind, *_ in episode.summary.parts["fields"]]
        parts = {**episode.summary.parts, "fields": fields}
        summary = msgspec.structs.replace(episode.summary, parts=parts)
        episodes.append(msgspec.structs.replace(episode, summary=summary))
    stores = [
        as_row(MemoryStore(oracle.info, episodes), "gpt4-full", demos=demos) for demos in (1, 7)
    ]
    for table in paper_figures(gather(stores))[1:]:
        for row in table_record(table)["rows"]:
            assert {cell["mean"] for cell in row if isinstance(cell, dict)} == {100.0}


def test_without_a_curve_or_the_protocol(idle: MemoryStore) -> None:
    tables = paper_figures(gather([as_row(idle, "gpt4-full", "turk-demo")]))
    assert [table.caption[:8] for table in tables] == ["Table 4.", "Figure 6", "Figure 8"]
    assert "published" not in str(tables[-1].head)


def test_a_record_for_json(idle: MemoryStore) -> None:
    for table in paper_figures(gather([as_row(idle, "do-nothing")])):
        record = msgspec.json.decode(msgspec.json.encode(table_record(table)))
        assert all(len(row) == len(record["head"]) for row in record["rows"])
        assert not any(cell == DASH for row in record["rows"] for cell in row)


def test_a_shop_has_no_such_figures(careful: MemoryStore) -> None:
    with pytest.raises(SettingError, match="figures are TurkingBench's"):
        paper_figures(gather([careful]))


def test_the_command_repeats_a_condition(idle: MemoryStore) -> None:
    plain = command_of(as_row(idle, "gpt4v-full").info)
    assert "--agent llm --model m" in plain
    assert plain.endswith("--set condition=gpt4v-full")
    changed = command_of(as_row(idle, "gpt4v-full", demos=3, temperature=None).info)
    assert {"temperature=null", "demos=3", "condition=gpt4v-full"} <= set(changed.split())
    own = run_info("turk", "llm", 1, agent_settings={"model": "m", "vision": True, "demos": 0})
    assert command_of(own).endswith("--set vision=true")


def test_labels_tell_conditions_and_numbers_apart(idle: MemoryStore) -> None:
    stores = [as_row(idle, "gpt4-full"), as_row(idle, "gpt4-full", demos=1),
              as_row(idle, "claude-full")]  # fmt: skip
    for store in stores:
        store.info.agent_settings["demonstrations"] = ["a"] * store.info.agent_settings["demos"]
    labels = [run.label for run in gather(stores).runs]
    assert labels == ["llm m, gpt4-full (demos 7)", "llm m, gpt4-full (demos 1)",
                      "llm m, claude-full"]  # fmt: skip

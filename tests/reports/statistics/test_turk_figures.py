import msgspec
import pytest
from played import MemoryStore, run_info

from errands.reports.statistics.columns import read_columns
from errands.reports.statistics.figures import run_figures
from errands.reports.statistics.turk_figures import demonstrations, table_row, turk_figures
from errands.turk.scoring.summary import FieldScore, summarize


def test_the_oracle_is_far_above_nobody_under_both_rules(
    oracle: MemoryStore, idle: MemoryStore
) -> None:
    best, none = (turk_figures(store.parts()) for store in (oracle, idle))
    for rules in ("paper", "released"):
        top, bottom = best.rules[rules].macro.mean, none.rules[rules].macro.mean
        assert top is not None
        assert bottom is not None
        assert top > 0.9 > 0.3 > bottom


def test_scores_are_those_of_the_summary_that_defines_them(oracle: MemoryStore) -> None:
    scores = [
        FieldScore(one.parts["task"], one.parts["row"], *field)
        for one in oracle.summaries()
        for field in one.parts["fields"]
    ]
    assert turk_figures(oracle.parts()).rules["paper"] == summarize(scores, "paper")


def test_page_lengths_are_those_of_the_pages(oracle: MemoryStore) -> None:
    lengths = turk_figures(oracle.parts()).lengths
    real = {one.parts["page_chars"] for one in oracle.summaries()}
    assert {chars for chars, _ in lengths.dots} <= real
    assert sum(band.score.count for band in lengths.bands) == lengths.instances
    edges = [(band.shortest, band.median, band.longest) for band in lengths.bands]
    assert edges == sorted(edges)


@pytest.mark.parametrize(
    ("scores", "correlation"),
    [([0.1, 0.2, 0.3, 0.9], 1.0), ([0.9, 0.3, 0.2, 0.1], -1.0), ([0.5] * 4, None)],
)
def test_the_correlation_is_of_ranks(scores: list[float], correlation: float | None) -> None:
    parts = [
        (n, {"task": "t", "row": n, "page_chars": 10**n, "fields": [["f", "text", score, score]]})
        for n, score in enumerate(scores)
    ]
    found = turk_figures(parts).lengths.correlation
    assert found == (None if correlation is None else pytest.approx(correlation))


def test_fields_that_do_not_count_and_episodes_without_parts_are_left_out() -> None:
    parts = [
        (0, {"task": "t", "row": 0, "page_chars": 9, "fields": [["f", "text", None, 0.5]]}),
        (1, {}),
    ]
    found = turk_figures(parts)
    assert found.rules["paper"].macro.mean is None
    assert found.rules["released"].macro.mean == 0.5
    assert found.lengths.dots == ()


@pytest.mark.parametrize("name", ["demonstrations", "demos"])
def test_runs_that_differ_in_demonstrations_make_a_line(oracle: MemoryStore, name: str) -> None:
    work = turk_figures(oracle.parts())
    runs = []
    for shown in (3, 0, 7):
        settings = {"model": "m", name: shown}
        runs.append((run_info("turk", "llm", 1, agent_settings=settings), work))
    other = run_info("turk", "llm", 1, agent_settings={"model": "n", name: 3})
    (line,) = demonstrations([*runs, (other, work)])
    assert line.agent == "llm m"
    assert [number for number, _ in line.points] == [0, 3, 7]
    elsewhere = msgspec.structs.replace(runs[1][0], protocol_key="another/1")
    assert demonstrations([runs[0], (elsewhere, work)]) == ()


def test_a_row_of_table_4(oracle: MemoryStore) -> None:
    figures = run_figures(oracle, read_columns(oracle))
    assert figures.turk is not None
    settings = {"model": "m", "demos": 7, "encoding": "relevant"}
    info = run_info("turk", "llm", 1, agent_settings=settings)
    row = table_row(info, figures.turk, 5000, 10)
    assert (row.model, row.modalities, row.encoding) == ("m", "T", "relevant")
    assert (row.demonstrations, row.input_tokens) == (7, 500)
    asked = msgspec.structs.replace(figures.turk, calls=20)
    assert table_row(info, asked, 5000, 10).input_tokens == 250
    plain = table_row(oracle.info, figures.turk, 0, 10)
    assert (plain.model, plain.modalities, plain.demonstrations) == ("oracle", "", None)
    assert plain.input_tokens is None

import msgspec
import pytest
from played import MemoryStore, made, run_info

from errands.reports.statistics.columns import read_columns
from errands.reports.statistics.figures import run_figures
from errands.reports.statistics.turk_figures import demonstrations, table_row, turk_figures
from errands.turk.scoring.summary import FieldScore, ScoreSummary, summarize


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
    found, defined = turk_figures(oracle.parts()).rules["paper"], summarize(scores, "paper")
    assert found.instances == defined.instances

    def figures(summary: ScoreSummary) -> list[tuple[float | None, int]]:
        each = [summary.macro, summary.micro]
        each += [one.all for one in summary.tasks]
        each += [figure for one in summary.types for figure in (one.macro, one.micro)]
        each += [task.types[kind] for task in summary.tasks for kind in sorted(task.types)]
        return [(pytest.approx(one.mean), one.count) for one in each]

    assert figures(found) == figures(defined)


def test_the_headline_is_by_task_and_a_task_by_instance() -> None:
    def parts(tasks: dict[str, list[float]]) -> list[tuple[int, dict[str, object]]]:
        rows = [(task, row, score) for task in tasks for row, score in enumerate(tasks[task])]
        return [
            (n, {"task": task, "row": row, "page_chars": 9, "fields": [["f", "text", s, s]]})
            for n, (task, row, s) in enumerate(rows)
        ]

    two = turk_figures(parts({"a": [0.0, 1.0] * 50, "b": [1.0] * 100})).rules["paper"]
    assert (two.macro.low, two.macro.mean, two.macro.high) == (0.5, 0.75, 1.0)
    assert (two.macro.clusters, two.macro.method) == (2, "cluster bootstrap")
    a, b = (task.all for task in two.tasks)
    assert (a.clusters, a.method) == (100, "cluster bootstrap")
    assert a.low == pytest.approx(0.4, abs=0.02)
    assert (b.mean, b.high, b.method) == (1.0, 1.0, "no variation")
    assert b.low == pytest.approx(0.963, abs=0.001)
    one = turk_figures(parts({"a": [0.0, 1.0] * 50})).rules["paper"]
    assert one.macro == one.tasks[0].all, "of one task alone its instances are what is sampled"


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


def page(task: str, row: int, *scores: float | None) -> dict[str, object]:
    fields = [[f"f{place}", "text", score, score] for place, score in enumerate(scores)]
    return {"task": task, "row": row, "page_chars": 9, "fields": fields}


def form_run(*pages: dict[str, object] | str, rules: str = "paper") -> MemoryStore:
    """A run of these pages; a text is the key of an episode that failed."""
    protocol = {"id": "t", "rules": rules, "title": "Forms"}
    store = MemoryStore(run_info("turk", "a", len(pages), protocol=protocol))
    for number, one in enumerate(pages):
        if isinstance(one, str):
            episode = made(number, None, error="it broke")
            summary = msgspec.structs.replace(episode.summary, key=one)
        else:
            scores = [f[2] for f in one["fields"] if f[2] is not None]  # type: ignore[attr-defined]
            reward = sum(scores) / len(scores) if scores else 0.0
            episode = made(number, reward)
            summary = msgspec.structs.replace(
                episode.summary, key=f"{one['task']}/{one['row']}", parts=one
            )
        store.add(msgspec.structs.replace(episode, summary=summary))
    return store


def test_the_score_of_a_run_is_the_mean_over_tasks() -> None:
    # Over pages it is (1 + 0 + 0 + 0) / 4; on the last page nothing counts.
    store = form_run(page("a", 0, 1.0), page("b", 0, 0.0, 0.0), page("b", 1, 0.0), page("c", 0))
    figures = run_figures(store, read_columns(store))
    assert figures.turk is not None
    assert figures.score.mean == pytest.approx(50.0)
    assert figures.score.mean == 100 * (figures.turk.rules["paper"].macro.mean or 0)
    assert figures.score_at_least == figures.score


def test_the_score_is_under_the_rules_of_the_protocol() -> None:
    one = {"task": "a", "row": 0, "page_chars": 1, "fields": [["f", "radio", 0.0, 1.0]]}
    for rules, score in (("paper", 0.0), ("released", 100.0)):
        store = form_run(one, rules=rules)
        assert run_figures(store, read_columns(store)).score.mean == score


def test_errors_as_0_are_pages_of_their_task() -> None:
    # The failed page of `a` counts as two fields, like the others there; of `b` nothing is known.
    store = form_run(page("a", 0, 1.0, 1.0), page("a", 1, 1.0, 1.0), "a/2", "b/0")
    figures = run_figures(store, read_columns(store))
    assert figures.score.mean == 100.0
    assert figures.score_at_least.mean == pytest.approx((100 * 4 / 6 + 0) / 2)
    assert figures.errors == 2

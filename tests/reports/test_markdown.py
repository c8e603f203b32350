import re

from played import MemoryStore, made, run_info

from errands.reports.content import gather
from errands.reports.markdown import code, text, to_markdown
from errands.reports.statistics.estimate import METHODS


def test_the_tables_hold_the_figures(
    careful: MemoryStore, chance: MemoryStore, idle: MemoryStore, oracle: MemoryStore
) -> None:
    report = gather([careful, chance, idle, oracle])
    said = to_markdown(report)
    score = report.runs[0].figures.score
    assert f"{score.mean:.1f} [{score.low:.1f}, {score.high:.1f}]" in said
    for words in ("## WebShop", "## TurkingBench", "## Comparisons", "rank", "(shown the answers)",
                  "errands run demo-turk --agent oracle", "wins / ties / losses"):  # fmt: skip
        assert words in said
    rows = [line for line in said.splitlines() if line.startswith("|")]
    assert all(line.endswith("|") for line in rows)


def test_the_first_table_has_the_figure_that_a_run_is_known_by(idle: MemoryStore) -> None:
    report = gather([idle])
    rows = (line for line in to_markdown(report).splitlines() if line.startswith("| do-nothing"))
    turk = report.runs[0].figures.turk
    assert turk is not None
    mean = f"{100 * (turk.rules['paper'].macro.mean or 0):.1f} ["
    assert next(rows).split("|")[5].strip().startswith(mean)
    assert "| Score, mean over tasks |" in to_markdown(report)


def test_every_row_of_a_table_has_its_columns(careful: MemoryStore, oracle: MemoryStore) -> None:
    width = 0
    for line in to_markdown(gather([careful, oracle])).splitlines():
        cells = line.replace("\\|", "").count("|") if line.startswith("|") else 0
        assert not cells or not width or cells == width
        width = cells


def test_the_method_is_named_under_every_table_with_intervals(
    careful: MemoryStore, chance: MemoryStore, oracle: MemoryStore
) -> None:
    lines = to_markdown(gather([careful, chance, oracle])).splitlines()
    tables = 0
    for at, line in enumerate(lines):
        is_last = line.startswith("|") and not lines[at + 1].startswith("|")
        if is_last and " [" in line:
            tables += 1
            assert lines[at + 2].startswith("95 % intervals: ")
            assert ", over " in lines[at + 2]
    assert tables >= 5
    said = "\n".join(lines)
    for name in METHODS:
        assert f"Interval by {name}: " in said


def test_causes_seeds_and_repeats_have_tables() -> None:
    def store(seed: int) -> MemoryStore:
        episodes = [
            made(n, 0.5 * (n % 3), key=f"goal {n % 4}", parts={"cluster": "p", "invalid": 0})
            for n in range(8)
        ]
        return MemoryStore(run_info("shop", "x", 8, seed=seed, id=str(seed)), episodes)

    said = to_markdown(gather([store(1), store(2)]))
    assert (
        "| unknown: what was kept of the episode does not tell | 6 (75.0 %): 0, 1, 3, 4, 6 |"
        in said
    )
    assert "| x | 1, 2 | 43.8 [" in said
    assert "pass@k" in said
    assert "over episodes" in said, "all are of one product"


def test_foreign_text_cannot_break_out() -> None:
    assert text("a|b<script>*x*\n# y") == "a\\|b&lt;script&gt;\\*x\\* \\# y"
    assert code("a `` b") == "``` a `` b ```"
    store = MemoryStore(run_info("shop", "<img src=x>|", 1), [made(0, None, error="<b>|\n## no")])
    # In a run of backticks all is shown as it is.
    said = re.sub("`[^`]*`", "", to_markdown(gather([store])))
    assert "<img" not in said
    assert "<b>" not in said
    assert "\n## no" not in said


def test_empty_and_failed_runs_have_dashes() -> None:
    said = to_markdown(gather([MemoryStore(run_info("shop", "x", 3))]))
    assert "| x | demo-shop/1 | 0 | 0 | – | – | – | – |" in said
    said = to_markdown(gather([MemoryStore(run_info("turk", "y", 1), [made(0, None)])]))
    assert "It gave up." in said

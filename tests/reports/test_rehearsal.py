import numpy as np

from errands.reports.columns import part_rows, read_columns
from errands.reports.figures import run_figures
from errands.reports.rehearsal import ImaginedStore, rehearse


def test_the_imagined_run_agrees_with_itself() -> None:
    store = ImaginedStore(300)
    columns = read_columns(store)
    rewards = [one.reward for one in store.summaries()]
    given = [None if np.isnan(reward) else float(reward) for reward in columns.reward]
    assert given == rewards
    assert dict(part_rows(store)) == {s.number: s.parts for s in store.summaries() if s.parts}
    figures = run_figures(store, columns)
    assert figures.errors == 6
    assert sum(failures.count for failures in figures.failures) == 6


def test_a_rehearsal_says_what_it_took() -> None:
    took = rehearse(2000)
    assert took.episodes == 2000
    assert 0 < took.cpu_seconds < 60
    assert took.html_megabytes < 8

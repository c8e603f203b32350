"""The TurkingBench paper's table 4 and figures 6, 7 and 8, as tables over runs.

All are under the released rules, as the published ones are; the report itself has both.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from errands.agents.llm.turk.conditions import published_table
from errands.errors import SettingError
from errands.reports.content import Report, Run
from errands.reports.formatting import DASH, dash
from errands.reports.statistics.estimate import Estimate
from errands.reports.statistics.turk_figures import scores_side_by_side
from errands.reports.tables import Cell, Table, Value, table_4

__all__ = ["paper_figures", "table_record"]

_RULES: Final = "released"


def paper_figures(report: Report) -> tuple[Table, ...]:
    """The tables, as far as the runs have them: figure 7 needs runs that differ in the number of
    their demonstrations alone."""
    runs = [run for run in report.runs if run.figures.turk is not None]
    if not runs:
        raise SettingError("The paper's figures are TurkingBench's, and none of the runs is.")
    works = [run.figures.turk for run in runs if run.figures.turk is not None]
    scores = scores_side_by_side(works, _RULES)
    first = table_4(runs)
    tables = [
        first._replace(caption=f"Table 4. {first.caption}"),
        _side_by_side("Figure 6. Score by task, in %", "task", runs, scores["task"]),
        _by_demonstrations(report),
        _by_type(runs, scores["field type"]),
    ]
    return tuple(table for table in tables if table is not None)


def table_record(table: Table) -> dict[str, Any]:
    """A table for JSON: estimates as records, all else as texts."""
    rows = [[_plain(cell) for cell in row] for row in table.rows]
    return {"title": table.caption, "head": list(table.head), "rows": rows}


def _plain(cell: Cell) -> Any:
    if isinstance(cell, Value):
        return msgspec.to_builtins(cell.estimate)
    if isinstance(cell, Run):
        return cell.name
    return None if cell == DASH else str(cell)


def _side_by_side(
    title: str, what: str, runs: Sequence[Run], scores: dict[str, list[Estimate | None]]
) -> Table:
    rows = [
        [name, *(DASH if one is None else Value(one) for one in each)]
        for name, each in scores.items()
    ]
    return Table(title, [what, *(run.label for run in runs)], rows)


def _by_demonstrations(report: Report) -> Table | None:
    curves = report.demonstrations
    if not curves:
        return None
    numbers = sorted({number for curve in curves for number, _ in curve.released})
    rows: list[list[Cell]] = []
    for curve in curves:
        points = dict(curve.released)
        rows.append([curve.agent, *(Value(points[n]) if n in points else DASH for n in numbers)])
    title = "Figure 7. Score by number of demonstrations, in %"
    return Table(title, ["agent", *map(str, numbers)], rows)


def _by_type(runs: Sequence[Run], scores: dict[str, list[Estimate | None]]) -> Table:
    """With the published figures where a run is of the published protocol."""
    table = _side_by_side("Figure 8. Score by field type, in %", "type", runs, scores)
    published = published_table()
    row = next(row for row in published.rows if row.types)
    if all(run.info.protocol.get("id") != published.protocol for run in runs):
        return table
    return Table(
        table.caption,
        [*table.head, f"published ({row.model}, {row.name})"],
        [[*cells, dash(row.types.get(str(cells[0])), 0)] for cells in table.rows],
    )

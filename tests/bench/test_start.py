"""Starting is measured in processes of its own, dependencies as they are installed."""

import re
import tomllib
from pathlib import Path

from errands.bench.start import bench_start, dependency_costs, markdown
from errands.shop.catalog.catalog import Catalog

ROOT = Path(__file__).resolve().parents[2]


def test_a_start_is_told_in_its_parts(little: Catalog) -> None:
    figures = {one.name: one.value for one in bench_start(str(little.path), starts=1)}
    parts = ("import errands, gymnasium.make", "first reset", "first search")
    assert abs(sum(figures[part] for part in parts) - figures["all of it"]) < 1e-9
    assert 0 < figures["import errands"] < figures["import errands, gymnasium.make"]
    assert figures["modules imported"] > 100


def test_every_direct_dependency_has_its_cost() -> None:
    costs = list(dependency_costs(starts=1))
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {re.split("[<>=]", line)[0] for line in declared}
    assert {one.name for one in costs} >= names
    assert [one.megabytes for one in costs] == sorted((o.megabytes for o in costs), reverse=True)
    cost = {one.name: one for one in costs}
    # NumPy is needed by Gymnasium as well, which thus brings it to nobody.
    assert "numpy" not in cost["gymnasium"].brings
    assert {"farama-notifications", "cloudpickle"} <= set(cost["gymnasium"].brings)
    assert cost["numpy"].megabytes > 20 > cost["numpy"].alone
    assert "shellingham" in cost["typer"].brings
    assert all(one.megabytes > 0 and one.import_ms > 0 for one in costs)
    table = (ROOT / "docs" / "explanation" / "dependencies.md").read_text()
    assert markdown(costs).splitlines()[0] in table
    for name in names:
        assert f"\n| {name} |" in table

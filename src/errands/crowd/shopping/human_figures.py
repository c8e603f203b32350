"""How people did, all together: for the admin's page, the command line and programs."""

import msgspec

from errands.crowd.shopping.assignments import (
    ShoppingSettings,
    read_results,
    read_settings,
    read_workers,
)
from errands.crowd.shopping.demonstrations import about_shop, goal_set
from errands.crowd.shopping.worker_quality import ShoppingFigures, Worker, figures
from errands.crowd.store.database import ReadDatabase

__all__ = ["Overview", "read_overview"]


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """Everybody, and the figures of people."""

    settings: ShoppingSettings
    finished: int
    open: int
    returned: int
    visitors: int
    """Finished sessions of people whom nobody sent."""
    paid: float
    all: ShoppingFigures
    """Of all errands that are counted."""
    qualified: ShoppingFigures
    experts: ShoppingFigures
    include_trials: bool
    workers: list[Worker]


def read_overview(database: ReadDatabase, *, include_trials: bool = False) -> Overview:
    """What there is, and how good it is; trials are left out of figures unless they are asked
    for."""
    settings = read_settings(database, goal_set(about_shop(database))[1])
    everybody = read_workers(database, settings, include_trials=include_trials)
    results = read_results(database)
    counted = [one for one in results if include_trials or not one.is_trial]
    passed = {worker.id for worker in everybody if worker.standing == "qualified"}
    best = {worker.id for worker in everybody if worker.is_expert}
    states: dict[str, int] = dict(
        database.rows("SELECT state, count(*) FROM outings GROUP BY state")
    )
    [(visitors,)] = database.rows(
        "SELECT count(*) FROM sessions s WHERE s.finished IS NOT NULL"
        " AND NOT EXISTS (SELECT 1 FROM outings o WHERE o.session = s.number)"
    )
    return Overview(
        settings=settings,
        finished=states.get("done", 0),
        open=states.get("open", 0),
        returned=states.get("returned", 0),
        visitors=visitors,
        paid=sum(one.pay for one in results),
        all=figures(counted),
        qualified=figures(one for one in counted if one.worker in passed),
        experts=figures(one for one in counted if one.worker in best),
        include_trials=include_trials,
        workers=everybody,
    )

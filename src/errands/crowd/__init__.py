"""People's work as data: accounts, HITs, written instructions, demonstrations of shopping.

A store can be read while a server writes it:

    from errands.crowd import SessionFilter, export_run, open_read_only

    with open_read_only("site.sqlite") as database:
        export_run(database, "runs/experts", SessionFilter(experts=True), catalog="shop-1k")
"""

from typing import TYPE_CHECKING

from errands.lazy import lazy_exports

__all__ = [
    "Overview",
    "SessionFilter",
    "export_run",
    "import_logs",
    "open_database",
    "open_read_only",
    "read_overview",
    "write_human_file",
]

if TYPE_CHECKING:
    from errands.crowd.database import open_database
    from errands.crowd.instructions.human_file import write_human_file
    from errands.crowd.shopping.demonstrations import (
        Overview,
        SessionFilter,
        export_run,
        read_overview,
    )
    from errands.crowd.shopping.session_logs import import_logs
    from errands.crowd.store.database import open_read_only
else:
    __getattr__ = lazy_exports(__name__)

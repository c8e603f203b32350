"""Reports on runs: figures with intervals, comparisons, and episodes to walk through.

`statistics` turns the episodes of a store into figures; `html` shows them as pages and plots;
`content` is a whole report as data, which is written as HTML, Markdown and JSON.
"""

from typing import TYPE_CHECKING

from errands.lazy import lazy_exports

__all__ = ["Estimate", "Report", "RunFigures", "gather", "report", "to_json", "to_markdown"]

if TYPE_CHECKING:
    from errands.reports.content import Report, gather, to_json
    from errands.reports.markdown import to_markdown
    from errands.reports.statistics.estimate import Estimate
    from errands.reports.statistics.figures import RunFigures
    from errands.reports.writing import report
else:
    __getattr__ = lazy_exports(__name__)

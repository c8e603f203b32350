"""What the website counts, in Prometheus's text format."""

from collections import Counter
from collections.abc import Iterator

from errands.web.core.metrics import Histogram
from errands.web.shop.visitors import Visitors

__all__ = ["SiteMetrics"]


class SiteMetrics:
    """Counters of one site."""

    def __init__(self, shoppers: Visitors) -> None:
        self._shoppers = shoppers
        self.pages: Counter[str] = Counter()
        """Pages shown, by kind."""
        self.refusals: Counter[int] = Counter()
        """Requests refused, by status."""
        self.purchases = 0
        self.latency = Histogram()

    def text(self) -> str:
        """Everything, for `GET /metrics`."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        name = "errands_site_shoppers"
        yield f"# HELP {name} Visitors in memory."
        yield f"# TYPE {name} gauge"
        yield f"{name} {len(self._shoppers)}"
        for name, about, value in (
            ("sessions", "Sessions begun.", self._shoppers.begun),
            ("purchases", "Products bought.", self.purchases),
        ):
            name = f"errands_site_{name}_total"
            yield from (f"# HELP {name} {about}", f"# TYPE {name} counter", f"{name} {value}")
        name = "errands_site_pages_total"
        yield from (f"# HELP {name} Pages shown, by kind.", f"# TYPE {name} counter")
        for kind, count in sorted(self.pages.items()):
            yield f'{name}{{kind="{kind}"}} {count}'
        name = "errands_site_refusals_total"
        yield from (f"# HELP {name} Requests refused, by status.", f"# TYPE {name} counter")
        for status, count in sorted(self.refusals.items()):
            yield f'{name}{{status="{status}"}} {count}'
        name = "errands_site_seconds"
        yield f"# HELP {name} How long answers take to make."
        yield f"# TYPE {name} histogram"
        yield from self.latency.lines(name, 'part="site"')

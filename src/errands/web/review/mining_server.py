"""Reviewing mined candidates in the browser: one page, one person, this machine."""

from collections.abc import Callable

from errands.errors import ErrandsError
from errands.mining.review import Review
from errands.web.server import listen

__all__ = ["serve_review"]


def serve_review(review: Review, port: int, on_start: Callable[[str], None]) -> None:
    """Serve until asked to stop; `on_start` is told the address."""
    try:
        from errands.web.core.auth import Gate
        from errands.web.core.limits import Limits
        from errands.web.core.server import Server
        from errands.web.review.mining import mining_site
    except ImportError as missing:
        raise ErrandsError(
            f"The page needs {missing.name}, which is not installed; run"
            ' pip install "errands[serve]", or leave out --web.'
        ) from None
    with listen("127.0.0.1", port) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        part = mining_site(review)
        Server([part], Gate(own=True), Limits(), lambda: on_start(address)).run([listening])

"""Serving the review pages, to one person on this machine: mined attributes, scores by hand."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from errands.errors import ErrandsError
from errands.extras import install_command
from errands.mining.review import Review
from errands.shop.rewards.registry import rules_named
from errands.verify.hand_scores import HandFile
from errands.verify.judges import half_width
from errands.verify.verification import Material, sample
from errands.web.core.limits import ServerLimits, listen

if TYPE_CHECKING:
    from errands.web.core.application import AppPart

__all__ = ["serve_review", "serve_scoring"]


def serve_review(review: Review, port: int, on_start: Callable[[str], None]) -> None:
    """Ask about mined candidates until asked to stop; `on_start` is told the address."""
    try:
        from errands.web.review.mining import mining_site
    except ImportError as missing:
        raise ErrandsError(
            f"The page needs {missing.name}, which is not installed; run"
            f" {install_command('serve')}, or leave out --web."
        ) from None
    _serve(mining_site(review), port, on_start)


def serve_scoring(
    material: Material,
    place: Path,
    rules: str,
    count: int,
    seed: int,
    port: int,
    on_start: Callable[[str, int, int], None],
    judge: str = "",
    interval: float | None = None,
) -> None:
    """Ask for scores until asked to stop; `on_start` is told the address, how many purchases there
    are to score, and how many are scored already."""
    try:
        from errands.web.review.scoring import ScoringSite
    except ImportError as missing:
        raise ErrandsError(
            f"Serving needs {missing.name}, which is not installed; run {install_command('serve')}."
        ) from None
    rules_named(rules)
    purchases = sample(material, count, seed)
    if not purchases:
        raise ErrandsError("Nothing was bought in this run, so there is nothing to score by hand.")
    if interval is not None:
        half_width(interval)
    with HandFile(place, material.info.id, judge) as file:
        site = ScoringSite(material, purchases, file, rules, judge, interval)
        done = len(site.scored)
        _serve(site.part(), port, lambda address: on_start(address, len(purchases), done))


def _serve(part: "AppPart", port: int, on_start: Callable[[str], None]) -> None:
    from errands.web.core.auth import AuthMiddleware
    from errands.web.core.server import Server

    with listen("127.0.0.1", port) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        start = functools.partial(on_start, address)
        Server([part], AuthMiddleware(), ServerLimits(), start).run([listening])

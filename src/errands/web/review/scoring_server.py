"""Serving the page for scores by hand, to this machine alone."""

from collections.abc import Callable
from pathlib import Path

from errands.errors import ErrandsError
from errands.shop.rewards.rules import rules_named
from errands.verify.hand_scores import HandFile
from errands.verify.verification import Material, sample
from errands.web.core.limits import Limits
from errands.web.server import listen

__all__ = ["serve_scoring"]


def serve_scoring(
    material: Material,
    place: Path,
    rules: str,
    count: int,
    seed: int,
    port: int,
    on_start: Callable[[str, int, int], None],
) -> None:
    """Serve until asked to stop; `on_start` is told the address, how many purchases there are to
    score, and how many are scored already."""
    try:
        from errands.web.core.auth import Gate
        from errands.web.core.server import Server
        from errands.web.review.scoring import ScoringDesk
    except ImportError as missing:
        raise ErrandsError(
            f"Serving needs {missing.name}, which is not installed; run"
            ' pip install "errands[serve]".'
        ) from None
    rules_named(rules)
    chosen = sample(material, count, seed)
    if not chosen:
        raise ErrandsError("Nothing was bought in this run, so there is nothing to score by hand.")
    with HandFile(place, material.info.id) as file, listen("127.0.0.1", port) as listening:
        desk = ScoringDesk(material, chosen, file, rules)
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        done = len(desk.scored)
        server = Server(
            [desk.part()], Gate(own=True), Limits(), lambda: on_start(address, len(chosen), done)
        )
        server.run([listening])

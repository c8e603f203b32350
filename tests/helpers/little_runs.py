"""A protocol of the little shop."""

from errands.runs.protocol import Protocol
from errands.shop.catalog.catalog import Catalog


def little_protocol(catalog: Catalog, episodes: int = 30, **more: object) -> Protocol:
    given = {"max_steps": 15, "goals": "human", **more}
    return Protocol(
        id="little",
        version=1,
        title="Goals of the little shop",
        domain="shop",
        data=str(catalog.path),
        episodes=episodes,
        **given,  # type: ignore[arg-type]
    )

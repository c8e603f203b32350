"""What a shell completes: names of protocols, agents, catalogues, sets of tasks and data sets.

Where no name fits, shells complete files.
"""

from collections.abc import Iterable

__all__ = ["agent_names", "catalog_names", "data_names", "dataset_names", "protocol_names"]


def protocol_names(incomplete: str) -> list[str]:
    from errands.runs.protocol import named_protocols

    return _fitting(named_protocols(), incomplete)


def agent_names(incomplete: str) -> list[str]:
    from errands.agents.registry import kinds

    return _fitting((kind.name for kind in kinds()), incomplete)


def catalog_names(incomplete: str) -> list[str]:
    from errands.shop.catalog.library import names

    return _fitting(names(), incomplete)


def data_names(incomplete: str) -> list[str]:
    """Catalogues and sets of tasks."""
    return _fitting(dict.fromkeys([*catalog_names(""), "turkingbench"]), incomplete)


def dataset_names(incomplete: str) -> list[str]:
    from errands.data import DATASETS

    return _fitting((dataset.name for dataset in DATASETS), incomplete)


def _fitting(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]

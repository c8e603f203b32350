"""Whether data is what a protocol means: a name of a catalogue says nothing about what is in it.

The identity of a protocol's data does not depend on how a catalogue is built: neither on its
format, nor on the noun tagger, nor on the prices that were drawn. The checksum in a result's key
does, and tells such catalogues apart.
"""

import hashlib
from collections.abc import Iterable
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

import msgspec

from errands.data.archive import TASK_FILES
from errands.data.sets import known_tasks
from errands.runs.protocol import DataIdentity, Protocol
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import GoalSet, instruction_key
from errands.turk.tasks.loader import TaskSet
from errands.turk.tasks.splits import turkingbench

__all__ = [
    "DIFFICULTY",
    "OTHER_DATA",
    "catalog_content",
    "describe_catalog",
    "goal_wording",
    "is_meant_catalog",
    "is_meant_tasks",
    "other_data_remark",
    "other_data_title",
]

DIFFICULTY: Final = "difficulty:"
"""Begins what a key says of a generated catalogue."""
OTHER_DATA: Final = "other-data"
"""Marks, in a key, that the data is not what the protocol means."""
_SAID: Final = (
    *("asin", "title", "description", "bullets", "prices", "options"),
    *("category", "query", "product_category", "attributes"),
)
_UNUSABLE: Final = 0.01
"""The share of products that a build may have left out as unusable."""


def goal_wording(instructions: Iterable[str]) -> str:
    """A checksum of goals' instructions in order: lower case, without quotation marks and price,
    as the original's list of human goals has them."""
    lines = "\n".join(map(instruction_key, instructions))
    return hashlib.sha256(lines.encode("utf-8", "surrogatepass")).hexdigest()


def catalog_content(catalog: Catalog) -> str:
    """A checksum of what the products say of themselves, by id: not of their nouns, which are the
    tagger's, nor of drawn prices, nor of where their pictures are."""
    total = hashlib.sha256()
    for number in range(len(catalog)):
        product = catalog.product(number)
        said = [getattr(product, name) for name in _SAID]
        total.update(msgspec.json.encode(said, order="deterministic") + b"\n")
    return total.hexdigest()


def is_meant_catalog(identity: DataIdentity, catalog: Catalog, goals: GoalSet) -> bool:
    """Whether a catalogue and its goals are those that a protocol means; cheap figures first."""
    manifest = catalog.manifest
    if abs(manifest.products - identity.products) > _UNUSABLE * identity.products:
        return False
    if identity.goals and len(goals) != identity.goals:
        return False
    if identity.generated is not None:
        made = {**manifest.made, "difficulty": manifest.difficulty}
        wanted = {"by": "generate", "products": identity.products, **identity.generated}
        if any(made.get(name) != value for name, value in wanted.items()):
            return False
    if identity.instructions:
        entries, entry_of_goal = goals.entries()
        if goal_wording([entries[at][1] for at in entry_of_goal]) != identity.instructions:
            return False
    return not identity.content or catalog_content(catalog) == identity.content


def is_meant_tasks(split: str, tasks: TaskSet) -> bool:
    """Whether tasks are TurkingBench's, of that split, by their names and, of those whose files are
    known, by their checksums; how many are absent is said elsewhere."""
    if not set(tasks.names) <= set(turkingbench().expected(split or "all")):
        return False
    known = known_tasks()
    return all(
        _file_hash(tasks.folder(name).joinpath(file)) == known[f"tasks/{name}/{file}"]
        for name in tasks.names
        for file in TASK_FILES
        if f"tasks/{name}/{file}" in known
    )


def _file_hash(file: Traversable) -> str:
    """Of a file's bytes; empty where it cannot be read, of which the task tells."""
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return ""


def describe_catalog(catalog: Catalog, name: str) -> str:
    """A catalogue in a title: `small (generated, easy, 5,000 products)`."""
    manifest = catalog.manifest
    made = "" if manifest.difficulty is None else f"generated, {manifest.difficulty}, "
    return f"{Path(name).name} ({made}{manifest.products:,} products)"


def other_data_title(protocol: Protocol, described: str) -> str:
    """What is played instead of what the protocol's own title says."""
    return f"{protocol.id}'s settings on {described}"


def other_data_remark(protocol: Protocol, described: str) -> str:
    """The same as a sentence, without the full stop; it may be the goals that are others."""
    if protocol.domain == "shop":
        described = f"the {Path(protocol.goals).name} goals of {described}"
    return (
        f"{protocol.id} means other data than {described}: this result is none of {protocol.id},"
        " and its title and key say so"
    )

"""A task, its instances, and the answers people gave.

A task is one web page template and a table. An instance is one distinct combination of the
table's inputs, shown as one page; its labels are the answers of all workers who did it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

__all__ = ["Instance", "Label", "Task"]

Label = str | int | float | bool | None
"""One worker's answer for one field, typed as the whole column is; None where it was left empty."""


@dataclass(frozen=True)
class Instance:
    """One page of a task: what is put in, and what people answered."""

    task: str
    row: int
    """0-based, in order of first appearance: the instance's number within its task."""
    inputs: Mapping[str, str] = field(repr=False)
    """Column to cell text, in column order, as it is put into the page."""
    labels: Mapping[str, tuple[Label, ...]] = field(repr=False)
    """Field name to the answers of all workers, in file order; every `Answer.` column is here."""

    @cached_property
    def id(self) -> str:
        """Stable: the task, the row, and a hash of the inputs."""
        content = json.dumps(list(self.inputs.items()), ensure_ascii=True)
        return f"{self.task}/{self.row}/{hashlib.sha256(content.encode()).hexdigest()[:12]}"


@dataclass(frozen=True)
class Task:
    """A template and its instances."""

    name: str
    template: str = field(repr=False)
    instances: Sequence[Instance] = field(repr=False)
    fields: tuple[str, ...] = ()
    """Names of the `Answer.` columns, prefix off, in column order."""

    @cached_property
    def template_hash(self) -> str:
        return hashlib.sha256(self.template.encode("utf-8", "surrogatepass")).hexdigest()

    @cached_property
    def checksum(self) -> str:
        """Of everything: the template, the inputs and all answers."""
        total = hashlib.sha256(self.template_hash.encode())
        for instance in self.instances:
            labels = json.dumps(list(instance.labels.items()))
            total.update(f"{instance.id}\n{labels}\n".encode())
        return total.hexdigest()

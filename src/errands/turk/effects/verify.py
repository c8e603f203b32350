"""Verifying a task: does it look the same to both drivers, can it be solved.

A few instances of a task are compared under both drivers (`errands.turk.effects.equivalence`). The
task is then played by the oracle and by nobody on the driver that `auto` would take.
"""

import time
from contextlib import closing

import msgspec

from errands.errors import ErrandsError
from errands.turk.drivers import Pages
from errands.turk.effects.equivalence import prove_equivalence
from errands.turk.oracle.field_oracle import play_oracle
from errands.turk.pages.driver import Driver
from errands.turk.proofs import keep_proof
from errands.turk.scoring.instance_score import instance_figures, score_page
from errands.turk.scoring.metrics import label_text, majority
from errands.turk.tasks.task import Instance, Task

__all__ = ["TaskVerification", "evenly_spaced", "telling_rows", "verify_task"]


class TaskVerification(msgspec.Struct, frozen=True):
    """What was found out about one task."""

    task: str
    split: str
    instances: int
    fields: int
    equal: bool | None
    """Whether both drivers agree; None where there is no browser to ask."""
    driver: str
    """What `auto` takes for the task."""
    oracle: dict[str, float | None]
    do_nothing: dict[str, float | None]
    seconds: float
    error: str | None = None


def evenly_spaced(count: int, most: int) -> list[int]:
    """So many row numbers, evenly over all of them."""
    rows = min(count, most)
    return [index * count // rows for index in range(rows)]


def telling_rows(task: Task, most: int) -> list[int]:
    """The rows that show most of what workers can answer: each choice taken, each text filled.

    Pages differ in what an answer does to them (a box that only `other` enables), so a proof
    wants every kind of answer. Greedy, beginning with the first row, at most so many.
    """
    kinds = [_kinds(instance) for instance in task.instances]
    chosen: list[int] = []
    seen: set[tuple[str, str]] = set()
    left = set(range(len(kinds)))
    while left and len(chosen) < most:
        best = max(sorted(left), key=lambda row: len(kinds[row] - seen)) if chosen else 0
        if chosen and not kinds[best] - seen:
            break
        chosen.append(best)
        left.discard(best)
        seen |= kinds[best]
    return chosen


def _kinds(instance: Instance) -> set[tuple[str, str]]:
    """What the oracle would answer, long texts all alike."""
    answers = set()
    for name, labels in instance.labels.items():
        text = label_text(majority(labels)) or next(filter(None, map(label_text, labels)), "")
        answers.add((name, text if len(text) <= 12 else "..."))
    return answers


def verify_task(
    task: Task, split: str, pages: Pages, *, instances: int, dom: Driver, browser: Driver | None
) -> TaskVerification:
    """Check one task; what goes wrong is in the result, never raised."""
    begun = time.monotonic()
    rows = [task.instances[row] for row in telling_rows(task, instances)]
    equal: bool | None = None
    fields = 0
    error: str | None = None
    oracle_figures: dict[str, float | None] = {}
    nothing_figures: dict[str, float | None] = {}
    try:
        if browser is not None:
            proof = prove_equivalence(task, rows, dom, browser)
            equal, fields = proof.equal, proof.fields
            error = proof.reason or None
            pointer = proof.pointer and split == "test_challenge"
            keep_proof(msgspec.structs.replace(proof, pointer=pointer))
        nothing, oracle = [], []
        for instance in rows:
            with closing(pages.open(task, instance)) as page:
                nothing += score_page(page, instance)
                play_oracle(page, instance)
                oracle += score_page(page, instance)
        oracle_figures, nothing_figures = instance_figures(oracle), instance_figures(nothing)
        fields = fields or len({field.name for field in oracle})
    except ErrandsError as failure:
        error = str(failure)
    return TaskVerification(
        task.name,
        split,
        len(task.instances),
        fields,
        equal,
        pages.choice(task),
        oracle_figures,
        nothing_figures,
        time.monotonic() - begun,
        error,
    )

"""Verifying a task: does it look the same to both drivers, can it be solved.

A task is proven, or not, to be the same under both drivers (see `equivalence`), and then played by
the oracle and by nobody on the driver that `auto` would take.
"""

import time
from contextlib import closing

import msgspec

from errands.errors import ErrandsError
from errands.turk.drivers import Pages
from errands.turk.effects.equivalence import ProofConfig, prove_equivalence
from errands.turk.effects.rows import evenly_spaced
from errands.turk.oracle.field_oracle import play_oracle
from errands.turk.pages.driver import Driver
from errands.turk.proofs import Proof, find_proof, keep_proof
from errands.turk.scoring.instance_score import instance_figures, score_page
from errands.turk.tasks.task import Task

__all__ = ["TaskVerification", "prove_and_keep", "verify_task"]


class TaskVerification(msgspec.Struct, frozen=True):
    """What was found out about one task."""

    task: str
    split: str
    instances: int
    fields: int
    proof: Proof | None
    """How both drivers compare; None where there is no browser to ask and none is kept."""
    driver: str
    """What `auto` takes for the task."""
    oracle: dict[str, float | None]
    do_nothing: dict[str, float | None]
    seconds: float
    error: str | None = None


def prove_and_keep(
    task: Task, split: str, browser: Driver, config: ProofConfig | None = None
) -> Proof:
    """A new proof for a task, kept in Errands' home."""
    proof = prove_equivalence(task, browser, config)
    # Elsewhere what a pointer adds is no part of the task.
    pointer = proof.pointer and split == "test_challenge"
    proof = msgspec.structs.replace(proof, pointer=pointer)
    keep_proof(proof)
    return proof


def verify_task(
    task: Task,
    split: str,
    pages: Pages,
    *,
    browser: Driver | None,
    config: ProofConfig | None = None,
    instances: int = 6,
) -> TaskVerification:
    """Check one task; what goes wrong is in the result, never raised. With a browser a proof is
    made and kept; so many instances are played."""
    begun = time.monotonic()
    proof = find_proof(task.template_hash)
    fields = 0
    error: str | None = None
    oracle_figures: dict[str, float | None] = {}
    nothing_figures: dict[str, float | None] = {}
    try:
        if browser is not None:
            proof = prove_and_keep(task, split, browser, config)
        nothing, oracle = [], []
        for row in evenly_spaced(len(task.instances), instances):
            instance = task.instances[row]
            with closing(pages.open(task, instance)) as page:
                nothing += score_page(page, instance)
                play_oracle(page, instance)
                oracle += score_page(page, instance)
        oracle_figures, nothing_figures = instance_figures(oracle), instance_figures(nothing)
        fields = len({field.name for field in oracle})
    except ErrandsError as failure:
        error = str(failure)
    return TaskVerification(
        task.name,
        split,
        len(task.instances),
        proof.fields if proof is not None else fields,
        proof,
        pages.choice(task),
        oracle_figures,
        nothing_figures,
        time.monotonic() - begun,
        error,
    )

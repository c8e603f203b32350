"""Proof on first use: a task that nobody has judged yet is judged before it is played.

Where there is a browser, a page with scripts is compared under both drivers for a limited time, and
what came of it is kept in Errands' home by the template's hash, whatever it is: the same without a
browser, not the same, or not decided within the time. So it is paid once for every template.
Episodes are the same either way; what a proof brings is that later ones need no browser.
"""

from collections.abc import Callable, Iterable
from contextlib import closing

from errands.errors import ErrandsError
from errands.progress import Progress, silent
from errands.turk.drivers import Pages
from errands.turk.effects.equivalence import ProofConfig
from errands.turk.effects.verify import prove_and_keep
from errands.turk.pages.driver import Driver, DriverError
from errands.turk.proofs import EDITION, PROOF_SECONDS, Proof, keep_proof
from errands.turk.tasks.task import Task

__all__ = ["prove_on_first_use"]


def prove_on_first_use(
    tasks: Iterable[tuple[Task, str]],
    pages: Pages,
    seconds: float = PROOF_SECONDS,
    *,
    progress: Progress = silent,
    on_remark: Callable[[str], None] | None = None,
) -> list[Proof]:
    """Judge those of these tasks, each with its split, that a proof could spare the browser.

    Nothing is done where pages run on another driver than `auto`, where there is no browser, where
    `seconds` is 0, or for tasks that have been judged.
    """
    if not seconds:
        return []
    judged = {task.template_hash: (task, split) for task, split in tasks if pages.unproven(task)}
    if not judged:
        return []
    try:
        browser = pages.new_browser()
    except DriverError:
        return []  # Whoever opens a page is told.
    proofs = []
    with closing(browser):
        if on_remark is not None:
            on_remark(_announcement(len(judged), seconds))
        for number, (task, split) in enumerate(judged.values()):
            progress("proving", number, len(judged))
            proofs.append(_judged(task, split, browser, seconds))
        progress("proving", len(judged), len(judged))
    return proofs


def _judged(task: Task, split: str, browser: Driver, seconds: float) -> Proof:
    try:
        return prove_and_keep(task, split, browser, ProofConfig(seconds=seconds))
    except ErrandsError as failure:
        # A page that fails here will fail when it is played, and is told then.
        proof = Proof(task.template_hash, False, EDITION, 0, 0, str(failure), undecided=seconds)
        keep_proof(proof)
        return proof


def _announcement(count: int, seconds: float) -> str:
    what = "1 task has" if count == 1 else f"{count} tasks have"
    return (
        f"{what} scripts and no proof yet: whether the browser can be spared is found out now, once"
        f" and for all, in at most {seconds:g} s each (--prove 0, in Python prove=0, leaves it out)"
    )

"""The options of the environments of form pages."""

import os
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass

from errands.envs.config import check_choice, check_steps
from errands.envs.observations import Observation
from errands.turk.pages.driver import Driver
from errands.turk.proofs import check_proof_seconds
from errands.turk.scoring.metrics import RULES
from errands.turk.tasks.loader import TaskSet

__all__ = ["TurkConfig"]


@dataclass(frozen=True)
class TurkConfig:
    """How form pages are played."""

    tasks: str | os.PathLike[str] | TaskSet = "demo"
    """A folder, `demo`, or loaded tasks."""
    split: str = "all"
    """train, test, test_challenge, subjective or all."""
    driver: str | Driver | Callable[[], Driver] = "auto"
    """`auto` (the browser, unless the task is proven to need none), `dom`, `browser`, a driver,
    what makes one (a class), or the name of either: `module:attribute`, or an entry point of
    `errands.drivers`."""
    observation: Observation = "html"
    """`html`, `relevant`, `text`; with a browser `screenshot`, `html+screenshot`; or a format of
    your own."""
    fields: str = "given"
    """`hidden` keeps the list of fields from the agent."""
    rules: str = "paper"
    max_steps: int | None = None
    """After so many actions the page is taken as it is; None: never."""
    _: KW_ONLY
    prove: float = 0.0
    """Seconds in which the first `reset` to a task that nobody has judged finds out whether the
    browser can be spared; 0: it runs in the browser until `errands turk verify` or `errands run`
    has found out. Only `auto` asks, and the episodes are the same either way."""

    def __post_init__(self) -> None:
        check_steps(self.max_steps)
        check_proof_seconds(self.prove)
        check_choice("fields", self.fields, ("given", "hidden"))
        check_choice("rules", self.rules, tuple(RULES))

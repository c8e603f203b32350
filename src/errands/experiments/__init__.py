"""Experiments: the tables of the paper on our data, and one-off studies.

`config` says how large an experiment is, `jobs` what is to be done, `scheduler` does it side by
side, `paper` has the experiments and `table` their results. `noun_study` and `reading_comparison`
compare parts of the program with the original's.
"""

from typing import TYPE_CHECKING

from errands.lazy import lazy_exports

__all__ = [
    "EXPERIMENTS",
    "FULL",
    "QUICK",
    "Experiment",
    "ExperimentConfig",
    "ExperimentRow",
    "ExperimentTable",
    "open_folder",
    "run_jobs",
    "to_markdown",
]

if TYPE_CHECKING:
    from errands.experiments.config import FULL, QUICK, ExperimentConfig
    from errands.experiments.paper import EXPERIMENTS, Experiment
    from errands.experiments.scheduler import open_folder, run_jobs
    from errands.experiments.table import ExperimentRow, ExperimentTable, to_markdown
else:
    __getattr__ = lazy_exports(__name__)

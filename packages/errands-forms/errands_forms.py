"""TurkingBench as a verifiers taskset: `vf-eval errands-forms` (docs/integrations)."""

import verifiers.v1 as vf

from errands.integrations.verifiers import (
    EpisodesEnv,
    EpisodesTaskset,
    EpisodeTask,
    FormTasksConfig,
    NullHarness,
)

__all__ = ["EpisodesEnv", "ErrandsForms", "NullHarness"]


class ErrandsForms(EpisodesTaskset, vf.Taskset[EpisodeTask, FormTasksConfig]):
    """TurkingBench: fill in form pages of crowd work."""

"""What a model's answers change of a run's figures: a run that has failed by them has no score."""

from typing import Any

from errands.reports.statistics.estimate import NOTHING
from errands.runs.answers import answer_figures
from errands.runs.store.base import Store

__all__ = ["model_changes"]


def model_changes(store: Store) -> dict[str, Any]:
    """Fields of `RunFigures` that are other for a run of a language model."""
    answers = answer_figures((parts for _, parts in store.parts()), store.info.agent_settings)
    if answers is None:
        return {}
    if not answers.failed:
        return {"answers": answers}
    scores = ("score", "success", "score_at_least", "success_at_least")
    return {"answers": answers, **dict.fromkeys(scores, NOTHING), "turk": None, "repeats": None}

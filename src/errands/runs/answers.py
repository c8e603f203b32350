"""What became of a model's answers: counted for each episode, and judged for the run.

An answer that holds no action (a refusal, a filter, a limit of tokens, nothing at all) costs steps
and reward like a bad action, and says nothing about how well a model plays. So such answers are
counted by kind, and a run that has more of them than its setting `max_empty` allows has failed: it
has no score, as an episode that failed has none.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from errands.agents.model_call import MAX_EMPTY, NOTHING, OUTCOMES, ModelCall, Outcome

__all__ = ["PART", "AnswerFigures", "AnswerTally", "answer_figures"]

PART: Final = "model"
"""What the counts are called among a summary's parts."""

_INSTEAD: Final[dict[Outcome, str]] = {
    "refused": "look at the answers with `errands report`, and choose another model or prompt",
    "filtered": "look at the messages with `errands report`; the endpoint's filter stops them",
    "cut": "allow longer answers, as with --set max_tokens=32000",
    "empty": "look at the messages with `errands report`; try --set calls=tools, or stop=none",
    "unreadable": "look at the answers with `errands report`; try --set calls=tools",
}


class AnswerTally:
    """The answers of one episode."""

    def __init__(self) -> None:
        # No counters, which take longer to make: there is one of these for every episode.
        self._outcomes: defaultdict[str, int] = defaultdict(int)
        self._figures: defaultdict[str, int] = defaultdict(int)

    def note(self, calls: tuple[ModelCall, ...], *, valid: bool) -> tuple[ModelCall, ...]:
        """Count what was asked for one step; the calls, the last one `invalid` where what it
        wanted was not possible."""
        last = calls[-1].outcome if calls else "action"
        if last == "action" and not valid and calls:
            calls = (*calls[:-1], msgspec.structs.replace(calls[-1], outcome="invalid"))
        for call in calls:
            self._outcomes[call.outcome] += 1
            self._figures["tokens_reasoning"] += call.tokens_reasoning
            self._figures["retries"] += max(call.tries - 1, 0)
            self._figures["cached"] += call.cached
        if last != "thought":
            self._figures["steps"] += 1
            self._figures["valid_steps"] += valid
        return calls

    def parts(self) -> dict[str, Any]:
        """What a summary keeps of them; nothing where no model was asked."""
        if not self._outcomes:
            return {}
        return {PART: {"answers": dict(self._outcomes), **self._figures}}


class AnswerFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The answers of a run."""

    answers: int
    outcomes: dict[str, int]
    """How many answers of each outcome."""
    episodes: int
    """In which a model was asked."""
    episodes_with: dict[str, int]
    """How many of them have answers of each outcome."""
    nothing: int
    """Answers that came to nothing."""
    nothing_share: float
    max_empty: float
    steps: int
    """Of these episodes, without thoughts that were steps."""
    valid_steps: int
    """Those whose action was possible."""
    valid_share: float | None
    """The valid-action rate; None without steps."""
    tokens_reasoning: int
    retries: int
    cached: int
    failed: str
    """Why the run has no score; empty where it has one."""

    def listed(self) -> str:
        """The outcomes of answers that came to nothing, those of most answers first."""
        there = [
            (self.outcomes[outcome], OUTCOMES[outcome])
            for outcome in NOTHING
            if self.outcomes[outcome]
        ]
        ordered = sorted(there, key=lambda one: -one[0])
        return ", ".join(f"{count:,} {title}" for count, title in ordered)


def answer_figures(
    parts: Iterable[Mapping[str, Any]], settings: Mapping[str, Any]
) -> AnswerFigures | None:
    """The answers of a run from the parts of its episodes; None where no model was asked."""
    outcomes: Counter[str] = Counter()
    episodes_with: Counter[str] = Counter()
    figures: Counter[str] = Counter()
    episodes = 0
    for part in parts:
        kept = part.get(PART)
        answers = _counts(kept.get("answers") if isinstance(kept, Mapping) else None)
        if not answers:
            continue
        episodes += 1
        outcomes.update(answers)
        episodes_with.update(answers.keys())
        figures.update(_counts(kept))
    if not episodes:
        return None
    given = settings.get("max_empty", MAX_EMPTY)
    most = float(given) if isinstance(given, int | float) else MAX_EMPTY
    nothing = sum(outcomes[outcome] for outcome in NOTHING)
    steps, valid_steps = figures["steps"], figures["valid_steps"]
    counted = AnswerFigures(
        answers=outcomes.total(),
        outcomes={outcome: outcomes[outcome] for outcome in OUTCOMES},
        episodes=episodes,
        episodes_with={outcome: episodes_with[outcome] for outcome in OUTCOMES},
        nothing=nothing,
        nothing_share=nothing / outcomes.total(),
        max_empty=most,
        steps=steps,
        valid_steps=valid_steps,
        valid_share=valid_steps / steps if steps else None,
        tokens_reasoning=figures["tokens_reasoning"],
        retries=figures["retries"],
        cached=figures["cached"],
        failed="",
    )
    return msgspec.structs.replace(counted, failed=_failure(counted))


def _counts(given: Any) -> dict[str, int]:
    """What was counted there; a store may hold anything."""
    if not isinstance(given, Mapping):
        return {}
    return {str(name): count for name, count in given.items() if type(count) is int and count > 0}


def _failure(counted: AnswerFigures) -> str:
    if counted.nothing_share <= counted.max_empty:
        return ""
    most = max(NOTHING, key=lambda outcome: counted.outcomes[outcome])
    return (
        f"{counted.nothing:,} of {counted.answers:,} answers of the model came to nothing"
        f" ({counted.listed()}), a greater share than max_empty={counted.max_empty:g} allows; to"
        f" mend it, {_INSTEAD[most]}"
    )

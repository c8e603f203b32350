"""The paperwork: crowdsourcing pages that an agent reads and fills in, and how answers score."""

from errands.turk.scoring.metrics import score

__all__ = ["score"]

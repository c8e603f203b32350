"""Small functions of the original's `utils`."""

import hashlib
import logging
import random
from collections.abc import Sequence
from pathlib import Path

from errands.shop.goals import weighted_index

__all__ = ["generate_mturk_code", "random_idx", "setup_logger"]


def random_idx(cum_weights: Sequence[float]) -> int:
    """A weighted draw by Python's global generator; the sums begin with 0, so 0 never comes."""
    return weighted_index(cum_weights, random.uniform)


def generate_mturk_code(session_id: str) -> str:
    """What a worker was shown at the end."""
    return hashlib.sha1(session_id.encode()).hexdigest()[:10].upper()


def setup_logger(session_id: str, user_log_dir: Path) -> logging.Logger:
    """A logger that writes messages as they are to `{session_id}.jsonl`, begun anew."""
    logger = logging.getLogger(session_id)
    handler = logging.FileHandler(user_log_dir / f"{session_id}.jsonl", mode="w")
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    return logger

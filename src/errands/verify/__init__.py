"""Is the reward right? Purchases of a run scored again, by other rules and by people."""

from typing import TYPE_CHECKING

from errands.lazy import lazy_exports

__all__ = ["HandScore", "Material", "Verification", "read_hand_scores", "verify"]

if TYPE_CHECKING:
    from errands.verify.hand_scores import HandScore, read_hand_scores
    from errands.verify.verification import Material, Verification, verify
else:
    __getattr__ = lazy_exports(__name__)

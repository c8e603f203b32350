"""The matching model: which of a page's actions to take, by how well each fits.

A row of features for each action and each product that was opened before goes through a small
network and looks at the others (self-attention); each action gets a score. It trains in minutes on
one core, since what words have in common is counted before (`learn.data.matching`).
"""

import torch
from torch import Tensor, nn

from errands.learn.data.matching import FEATURES, MatchBatch
from errands.learn.models.output import NEVER, ChoiceOutput

__all__ = ["MatchingModel"]


class MatchingModel(nn.Module):
    """Scores actions."""

    def __init__(self, width: int = 64, layers: int = 2, heads: int = 4) -> None:
        super().__init__()
        self.enter = nn.Sequential(nn.Linear(FEATURES, width), nn.ReLU(), nn.Linear(width, width))
        # No dropout: reinforcement must learn from the policy that played.
        layer = nn.TransformerEncoderLayer(
            width, heads, 2 * width, 0.0, batch_first=True, norm_first=True
        )
        self.attention = nn.TransformerEncoder(
            layer, layers, nn.LayerNorm(width), enable_nested_tensor=False
        )
        self.score = nn.Linear(width, 1)
        self.worth = nn.Linear(width, 1)
        self.value = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, batch: MatchBatch) -> ChoiceOutput:
        vectors = self.attention(self.enter(batch.features), src_key_padding_mask=~batch.entities)
        scores = self.score(vectors).squeeze(2).masked_fill(~batch.actions, NEVER)
        there = batch.entities.unsqueeze(2)
        mean: Tensor = (vectors * there).sum(dim=1) / there.sum(dim=1)
        highest = vectors.masked_fill(~there, NEVER).amax(dim=1)
        values = self.value(torch.cat([mean, highest], dim=1)).squeeze(1)
        return ChoiceOutput(scores, values, self.worth(vectors).squeeze(2))

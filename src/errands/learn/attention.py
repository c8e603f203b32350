"""The paper's cross-attention between an observation and an action: equations 3 to 6."""

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["CrossAttention"]

_NEVER = -1e9
"""In place of minus infinity, so that a row without any token is no NaN."""


class CrossAttention(nn.Module):
    """Token vectors of observations and actions to one vector for each action."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.w1 = nn.Linear(width, 1, bias=False)
        self.w2 = nn.Linear(width, 1, bias=False)
        self.w3 = nn.Parameter(torch.full((width,), width**-0.5))
        self.w4 = nn.Linear(4 * width, width)
        self.w5 = nn.Linear(width, width)

    def forward(
        self, observed: Tensor, observed_mask: Tensor, action: Tensor, action_mask: Tensor
    ) -> Tensor:
        """`observed` is N x I x width, `action` N x J x width, masks are true at tokens."""
        # (3): how much each token of the observation has to do with each of the action.
        alpha = self.w1(observed) + self.w2(action).transpose(1, 2)
        alpha = alpha + (observed * self.w3) @ action.transpose(1, 2)
        alpha = alpha.masked_fill(~observed_mask.unsqueeze(2), _NEVER)
        # (5): the observation as each token of the action sees it, and the action as a whole.
        c = torch.softmax(alpha, dim=1).transpose(1, 2) @ observed
        weight = alpha.amax(dim=1).masked_fill(~action_mask, _NEVER)
        q = torch.softmax(weight, dim=1).unsqueeze(1) @ action
        # (4), and the mean over tokens of (6).
        joined = torch.cat([action, c, action * c, q * c], dim=2)
        contextual = self.w5(functional.leaky_relu(self.w4(joined)))
        count = action_mask.sum(dim=1, keepdim=True).clamp(min=1)
        return (contextual * action_mask.unsqueeze(2)).sum(dim=1) / count

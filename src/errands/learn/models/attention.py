"""The paper's cross-attention between an observation and its actions: equations 3 to 6.

o  observation tokens, a  action tokens
(3)  alpha_ij = w1 . o_i + w2 . a_j + w3 . (o_i * a_j)
(5)  c_j = softmax over i of alpha_ij, times o_i;  q = softmax over j of max_i alpha_ij, times a_j
(4)  ca_j = w5 . leakyReLU(w4 . [a_j, c_j, a_j * c_j, q * c_j])
(6)  the mean of ca_j over the action's tokens; the score is w6 of it
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

__all__ = ["CrossAttention"]

_NEVER = -1e9
"""In place of minus infinity, so that an action without any token is no NaN."""


class CrossAttention(nn.Module):
    """Token vectors of observations and their actions to one vector for each action."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.w1 = nn.Linear(width, 1, bias=False)
        self.w2 = nn.Linear(width, 1, bias=False)
        self.w3 = nn.Parameter(torch.full((width,), width**-0.5))
        self.w4 = nn.Linear(4 * width, width)
        self.w5 = nn.Linear(width, width)

    def forward(self, o: Tensor, o_mask: Tensor, a: Tensor, a_mask: Tensor) -> Tensor:
        """`o` is B x I x width, `a` B x K x J x width; masks are true at tokens. B x K x width."""
        count, actions, tokens, width = a.shape
        flat = a.reshape(count, actions * tokens, width)
        alpha = (flat * self.w3) @ o.transpose(1, 2) + self.w1(o).transpose(1, 2) + self.w2(flat)
        alpha = alpha.masked_fill(~o_mask.unsqueeze(1), _NEVER)
        c = (torch.softmax(alpha, dim=2) @ o).reshape_as(a)
        strongest = alpha.amax(dim=2).reshape(count, actions, tokens)
        weight = torch.softmax(strongest.masked_fill(~a_mask, _NEVER), dim=2)
        q = weight.unsqueeze(2) @ a
        joined = torch.cat([a, c, a * c, q * c], dim=3)
        ca = self.w5(functional.leaky_relu(self.w4(joined)))
        mask = a_mask.unsqueeze(3)
        mean: Tensor = (ca * mask).sum(dim=2) / mask.sum(dim=2).clamp(min=1)
        return mean

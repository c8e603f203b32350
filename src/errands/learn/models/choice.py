"""The choice model: which of a page's actions to take, and what the page is worth.

Observation and actions are encoded by one encoder, brought together by the paper's
cross-attention, and scored; a softmax over the scores is the policy. The value of a page, for
reinforcement, is read off the observation's first token: a pretrained encoder's [CLS], the
instruction's first word elsewhere.
"""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
import torch
from torch import Tensor, nn
from torch.nn import functional

from errands.errors import SettingError
from errands.learn.data.batch import INSTRUCTION, ChoiceBatch, TokenLimits
from errands.learn.data.pictures import Pictures
from errands.learn.data.vocabulary import PAD
from errands.learn.models.encoders import BiGru, SmallTransformer
from errands.learn.models.output import NEVER, ChoiceOutput
from errands.learn.models.pretrained_encoder import PretrainedEncoder

__all__ = [
    "ChoiceConfig",
    "ChoiceModel",
    "CrossAttention",
    "check_width",
    "with_edition",
    "with_pictures",
]


class ChoiceConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What a choice model is made of."""

    encoder: Literal["transformer", "gru", "pretrained", "matching"] = "transformer"
    """What reads pages; `matching` reads no words, but how well they fit (`data.matching`)."""
    pretrained: str = ""
    """Of the encoder `pretrained`: a BERT checkpoint of Hugging Face's, by name or path."""
    from_scratch: bool = False
    """Whether that one's weights are drawn anew, as in the paper's ablation."""
    width: int = 64
    """Of the vectors; 0 for that of the pretrained encoder."""
    layers: int = 1
    heads: int = 4
    hidden: int = 512
    """Of the recurrent encoder."""
    word_attention: bool = False
    """Whether actions also attend to the instruction word by word, before any encoder: the
    paper has it in its RNN, to match the text of options (B.2)."""
    pictures: int = 0
    """The width of a picture's vector; 0 for a model that sees none."""
    dropout: float = 0.1
    lengths: TokenLimits = TokenLimits()
    edition: int = 2
    """1, of checkpoints that do not say theirs: a leaky ReLU more before the score, and a
    pretrained encoder's value off the instruction's first word."""


def with_edition(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a choice model as a checkpoint has them, with what those that were written
    before there was a choice lack. The matching model is the same in all editions."""
    first = 2 if stored.get("encoder") == "matching" else 1
    return {"edition": first, "from_scratch": False, **stored}


def check_width(config: ChoiceConfig) -> None:
    """Whether a small model can share its width out to its heads."""
    if config.encoder in ("transformer", "matching") and config.width % config.heads:
        raise SettingError(
            f"--width {config.width} cannot be shared out to {config.heads} heads; expected a"
            f" multiple of {config.heads}."
        )


def with_pictures(config: ChoiceConfig, pictures: Pictures | None) -> ChoiceConfig:
    """The same model, for these pictures."""
    return msgspec.structs.replace(config, pictures=0 if pictures is None else pictures.width)


class CrossAttention(nn.Module):
    """The paper's cross-attention between an observation and its actions: equations 3 to 6.

    Token vectors of both to one vector for each action.

    o  observation tokens, a  action tokens
    (3)  alpha_ij = w1 . o_i + w2 . a_j + w3 . (o_i * a_j)
    (5)  c_j = softmax over i of alpha_ij, times o_i;
         q = softmax over j of max_i alpha_ij, times a_j
    (4)  ca_j = w5 . leakyReLU(w4 . [a_j, c_j, a_j * c_j, q * c_j])
    (6)  the mean of ca_j over the action's tokens; the score is w6 of it
    """

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
        alpha = alpha.masked_fill(~o_mask.unsqueeze(1), NEVER)
        c = (torch.softmax(alpha, dim=2) @ o).reshape_as(a)
        strongest = alpha.amax(dim=2).reshape(count, actions, tokens)
        weight = torch.softmax(strongest.masked_fill(~a_mask, NEVER), dim=2)
        q = weight.unsqueeze(2) @ a
        joined = torch.cat([a, c, a * c, q * c], dim=3)
        ca = self.w5(functional.leaky_relu(self.w4(joined)))
        mask = a_mask.unsqueeze(3)
        mean: Tensor = (ca * mask).sum(dim=2) / mask.sum(dim=2).clamp(min=1)
        return mean


class ChoiceModel(nn.Module):
    """Scores actions."""

    def __init__(
        self, config: ChoiceConfig, words: int, pretrained: PretrainedEncoder | None = None
    ) -> None:
        super().__init__()
        self.config = config
        self.width = bare = config.width
        self.encoder: BiGru | SmallTransformer | PretrainedEncoder
        if pretrained is not None:
            self.encoder = pretrained
            self.width, bare = pretrained.width, pretrained.bare_width
        elif config.encoder == "gru":
            self.encoder = BiGru(words, config.width, config.hidden)
        else:
            self.encoder = SmallTransformer(
                words, config.width, config.layers, config.heads, config.dropout
            )
        self.attention = CrossAttention(self.width)
        combined = self.width
        if config.word_attention:
            self.word_attention = CrossAttention(bare)
            combined += bare
        if config.pictures:
            self.picture = nn.Linear(config.pictures, self.width)
        self.w6 = nn.Linear(combined, 1)
        self.value = nn.Sequential(nn.Linear(self.width, 128), nn.LeakyReLU(), nn.Linear(128, 1))

    def forward(self, batch: ChoiceBatch) -> ChoiceOutput:
        observed, pooled = self._observed(batch)
        actions = self.encoder(batch.actions, batch.action_places)
        which = batch.which.clamp(min=0)
        there = batch.which >= 0
        mask = (batch.actions != PAD)[which] & there.unsqueeze(2)
        seen, seen_mask = self._with_picture(batch, observed)
        combined = self.attention(seen, seen_mask, actions[which], mask)
        if self.config.word_attention:
            combined = torch.cat([combined, self._matched(batch, which, mask)], dim=2)
        if self.config.edition < 2:
            combined = functional.leaky_relu(combined)
        scores = self.w6(combined).squeeze(2)
        return ChoiceOutput(scores.masked_fill(~there, NEVER), self.value(pooled).squeeze(1))

    def _observed(self, batch: ChoiceBatch) -> tuple[Tensor, Tensor]:
        """The observation's tokens, and what the page's value is read off."""
        if isinstance(self.encoder, PretrainedEncoder) and self.config.edition > 1:
            first, observed = self.encoder.read(batch.observed, batch.observed_places)
            return observed, first
        observed = self.encoder(batch.observed, batch.observed_places)
        return observed, observed[:, 0]

    def _with_picture(self, batch: ChoiceBatch, observed: Tensor) -> tuple[Tensor, Tensor]:
        """The observation's tokens with the picture as one more, where pictures are seen."""
        mask = batch.observed != PAD
        if not self.config.pictures or not batch.pictures.shape[1]:
            return observed, mask
        token = self.picture(batch.pictures).unsqueeze(1)
        return (
            torch.cat([token, observed], dim=1),
            torch.cat([batch.pictured.unsqueeze(1), mask], dim=1),
        )

    def _matched(self, batch: ChoiceBatch, which: Tensor, mask: Tensor) -> Tensor:
        """Actions beside the instruction, as bare words."""
        is_instruction = (batch.observed != PAD) & (batch.observed_places // 2 == INSTRUCTION)
        longest = int(is_instruction.sum(dim=1).max())  # The instruction stands first.
        instruction = self.encoder.words(
            batch.observed[:, :longest], batch.observed_places[:, :longest]
        )
        actions = self.encoder.words(batch.actions, batch.action_places)
        matched: Tensor = self.word_attention(
            instruction, is_instruction[:, :longest], actions[which], mask
        )
        return matched

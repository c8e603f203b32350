"""The choice model: which of a page's actions to take, and what the page is worth.

Observation and actions are encoded by one encoder, brought together by the paper's
cross-attention, and scored; a softmax over the scores is the policy. The value of a page, for
reinforcement, is read off the observation's first token.
"""

from typing import Literal, NamedTuple

import msgspec
import torch
from torch import Tensor, nn
from torch.nn import functional

from errands.errors import SettingError
from errands.learn.data.batch import WISH, Batch, Lengths
from errands.learn.data.pictures import Pictures
from errands.learn.data.vocabulary import PAD
from errands.learn.models.attention import CrossAttention
from errands.learn.models.encoders import BiGru, SmallTransformer
from errands.learn.models.pretrained_encoder import PretrainedEncoder

__all__ = ["ChoiceConfig", "ChoiceModel", "Judged", "check_width", "seeing"]


class ChoiceConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What a choice model is made of."""

    encoder: Literal["transformer", "gru", "pretrained"] = "transformer"
    pretrained: str = ""
    """Of the encoder `pretrained`: a BERT checkpoint of Hugging Face's, by name or path."""
    width: int = 64
    """Of the vectors; 0 for that of the pretrained encoder."""
    layers: int = 1
    heads: int = 4
    hidden: int = 512
    """Of the recurrent encoder."""
    word_attention: bool = False
    """Whether actions also attend to the wish word by word, before any encoder: the paper has it
    in its RNN, to match the text of options (B.2)."""
    pictures: int = 0
    """The width of a picture's vector; 0 for a model that sees none."""
    dropout: float = 0.1
    lengths: Lengths = Lengths()


def check_width(config: ChoiceConfig) -> None:
    """Whether the small transformer can share its width out to its heads."""
    if config.encoder == "transformer" and config.width % config.heads:
        raise SettingError(
            f"--width {config.width} cannot be shared out to {config.heads} heads; expected a"
            f" multiple of {config.heads}."
        )


def seeing(config: ChoiceConfig, pictures: Pictures | None) -> ChoiceConfig:
    """The same model, for these pictures."""
    return msgspec.structs.replace(config, pictures=0 if pictures is None else pictures.width)


class Judged(NamedTuple):
    """Scores of actions (B x K, absent ones far below all others) and values of pages (B)."""

    scores: Tensor
    values: Tensor


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
        judged = self.width
        if config.word_attention:
            self.word_attention = CrossAttention(bare)
            judged += bare
        if config.pictures:
            self.picture = nn.Linear(config.pictures, self.width)
        self.w6 = nn.Linear(judged, 1)
        self.value = nn.Sequential(nn.Linear(self.width, 128), nn.LeakyReLU(), nn.Linear(128, 1))

    def forward(self, batch: Batch) -> Judged:
        observed = self.encoder(batch.observed, batch.observed_places)
        actions = self.encoder(batch.actions, batch.action_places)
        which = batch.which.clamp(min=0)
        there = batch.which >= 0
        mask = (batch.actions != PAD)[which] & there.unsqueeze(2)
        seen, seen_mask = self._with_picture(batch, observed)
        judged = self.attention(seen, seen_mask, actions[which], mask)
        if self.config.word_attention:
            judged = torch.cat([judged, self._matched(batch, which, mask)], dim=2)
        scores = self.w6(functional.leaky_relu(judged)).squeeze(2)
        pooled = observed[:, 0]
        return Judged(scores.masked_fill(~there, -1e9), self.value(pooled).squeeze(1))

    def _with_picture(self, batch: Batch, observed: Tensor) -> tuple[Tensor, Tensor]:
        """The observation's tokens with the picture as one more, where pictures are seen."""
        mask = batch.observed != PAD
        if not self.config.pictures or not batch.pictures.shape[1]:
            return observed, mask
        token = self.picture(batch.pictures).unsqueeze(1)
        return (
            torch.cat([token, observed], dim=1),
            torch.cat([batch.pictured.unsqueeze(1), mask], dim=1),
        )

    def _matched(self, batch: Batch, which: Tensor, mask: Tensor) -> Tensor:
        """Actions beside the wish, as bare words."""
        wished = (batch.observed != PAD) & (batch.observed_places // 2 == WISH)
        longest = int(wished.sum(dim=1).max())  # The wish stands first.
        wish = self.encoder.words(batch.observed[:, :longest], batch.observed_places[:, :longest])
        actions = self.encoder.words(batch.actions, batch.action_places)
        matched: Tensor = self.word_attention(wish, wished[:, :longest], actions[which], mask)
        return matched

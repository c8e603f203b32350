"""The settings of reinforcement, and named sets of them."""

from typing import Final

import msgspec

from errands.learn.models.choice import ChoiceConfig

__all__ = ["PRESETS", "ReinforcementConfig"]


class ReinforcementConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How a choice model is trained; the defaults are the paper's for its transformer."""

    choice: ChoiceConfig = ChoiceConfig()
    """Of a model from scratch; one from a checkpoint stays what it is."""
    steps: int = 100_000
    """Transitions, of all shoppers together."""
    environments: int = 4
    bptt: int = 8
    """Steps of every shopper between updates."""
    gamma: float = 0.9
    rate: float = 1e-5
    clip: float = 10.0
    reward_scale: float = 10.0
    policy: float = 1.0
    """Weights of the parts of the loss, this one and the next three."""
    value: float = 1.0
    entropy: float = 1.0
    imitation: float = 0.0
    imitation_batch: int = 16
    """Demonstrated choices beside every update, where `imitation` is not 0."""
    critic_first: int = 0
    """Updates at the beginning in which only the value is learnt, by its own layers: the
    advantages of a critic that knows nothing would spoil a policy that knows something."""
    words: int = 8_000
    seed: int = 0
    threads: int = 1


_RNN: Final = ChoiceConfig(encoder="gru", hidden=512, word_attention=True)
PRESETS: Final = {
    "small": ReinforcementConfig(
        steps=20_000,
        gamma=0.99,
        rate=2e-4,
        clip=1.0,
        reward_scale=1.0,
        value=0.5,
        entropy=0.003,
        critic_first=20,
    ),
    "paper": ReinforcementConfig(),
    "paper-rnn": ReinforcementConfig(choice=_RNN, rate=5e-4),
}

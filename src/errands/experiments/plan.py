"""What an experiment is made of: which seeds, how many demonstrations, how long each training.

`FULL` takes below an hour on two cores, `QUICK` a few minutes. A folder holds the work of one
plan; its pieces are made once and used by every table that needs them.
"""

from typing import Final

import msgspec

from errands.learn.a2c import PRESETS as REINFORCEMENT
from errands.learn.a2c import ReinforcementConfig
from errands.learn.imitation import PRESETS as IMITATION
from errands.learn.imitation import ImitationConfig
from errands.learn.models.choice import ChoiceConfig
from errands.learn.models.picture_encoder import PictureConfig
from errands.learn.search_training import PRESETS as SEARCH
from errands.learn.search_training import SearchTraining

__all__ = ["FULL", "QUICK", "Plan"]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """One thread for each training: as many of them as there are cores run side by side."""

    seeds: tuple[int, ...] = (0, 1, 2)
    catalog: str = ""
    """Another one than the protocols name."""
    test: str = "shop-learn"
    """The protocol that judges."""
    train: str = "shop-learn-train"
    """The protocol of the goals to learn from."""
    demonstrations: int | None = None
    """Episodes of the scripted shopper; all training goals if None."""
    episodes: int | None = None
    """Episodes that judge; as many as the protocol says if None."""
    pictures: PictureConfig = PictureConfig()
    search: SearchTraining = msgspec.structs.replace(SEARCH["small"], threads=1)
    imitation: ImitationConfig = msgspec.structs.replace(IMITATION["small"], threads=1)
    further: ReinforcementConfig = msgspec.structs.replace(REINFORCEMENT["small"], steps=12_000)
    """From imitation on (IL+RL)."""
    scratch: ReinforcementConfig = msgspec.structs.replace(REINFORCEMENT["small"], steps=40_000)
    """From nothing (RL)."""
    rnn: ReinforcementConfig = msgspec.structs.replace(
        REINFORCEMENT["small"],
        steps=16_000,
        choice=ChoiceConfig(encoder="gru", hidden=128, word_attention=True),
    )
    """From nothing, with the recurrent encoder, at a quarter of the paper's width: its 512 would
    take hours here."""


FULL: Final = Plan()
QUICK: Final = Plan(
    seeds=(0,),
    demonstrations=1_200,
    episodes=200,
    pictures=msgspec.structs.replace(PictureConfig(), epochs=4),
    search=msgspec.structs.replace(FULL.search, epochs=10),
    imitation=msgspec.structs.replace(FULL.imitation, epochs=3),
    further=msgspec.structs.replace(FULL.further, steps=1_600),
    scratch=msgspec.structs.replace(FULL.scratch, steps=1_600),
    rnn=msgspec.structs.replace(FULL.rnn, steps=800),
)

"""The config of an experiment: which seeds, how many demonstrations, how long each training.

`FULL` takes below an hour on two cores, `QUICK` a few minutes. A folder holds the jobs of one
config; each is done once and used by every table that needs it.
"""

from typing import Final

import msgspec

from errands.learn.a2c import PRESETS as RL
from errands.learn.a2c import A2CConfig
from errands.learn.dagger import DAggerConfig
from errands.learn.data.batch import TokenLimits
from errands.learn.imitation import PRESETS as IMITATION
from errands.learn.imitation import ImitationConfig
from errands.learn.models.choice import ChoiceConfig
from errands.learn.models.picture_encoder import PictureConfig
from errands.learn.ppo import PPOConfig
from errands.learn.search import PRESETS as SEARCH
from errands.learn.search import SearchTrainingConfig

__all__ = ["FULL", "PAPER_RNN", "QUICK", "ExperimentConfig"]


class ExperimentConfig(msgspec.Struct, frozen=True, kw_only=True):
    """One thread for each training: as many of them as there are cores run side by side."""

    seeds: tuple[int, ...] = (0, 1, 2)
    catalog: str = ""
    """Another one than the protocols name."""
    difficulty: str = ""
    """Fresh goals of this difficulty, on a generated catalogue of it, instead of the protocols'."""
    goals: int = 1_000
    """How many fresh goals are tested on."""
    real: bool = False
    """Whether the catalogue is the 1,000 real products (`experiments.real_data`)."""
    test: str = "shop-learn"
    """The protocol of the test goals."""
    train: str = "shop-learn-train"
    """The protocol of the training goals."""
    demonstrations: int | None = None
    """Episodes of the scripted shopper; all training goals if None."""
    episodes: int | None = None
    """Test episodes; as many as the protocol says if None."""
    pictures: PictureConfig = PictureConfig()
    search: SearchTrainingConfig = msgspec.structs.replace(SEARCH["small"], threads=1)
    imitation: ImitationConfig = msgspec.structs.replace(IMITATION["small"], threads=1)
    dagger: DAggerConfig = DAggerConfig()
    """IL."""
    further: PPOConfig = PPOConfig()
    """From imitation on (IL+RL)."""
    scratch: PPOConfig = PPOConfig(total_timesteps=100_000, gamma=0.999)
    """From nothing (RL)."""
    rnn: A2CConfig = msgspec.structs.replace(
        RL["small"],
        total_timesteps=16_000,
        choice=ChoiceConfig(encoder="gru", hidden=128, word_attention=True),
    )
    """From nothing, with the recurrent encoder, at a quarter of the paper's width: its 512 would
    take hours here (`--rnn paper`)."""
    encoder: str = ""
    """A BERT checkpoint of Hugging Face's for the experiment `pretrained`, by name or path."""
    search_model: str = ""
    """A BART or T5 checkpoint, likewise."""
    pretrained: ImitationConfig = msgspec.structs.replace(
        IMITATION["paper"],
        epochs=2,
        batch_size=8,
        learning_rate=2e-4,
        warmup_steps=10,
        max_actions=12,
        threads=1,
        choice=ChoiceConfig(lengths=TokenLimits(page=96)),
    )
    """Of a choice model with that encoder: less of a page, and fewer demonstrations at a higher
    rate than the paper's hours on a graphics card."""
    pretrained_search: SearchTrainingConfig = msgspec.structs.replace(SEARCH["paper"], threads=1)


PAPER_RNN: Final = RL["paper-rnn"]
"""The paper's own: hidden size 512, 100,000 steps."""
FULL: Final = ExperimentConfig()
QUICK: Final = ExperimentConfig(
    seeds=(0,),
    demonstrations=1_200,
    episodes=200,
    pictures=msgspec.structs.replace(PictureConfig(), epochs=4),
    search=msgspec.structs.replace(FULL.search, epochs=10),
    imitation=msgspec.structs.replace(FULL.imitation, epochs=3),
    dagger=msgspec.structs.replace(FULL.dagger, num_iterations=2, num_steps=200),
    further=msgspec.structs.replace(FULL.further, total_timesteps=16_384, critic_warmup_updates=1),
    scratch=msgspec.structs.replace(FULL.scratch, total_timesteps=16_384, critic_warmup_updates=1),
    rnn=msgspec.structs.replace(FULL.rnn, total_timesteps=800, critic_warmup_updates=2),
)

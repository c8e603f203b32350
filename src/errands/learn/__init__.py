"""Agents that learn: the paper's search and choice models, trained and played.

One file an algorithm (`imitation`, `dagger`, `a2c`, `ppo`, `search`), and what they share: `data`
is what a model reads, `models` the networks, `rollout` episodes under way, `teacher` the advice of
DAgger, `trainer` the supervised loop, `checkpoint` the files, `evaluation` the results on other
goals, `source` what a training begins with, `policy` a trained model as agent.
PyTorch (`pip install errands[train]`) is imported when a name is first used.
"""

from typing import TYPE_CHECKING

from errands.lazy import lazy_exports

__all__ = [
    "A2CConfig",
    "Associations",
    "CheckpointInfo",
    "ChoiceConfig",
    "ChoiceModel",
    "ChoiceView",
    "DAggerConfig",
    "Demonstrations",
    "EvalConfig",
    "EvalResult",
    "ImitationConfig",
    "LearnedAgent",
    "LookingTeacher",
    "MatchReader",
    "PPOConfig",
    "Policy",
    "RLProgress",
    "RLResult",
    "Rollout",
    "SearchPolicy",
    "SearchTrainingConfig",
    "SeenProduct",
    "TrainingEnv",
    "TrainingOptions",
    "TrainingProgress",
    "TrainingResult",
    "evaluate",
    "open_eval_config",
    "open_policy",
    "open_search_model",
    "open_training_env",
    "own_words",
    "predict_queries",
    "read_choices_file",
    "read_demonstrations",
    "read_info",
    "read_view",
    "train_choice",
    "train_dagger",
    "train_ppo",
    "train_rl",
    "train_search",
    "write_queries",
]

if TYPE_CHECKING:
    from errands.learn.a2c import A2CConfig, RLProgress, RLResult, train_rl
    from errands.learn.checkpoint import CheckpointInfo, read_info
    from errands.learn.dagger import DAggerConfig, train_dagger
    from errands.learn.data.associations import Associations
    from errands.learn.data.demonstrations import (
        Demonstrations,
        read_choices_file,
        read_demonstrations,
    )
    from errands.learn.data.matching import MatchReader
    from errands.learn.data.queries import own_words
    from errands.learn.data.view import ChoiceView, SeenProduct, read_view
    from errands.learn.environments import TrainingEnv, open_training_env
    from errands.learn.evaluation import EvalConfig, EvalResult, evaluate, open_eval_config
    from errands.learn.imitation import ImitationConfig, train_choice
    from errands.learn.models.choice import ChoiceConfig, ChoiceModel
    from errands.learn.policy import LearnedAgent, Policy, open_policy
    from errands.learn.ppo import PPOConfig, train_ppo
    from errands.learn.rollout import Rollout, SearchPolicy
    from errands.learn.search import (
        SearchTrainingConfig,
        open_search_model,
        predict_queries,
        train_search,
        write_queries,
    )
    from errands.learn.teacher import LookingTeacher
    from errands.learn.trainer import TrainingOptions, TrainingProgress, TrainingResult
else:
    __getattr__ = lazy_exports(__name__)

"""gym, where it is installed: what the environments derive from, and their registration.

gym is not needed; without it the environments are plain classes and `gym.make` is nobody's to
call. 0.24 and 0.26 work, with NumPy 1 and 2.
"""

import importlib
import warnings
from dataclasses import fields
from typing import TYPE_CHECKING, Any

__all__ = ["GymEnv", "register"]


def _installed_gym() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Of its age it need not speak to who uses us.
        try:
            return importlib.import_module("gym")
        except ImportError:
            return None


_gym = _installed_gym()

if TYPE_CHECKING:
    GymEnv = object
else:
    GymEnv = object if _gym is None else _gym.Env


def register(name: str, entry_point: str) -> None:
    """Let `gym.make` find an environment, once.

    gym's checker calls `reset` and `step` on its own and stumbles over NumPy 2; its order enforcer
    wants `reset` called again, which the original's environments do by themselves.
    """
    if _gym is None or name in _gym.envs.registration.registry:
        return
    # 0.24 knows no such field: there its checker finds no spaces, warns, and goes no further.
    known = {field.name for field in fields(_gym.envs.registration.EnvSpec)}
    wanted = {"disable_env_checker": True, "order_enforce": False}
    options = {option: value for option, value in wanted.items() if option in known}
    _gym.envs.registration.register(id=name, entry_point=entry_point, **options)

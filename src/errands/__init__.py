"""Errands: the shop and the office where web agents are trained and tested.

Importing this package registers its Gymnasium environments:

    import errands, gymnasium
    env = gymnasium.make("errands/Shop-v0")
"""

from errands.envs import register

__all__ = ["__version__"]

__version__ = "0.1.0"

register()

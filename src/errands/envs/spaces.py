"""The space of all texts.

Gymnasium's `Text` insists on a small alphabet; pages are full Unicode. `AnyText` is a `Text`
whose alphabet is everything. It samples actions that a shop understands, so that a random
policy made of `action_space.sample()` gets somewhere.
"""

from typing import Any, Final

from gymnasium import spaces

from errands.envs.screenshots import picture_space
from errands.envs.shared_texts import share_texts_of

__all__ = ["ActionText", "AnyText", "observation_space"]

LONGEST: Final = 1 << 24
_CLICKS: Final = ("buy now", "next >", "< prev", "back to search", "description", "features")


class AnyText(spaces.Text):
    """Any text of up to 16 million characters."""

    def __init__(self, seed: Any = None) -> None:
        super().__init__(LONGEST, min_length=0, charset="a", seed=seed)

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) and len(x) <= LONGEST

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        letters = self.np_random.integers(0, 26, size=int(self.np_random.integers(1, 9)))
        return "".join(chr(ord("a") + letter) for letter in letters)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    __hash__ = None  # type: ignore[assignment]


share_texts_of(AnyText)


class ActionText(AnyText):
    """Any text; samples are searches and clicks."""

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        if self.np_random.random() < 0.3:
            return f"search[{super().sample()}]"
        return f"click[{_CLICKS[int(self.np_random.integers(len(_CLICKS)))]}]"


def observation_space(observation: object) -> spaces.Space[Any]:
    """What an environment shows in a format: texts, the pixels of a window, or both."""
    if observation == "screenshot":
        return picture_space()
    if observation == "html+screenshot":
        return spaces.Dict({"html": AnyText(), "screenshot": picture_space()})
    return AnyText()

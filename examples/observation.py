"""An observation format of your own, in one file: the names that can be clicked, a line each.

    python examples/observation.py

or, from this folder, in a run (or `observation = "observation:buttons"` in a protocol file):

    errands run shop-demo --agent random --episodes 20 --observation observation:buttons

In the shop a format is called with the page, the instruction and the score (None before the
purchase); on form pages with the open page (`errands.turk.OpenPage`). It returns a text. To test
it, subclass `errands.testing.ObservationConformance`: see tests/examples/test_observation.py.
"""

from errands import ShopEnv
from errands.shop import Page


def buttons(page: Page, instruction: str, score: float | None) -> str:
    """The instruction, what can be clicked, and at the end the score."""
    lines = [instruction, *page.clicks]
    return "\n".join(lines if score is None else [*lines, f"score {score:.2f}"])


buttons.name = "buttons"  # type: ignore[attr-defined]
buttons.version = "1"  # type: ignore[attr-defined]  # Part of a result's key.


def main() -> None:
    env = ShopEnv("demo", observation=buttons)
    env.reset(options={"goal": 0})
    observation, *_ = env.step("search[shoes]")
    print(observation)


if __name__ == "__main__":
    main()

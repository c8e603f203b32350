"""An agent of your own, in one file: it buys the cheapest of the results it sees.

    errands run shop-demo --agent examples.agent:Thrifty
    python examples/agent.py                  # the same from Python, on the demo shop

To test it, subclass `errands.testing.AgentConformance`: see tests/examples/test_agent.py.
"""

import re
from collections.abc import Mapping
from typing import Any

from errands import ShopEnv

BUTTONS = {"back to search", "< prev", "next >"}


class Thrifty:
    """Searches for the instruction, opens the cheapest result and buys it."""

    def begin(self, observation: str, info: Mapping[str, Any]) -> None:
        self.words = re.sub(r"[^\w ]", " ", info["instruction"])[:200].strip() or "anything"

    def act(self, observation: str, info: Mapping[str, Any]) -> str:
        available = info["available_actions"]
        if available["has_search_bar"]:
            return f"search[{self.words}]"
        if "buy now" in available["clickables"]:
            return "click[buy now]"
        results = [name for name in available["clickables"] if name not in BUTTONS]
        if not results:
            return "click[back to search]"
        return f"click[{min(results, key=lambda name: price_of(name, observation))}]"


def price_of(name: str, page: str) -> float:
    """The first price after a product's name on a page of results."""
    place = max(page.lower().find(name), 0)
    price = re.search(r"\$(\d+(?:\.\d+)?)", page[place:])
    return float(price[1]) if price else float("inf")


def main() -> None:
    env = ShopEnv("demo", observation="text_rich", max_steps=20)
    for goal in range(3):
        agent = Thrifty()
        observation, info = env.reset(options={"goal": goal})
        agent.begin(observation, info)
        ended, reward = False, 0.0
        while not ended:
            action = agent.act(observation, info)
            observation, reward, terminated, truncated, info = env.step(action)
            ended = terminated or truncated
        print(f"{reward:.2f}  {info['instruction']}")


if __name__ == "__main__":
    main()

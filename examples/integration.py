"""An adapter for another framework, in one file: for one whose models answer a chat with JSON.

    python examples/integration.py            # two episodes, played by a script in place of a model

The imagined framework asks for `reset() -> messages` and `step(text) -> (text, reward, done)`, as
most do in some form. What an adapter is made of is `errands.integrations.open_episodes`: the tools,
the first page and the score are the same in every framework. To test it, subclass
`errands.testing.AdapterConformance`: see tests/examples/test_integration.py.
"""

import json
from typing import Any

from errands.integrations import ToolEpisodes, ToolError, call_tool, open_episodes


class ChatEnv:
    """One conversation about one episode."""

    def __init__(self, episodes: ToolEpisodes, number: int) -> None:
        self.tools, self.messages = episodes.conversation(number)

    def reset(self) -> list[Any]:
        return self.messages

    def step(self, text: str) -> tuple[str, float, bool]:
        """The answer of a model, as `{"name": ..., "arguments": {...}}`."""
        try:
            call = json.loads(text)
            shown = call_tool(self.tools, call["name"], call["arguments"])
        except ToolError as error:
            shown = str(error)  # One sentence, for the model to read; the episode goes on.
        except (ValueError, KeyError, TypeError):
            shown = 'Answer with {"name": ..., "arguments": {...}} and nothing else.'
        return shown, self.tools.reward, self.tools.done


def main() -> None:
    episodes = open_episodes("shop-demo", episodes=2)
    for number in range(len(episodes)):
        env = ChatEnv(episodes, number)
        words = str(env.reset()[-1]["content"]).splitlines()[-1]
        env.step(json.dumps({"name": "search", "arguments": {"query": words[:200]}}))
        shown, reward, done = env.step('{"name": "click", "arguments": {"name": "buy now"}}')
        print(f"{shown.splitlines()[0]}  (reward {reward}, done {done})")


if __name__ == "__main__":
    main()

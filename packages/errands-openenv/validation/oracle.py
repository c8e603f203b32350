"""The best that is known: episodes as the agent `choice-oracle` plays them, through the server.

    python validation/oracle.py http://127.0.0.1:8000 200

It knows the goals, as it has the data of the server's; prints what it earned as JSON.
"""

import json
import sys

from openenv.core.env_server.mcp_types import CallToolAction
from openenv.core.mcp_client import MCPToolClient

from errands.agents.oracles.choice_oracle import best_plan
from errands.envs.shop import ShopEnv
from errands.integrations import open_episodes
from errands.shop.navigation import parse_action

ARGUMENTS = {"search": "query", "click": "name"}


def main(url: str = "http://127.0.0.1:8000", count: str = "200") -> None:
    episodes = open_episodes("shop-demo")
    env = episodes.source.env()
    assert isinstance(env, ShopEnv)
    rewards = []
    with MCPToolClient(base_url=url).sync() as client:
        for number in range(int(count)):
            env.reset(options=episodes.row(number))
            plan = best_plan(env.episode, env.episode.goal.instruction_text)
            assert plan is not None
            told = client.reset(split="shop-demo", index=number)
            for action in plan.actions:
                tool, words = parse_action(action)
                call = CallToolAction(tool_name=tool, arguments={ARGUMENTS[tool]: words})
                told = client.step(call)
            rewards.append(told.reward)
    mean = sum(rewards) / len(rewards)
    print(json.dumps({"episodes": len(rewards), "mean": mean, "least": min(rewards)}))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The original's baseline wrapper (`baseline_models/env.py`, in AgentGym's copy of WebShop)."""

import runpy
from pathlib import Path
from types import SimpleNamespace

from shopper import check, report, shop


def main(folder: Path) -> str:
    # It puts its own copy of web_agent_site first on the path: ours must be loaded before.
    import web_agent_site.engine.goal
    import web_agent_site.envs
    import web_agent_site.utils  # noqa: F401

    path = folder / "AgentGym/agentenv-webshop/webshop/baseline_models/env.py"
    wrapper = runpy.run_path(str(path))["WebEnv"]
    settings = SimpleNamespace(
        state_format="text_rich", num=None, human_goals=1, get_image=0, num_prev_obs=0,
        num_prev_actions=0, click_item_name=1, extra_search_path="", step_limit=100, ban_buy=0,
        go_to_item=0, go_to_search=0, harsh_reward=0,
    )  # fmt: skip
    env = wrapper(settings, "test", id="test_")
    scores = []
    for goal in (0, 5, 9):
        episode = shop(goal, "human")
        _, info = env.reset(goal)
        check("the goal", info["goal"], f"Instruction: {episode.instruction}")
        for action in episode.actions:
            name = env.asin2name.get(action[6:-1])
            titled = action if name is None else f"click[item - {name}]"
            check("validity", action.startswith("search") or titled in info["valid"], True)
            _, reward, done, info = env.step(titled)
        check("the end", (done, reward), (True, episode.reward * 10))
        check("the parts", info["verbose"]["r_harsh"], episode.reward == 1)
        scores.append(reward)
    env.close()
    return f"WebEnv with item titles as actions: scores times ten {[round(s, 2) for s in scores]}"


if __name__ == "__main__":
    report(main)

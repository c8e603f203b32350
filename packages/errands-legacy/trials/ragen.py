"""RAGEN: its environment, which derives from webshop-minimal's."""

import sys
import types
from pathlib import Path

from shopper import check, report, shop


def main(folder: Path) -> str:
    root = folder / "RAGEN"
    sys.path.insert(0, str(root))
    import ragen

    # ragen.env's own module imports every other environment, and all that those need.
    package = types.ModuleType("ragen.env")
    package.__path__ = [str(root / "ragen" / "env")]
    sys.modules["ragen.env"] = ragen.env = package
    from ragen.env.webshop.config import WebShopEnvConfig
    from ragen.env.webshop.env import WebShopEnv

    env = WebShopEnv(WebShopEnvConfig())
    scores = []
    for mode, seed in (("train", 12), ("val", 3), ("test", 123456)):
        env.reset(seed=seed, mode=mode)
        goal = int(env.session.removeprefix(env.session_prefix))
        episode = shop(goal)
        check("the instruction", env.get_instruction_text(), f"Instruction: {episode.instruction}")
        check("the first page", env.observation, episode.observations[0])
        check("the goal", env.server.user_sessions[env.session]["goal"], env.server.goals[goal])
        for action, expected in zip(episode.actions, episode.observations[1:], strict=False):
            seen, _, done, info = env.step(action)
            check("a page", (seen, done), (expected, False))
            check(f"validity of {action}", info["action_is_valid"], True)
        seen, reward, done, info = env.step(episode.actions[-1])
        check("the end", (done, info["success_purchase"], reward), (True, 1, episode.reward))
        check("the parts", info["r_price"] in (True, False), True)
        scores.append(reward)
    env.close()
    return f"WebShopEnv, train, val and test: every page; scores {[round(s, 3) for s in scores]}"


if __name__ == "__main__":
    report(main)

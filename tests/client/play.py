"""Play a few episodes with the client of one file, and print what happened as JSON.

Run by `tests/pythons.py` with each Python, so it is written for the oldest:
`python play.py FOLDER_OF_THE_CLIENT URL`.
"""

import hashlib
import json
import sys

sys.path.insert(0, sys.argv[1])

import errands_client
from errands_client import ErrandsEnv, ErrandsVectorEnv


def shop(url, seen):
    env = ErrandsEnv(url, "shop", old_api=False, max_steps=15)
    observation, info = env.reset(seed=7)
    seen.append(observation)
    reward, over = 0.0, False
    for action in (f"search[{info['instruction']}]", None, "click[buy now]"):
        if action is None:
            products = [c for c in info["available_actions"]["clickables"] if c.startswith("b0")]
            action = f"click[{products[0]}]"
        observation, reward, over, _, info = env.step(action)
        seen.append(observation)
    assert over, observation
    env.close()
    return reward


def form(url, seen):
    env = ErrandsEnv(url, "turk", old_api=True, max_steps=15)
    seen.append(env.reset(options={"task": "Address Cleanup", "row": 0}))
    env.step("modify_text('name', 'Mrs Odile Farn')")
    observation, reward, done, info = env.step("submit()")
    seen.append(observation)
    assert done, info
    assert 0.0 < reward < 1.0, reward
    env.close()
    return reward


def vector(url, seen):
    envs = ErrandsVectorEnv(8, url, max_steps=4)
    _, infos = envs.reset(seed=0)
    total = [0.0] * 8
    for action in ("search[lämp \U0001f600]", "click[next >]", "click[nothing]", "click[b]", "x"):
        observations, rewards, _, truncated, infos = envs.step([action] * 8)
        seen.extend(observations)
        total = [a + float(b) for a, b in zip(total, rewards)]  # noqa: B905
        assert bool(all(truncated)) == (action == "click[b]"), action
    assert len(infos["instruction"]) == 8
    envs.close()
    return total


def main():
    gym = errands_client.gym
    result = {}
    for scheme in ("http", "ws"):
        url = sys.argv[2].replace("http", scheme)
        seen = []
        played = {"shop": shop(url, seen), "form": form(url, seen), "vector": vector(url, seen)}
        played["pages"] = hashlib.sha256("\0".join(seen).encode()).hexdigest()
        assert result in ({}, played), (result, played)
        result = played
    env = ErrandsEnv(sys.argv[2])
    env.reset(seed=0)
    things = len(env.step("search[a]"))
    env.close()
    assert gym is None or isinstance(env, gym.Env)
    library = f"{gym.__name__} {gym.__version__}" if gym else "no library"
    assert things == (4 if library < "gym 0.26" and gym else 5), (library, things)
    print(json.dumps({"with": library, "played": result}))


main()

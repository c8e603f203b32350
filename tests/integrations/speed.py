"""How much a framework's adapter adds to an episode: `python tests/integrations/speed.py NAME`.

The scripted model's calls are played through the adapter (`play` of its test module) and through
the bare tools, in turn, and the best of each is compared: by CPU time where the adapter plays in
this process, by the clock where it does not. Every reward must be the environment's own, to the
last bit, of form pages, too. Prints one line of JSON, with what a call costs in the bare tools and
a step in the environment itself, in microseconds.
"""

import importlib.util
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "helpers"), str(HERE), str(HERE.parents[1] / "examples")]

from errands.agents.llm.tools import call_tool  # noqa: E402
from errands.integrations.episodes import open_episodes  # noqa: E402
from errands.testing.adapter import ScriptedModel  # noqa: E402

IN_PROCESS, ELSEWHERE = 200, 20
"""Episodes, where they are played in this process and where they are not; a module that says
`EPISODES` has a number of its own."""


def bare(script: ScriptedModel) -> list[float]:
    """The episodes as the tools play them, without a framework."""
    rewards = []
    for played in script.played:
        tools, _ = script.episodes.begin(played.number)
        for call in played.calls:
            call_tool(tools, call.name, call.arguments)
        rewards.append(tools.reward)
    return rewards


def environment(script: ScriptedModel) -> list[float]:
    """The same episodes as actions of the environment, without tools."""
    env = script.episodes.source.env()
    rewards = []
    for played in script.played:
        env.reset(options=script.episodes.row(played.number))
        for call in played.calls:
            _, reward, _, _, _ = env.step(f"{call.name}[{next(iter(call.arguments.values()))}]")
        rewards.append(float(reward))
    return rewards


def seconds(
    clock: Callable[[], float], play: Callable[[ScriptedModel], list[float]], on: ScriptedModel
) -> float:
    begun = clock()
    rewards = play(on)
    took = clock() - begun
    assert rewards == on.rewards, f"other rewards than the environment's: {rewards}"
    return took


def main(name: str) -> None:
    path = HERE / f"test_{name.replace('-', '_')}.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    count = getattr(module, "EPISODES", IN_PROCESS if module.IN_PROCESS else ELSEWHERE)
    script = ScriptedModel(open_episodes("shop-demo", episodes=count))
    clock = time.process_time if module.IN_PROCESS else time.perf_counter
    forms = ScriptedModel(open_episodes("turk-demo", episodes=12))
    seconds(clock, module.play, forms)
    plays = (environment, bare, module.play)
    taken = [
        [seconds(clock, play, script) for play in plays]
        for _ in range(5 if module.IN_PROCESS else 2)
    ]
    stepped, plain, adapted = (min(column) for column in zip(*taken, strict=True))
    calls = sum(len(played.calls) for played in script.played)
    figures = {
        "in_process": module.IN_PROCESS,
        "equal": f"{count} shop, {len(forms)} forms",
        "shop_mean": sum(script.rewards) / count,
        "forms_mean": sum(forms.rewards) / len(forms),
        "episodes_per_second": round(count / adapted, 1),
        "bare_episodes_per_second": round(count / plain, 1),
        "overhead": round(adapted / plain - 1, 4),
        "microseconds_per_call": round(plain / calls * 1e6, 1),
        "microseconds_per_step": round(stepped / calls * 1e6, 1),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main(sys.argv[1])

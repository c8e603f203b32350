"""AgentBench: its WebShop task, driven as its worker drives it."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from shopper import check, report, shop


async def play(task: Any, index: int) -> float:
    from agentrl.worker.task import Session
    from agentrl.worker.typings import AgentOutput, SampleStatus

    episode = shop(index, "human")
    session = Session(index)
    running = asyncio.create_task(task.start_sample(index, session))
    answer = None
    for number, action in enumerate(episode.actions):
        output = await session.controller.agent_pull(answer)
        shown = [item for item in output.history if isinstance(item, dict)][-1]["content"]
        check("a page", episode.observations[number] in shown, True)
        kind, _, argument = action.partition("[")
        key = "keywords" if kind == "search" else "value"
        call = {
            "id": f"call-{number}",
            "type": "function",
            "function": {
                "name": f"{kind}_action",
                "arguments": json.dumps({key: argument[:-1]}),
            },
        }
        message = {"role": "assistant", "content": "", "tool_calls": [call]}
        answer = AgentOutput(messages=[message])
    session.controller.env_input = answer
    session.controller.env_signal.release()
    result = await running
    check("the status", result.status, SampleStatus.COMPLETED)
    check("the reward", result.result["reward"], episode.reward)
    return episode.reward


def main(folder: Path) -> str:
    sys.path.insert(0, str(folder / "AgentBench"))
    import yaml
    from src.server.tasks.webshop import WebShop

    settings = yaml.safe_load((folder / "AgentBench/configs/tasks/webshop.yaml").read_text())
    parameters = {**settings["default"]["parameters"], **settings["webshop-std"]["parameters"]}
    task = WebShop(**parameters)
    check("the indices", task.get_indices(), list(range(200)))

    async def play_all() -> list[float]:
        return await asyncio.gather(*(play(task, index) for index in (0, 1, 2, 199)))

    scores = asyncio.run(play_all())
    return f"4 samples at once on one server: every page; scores {[round(s, 3) for s in scores]}"


if __name__ == "__main__":
    report(main)

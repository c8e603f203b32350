"""AgentGym: its server, by HTTP, and its client."""

import sys
import threading
import time
from pathlib import Path

from shopper import CATALOG, check, report, shop


def main(folder: Path) -> str:
    root = folder / "AgentGym"
    sys.path[:0] = [str(root / "agentenv-webshop"), str(root / "agentenv")]
    import requests
    import uvicorn
    from agentenv.envs.webshop import WebshopEnvClient
    from agentenv_webshop import app

    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    base = f"http://127.0.0.1:{port}"
    client = WebshopEnvClient(base, data_len=200)
    scores = []
    for goal in (0, 7, 499):
        episode = shop(goal)
        check("the first page", client.reset(goal)[0], episode.observations[0])
        for action, expected in zip(episode.actions, episode.observations[1:], strict=False):
            output = client.step(f"Thought:\nI go on.\n\nAction:\n{action}")
            check("a page", (output.state, output.done), (expected, False))
            check("/observation", client.observe(), expected)
        output = client.step(f"Thought:\nI buy.\n\nAction:\n{episode.actions[-1]}")
        check("the end", (output.done, output.reward), (True, episode.reward))
        scores.append(output.reward)
    client.reset(3)
    for path in ("available_actions", "instruction_text", "state"):
        answer = requests.get(f"{base}/{path}", params={"env_idx": client.env_id}, timeout=30)
        check(f"/{path}", answer.status_code, 200)
    server.should_exit = True
    thread.join()
    return (
        f"server and client, catalogue {CATALOG}: every page; scores"
        f" {[round(score, 3) for score in scores]}"
    )


if __name__ == "__main__":
    report(main)

"""NeMo Gym: both domains as a resources server for its `gymnasium_agent`.

    python -m errands.integrations.nemo_gym gym --protocol shop-demo

writes what `gym env start` and `gym eval run` want, below `gym/resources_servers/errands_shop`: the
server's entry, its requirements, the configuration, and a row of JSON for each episode.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import typer

from errands.integrations.frameworks import IntegrationError, require

try:
    require("nemo-gym")
except IntegrationError as missing:
    if __name__ != "__main__":
        raise
    print(missing, file=sys.stderr)
    sys.exit(2)

import nemo_gym  # noqa: F401 - it makes the next ones importable
from fastapi import HTTPException
from nemo_gym.base_resources_server import BaseResourcesServerConfig
from pydantic import model_validator
from resources_servers.gymnasium import GymnasiumServer

from errands.agents.llm.tools import ToolError, call_tool
from errands.errors import ErrandsError
from errands.integrations.episodes import ToolEpisodes, open_episodes
from errands.shop.catalog.library import BUILT_IN

__all__ = ["EpisodeServer", "EpisodeServerConfig", "main", "rows", "write_server"]

_NAMES: Final = {"shop": "errands_shop", "turk": "errands_forms"}
_OPTIONS: Final = (
    *("protocol", "data", "split", "episodes", "max_steps", "per_task", "driver"),
    "training",
)
_SESSIONS: Final = 10_000
"""Episodes that are kept open; an agent that gives up does not say so."""


class EpisodeServerConfig(BaseResourcesServerConfig):
    """Which episodes a server plays: what `open_episodes` takes."""

    protocol: str = "shop-demo"
    data: str | None = None
    split: str | None = None
    episodes: int | None = None
    max_steps: int | None = None
    per_task: int | None = None
    driver: str | None = None
    training: bool = False

    def open(self) -> ToolEpisodes:
        return open_episodes(**{name: getattr(self, name) for name in _OPTIONS})

    @model_validator(mode="after")
    def check(self) -> "EpisodeServerConfig":
        """Refuse what cannot be played before anything is served."""
        try:
            self.open()
        except ErrandsError as failure:
            raise ValueError(str(failure)) from None
        if (self.num_workers or 1) > 1:
            raise ValueError(
                f"num_workers={self.num_workers}: a server keeps its episodes in one process;"
                " expected 1 (start several servers for more)."
            )
        return self


class EpisodeServer(GymnasiumServer):
    """Episodes that a model plays by tool calls, one in each session."""

    config: EpisodeServerConfig

    async def reset(
        self, metadata: dict[str, Any], session_id: str | None = None
    ) -> tuple[str | None, dict[str, Any]]:
        """Begin a row's episode; what is told is the user's message, with the first page."""
        episodes = self.config.open()
        number, key = metadata.get("episode"), metadata.get("protocol")
        if key != episodes.key:
            raise HTTPException(
                400,
                f"The row is of the protocol {str(key)[:200]!r}, and this server plays"
                f" {episodes.key!r}: write both anew with `python -m"
                " errands.integrations.nemo_gym`.",
            )
        if not isinstance(number, int) or isinstance(number, bool):
            raise HTTPException(400, "The row lacks 'episode', the number of an episode.")
        try:
            tools, messages = await episodes.aside(episodes.conversation, number)
        except ErrandsError as failure:
            raise HTTPException(400, str(failure)) from None
        self.session_state.pop(session_id, None)
        while len(self.session_state) >= _SESSIONS:
            del self.session_state[next(iter(self.session_state))]
        self.session_state[session_id] = tools
        return str(messages[-1]["content"]), {"protocol": episodes.key}

    async def step(
        self, action: Any, metadata: dict[str, Any], session_id: str | None = None
    ) -> tuple[str | None, float, bool, bool, dict[str, Any]]:
        """Do what the model called, in order. An answer without a call ends the episode."""
        episodes = self.config.open()
        tools = self.session_state.get(session_id)
        if tools is None:
            raise HTTPException(400, "There is no episode in this session: call /reset first.")
        calls = [item for item in action.output if item.type == "function_call"]
        outputs = []
        for call in calls:
            try:
                text = await episodes.aside(call_tool, tools, call.name, call.arguments)
            except ToolError as error:
                text = f"Error: {error}"
            outputs.append({"call_id": call.call_id, "output": text})
        info: dict[str, Any] = {"tool_outputs": outputs}
        over = tools.done or not calls
        if over:
            info |= episodes.result(tools)
        return None, tools.reward if over else 0.0, tools.done, over and not tools.done, info

    def compute_metrics(self, tasks: list[list[dict[str, Any]]]) -> dict[str, Any]:
        """Success and steps of the rollouts that were played to their end."""
        played = [one["info"] for task in tasks for one in task if "success" in one.get("info", {})]
        if not played:
            return {}
        return {
            f"mean/{name}": sum(float(info[name]) for info in played) / len(played)
            for name in ("success", "done", "steps")
        }


def rows(episodes: ToolEpisodes, *, name: str = "") -> Iterator[dict[str, Any]]:
    """The data set: a row for each episode, which says its number and nothing else about it."""
    tools = [{"type": "function", **spec.function()["function"]} for spec in episodes.specs]
    start = {
        "input": episodes.messages()[:-1],
        "tools": [{**tool, "strict": False} for tool in tools],
        # Each call leads to another page.
        "parallel_tool_calls": False,
    }
    agent = {"type": "responses_api_agents", "name": f"{name or _NAMES[episodes.domain]}_agent"}
    for number in range(len(episodes)):
        yield {
            "responses_create_params": start,
            "episode": number,
            "protocol": episodes.key,
            "agent_ref": agent,
        }


def write_server(out: Path, *, name: str = "", **options: Any) -> Path:
    """Write a server's folder below `out/resources_servers`, and give its path.

    `options` are those of `open_episodes`; `name` is the folder's and the server's.
    """
    episodes = open_episodes(**options)
    name = name or _NAMES[episodes.domain]
    if not name.isidentifier():
        raise ErrandsError(f"name={name!r}: expected letters, digits and _, as in errands_shop.")
    place = out / "resources_servers" / name
    (place / "configs").mkdir(parents=True, exist_ok=True)
    (place / "data").mkdir(exist_ok=True)
    (place / "app.py").write_text(_APP)
    (place / "requirements.txt").write_text("errands[nemo-gym]\n")
    (place / "configs" / f"{name}.yaml").write_text(_yaml(episodes, name, options))
    with (place / "data" / f"{name}.jsonl").open("w", encoding="utf-8") as file:
        for row in rows(episodes, name=name):
            file.write(json.dumps(row) + "\n")
    return place


_APP: Final = '''"""Written by `python -m errands.integrations.nemo_gym`."""

from errands.integrations.nemo_gym import EpisodeServer

if __name__ == "__main__":
    EpisodeServer.run_webserver()
'''


def _yaml(episodes: ToolEpisodes, name: str, options: dict[str, Any]) -> str:
    """The configuration; a JSON text is also one of YAML."""
    given = {option: value for option, value in options.items() if value not in (None, False)}
    chosen = "".join(f"      {option}: {json.dumps(value)}\n" for option, value in given.items())
    kind = "train" if options.get("training") else "validation"
    license = "Apache 2.0" if episodes.protocol.data in BUILT_IN else "TBD"
    return f"""# Written by `python -m errands.integrations.nemo_gym`.
# {episodes.key}
{name}:
  resources_servers:
    {name}:
      entrypoint: app.py
      domain: agent
      verified: false
      description: {json.dumps(episodes.protocol.title)}
{chosen}{name}_agent:
  responses_api_agents:
    gymnasium_agent:
      entrypoint: app.py
      resources_server:
        type: resources_servers
        name: {name}
      model_server:
        type: responses_api_models
        name: policy_model
      max_steps: {episodes.protocol.max_steps}
      datasets:
      - name: {name}
        type: {kind}
        jsonl_fpath: resources_servers/{name}/data/{name}.jsonl
        license: {license}
"""


def _write(
    out: Path = typer.Argument(..., help="A folder; the server is written below it."),
    name: str = typer.Option("", help="The server's name; empty: errands_shop or errands_forms."),
    protocol: str = typer.Option("shop-demo", help="A protocol's name, or FILE.toml#name."),
    data: str | None = typer.Option(None, help="Another catalogue, or folder of tasks."),
    split: str | None = typer.Option(None, help="Another split."),
    episodes: int | None = typer.Option(None, min=1, help="The first so many."),
    max_steps: int | None = typer.Option(None, min=1, help="Tool calls in an episode."),
    per_task: int | None = typer.Option(None, min=1, help="Instances of each task (form pages)."),
    driver: str | None = typer.Option(None, help="What shows form pages: dom, browser or auto."),
    training: bool = typer.Option(False, help="Refuse splits that are for testing."),
) -> None:
    """Write a resources server of NeMo Gym, with its data and configuration.

    Examples:

    \b
      python -m errands.integrations.nemo_gym gym --protocol shop-demo
      python -m errands.integrations.nemo_gym gym --protocol shop-learn-train --training
      python -m errands.integrations.nemo_gym gym --protocol turk-demo --per-task 2
    """
    options = {
        "protocol": protocol,
        "data": data,
        "split": split,
        "episodes": episodes,
        "max_steps": max_steps,
        "per_task": per_task,
        "driver": driver,
        "training": training,
    }
    try:
        place = write_server(out, name=name, **options)
    except (ErrandsError, OSError) as failure:
        typer.echo(str(failure), err=True)
        raise typer.Exit(2) from None
    config = place.relative_to(out) / "configs" / f"{place.name}.yaml"
    typer.echo(f'{place} is written; now, in {out}: gym env start "+config_paths=[{config},...]"')


def main(arguments: Sequence[str] | None = None) -> None:
    """The command; `arguments` instead of the process's own."""
    app = typer.Typer(add_completion=False)
    app.command()(_write)
    app(args=None if arguments is None else list(arguments), prog_name="errands-nemo-gym")


if __name__ == "__main__":
    main()

"""Harbor: a folder of tasks, one an episode, and the service that each plays against.

`errands export shop-demo OUT --format harbor` writes the tasks; Harbor itself is not needed for it.
A task has three containers. The agent's (`main`) holds nothing of errands. The shop's plays the one
episode, over MCP and over plain HTTP, and keeps its reward in a file. The verifier's starts when
the agent's has been stopped, and is handed that file by Harbor. docs/guides/integrations/harbor.md
says what an agent could try against this.

    python -m errands.integrations.harbor episode.json --port 8000
"""

import argparse
import json
import re
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import TCPServer
from typing import Any, Final

import msgspec

from errands import __version__
from errands.agents.llm.tools import ToolError, call_tool
from errands.atomic import atomic_directory, atomic_write
from errands.errors import DataError, ErrandsError, SettingError
from errands.home import expanded
from errands.integrations.episodes import ToolEpisodes, open_episodes
from errands.integrations.reference import gold_calls
from errands.runs.episode_source import TurkSource
from errands.shop.catalog.library import BUILT_IN

__all__ = ["EpisodeService", "HarborServer", "TaskEpisode", "main", "write_tasks"]

_SHOP: Final = "http://shop:8000"
_RESULTS: Final = "/tmp/errands-results"
"""In the containers of the shop and of the verifier."""
_LARGEST_REQUEST: Final = 100_000
_PATIENCE: Final = 30.0
"""Seconds until a client that sends nothing is hung up on; others wait meanwhile."""
_MCP_VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")


class TaskEpisode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which episode a task plays: what only the shop's container is told."""

    protocol: str
    changes: dict[str, str | int]
    """What departs from the protocol."""
    number: int
    key: str
    """What the reward can be compared with; other data or another version would have another."""

    @classmethod
    def read(cls, path: Path) -> "TaskEpisode":
        try:
            return msgspec.json.decode(path.read_bytes(), type=cls)
        except OSError as failure:
            raise DataError(f"{path} cannot be read ({failure.strerror}).") from None
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as failure:
            raise DataError(
                f"{path} is no episode of a Harbor task ({failure}); expected the episode.json that"
                " errands export --format harbor writes."
            ) from None

    def text(self) -> str:
        return json.dumps(msgspec.to_builtins(self), indent=2) + "\n"

    def open(self) -> ToolEpisodes:
        episodes = open_episodes(self.protocol, **self.changes)  # type: ignore[arg-type]
        if episodes.key != self.key:
            raise DataError(
                f"The task was exported for {self.key!r}, and what is installed here plays"
                f" {episodes.key!r}; export the tasks again, or take the data of then."
            )
        return episodes


# The service: one episode.


class EpisodeService:
    """One episode, whose result is in a folder at any moment; without any network."""

    def __init__(self, episodes: ToolEpisodes, number: int, results: Path) -> None:
        self.episodes = episodes
        self._tools, _ = episodes.begin(number)
        self._results = results
        self._failed = False
        results.mkdir(parents=True, exist_ok=True)
        self._keep()

    def call(self, name: Any, arguments: Any) -> str:
        """What a tool shows; a `ToolError` is for the agent to read."""
        if self._failed:
            raise ToolError("The episode has failed, and will have no reward.")
        try:
            return call_tool(self._tools, name, arguments)
        except ToolError:
            raise
        except Exception:
            # What it says may tell of the goal: it is for the shop's own log.
            traceback.print_exc()
            self._failed = True
            raise ToolError("The episode has failed, and will have no reward.") from None
        finally:
            self._keep()

    @property
    def done(self) -> bool:
        return self._failed or self._tools.done

    def _keep(self) -> None:
        """`reward.json` as Harbor reads it, and all else beside it; a failure is no reward of 0."""
        result = {**self.episodes.result(self._tools), "state": self._tools.state}
        atomic_write(self._results / "result.json", _writer(json.dumps(result)))
        reward = self._results / "reward.json"
        if self._failed:
            reward.unlink(missing_ok=True)
        else:
            atomic_write(reward, _writer(json.dumps({"reward": result["reward"]})))

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        """The status and the JSON that a request gets; None for no content."""
        known = {"/tools": "GET", "/call": "POST", "/mcp": "POST"}
        if path not in known:
            return 404, {"error": f"There is nothing at this path; there are {', '.join(known)}."}
        if known[path] != method:
            return 405, {"error": f"{path} is asked by {known[path]}."}
        if path == "/tools":
            return 200, {"tools": [spec.function() for spec in self.episodes.specs]}
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            message = None
        if path == "/mcp":
            return self._mcp(message)
        if not isinstance(message, dict) or "name" not in message:
            return 400, {"error": 'Expected {"name": ..., "arguments": {...}} as JSON.'}
        try:
            text = self.call(message["name"], message.get("arguments", {}))
        except ToolError as problem:
            return 422, {"error": str(problem), "done": self.done}
        return 200, {"text": text, "done": self.done}

    def _mcp(self, message: Any) -> tuple[int, Any]:
        """The Model Context Protocol over HTTP, without sessions: a request, an answer."""
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            problem = {"code": -32600, "message": "Expected one JSON-RPC request."}
            return 400, {"jsonrpc": "2.0", "id": None, "error": problem}
        if "id" not in message:
            return 202, None
        params = message.get("params")
        result = self._mcp_result(message["method"], params if isinstance(params, dict) else {})
        answer = {"jsonrpc": "2.0", "id": message["id"]}
        if result is None:
            return 200, {**answer, "error": {"code": -32601, "message": "There is no such method."}}
        return 200, {**answer, "result": result}

    def _mcp_result(self, method: str, params: Mapping[str, Any]) -> dict[str, Any] | None:
        if method == "initialize":
            wanted = params.get("protocolVersion")
            return {
                "protocolVersion": wanted if wanted in _MCP_VERSIONS else _MCP_VERSIONS[0],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "errands", "version": __version__},
            }
        if method == "ping":
            return {}
        if method == "tools/list":
            tools = [
                {"name": each.name, "description": each.description, "inputSchema": each.parameters}
                for each in self.episodes.specs
            ]
            return {"tools": tools}
        if method == "tools/call":
            try:
                text, wrong = self.call(params.get("name"), params.get("arguments") or {}), False
            except ToolError as problem:
                text, wrong = str(problem), True
            return {"content": [{"type": "text", "text": text}], "isError": wrong}
        return None


def _writer(text: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(text, "utf-8")


class HarborServer(TCPServer):
    """The episode on a port, one request after the other."""

    allow_reuse_address = True

    def __init__(self, service: EpisodeService, host: str = "127.0.0.1", port: int = 0) -> None:
        super().__init__((host, port), _Handler)
        self.service = service

    @property
    def address(self) -> str:
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}"


class _Handler(BaseHTTPRequestHandler):
    server: HarborServer
    timeout = _PATIENCE

    def do_GET(self) -> None:
        self._send(*self.server.service.answer("GET", self.path, b""))

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch("[0-9]{1,12}", length) or int(length) > _LARGEST_REQUEST:
            self._send(413, {"error": f"Expected up to {_LARGEST_REQUEST:,} bytes, with a length."})
            return
        self._send(*self.server.service.answer("POST", self.path, self.rfile.read(int(length))))

    def _send(self, status: int, answer: Any) -> None:
        body = b"" if answer is None else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """The result has every call."""


def main(words: Sequence[str] | None = None) -> None:
    """Serve the episode of a task until the container is stopped."""
    parser = argparse.ArgumentParser(prog="python -m errands.integrations.harbor")
    parser.add_argument("episode", type=Path, help="the task's environment/shop/episode.json")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on")
    parser.add_argument("--port", type=int, default=8000, help="the port; 0 takes a free one")
    parser.add_argument("--results", type=Path, default=Path(_RESULTS), help="a folder to write")
    given = parser.parse_args(words)
    try:
        episode = TaskEpisode.read(given.episode)
        service = EpisodeService(episode.open(), episode.number, given.results)
        server = HarborServer(service, given.host, given.port)
    except (ErrandsError, OSError, OverflowError) as failure:
        print(failure, file=sys.stderr)
        raise SystemExit(2) from None
    print(f"Serving an episode of {episode.key} on {server.address}", flush=True)
    with server:
        server.serve_forever()


# The export: a folder of tasks.


def write_tasks(
    out: Path,
    protocol: str,
    *,
    image: str | None = None,
    mcp: bool = True,
    open_network: bool = False,
    progress: Callable[[int, int], None] | None = None,
    **changes: str | int | None,
) -> ToolEpisodes:
    """Write a Harbor task for every episode of a protocol to a new folder.

    `changes` are those of `open_episodes`. `image` is one that has errands and the data; without it
    the demo's data is installed. Without `mcp` there is plain HTTP alone, for agents that know no
    other. `open_network` lets agents reach the internet.
    """
    if out.exists():
        raise SettingError(f"{out} exists already; name another path, or remove it.")
    given = {name: value for name, value in changes.items() if value is not None}
    episodes = open_episodes(protocol, **given)  # type: ignore[arg-type]
    _check_image(episodes, image)
    named, own = protocol, {}
    if ".toml" in protocol:
        named = f"protocol.toml#{episodes.protocol.id}"
        file = expanded(protocol.partition("#")[0])
        own["environment/shop/protocol.toml"] = file.read_bytes()
    with atomic_directory(out) as work:
        for number in range(len(episodes)):
            episode = TaskEpisode(named, given, number, episodes.key)
            name = f"{_slug(episodes.protocol.id)}-{number:04}"
            files = {
                "instruction.md": _instruction(episodes, number, mcp),
                "task.toml": _task(episodes, number, name, mcp, open_network),
                "environment/.dockerignore": "shop\n",
                "environment/Dockerfile": _MAIN_DOCKERFILE,
                "environment/docker-compose.yaml": _COMPOSE,
                "environment/shop/Dockerfile": _shop_dockerfile(image),
                "environment/shop/episode.json": episode.text(),
                "tests/Dockerfile": _VERIFIER_DOCKERFILE,
                "tests/test.sh": _TEST,
                "solution/solve.sh": _SOLVE,
                "solution/calls.jsonl": _lines(gold_calls(episodes, number)),
            }
            texts = {place: text.encode("utf-8", "replace") for place, text in files.items()}
            for place, content in {**texts, **own}.items():
                path = work / name / place
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
                path.chmod(0o755 if path.suffix == ".sh" else 0o644)
            if progress is not None:
                progress(number + 1, len(episodes))
    return episodes


def _check_image(episodes: ToolEpisodes, image: str | None) -> None:
    """Refuse what the shop's container could not play."""
    protocol = episodes.protocol
    if episodes.pointer:
        raise SettingError(
            f"The protocol {protocol.id!r} is played with mouse and keyboard in a browser, which"
            " Harbor tasks do not have; expected one whose pages are played by fields."
        )
    if image is not None:
        if not re.fullmatch(r"[\w][\w./:@-]*", image, re.ASCII):
            raise SettingError(f"image {image!r}: expected a name such as errands:latest.")
        return
    if protocol.data not in BUILT_IN:
        raise SettingError(
            f"The protocol {protocol.id!r} plays {protocol.data!r}, which pip does not install;"
            " build an image that has errands and this data, and name it: --image NAME."
        )
    if isinstance(episodes.source, TurkSource):
        tasks = {str(row["task"]) for row in episodes}
        for task in sorted(tasks):
            driver = episodes.source.pages.driver_for(episodes.source.tasks.task(task))
            if driver.name != "dom":
                raise SettingError(
                    f"The task {task!r} of {protocol.id!r} needs a browser, which the image of the"
                    " tasks has not; build one that has errands and a browser, and name it:"
                    " --image NAME."
                )


def _lines(calls: Sequence[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(call) + "\n" for call in calls)


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "protocol"


def _instruction(episodes: ToolEpisodes, number: int, mcp: bool) -> str:
    _, messages = episodes.conversation(number)
    told = "\n\n".join(str(message["content"]).strip() for message in messages)
    tools = ", ".join(spec.name for spec in episodes.specs)
    served = (
        "are those of the MCP server `errands`. Without MCP, call them" if mcp else "are called"
    )
    return f"""{told}

---

The tools ({tools}) {served} over HTTP:

    curl -s {_SHOP}/tools
    curl -s {_SHOP}/call -d '{{"name": "...", "arguments": {{...}}}}'

The page above is where you are now. There is one try: what was bought or submitted stays so.
"""


def _task(episodes: ToolEpisodes, number: int, name: str, mcp: bool, open_network: bool) -> str:
    protocol = episodes.protocol
    server = f"""
[[environment.mcp_servers]]
name = "errands"
transport = "streamable-http"
url = "{_SHOP}/mcp"
"""
    network = '\nnetwork_mode = "allowlist"\nallowed_hosts = ["shop"]'
    return f"""schema_version = "1.4"
# Harbor takes these from the shop's container when the agent's is stopped.
artifacts = [{{ source = "{_RESULTS}", service = "shop" }}]

[task]
name = "errands/{name}"
description = {_toml(protocol.title)}
keywords = ["web agents", "{"webshop" if protocol.domain == "shop" else "turkingbench"}"]

[metadata]
protocol = {_toml(episodes.key)}
episode = {number}
errands = "{__version__}"

[agent]
timeout_sec = 1800.0{"" if open_network else network}

[environment]
build_timeout_sec = 1800.0

[environment.healthcheck]
command = "curl -fsS {_SHOP}/tools"
interval_sec = 2.0
timeout_sec = 10.0
start_period_sec = 120.0
{server if mcp else ""}
[verifier]
environment_mode = "separate"
timeout_sec = 120.0

[verifier.environment]
build_timeout_sec = 600.0
"""


def _toml(text: str) -> str:
    """A text as TOML: JSON's strings are TOML's, but for one mark."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _shop_dockerfile(image: str | None) -> str:
    begin = f"FROM {image}" if image is not None else _INSTALLED
    return f"""{begin}
WORKDIR /episode
COPY . .
ENTRYPOINT ["python", "-m", "errands.integrations.harbor", "episode.json"]
CMD ["--host", "0.0.0.0", "--port", "8000", "--results", "{_RESULTS}"]
"""


_INSTALLED: Final = f"""FROM python:3.12-slim
RUN pip install --no-cache-dir 'errands=={__version__}'
RUN useradd --create-home shopper
USER shopper
ENV ERRANDS_HOME=/home/shopper/errands PYTHONUNBUFFERED=1
# The demo catalogue is made once, for all tasks.
RUN errands search "warm up" > /dev/null"""

_MAIN_DOCKERFILE: Final = """# The agent's container: nothing of the shop is in it.
FROM python:3.12-slim
RUN apt-get update \\
 && apt-get install --yes --no-install-recommends ca-certificates curl \\
 && rm -rf /var/lib/apt/lists/*
WORKDIR /workspace
"""

_COMPOSE: Final = """services:
  shop:
    build:
      context: ./shop
    init: true
    # Said so that Harbor's egress control is put around the agent's container alone.
    networks: [default]
"""

_VERIFIER_DOCKERFILE: Final = """FROM python:3.12-slim
COPY test.sh /tests/test.sh
"""

_TEST: Final = f"""#!/bin/sh
# Runs when the agent's container has been stopped, in one of its own: the reward is what the shop
# wrote down. Where it wrote none there is none, which is an error, and not a reward of 0.
set -eu
results="${{ERRANDS_RESULTS:-{_RESULTS}}}"
logs="${{ERRANDS_LOGS:-/logs/verifier}}"
rm -f "$logs/reward.json" "$logs/reward.txt"
cp "$results/result.json" "$logs/result.json"
cp "$results/reward.json" "$logs/reward.json"
"""

_SOLVE: Final = f"""#!/bin/sh
# The reference answer, call by call.
set -eu
shop="${{ERRANDS_SHOP:-{_SHOP}}}"
while IFS= read -r call; do
  printf '%s' "$call" | curl -fsS --data-binary @- "$shop/call"
  echo
done < "$(dirname "$0")/calls.jsonl"
"""


if __name__ == "__main__":
    main()

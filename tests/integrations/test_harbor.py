"""Tasks for Harbor, read by Harbor's own models and played without containers.

What the containers would run is run here: the shop's command as a process on loopback, the scripts
of the solution and of the verifier, with addresses and folders told by environment variables.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import tomllib
import urllib.error
import urllib.request
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from effort import effort
from scripted_model import Script

from errands.errors import DataError, ErrandsError
from errands.integrations.episodes import ToolEpisodes
from errands.integrations.harbor import EpisodeService, HarborServer, TaskEpisode, write_tasks
from errands.runs.protocol import ProtocolError
from errands.testing.adapter import AdapterConformance, ScriptedModel

IN_PROCESS = False
PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "integrations" / "harbor.md"
AGENTS = {"instruction.md", "task.toml", "environment/.dockerignore", "environment/Dockerfile"} | {
    "environment/docker-compose.yaml"
}
"""All of a task that can come into the agent's container, and more."""
HIDDEN = {"environment/shop/Dockerfile", "environment/shop/episode.json", "tests/Dockerfile"} | {
    "tests/test.sh",
    "solution/solve.sh",
    "solution/calls.jsonl",
}


def post(address: str, message: Any) -> tuple[int, Any]:
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    try:
        with urllib.request.urlopen(address, body, timeout=60) as answer:
            return answer.status, json.loads(answer.read() or "null")
    except urllib.error.HTTPError as failure:
        with failure:
            return failure.code, json.loads(failure.read() or "null")


@contextlib.contextmanager
def serving(service: EpisodeService) -> Iterator[str]:
    """The service on a port of loopback; its address."""
    with HarborServer(service) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.address
        finally:
            server.shutdown()
            thread.join()


def verified(task: Path, results: Path, logs: Path) -> subprocess.CompletedProcess[str]:
    """What the verifier's container does."""
    logs.mkdir(exist_ok=True)
    told = {**os.environ, "ERRANDS_RESULTS": str(results), "ERRANDS_LOGS": str(logs)}
    script = str(task / "tests" / "test.sh")
    return subprocess.run([script], env=told, text=True, capture_output=True, check=False)


def reward_of(logs: Path) -> Any:
    rewards = json.loads((logs / "reward.json").read_text())
    assert rewards.keys() == {"reward"}
    return rewards["reward"]


def play(script: ScriptedModel) -> list[float]:
    """The calls over HTTP, and the reward from the file that the verifier is handed."""
    rewards = []
    for played in script.played:
        with tempfile.TemporaryDirectory() as folder:
            results = Path(folder)
            service = EpisodeService(script.episodes, played.number, results)
            with serving(service) as address:
                for call in played.calls:
                    status, _ = post(f"{address}/call", call._asdict())
                    assert status in (200, 422)
            rewards.append(reward_of(results))
    return rewards


@pytest.fixture(scope="session")
def shop_tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("harbor") / "shop"
    write_tasks(out, "shop-demo", episodes=12)
    return out


@pytest.fixture(scope="session")
def form_tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("harbor") / "forms"
    write_tasks(out, "turk-demo", episodes=12)
    return out


def files_of(task: Path) -> dict[str, str]:
    return {
        str(path.relative_to(task)): path.read_text() for path in task.rglob("*") if path.is_file()
    }


@contextlib.contextmanager
def shop_process(task: Path, results: Path) -> Iterator[str]:
    """The shop's container, as its Dockerfile starts it, on loopback; its address."""
    dockerfile = (task / "environment/shop/Dockerfile").read_text()
    entry = json.loads(re.findall(r"^ENTRYPOINT (.*)$", dockerfile, re.MULTILINE)[0])
    words = json.loads(re.findall(r"^CMD (.*)$", dockerfile, re.MULTILINE)[0])
    given = dict(zip(words[::2], words[1::2], strict=True))
    given |= {"--host": "127.0.0.1", "--port": "0", "--results": str(results)}
    assert entry[0] == "python"
    command = [sys.executable, *entry[1:], *(word for pair in given.items() for word in pair)]
    process = subprocess.Popen(
        command, cwd=task / "environment/shop", stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip().rpartition(" ")[2]
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()  # type: ignore[union-attr]


def solved(task: Path, place: Path) -> float:
    """A task from beginning to end: shop, solution, verifier."""
    place.mkdir()
    with shop_process(task, place / "results") as address:
        verified(task, place / "results", place / "before")
        assert reward_of(place / "before") == 0
        told = {**os.environ, "ERRANDS_SHOP": address}
        subprocess.run([task / "solution/solve.sh"], env=told, check=True, capture_output=True)
    assert verified(task, place / "results", place / "logs").returncode == 0
    result = json.loads((place / "logs" / "result.json").read_text())
    assert (
        result["protocol"]
        == tomllib.loads((task / "task.toml").read_text())["metadata"]["protocol"]
    )
    reward: float = reward_of(place / "logs")
    assert result["reward"] == reward
    return reward


@pytest.mark.heavy
def test_solutions_of_forms_are_worth_what_the_script_is(
    form_tasks: Path, form_script: Script, tmp_path: Path
) -> None:
    tasks = sorted(form_tasks.iterdir())[:: effort(4, 1)]
    with ThreadPoolExecutor(2) as pool:
        rewards = list(pool.map(lambda task: solved(task, tmp_path / task.name), tasks))
    assert rewards == form_script.rewards[:: effort(4, 1)]


@pytest.mark.heavy
def test_solutions_of_the_shop_are_worth_everything(shop_tasks: Path, tmp_path: Path) -> None:
    tasks = sorted(shop_tasks.iterdir())[:: effort(4, 1)]
    with ThreadPoolExecutor(2) as pool:
        rewards = list(pool.map(lambda task: solved(task, tmp_path / task.name), tasks))
    assert rewards == [1.0] * effort(3, 12)


@pytest.mark.parametrize("which", ["shop", "form"])
def test_every_reward_is_that_of_errands_run(
    which: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The script's calls in place of the solution's; each task's own files otherwise."""
    script: Script = request.getfixturevalue(f"{which}_script")
    tasks = sorted(request.getfixturevalue(f"{which}_tasks").iterdir())
    rewards = []
    for task, played in zip(tasks, script.played, strict=True):
        episode = TaskEpisode.read(task / "environment/shop/episode.json")
        assert episode.key == script.episodes.key
        results = tmp_path / task.name
        calls = "".join(json.dumps(call._asdict()) + "\n" for call in played.calls)
        solution = tmp_path / f"{task.name}-solution"
        solution.mkdir()
        (solution / "calls.jsonl").write_text(calls)
        (solution / "solve.sh").write_text((task / "solution/solve.sh").read_text())
        with serving(EpisodeService(episode.open(), episode.number, results)) as address:
            told = {**os.environ, "ERRANDS_SHOP": address}
            solve = ["sh", str(solution / "solve.sh")]
            subprocess.run(solve, env=told, check=True, capture_output=True)
        logs = tmp_path / f"{task.name}-logs"
        assert verified(task, results, logs).returncode == 0
        rewards.append(reward_of(logs))
        kept = json.loads((logs / "result.json").read_text())
        assert episode.open().at(kept["state"]).reward == rewards[-1]
    assert rewards == script.rewards
    assert sum(rewards) / len(rewards) == sum(script.rewards) / len(script)


class TestConformance(AdapterConformance):
    """Ours passes the kit for adapters."""

    def play(self, script: ScriptedModel) -> list[float]:
        return play(script)


# What an agent can reach.


@pytest.mark.parametrize("which", ["shop", "form"])
def test_what_the_agent_can_read_tells_nothing(which: str, request: pytest.FixtureRequest) -> None:
    """Files of the agent's side are the same for all episodes, but for the number, and for the
    instruction, which is what any model is shown."""
    tasks = sorted(request.getfixturevalue(f"{which}_tasks").iterdir())
    script: Script = request.getfixturevalue(f"{which}_script")
    episodes = script.episodes
    assert len(tasks) == len(episodes) == 12
    same: dict[str, set[str]] = {}
    for number, task in enumerate(tasks):
        files = files_of(task)
        assert files.keys() == AGENTS | HIDDEN
        _, messages = episodes.conversation(number)
        rest = files["instruction.md"]
        for message in messages:
            text = str(message["content"]).strip()
            assert rest.startswith(text)
            rest = rest[len(text) :].lstrip()
        files["instruction.md"] = rest
        settings = tomllib.loads(files["task.toml"])
        assert settings["metadata"].pop("episode") == number
        assert settings["task"].pop("name").endswith(f"-{number:04}")
        files["task.toml"] = json.dumps(settings)
        for name in AGENTS:
            same.setdefault(name, set()).add(files[name])
        if which == "shop":
            goal = episodes.source.goals[episodes.row(number)["goal"]]  # type: ignore[attr-defined]
            assert not any(goal.asin.lower() in files[name].lower() for name in AGENTS)
    assert {len(same[name]) for name in AGENTS} == {1}


def test_the_agents_image_is_built_of_nothing_of_the_task(shop_tasks: Path) -> None:
    task = shop_tasks / "shop-demo-0000"
    dockerfile = (task / "environment/Dockerfile").read_text()
    assert not re.search("^(COPY|ADD)", dockerfile, re.MULTILINE)
    assert (task / "environment/.dockerignore").read_text() == "shop\n"
    assert "errands" not in dockerfile.replace("# The agent's", "")
    assert "volumes" not in (task / "environment/docker-compose.yaml").read_text()


def test_the_service_tells_no_reward_and_no_files(shop: ToolEpisodes, tmp_path: Path) -> None:
    with serving(EpisodeService(shop, 0, tmp_path)) as address:
        for path in ("/", "/result", "/result.json", "/../episode.json", "/call/", "/tools?x"):
            assert post(address + path, {})[0] == 404
        with urllib.request.urlopen(f"{address}/tools") as answer:
            told = json.loads(answer.read())
        assert told == {"tools": [spec.function() for spec in shop.specs]}
        status, said = post(f"{address}/call", {"name": "search", "arguments": {"query": "red"}})
        assert status == 200
        assert said.keys() == {"text", "done"}
        assert "reward" not in json.dumps(said).lower()


def test_there_is_one_try(shop_script: Script, tmp_path: Path) -> None:
    played = shop_script.played[0]
    with serving(EpisodeService(shop_script.episodes, 0, tmp_path)) as address:
        for call in played.calls:
            assert post(f"{address}/call", call._asdict())[0] == 200
        assert reward_of(tmp_path) == played.reward
        kept = (tmp_path / "result.json").read_bytes()
        for name in ("reset", "search", "click", "get_reward"):
            status, said = post(f"{address}/call", {"name": name, "arguments": {}})
            assert (status, said["done"]) == (422, True)
        status, _ = post(f"{address}/call", played.calls[0]._asdict())
        assert status == 422
    assert (tmp_path / "result.json").read_bytes() == kept


def test_a_forged_reward_does_not_outlive_the_verifier(shop_tasks: Path, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "reward.json").write_text('{"reward": 1}')
    (logs / "reward.txt").write_text("1")
    done = verified(shop_tasks / "shop-demo-0000", tmp_path / "nothing", logs)
    assert done.returncode != 0
    assert not list(logs.iterdir()), "without a result of the shop's there is no reward"


def test_a_failure_is_no_reward_and_tells_nothing(
    shop: ToolEpisodes, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    service = EpisodeService(shop, 0, tmp_path)
    assert reward_of(tmp_path) == 0

    def broken(query: str) -> str:
        raise RuntimeError("the goal is B00SECRET")

    service._tools.search = broken  # type: ignore[attr-defined]
    for _ in range(2):
        status, said = service.answer(
            "POST", "/call", b'{"name":"search","arguments":{"query":"x"}}'
        )
        assert status == 422
        assert said == {"error": "The episode has failed, and will have no reward.", "done": True}
    assert not (tmp_path / "reward.json").exists()
    assert "B00SECRET" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"[]", 400),
        (b"{}", 400),
        (b"\xff", 400),
        (b"[" * 100_000, 400),
        (b'{"name": null}', 422),
        (b'{"name": "buy", "arguments": {}}', 422),
        (b'{"name": "search", "arguments": []}', 422),
        (b'{"name": "search", "arguments": {"query": ["x"]}}', 422),
        (b'{"name": "search", "arguments": "{"}', 422),
        (b'{"name": "__init__", "arguments": {}}', 422),
    ],
)
def test_garbage_is_answered_in_a_sentence(
    shop: ToolEpisodes, tmp_path: Path, body: bytes, status: int
) -> None:
    with serving(EpisodeService(shop, 0, tmp_path)) as address:
        found, said = post(f"{address}/call", body or b" ")
        assert found == status
        assert said["error"].endswith(".")
        assert post(f"{address}/call", {"name": "search", "arguments": {"query": "a"}})[0] == 200


@pytest.mark.parametrize("length", ["", "Content-Length: -1", "Content-Length: 100001"])
def test_requests_are_bounded(shop: ToolEpisodes, tmp_path: Path, length: str) -> None:
    with serving(EpisodeService(shop, 0, tmp_path)) as address:
        host, _, port = address.removeprefix("http://").partition(":")
        with socket.create_connection((host, int(port)), timeout=60) as connection:
            connection.sendall(f"POST /call HTTP/1.1\r\nHost: shop\r\n{length}\r\n\r\n".encode())
            assert b" 413 " in connection.recv(1000)


# MCP.


def test_mcp_by_hand(shop: ToolEpisodes, tmp_path: Path) -> None:
    service = EpisodeService(shop, 0, tmp_path)

    def asked(method: str, **params: Any) -> Any:
        message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
        status, answer = service.answer("POST", "/mcp", json.dumps(message).encode())
        assert (status, answer["id"]) == (200, 7)
        return answer.get("result", answer.get("error"))

    assert asked("initialize", protocolVersion="2025-06-18")["protocolVersion"] == "2025-06-18"
    assert asked("initialize", protocolVersion="1999")["protocolVersion"] == "2025-11-25"
    assert [tool["name"] for tool in asked("tools/list")["tools"]] == ["search", "click"]
    assert asked("tools/call", name="search", arguments={"query": "red"})["isError"] is False
    assert asked("tools/call", name="click", arguments={"name": "no"})["isError"] is True
    assert asked("tools/call", name=["x"])["isError"] is True
    assert asked("resources/list")["code"] == -32601
    assert asked("ping") == {}
    assert service.answer("POST", "/mcp", b'{"method": "notifications/initialized"}') == (202, None)
    assert service.answer("POST", "/mcp", b"[]")[0] == 400
    assert service.answer("GET", "/mcp", b"")[0] == 405


def test_a_client_of_mcp_plays(shop_script: Script, tmp_path: Path) -> None:
    mcp = pytest.importorskip("mcp", reason="the MCP package is not installed: pip install mcp")
    import anyio

    played = shop_script.played[0]

    async def play_it(address: str) -> list[str]:
        async with contextlib.AsyncExitStack() as stack:
            if hasattr(mcp, "Client"):
                client = await stack.enter_async_context(mcp.Client(address))
            else:
                from mcp.client.streamable_http import streamable_http_client

                streams = await stack.enter_async_context(streamable_http_client(address))
                client = await stack.enter_async_context(mcp.ClientSession(*streams[:2]))
                await client.initialize()
            tools = (await client.list_tools()).tools
            for call in played.calls:
                await client.call_tool(call.name, call.arguments)
            return [tool.name for tool in tools]

    with serving(EpisodeService(shop_script.episodes, 0, tmp_path)) as address:
        assert anyio.run(play_it, f"{address}/mcp") == ["search", "click"]
    assert reward_of(tmp_path) == played.reward


# The export.


def digest(folder: Path) -> str:
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        total.update(f"{path.relative_to(folder)} {path.stat().st_mode}\n".encode())
        total.update(path.read_bytes() if path.is_file() else b"")
    return total.hexdigest()


def test_the_same_export_has_the_same_bytes(shop_tasks: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    write_tasks(again, "shop-demo", episodes=12)
    assert digest(again) == digest(shop_tasks)


def test_nothing_is_left_of_a_failed_export(tmp_path: Path) -> None:
    def fail(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_tasks(tmp_path / "out", "shop-demo", episodes=3, progress=fail)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_exists_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(ErrandsError, match="exists already"):
        write_tasks(tmp_path, "shop-demo", episodes=1)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize(
    ("protocol", "options", "sentence"),
    [
        ("shop-demmo", {}, "Did you mean 'shop-demo'"),
        ("shop-demo", {"image": "a b"}, "image 'a b'"),
        ("shop-demo", {"image": "x\nRUN rm"}, "expected a name"),
    ],
)
def test_mistakes_are_one_sentence(
    protocol: str, options: dict[str, str], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(ErrandsError, match=sentence):
        write_tasks(tmp_path / "out", protocol, **options)
    assert not list(tmp_path.iterdir())


def own_protocol(place: Path, **changes: str) -> str:
    shop = {"domain": '"shop"', "data": '"demo"', "goals": '"human"', "version": "1", **changes}
    lines = "\n".join(f"{name} = {value}" for name, value in shop.items())
    path = place / "mine.toml"
    path.write_text(f'["Mine, 2"]\n{lines}\n')
    return f"{path}#Mine, 2"


def test_a_protocol_of_ones_own_goes_along(tmp_path: Path) -> None:
    named = own_protocol(tmp_path, title='"Odd \\"title\\" \\u007f \U0001f600"')
    write_tasks(tmp_path / "out", named, episodes=1, image="mine/errands:1")
    task = tmp_path / "out" / "mine-2-0000"
    settings = tomllib.loads((task / "task.toml").read_text())
    assert settings["task"]["description"] == 'Odd "title" \x7f \U0001f600'
    assert (task / "environment/shop/Dockerfile").read_text().startswith("FROM mine/errands:1\n")
    with shop_process(task, tmp_path / "results") as address:
        assert post(f"{address}/call", {"name": "search", "arguments": {"query": "a"}})[0] == 200
    result = json.loads((tmp_path / "results/result.json").read_text())
    assert result["protocol"] == settings["metadata"]["protocol"]


def test_data_that_pip_does_not_install_needs_an_image(tmp_path: Path) -> None:
    from errands.shop.catalog.catalog import Catalog

    place = json.dumps(str(Catalog.open("demo").path))
    with pytest.raises(ErrandsError, match="--image NAME"):
        write_tasks(tmp_path / "out", own_protocol(tmp_path, data=place), episodes=1)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, "cannot be read"),
        ("{", "no episode of a Harbor task"),
        ('{"protocol": "shop-demo"}', "no episode of a Harbor task"),
    ],
)
def test_a_damaged_episode_is_refused(text: str | None, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "episode.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(DataError, match=sentence):
        TaskEpisode.read(path)


def test_other_data_is_refused() -> None:
    with pytest.raises(DataError, match="export the tasks again"):
        TaskEpisode("shop-demo", {"episodes": 2}, 0, "shop-demo@1 data:other").open()
    with pytest.raises(ProtocolError, match="no protocol"):
        TaskEpisode("nothing", {}, 0, "").open()


def test_the_service_says_what_is_wrong_and_ends(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "errands.integrations.harbor", str(tmp_path / "none.json")]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "cannot be read" in done.stderr


# Harbor's own models.


@pytest.fixture
def harbor() -> Any:
    return pytest.importorskip(
        "harbor", reason="Harbor is not installed: pip install 'errands[harbor]' (Python 3.12)"
    )


@pytest.mark.parametrize("which", ["shop_tasks", "form_tasks"])
def test_harbor_reads_every_task(which: str, harbor: Any, request: pytest.FixtureRequest) -> None:
    from harbor.models.task.artifacts import sidecar_services
    from harbor.models.task.config import TaskConfig, VerifierEnvironmentMode
    from harbor.models.task.task import Task
    from harbor.models.task.verifier_mode import (
        resolve_task_verifier_mode,
        resolve_verifier_environment_definition,
    )

    tasks = sorted(request.getfixturevalue(which).iterdir())
    assert len(tasks) == 12
    for path in tasks:
        assert Task.is_valid_dir(path)
        task = Task(path)
        assert task.name == f"errands/{path.name}"
        assert task.instruction == (path / "instruction.md").read_text()
        written = tomllib.loads((path / "task.toml").read_text())
        read = TaskConfig.model_validate_toml(task.config.model_dump_toml())
        assert not_read(written, read.model_dump(mode="json")) == []
        assert resolve_task_verifier_mode(task.config) == VerifierEnvironmentMode.SEPARATE
        verifier = resolve_verifier_environment_definition(task.config, task.paths)
        assert verifier is not None
        assert (verifier.directory, verifier.bundled_tests) == (task.paths.tests_dir, True)
        assert verifier.config.healthcheck is None
        assert sidecar_services(task.config.artifacts) == {"shop"}
        assert task.paths.discovered_solve_path is not None


def not_read(written: Any, read: Any, place: str = "") -> list[str]:
    """What stands in the file and is not in Harbor's model as it stands there."""
    if isinstance(written, dict):
        return [
            found
            for name, value in written.items()
            for found in not_read(value, (read or {}).get(name), f"{place}.{name}")
        ]
    if isinstance(written, list) and written and isinstance(written[0], dict):
        pairs = zip(written, read, strict=True)
        return [found for one, other in pairs for found in not_read(one, other, place)]
    return [] if written == read else [place]


def test_agents_reach_the_shop_and_what_a_run_allows(harbor: Any, shop_tasks: Path) -> None:
    from harbor.models.task.config import NetworkMode, VerifierEnvironmentMode
    from harbor.models.task.task import Task
    from harbor.models.trial.config import AgentConfig, EnvironmentConfig
    from harbor.trial.network_policy import resolve_trial_network_plan

    plan = resolve_trial_network_plan(
        Task(shop_tasks / "shop-demo-0000").config,
        AgentConfig(name="claude-code", extra_allowed_hosts=["api.example.com"]),
        EnvironmentConfig(),
        None,
        verifier_mode=VerifierEnvironmentMode.SEPARATE,
    )
    assert plan.agent_phase.network_mode == NetworkMode.ALLOWLIST
    assert plan.agent_phase.allowed_hosts == ["shop", "api.example.com"]
    assert plan.agent_env_baseline.network_mode == NetworkMode.PUBLIC


def test_an_open_network_and_no_mcp_are_asked_for(harbor: Any, tmp_path: Path) -> None:
    from harbor.models.task.task import Task

    write_tasks(tmp_path / "out", "shop-demo", episodes=1, open_network=True, mcp=False)
    task = Task(tmp_path / "out" / "shop-demo-0000")
    assert task.config.agent.explicit_phase_policy() is None
    assert task.config.environment.mcp_servers == []
    assert "MCP" not in task.instruction
    assert "http://shop:8000/call" in task.instruction


def test_egress_control_is_put_around_the_agent_alone(harbor: Any, shop_tasks: Path) -> None:
    from harbor.environments.docker.docker import DockerEnvironment

    class Composed:
        def _user_compose_paths(self) -> list[Path]:
            return [shop_tasks / "shop-demo-0000/environment/docker-compose.yaml"]

        _EGRESS_CONTROL_SERVICE_NAME = DockerEnvironment._EGRESS_CONTROL_SERVICE_NAME

    assert DockerEnvironment._egress_controlled_service_names(Composed()) == ["main"]


# Harbor's own trials, with folders in place of containers.


def tried(task: Path, place: Path, **agent: Any) -> Any:
    """A trial as `harbor run` makes it; its result."""
    from harbor.models.trial.config import AgentConfig, EnvironmentConfig, TaskConfig, TrialConfig
    from harbor.trial.trial import Trial
    from harbor_local import LocalEnvironment

    LocalEnvironment.happened.clear()
    config = TrialConfig(
        task=TaskConfig(path=task),
        trials_dir=place,
        agent=AgentConfig(**agent),
        environment=EnvironmentConfig(import_path="harbor_local:LocalEnvironment"),
    )

    async def run() -> Any:
        return await (await Trial.create(config)).run()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Harbor's own.
        result = asyncio.run(run())
    assert result.exception_info is None, result.exception_info
    return result


@pytest.mark.heavy
@pytest.mark.parametrize("which", ["shop", "form"])
def test_trials_of_harbor_give_the_same_rewards(
    which: str, harbor: Any, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    script: Script = request.getfixturevalue(f"{which}_script")
    tasks = sorted(request.getfixturevalue(f"{which}_tasks").iterdir())
    rewards = []
    for task, played in zip(tasks, script.played, strict=True):
        copied = tmp_path / "tasks" / task.name
        shutil.copytree(task, copied)
        calls = "".join(json.dumps(call._asdict()) + "\n" for call in played.calls)
        (copied / "solution/calls.jsonl").write_text(calls)
        result = tried(copied, tmp_path / "trials", name="oracle")
        rewards.append(result.verifier_result.rewards["reward"])
        kept = next((tmp_path / "trials" / result.trial_name).rglob("artifacts/**/result.json"))
        assert json.loads(kept.read_text())["protocol"] == script.episodes.key
    assert rewards == script.rewards


def test_the_agent_is_stopped_before_the_shop_is_asked(
    harbor: Any, shop_tasks: Path, tmp_path: Path
) -> None:
    from harbor_local import LocalEnvironment

    result = tried(shop_tasks / "shop-demo-0000", tmp_path, name="nop")
    assert result.verifier_result.rewards == {"reward": 0}
    happened = [what for what in LocalEnvironment.happened if not what.startswith("take /logs")]
    assert happened == [
        "start agent",
        "network allowlist shop",
        "network public",
        "stop service main",
        "take /tmp/errands-results of shop",
        "stop agent",
        "start verifier",
        "stop verifier",
    ]


def test_a_cheating_agent_gets_nothing(harbor: Any, shop_tasks: Path, tmp_path: Path) -> None:
    task = shop_tasks / "shop-demo-0000"
    result = tried(task, tmp_path, import_path="harbor_local:Cheat")
    assert list(tmp_path.rglob("artifacts/logs/artifacts/reward.json")), "it did write them"
    assert result.verifier_result.rewards == {"reward": 0}


def test_the_page_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) == 1
    exec(compile(blocks[0], str(PAGE), "exec"), {})

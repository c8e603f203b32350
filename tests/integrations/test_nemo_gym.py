"""NeMo Gym: the same scores through its agent, over its servers' HTTP."""

import asyncio
import contextlib
import importlib
import json
import re
import runpy
import sys
from collections.abc import AsyncIterator, Callable
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scripted_model import Script

pytest.importorskip("nemo_gym", reason="needs NeMo Gym: pip install 'errands[nemo-gym]'")

import nemo_gym.server_utils as servers
import uvicorn
from fastapi import Body, FastAPI
from fastapi.testclient import TestClient
from nemo_gym.config_types import BaseServerConfig, DatasetConfig
from nemo_gym.openai_utils import NeMoGymResponse
from nemo_gym.server_utils import ServerClient
from omegaconf import OmegaConf
from responses_api_agents.gymnasium_agent.app import GymnasiumAgent, GymnasiumAgentConfig

from errands import testing
from errands.errors import ErrandsError
from errands.integrations import IntegrationError
from errands.integrations import nemo_gym as adapter
from errands.integrations.episodes import ToolEpisodes
from errands.integrations.nemo_gym import (
    EpisodeServer,
    EpisodeServerConfig,
    main,
    rows,
    write_server,
)
from errands.testing import AdapterConformance

# In real use the server is a process of its own, behind HTTP; `play` calls what that calls.
IN_PROCESS = False
ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "guides" / "integrations" / "nemo-gym.md"
PLACE = {"host": "127.0.0.1", "port": 0, "entrypoint": "app.py"}


@pytest.fixture(params=["shop", "turk"])
def script(request: pytest.FixtureRequest) -> Script:
    found: Script = request.getfixturevalue(
        {"shop": "shop_script", "turk": "form_script"}[request.param]
    )
    return found


def client_of(ports: dict[str, int]) -> ServerClient:
    """NeMo Gym's own client, which finds servers by name."""
    found = {
        name: {"any": {"any": {"host": "127.0.0.1", "port": port}}} for name, port in ports.items()
    }
    return ServerClient(
        head_server_config=BaseServerConfig(host="127.0.0.1", port=1),
        global_config_dict=OmegaConf.create(found),
    )


def server_of(episodes: ToolEpisodes, **changes: Any) -> EpisodeServer:
    protocol = episodes.protocol
    options = {
        "protocol": protocol.id,
        "episodes": len(episodes),
        "max_steps": protocol.max_steps,
        **changes,
    }
    config = EpisodeServerConfig(name="errands", **PLACE, **options)
    return EpisodeServer(config=config, server_client=client_of({}))


def response_of(*items: dict[str, Any], number: int = 0) -> dict[str, Any]:
    return {
        "id": f"response_{number}",
        "created_at": 0.0,
        "model": "scripted",
        "object": "response",
        "output": list(items),
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
    }


def call_of(name: str, arguments: Any, call_id: str = "call_0") -> dict[str, Any]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"type": "function_call", "name": name, "arguments": text, "call_id": call_id}


def said(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {
        "type": "message",
        "id": "message",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }


def play(script: testing.ScriptedModel) -> list[float]:
    """The script's calls through the server's own methods, without HTTP and a model's loop."""
    return asyncio.run(_play(script))


async def _play(script: testing.ScriptedModel) -> list[float]:
    server = server_of(script.episodes)
    rewards = []
    listed = list(rows(script.episodes))
    for played in script.played:
        row = listed[played.number]
        await server.reset(row, "session")
        total = 0.0
        for call in played.calls:
            action = SimpleNamespace(output=[_Call(call.name, call.arguments)])
            _, reward, _, _, _ = await server.step(action, row, "session")
            total += reward
        rewards.append(total)
    return rewards


class TestConformance(AdapterConformance):
    """Ours passes the kit for adapters."""

    def play(self, script: testing.ScriptedModel) -> list[float]:
        return play(script)


class _Call:
    type = "function_call"
    call_id = "call"

    def __init__(self, name: str, arguments: Any) -> None:
        self.name = name
        self.arguments = arguments


class ScriptedModel:
    """A model server that says what the script says."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.requests: list[dict[str, Any]] = []

    def app(self) -> FastAPI:
        app = FastAPI()

        @app.post("/v1/responses")
        async def responses(body: dict[str, Any] = Body()) -> dict[str, Any]:  # noqa: B008
            self.requests.append(body)
            items = body["input"]
            made = sum(item.get("type") == "function_call" for item in items)
            text = "\n".join(str(item.get("content", "")) for item in items)
            call = self.script.after(text, made)
            number = len(self.requests)
            if call is None:
                return response_of(said("Done."), number=number)
            return response_of(call_of(call.name, call.arguments, f"call_{number}"), number=number)

        return app


@contextlib.asynccontextmanager
async def serving(app: FastAPI) -> AsyncIterator[int]:
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", lifespan="off"))
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await task


async def collect(script: Script, **agent: Any) -> tuple[list[dict[str, Any]], ScriptedModel, Any]:
    """Rollouts of all rows at once by NeMo Gym's agent, between three servers on loopback; and the
    metrics that its server makes of them."""
    model = ScriptedModel(script)
    resources = server_of(script.episodes)
    async with contextlib.AsyncExitStack() as stack:
        ports = {
            "errands": await stack.enter_async_context(serving(resources.setup_webserver())),
            "policy_model": await stack.enter_async_context(serving(model.app())),
        }
        config = GymnasiumAgentConfig(
            name="errands_agent",
            resources_server={"type": "resources_servers", "name": "errands"},
            model_server={"type": "responses_api_models", "name": "policy_model"},
            **PLACE,
            **{"max_steps": 100, **agent},
        )
        made = GymnasiumAgent(config=config, server_client=client_of(ports))
        port = await stack.enter_async_context(serving(made.setup_webserver()))
        session = servers.set_global_aiohttp_client(servers.GlobalAIOHTTPAsyncClientConfig())
        try:
            client = client_of({**ports, "errands_agent": port})

            async def rollout(row: dict[str, Any]) -> dict[str, Any]:
                answer = await client.post("errands_agent", "/run", json=row)
                await servers.raise_for_status(answer)
                return {**row, **await servers.get_response_json(answer)}

            done = await asyncio.gather(*map(rollout, rows(script.episodes)))
            # What NeMo Gym's collection of rollouts sends.
            told = [
                {"reward": one["reward"], "info": one["info"], "_ng_task_index": one["episode"]}
                | {"_ng_rollout_index": 0}
                for one in done
            ]
            answer = await client.post(
                "errands_agent", "/aggregate_metrics", json={"verify_responses": told}
            )
            await servers.raise_for_status(answer)
            metrics = await servers.get_response_json(answer)
        finally:
            await session.close()
            servers._GLOBAL_AIOHTTP_CLIENT = None
    assert not resources.session_state or agent
    return list(done), model, metrics


def test_nemo_gym_gives_the_same_rewards_to_the_last_bit(script: Script) -> None:
    episodes = script.episodes
    rollouts, model, metrics = asyncio.run(collect(script))
    rewards = [rollout["reward"] for rollout in rollouts]
    assert rewards == script.rewards
    for rollout, played in zip(rollouts, script.played, strict=True):
        assert rollout["terminated"]
        assert not rollout["truncated"]
        info = rollout["info"]
        assert info["protocol"] == episodes.key
        assert info["reward"] == played.reward
        assert info["success"] == (played.reward >= 1)
        assert info["steps"] == len(played.calls)
        assert info["reward_parts"]
    assert metrics["agent_metrics"]["mean/reward"] == pytest.approx(
        sum(script.rewards) / len(script), abs=1e-15
    )
    successes = [reward >= 1 for reward in script.rewards]
    assert metrics["key_metrics"]["mean/success"] == sum(successes) / len(successes)

    firsts = [request for request in model.requests if len(request["input"]) == 2]
    assert len(firsts) == len(script)
    for request in firsts:
        told = [
            {key: tool[key] for key in ("name", "description", "parameters")}
            for tool in request["tools"]
        ]
        assert told == [spec.function()["function"] for spec in episodes.specs]
    asked = {
        json.dumps([{key: one[key] for key in ("role", "content")} for one in request["input"]])
        for request in firsts
    }
    opened = [episodes.conversation(number)[1] for number in range(len(episodes))]
    assert asked == set(map(json.dumps, opened))


def test_play_gives_the_same_rewards(script: Script) -> None:
    assert play(script) == script.rewards


def test_an_agent_that_gives_up_earns_nothing(shop_script: Script) -> None:
    rollouts, _, metrics = asyncio.run(collect(shop_script, max_steps=1))
    for rollout in rollouts:
        assert rollout["reward"] == 0
        assert rollout["truncated"]
    assert "mean/success" not in metrics["agent_metrics"]


Post = Callable[..., Any]


@pytest.fixture
def posted(shop: ToolEpisodes) -> Post:
    """A session with the server: posts a row, and a response of the model's."""
    client = TestClient(server_of(shop).setup_webserver())
    row = list(rows(shop))[1]

    def post(path: str, *items: dict[str, Any], **changes: Any) -> Any:
        body = {**row, **changes, "response": response_of(*items)}
        return client.post(path, json=body)

    return post


@pytest.mark.parametrize(
    ("name", "arguments", "why", "steps"),
    [
        ("buy", {}, "There is no tool 'buy'", 0),
        ("reset", {"goal": 1}, "There is no tool 'reset'", 0),
        ("search", "{", "The arguments of search are not JSON.", 0),
        ("search", "[1]", "The arguments of search are no object", 0),
        ("search", "[" * 100_000, "The arguments of search are not JSON.", 0),
        ("search", {}, "search needs the argument 'query'", 0),
        ("search", {"query": "x", "more": 1}, "search has no argument 'more'", 0),
        ("search", {"query": ["x"]}, "", 1),
        ("click", {"name": "nothing of that name"}, "", 1),
    ],
)
def test_wrong_calls_are_told_to_the_model_and_do_not_end_the_episode(
    posted: Post, shop_script: Script, name: str, arguments: Any, why: str, steps: int
) -> None:
    assert posted("/reset").status_code == 200
    told = posted("/step", call_of(name, arguments, "wrong")).json()
    assert not told["terminated"]
    assert not told["truncated"]
    [output] = told["info"]["tool_outputs"]
    assert output["call_id"] == "wrong"
    assert output["output"].startswith(f"Error: {why}")
    played = shop_script.played[1]
    for call in played.calls:
        told = posted("/step", call_of(call.name, call.arguments)).json()
    assert told["terminated"]
    assert told["reward"] == played.reward
    assert told["info"]["steps"] == steps + len(played.calls)


def test_several_calls_are_done_in_order_and_those_after_the_end_are_refused(
    posted: Post, shop_script: Script
) -> None:
    played = shop_script.played[1]
    calls = [call_of(*call, f"call_{place}") for place, call in enumerate(played.calls)]
    posted("/reset")
    told = posted("/step", *calls, call_of("search", {"query": "more"}, "late")).json()
    assert told["reward"] == played.reward
    assert told["terminated"]
    outputs = told["info"]["tool_outputs"]
    assert [output["call_id"] for output in outputs] == [
        *(f"call_{place}" for place in range(len(calls))),
        "late",
    ]
    assert "over" in outputs[-1]["output"]
    assert told["info"]["steps"] == len(calls)


def test_an_answer_without_a_call_ends_the_episode(posted: Post, shop: ToolEpisodes) -> None:
    posted("/reset")
    told = posted("/step", said("I would rather not.")).json()
    assert told["truncated"]
    assert not told["terminated"]
    assert told["reward"] == 0
    assert told["info"]["protocol"] == shop.key
    assert posted("/step", said("Hello?")).status_code == 400


def test_what_is_out_of_order_is_one_sentence(posted: Post) -> None:
    for answer, why in [
        (posted("/step", call_of("search", {"query": "x"})), "call /reset first"),
        (posted("/reset", episode=12), "no episode 12"),
        (posted("/reset", episode=-1), "no episode -1"),
        (posted("/reset", episode="1"), "lacks 'episode'"),
        (posted("/reset", episode=True), "lacks 'episode'"),
        (posted("/reset", protocol="shop-demo@1"), "write both anew"),
        (posted("/reset", protocol=None), "write both anew"),
    ]:
        assert answer.status_code == 400
        assert why in answer.json()["detail"]
        assert "\n" not in answer.json()["detail"]


def test_a_second_reset_begins_anew(posted: Post, shop_script: Script) -> None:
    first = posted("/reset").json()
    posted("/step", call_of("search", {"query": "anything"}))
    assert posted("/reset").json() == first
    for call in shop_script.played[1].calls:
        told = posted("/step", call_of(*call)).json()
    assert told["info"]["steps"] == len(shop_script.played[1].calls)


def test_sessions_that_nobody_ends_do_not_pile_up(
    shop: ToolEpisodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "_SESSIONS", 3)
    server = server_of(shop)
    row = next(rows(shop))

    async def begin() -> None:
        for number in range(9):
            await server.reset(row, f"session {number}")

    asyncio.run(begin())
    assert list(server.session_state) == ["session 6", "session 7", "session 8"]


def test_a_failure_that_is_not_the_models_is_no_reward(
    shop: ToolEpisodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = server_of(shop)
    row = next(rows(shop))

    def broken(*_: object) -> str:
        raise OSError("the disk is gone")

    async def begun() -> Any:
        await server.reset(row, "session")
        monkeypatch.setattr(adapter, "call_tool", broken)
        action = NeMoGymResponse.model_validate(response_of(call_of("search", {"query": "x"})))
        return await server.step(action, row, "session")

    with pytest.raises(OSError, match="the disk is gone"):
        asyncio.run(begun())


def test_rows_hide_their_goals(shop: ToolEpisodes) -> None:
    told = json.dumps(list(rows(shop)))
    for row in shop:
        goal = shop.source.goals[row["goal"]]  # type: ignore[union-attr]
        assert goal.instruction_text not in told
        assert goal.asin not in told


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"protocol": "shop-dmo"}, "shop-demo"),
        ({"training": True}, "which is for testing"),
        ({"split": "nonsense"}, "nonsense"),
        ({"num_workers": 4}, "expected 1"),
    ],
)
def test_a_config_that_cannot_be_played_is_one_sentence(options: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why) as caught:
        EpisodeServerConfig(name="errands", **PLACE, **options)
    [error] = caught.value.errors()  # type: ignore[attr-defined]
    assert "\n" not in error["msg"]


def test_the_command_writes_what_nemo_gym_reads(
    script: Script, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    episodes = script.episodes
    name = {"shop": "errands_shop", "turk": "errands_forms"}[episodes.domain]
    run(tmp_path, "--protocol", episodes.protocol.id, "--episodes", "12")
    place = tmp_path / "resources_servers" / name
    assert str(place) in capsys.readouterr().out.replace("\n", "")
    lines = (place / "data" / f"{name}.jsonl").read_text().splitlines()
    written = list(map(json.loads, lines))
    assert written == list(rows(episodes))

    config = OmegaConf.to_container(OmegaConf.load(place / "configs" / f"{name}.yaml"))
    assert isinstance(config, dict)
    mine = config[name]["resources_servers"][name]
    server = EpisodeServerConfig.model_validate({**PLACE, **mine, "name": name})
    assert server.open() is episodes
    agent = config[f"{name}_agent"]["responses_api_agents"]["gymnasium_agent"]
    [data] = agent.pop("datasets")
    assert (tmp_path / DatasetConfig.model_validate(data).jsonl_fpath).exists()
    assert data["type"] == "validation"
    played = GymnasiumAgentConfig.model_validate({**PLACE, **agent, "name": "agent"})
    assert played.max_steps == episodes.protocol.max_steps
    assert played.resources_server.name == name
    assert written[0]["agent_ref"]["name"] == f"{name}_agent"
    assert runpy.run_path(str(place / "app.py"))["EpisodeServer"] is EpisodeServer
    assert (place / "requirements.txt").read_text() == "errands[nemo-gym]\n"


def run(*arguments: object) -> None:
    with pytest.raises(SystemExit) as caught:
        main(list(map(str, arguments)))
    assert caught.value.code == 0


def test_training_data_is_called_so(tmp_path: Path) -> None:
    place = write_server(
        tmp_path, name="mine", protocol="shop-learn-train", training=True, episodes=2
    )
    config = OmegaConf.load(place / "configs" / "mine.yaml")
    [data] = config.mine_agent.responses_api_agents.gymnasium_agent.datasets
    assert data.type == "train"
    assert config.mine.resources_servers.mine.training is True


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--protocol", "shop-dmo"], "shop-demo"),
        (["--training"], "which is for testing"),
        (["--name", "../elsewhere"], "expected letters"),
        (["--split", "nonsense"], "nonsense"),
    ],
)
def test_the_command_says_what_is_wrong_in_one_sentence(
    arguments: list[str], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main([str(tmp_path), *arguments])
    assert caught.value.code == 2
    told = capsys.readouterr().err
    assert why in told
    assert told.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_place_that_cannot_be_written_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit) as caught:
        main([str(tmp_path / "file")])
    assert caught.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_names_that_are_no_modules_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ErrandsError, match="expected letters"):
        write_server(tmp_path, name="a-b")


def test_another_version_or_none_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    module = "errands.integrations.nemo_gym"

    def missing(distribution: str) -> str:
        raise metadata.PackageNotFoundError(distribution)

    for version, why in [(missing, "not installed"), (lambda _: "0.3.1", "needs 0.4 or newer")]:
        monkeypatch.delitem(sys.modules, module, raising=False)
        monkeypatch.setattr(metadata, "version", version)
        with pytest.raises(IntegrationError, match=why) as caught:
            importlib.import_module(module)
        assert "pip install" in str(caught.value)
        assert "\n" not in str(caught.value)


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), {})
    assert list(tmp_path.rglob("*.jsonl"))

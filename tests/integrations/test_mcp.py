"""Episodes as tools of an MCP server, with the releases 1 and 2 of the package."""

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from scripted_model import Script

pytest.importorskip("mcp", reason="needs mcp: pip install 'errands[mcp]'")

import anyio
from effort import effort
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import StdioServerParameters

from errands.agents.llm.tools import ToolError
from errands.errors import SettingError
from errands.integrations.episodes import ToolEpisodes, open_episodes
from errands.integrations.frameworks import require
from errands.integrations.mcp import EpisodeHandles, HandleLimits, mcp_server
from errands.testing.adapter import AdapterConformance, ScriptedModel

IN_PROCESS = False
RELEASE = int(require("mcp").partition(".")[0])
ROOT = Path(__file__).parents[2]
START = {"shop": "start_shopping", "turk": "start_form"}


class Caller:
    """A client of either release, with answers as plain JSON."""

    def __init__(self, session: Any) -> None:
        self._session = session

    async def tools(self) -> list[dict[str, Any]]:
        listed = await self._session.list_tools()
        return [tool.model_dump(by_alias=True, exclude_none=True) for tool in listed.tools]

    async def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        answer = await self._session.call_tool(name, arguments)
        dumped: dict[str, Any] = answer.model_dump(by_alias=True, exclude_none=True)
        return dumped

    async def text(self, name: str, /, **arguments: Any) -> str:
        answer = await self.call(name, **arguments)
        assert not answer.get("isError"), answer
        text: str = answer["content"][0]["text"]
        return text

    async def json(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        answer = await self.call(name, **arguments)
        assert not answer.get("isError"), answer
        structured: dict[str, Any] = answer["structuredContent"]
        return structured

    async def error(self, name: str, /, **arguments: Any) -> str:
        answer = await self.call(name, **arguments)
        assert answer["isError"], answer
        assert "structuredContent" not in answer
        text: str = answer["content"][0]["text"]
        return text


@asynccontextmanager
async def connected(where: Any) -> AsyncIterator[Caller]:
    """A client of a server in this process, of a command's standard streams, or of an address."""
    async with AsyncExitStack() as stack:
        if RELEASE >= 2:
            from mcp import Client

            yield Caller(await stack.enter_async_context(Client(where)))
            return
        from mcp import ClientSession, stdio_client
        from mcp.client.streamable_http import streamable_http_client
        from mcp.shared.memory import create_connected_server_and_client_session as in_memory

        if not isinstance(where, str | StdioServerParameters):
            yield Caller(await stack.enter_async_context(in_memory(where)))
            return
        opened = streamable_http_client if isinstance(where, str) else stdio_client
        streams = await stack.enter_async_context(opened(where))  # type: ignore[operator]
        session = await stack.enter_async_context(ClientSession(*streams[:2]))
        await session.initialize()
        yield Caller(session)


async def played(caller: Caller, script: Script, count: int | None = None) -> list[dict[str, Any]]:
    """The script as a model that is connected to the server; how every episode went."""
    ended = []
    for number in range(len(script))[:count]:
        begun = await caller.json(START[script.episodes.domain], episode=number)
        handle = begun["handle"]
        for made in range(1000):
            call = script.after(begun["page"], made)
            result = await caller.json("result", handle=handle)
            if call is None:
                break
            assert result == {"protocol": script.episodes.key, "done": False, "steps": made}
            await caller.text(call.name, handle=handle, **call.arguments)
        ended.append(result)
    return ended


async def _play(script: ScriptedModel) -> list[float]:
    rewards = []
    async with connected(mcp_server(EpisodeHandles([script.episodes], one_client=True))) as caller:
        for one in script.played:
            await caller.call(START[script.episodes.domain], episode=one.number)
            for call in one.calls:
                await caller.call(call.name, **call.arguments)
            rewards.append((await caller.json("result")).get("reward", 0.0))
    return rewards


def play(script: ScriptedModel) -> list[float]:
    """The script's calls through a client and a server in this process."""
    return anyio.run(_play, script)


class TestConformance(AdapterConformance):
    """Ours passes the kit for adapters."""

    def play(self, script: ScriptedModel) -> list[float]:
        return play(script)


@pytest.fixture
def handles(shop: ToolEpisodes, forms: ToolEpisodes) -> EpisodeHandles:
    return EpisodeHandles([shop, forms])


def test_one_score_through_one_server(
    shop_script: Script, form_script: Script, handles: EpisodeHandles
) -> None:
    async def main() -> None:
        async with connected(mcp_server(handles)) as caller:
            for script in (shop_script, form_script):
                results = await played(caller, script)
                assert [result["reward"] for result in results] == script.rewards
                assert {result["protocol"] for result in results} == {script.episodes.key}
                assert all(result["done"] and result["reward_parts"] for result in results)
                wins = [result["success"] for result in results]
                assert wins == [reward >= 1 for reward in script.rewards]

    anyio.run(main)


def test_the_calls_alone_give_the_same(shop_script: Script) -> None:
    assert play(shop_script) == shop_script.rewards


def test_tools_are_those_of_the_specs(handles: EpisodeHandles, shop: Any, forms: Any) -> None:
    async def main() -> list[dict[str, Any]]:
        async with connected(mcp_server(handles)) as caller:
            return await caller.tools()

    tools = {tool["name"]: tool for tool in anyio.run(main)}
    specs = (*shop.specs, *forms.specs)
    own = ["start_shopping", "start_form", "result"]
    assert sorted(tools) == sorted([*own, *(spec.name for spec in specs)])
    for spec in specs:
        shape = tools[spec.name]["inputSchema"]
        assert tools[spec.name]["description"] == spec.description
        assert shape["properties"].pop("handle")["type"] == "string"
        shape["required"].remove("handle")
        assert shape == spec.parameters
        assert "outputSchema" not in tools[spec.name]
    for name, tool in tools.items():
        hints = tool["annotations"]
        assert hints["readOnlyHint"] == hints["idempotentHint"] == (name == "result")
        assert not hints["destructiveHint"]
        assert not hints["openWorldHint"]
    assert "reward" not in tools["result"]["outputSchema"]["required"]
    assert tools["start_shopping"]["inputSchema"]["required"] == []


def test_wrong_calls_are_read_by_the_model_and_do_not_end_an_episode(
    handles: EpisodeHandles, shop_script: Script
) -> None:
    async def main() -> None:
        async with connected(mcp_server(handles)) as caller:
            handle = (await caller.json("start_shopping", episode=1))["handle"]
            for name, arguments, why in (
                ("click", {"name": "nothing"}, "Invalid action! There is nothing called"),
                ("search", {"query": ["mug"]}, "Invalid action!"),
                ("search", {}, "search needs the argument 'query'"),
                ("search", {"query": "a", "more": 1}, "search has no argument 'more'"),
                ("fill", {"name": "a", "value": "b"}, "There is no tool 'fill'"),
                ("buy", {}, "There is no tool 'buy'"),
                ("reset", {"goal": 1}, "There is no tool 'reset'"),
            ):
                assert why in await caller.error(name, handle=handle, **arguments)
            assert (await caller.json("result", handle=handle))["steps"] == 2
            for call in shop_script.played[1].calls:
                await caller.text(call.name, handle=handle, **call.arguments)
            result = await caller.json("result", handle=handle)
            assert result["reward"] == shop_script.rewards[1]
            assert result["steps"] == 2 + len(shop_script.played[1].calls)
            over = await caller.error("search", handle=handle, query="more")
            assert "The errand is over" in over
            assert await caller.json("result", handle=handle) == result

    anyio.run(main)


def test_nothing_tells_of_the_reward_before_the_end(
    handles: EpisodeHandles, shop_script: Script
) -> None:
    source: Any = shop_script.episodes.source
    for number, one in enumerate(shop_script.played[:4]):
        said, begun = handles.call("start_shopping", {"episode": number})
        assert begun is not None
        goal = source.goals[shop_script.episodes.row(number)["goal"]]
        assert goal.instruction_text in said
        assert goal.asin.lower() not in said.lower()
        for call in one.calls[:-1]:
            handles.call(call.name, {"handle": begun["handle"], **call.arguments})
            told = handles.call("result", {"handle": begun["handle"]})[1]
            assert told is not None
            assert told.keys() == {"protocol", "done", "steps"}


def test_several_episodes_at_once_do_not_touch(
    handles: EpisodeHandles, shop_script: Script, form_script: Script
) -> None:
    async def main() -> None:
        async with connected(mcp_server(handles)) as caller:
            results: dict[tuple[str, int], float] = {}

            async def one(script: Script, number: int) -> None:
                begun = await caller.json(START[script.episodes.domain], episode=number)
                for call in script.played[number].calls:
                    await caller.text(call.name, handle=begun["handle"], **call.arguments)
                result = await caller.json("result", handle=begun["handle"])
                results[script.episodes.domain, number] = result["reward"]

            async with anyio.create_task_group() as group:
                for script in (shop_script, form_script):
                    for number in range(6):
                        group.start_soon(one, script, number)
            for script in (shop_script, form_script):
                domain = script.episodes.domain
                assert [results[domain, number] for number in range(6)] == script.rewards[:6]

    anyio.run(main)


def test_episodes_come_in_turn_and_begin_anew(shop: ToolEpisodes) -> None:
    handles = EpisodeHandles([shop])
    numbers = [started(handles)["episode"] for _ in range(14)]
    assert numbers == [*range(12), 0, 1]
    assert started(handles, episode=7)["episode"] == 7
    assert started(handles)["episode"] == 8


def started(handles: EpisodeHandles, **arguments: Any) -> dict[str, Any]:
    begun = handles.call("start_shopping", arguments)[1]
    assert begun is not None
    return begun


@pytest.mark.parametrize("episode", [-1, 12, 10**30, True, "1", 1.0, [], "x" * 1000])
def test_there_are_so_many_episodes(handles: EpisodeHandles, episode: Any) -> None:
    with pytest.raises(ToolError, match="expected 0 to 11") as caught:
        handles.call("start_shopping", {"episode": episode})
    assert len(str(caught.value)) < 200
    assert len(handles) == 0


@pytest.mark.parametrize("handle", ["", "nobody's", None, 5, [], {}, "x" * 10_000])
def test_unknown_handles_are_one_sentence(handles: EpisodeHandles, handle: Any) -> None:
    started(handles)
    with pytest.raises(ToolError, match="begin one with start_shopping or start_form") as caught:
        handles.call("search", {"handle": handle, "query": "mug"})
    assert len(str(caught.value)) < 200
    with pytest.raises(ToolError, match="needs the argument 'handle'"):
        handles.call("search", {"query": "mug"})


def test_one_client_may_leave_out_the_handle(shop: ToolEpisodes) -> None:
    handles = EpisodeHandles([shop], one_client=True)
    with pytest.raises(ToolError, match="No episode has begun yet"):
        handles.call("search", {"query": "mug"})
    first, second = started(handles), started(handles)
    assert handles.call("search", {"query": "mug"})
    steps = [
        (handles.call("result", {"handle": one["handle"]})[1] or {})["steps"]
        for one in (first, second)
    ]
    assert steps == [0, 1]
    assert all("handle" not in spec.parameters["required"] for spec in handles.specs)


def test_handles_are_bounded_and_the_oldest_that_is_over_goes_first(
    shop: ToolEpisodes, shop_script: Script
) -> None:
    handles = EpisodeHandles([shop], limits=HandleLimits(handles=3))
    first, second, _ = (started(handles, episode=number) for number in range(3))
    with pytest.raises(ToolError, match="3 episodes are being played"):
        started(handles)
    for call in shop_script.played[1].calls:
        handles.call(call.name, {"handle": second["handle"], **call.arguments})
    started(handles)
    assert len(handles) == 3
    handles.call("result", {"handle": first["handle"]})
    with pytest.raises(ToolError, match="no episode under the handle"):
        handles.call("result", {"handle": second["handle"]})


def test_unused_handles_are_forgotten(shop: ToolEpisodes) -> None:
    now = [0.0]
    handles = EpisodeHandles(
        [shop], limits=HandleLimits(idle_seconds=60), clock=lambda: now[0], one_client=True
    )
    old, kept = started(handles), started(handles)
    now[0] = 59
    handles.call("result", {"handle": kept["handle"]})
    now[0] = 60
    with pytest.raises(ToolError, match="no episode under the handle"):
        handles.call("result", {"handle": old["handle"]})
    handles.call("result", {"handle": kept["handle"]})
    now[0] = 300
    with pytest.raises(ToolError, match="no episode under the handle"):
        handles.call("result", {})
    assert len(handles) == 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.sampled_from(["start_shopping", "search", "click", "result", "fill", "read", "submit"])
KEYS = st.sampled_from(["handle", "episode", "query", "name", "value"]) | st.text(max_size=5)


@settings(max_examples=effort(20, 60), deadline=None)
@given(calls=st.lists(st.tuples(NAMES | st.text(), st.dictionaries(KEYS, JSON, max_size=3))))
def test_garbage_is_answered_or_a_tool_error(calls: list[tuple[str, dict[str, Any]]]) -> None:
    handles = EpisodeHandles(
        [open_episodes("shop-demo", episodes=12), open_episodes("turk-demo", episodes=12)],
        one_client=True,
        limits=HandleLimits(handles=4),
    )
    for name, arguments in calls:
        with contextlib.suppress(ToolError):
            handles.call(name, arguments)
    assert len(handles) <= 4


def test_protocols_that_cannot_be_served_together(shop: ToolEpisodes) -> None:
    with pytest.raises(SettingError, match="of one domain"):
        EpisodeHandles([shop, open_episodes("shop-learn")])


def test_a_tool_means_one_thing(shop: ToolEpisodes, forms: ToolEpisodes) -> None:
    class Pointed(ToolEpisodes):
        """Form pages for a pointer, as they are in a browser."""

        @property
        def specs(self) -> Any:
            from errands.agents.llm.turk.tools import TurkPointerTools

            return TurkPointerTools.specs

    with pytest.raises(SettingError, match="Both protocols have a tool 'click'"):
        EpisodeHandles([shop, Pointed("turk-demo", False, {})])


ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": str(ROOT / "src"),
    "ERRANDS_HOME": os.environ.get("ERRANDS_HOME", ""),
}


@pytest.mark.heavy
def test_over_stdio(shop_script: Script, tmp_path: Path) -> None:
    """The command that a client starts; the last episode's handle may be left out."""
    words = ["-m", "errands", "mcp"]
    command = StdioServerParameters(
        command=sys.executable, args=words, env=ENVIRONMENT, cwd=tmp_path
    )

    async def main() -> None:
        async with connected(command) as caller:
            first, second = shop_script.played[:2]
            assert "start_form" in {tool["name"] for tool in await caller.tools()}
            for number, one in enumerate((first, second)):
                begun = await caller.json("start_shopping", episode=number)
                assert one.text in begun["page"]
                for call in one.calls:
                    await caller.text(call.name, **call.arguments)
                assert (await caller.json("result"))["reward"] == one.reward

    anyio.run(main)


@pytest.fixture
def address() -> Iterator[str]:
    """A server's address, which the command prints when it listens."""
    words = [sys.executable, "-m", "errands", "mcp", "--http", "--port", "0", "--episodes", "12"]
    server = subprocess.Popen(
        words, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert server.stdout is not None
    line = server.stdout.readline()
    found = re.search(r"http://\S+/mcp", line)
    assert found, line
    yield found[0]
    server.send_signal(signal.SIGTERM)
    server.wait(20)
    server.stdout.close()


@pytest.mark.heavy
def test_over_http(address: str, shop_script: Script, form_script: Script) -> None:
    """A handle outlives a connection, as there are no sessions; others than this machine's
    programs are refused."""

    async def begin() -> str:
        async with connected(address) as caller:
            handle: str = (await caller.json("start_form", episode=0))["handle"]
            assert "needs the argument 'handle'" in await caller.error("submit")
            return handle

    async def carry_on(handle: str) -> None:
        async with connected(address) as caller:
            for call in form_script.played[0].calls:
                await caller.text(call.name, handle=handle, **call.arguments)
            result = await caller.json("result", handle=handle)
            assert result["reward"] == form_script.rewards[0]
            [shopped] = await played(caller, shop_script, 1)
            assert shopped["reward"] == shop_script.rewards[0]

    anyio.run(carry_on, anyio.run(begin))
    place = address.removeprefix("http://").removesuffix("/mcp")
    assert asked(place, "/mcp", {"Host": "rebound.example:80"}) == 421
    assert asked(place, "/mcp", {"Origin": "http://rebound.example"}) == 403
    assert asked(place, "/mcp", {"Origin": f"http://{place}"}) < 300
    assert asked(place, "/", {}) == 404


def asked(place: str, path: str, headers: dict[str, str]) -> int:
    """The status of an `initialize` that is sent with these headers."""
    params = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "0"},
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    accepted = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
    }
    connection = http.client.HTTPConnection(place, timeout=20)
    try:
        connection.request("POST", path, json.dumps(body), {**accepted, **headers})
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.heavy
@pytest.mark.skipif(RELEASE < 2, reason="the page shows the client of mcp 2")
def test_the_page(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The program of docs/guides/integrations/mcp.md, with the command of this source."""
    page = (ROOT / "docs" / "guides" / "integrations" / "mcp.md").read_text()
    [program] = re.findall(r"```python\n(.*?)```", page, re.S)
    command = tmp_path / "errands"
    command.write_text(
        f'#!/bin/sh\nPYTHONPATH={ROOT / "src"} exec {sys.executable} -m errands "$@"\n'
    )
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    exec(program, {})
    told = capsys.readouterr().out
    assert "Instruction: " in told
    assert "Total results" in told
    assert "{'protocol': 'shop-demo@2 data:" in told
    assert "'done': False, 'steps': 1}" in told

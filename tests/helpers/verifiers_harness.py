"""A harness of verifiers' whose chat loop runs in the test's own process: a rollout then takes
milliseconds, while interception, tool servers, state and scoring are verifiers' own."""

import asyncio
import json
from contextlib import AsyncExitStack
from typing import Any

import httpx
import verifiers.v1 as vf
from verifiers.v1.harnesses.utils.mcp import call_mcp, connect_mcp

__all__ = ["LoopHarness"]


class LoopConfig(vf.HarnessConfig):
    burst: int = 0
    """So many impossible calls at once, before the model is asked anything."""


class LoopHarness(vf.Harness[LoopConfig]):
    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_MCP = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: Any,
        trace: Any,
        runtime: Any,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: Any,
    ) -> vf.ProgramResult:
        system, prompt = self.resolve_prompt(data)
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": system},
            {"role": "user", "content": prompt},
        ]
        config = {"mcpServers": {name: {"url": url} for name, url in mcp_urls.items()}}
        headers = {"Authorization": f"Bearer {secret}"}
        async with AsyncExitStack() as stack:
            tools, dispatch, servers = await connect_mcp(config, stack)
            client = await stack.enter_async_context(httpx.AsyncClient(headers=headers))
            if self.config.burst:
                await self._burst(config, tools[0]["function"])
            while True:
                body = {"model": ctx.model, "messages": messages, "tools": tools}
                answer = await client.post(f"{endpoint}/chat/completions", json=body, timeout=60)
                if answer.status_code != 200:
                    return vf.ProgramResult(1, "", answer.text)
                message = answer.json()["choices"][0]["message"]
                messages.append(message)
                if not message.get("tool_calls"):
                    return vf.ProgramResult(0, "", "")
                for call in message["tool_calls"]:
                    function = call["function"]
                    arguments = json.loads(function["arguments"])
                    content = await call_mcp(servers, dispatch, function["name"], arguments)
                    messages.append(
                        {"role": "tool", "tool_call_id": call["id"], "content": content}
                    )

    async def _burst(self, config: Any, tool: Any) -> None:
        """Each by a client of its own: one client would send them in turn."""
        arguments = dict.fromkeys(tool["parameters"]["required"], "")

        async def once() -> None:
            async with AsyncExitStack() as stack:
                _, dispatch, servers = await connect_mcp(config, stack)
                await call_mcp(servers, dispatch, tool["name"], arguments)

        await asyncio.gather(*(once() for _ in range(self.config.burst)))

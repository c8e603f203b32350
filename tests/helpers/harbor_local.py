"""Harbor's trials without containers: an environment that is folders of this machine.

A container is a folder, in which its paths are found; the shop's is the service on loopback. So
everything else of a trial is Harbor's own: its order, its agents, what it takes from where to
where, its verifier. It imports Harbor.
"""

import asyncio
import os
import re
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Any, ClassVar

from harbor.agents.base import BaseAgent
from harbor.agents.capabilities import AgentCapabilities
from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities

from errands.integrations.harbor import EpisodeService, HarborServer, TaskEpisode

RESULTS = "/tmp/errands-results"


class LocalEnvironment(BaseEnvironment):
    """The containers of the agent and of the shop; or that of the verifier."""

    happened: ClassVar[list[str]] = []
    """What Harbor did to all of them, in order."""

    @staticmethod
    def type() -> str:
        return "local"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities(
            docker_compose=True,
            network_allowlist=True,
            network_allowlist_hostnames=True,
            dynamic_network_policy=True,
        )

    def _validate_definition(self) -> None:
        assert (self.environment_dir / "Dockerfile").is_file()

    async def start(self, force_build: bool) -> None:
        self._roots = {name: Path(tempfile.mkdtemp()) for name in ("main", "shop")}
        self._server = None
        self._stopped = False
        shop = self.environment_dir / "shop"
        if shop.is_dir():
            episode = TaskEpisode.read(shop / "episode.json")
            results = self._place(RESULTS, "shop")
            service = EpisodeService(episode.open(), episode.number, results)
            self._server = HarborServer(service)
            self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
            self._thread.start()
        else:
            tests = self._place("/tests")
            tests.mkdir()
            shutil.copy(self.environment_dir / "test.sh", tests)
        for target in self._mount_targets():
            self._place(target).mkdir(parents=True)
        self.happened.append(f"start {'agent' if self._server else 'verifier'}")

    async def stop(self, delete: bool) -> None:
        self.happened.append(f"stop {'agent' if self._server else 'verifier'}")
        if self._server is not None:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()
        for root in self._roots.values():
            shutil.rmtree(root)

    async def stop_service(self, service: str) -> None:
        self.happened.append(f"stop service {service}")
        self._stopped = self._stopped or service == "main"

    async def _apply_network_policy(self, network_policy: Any) -> None:
        hosts = " ".join(network_policy.allowed_hosts)
        self.happened.append(f"network {network_policy.network_mode.value} {hosts}".strip())

    def _place(self, path: str, service: str | None = None) -> Path:
        return self._roots[service or "main"] / path.lstrip("/")

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        assert not self._stopped, f"{command} in a container that was stopped"
        return await self._run(command, env or {}, "main")

    async def service_exec(
        self, command: str, *, service: str | None = None, **options: Any
    ) -> ExecResult:
        if service in (None, "main"):
            return await self.exec(command, **options)
        return await self._run(command, {}, service)

    async def _run(self, command: str, env: dict[str, str], service: str | None) -> ExecResult:
        root = self._place("/", service)
        told = {"ERRANDS_RESULTS": str(root / RESULTS[1:]), "ERRANDS_LOGS": f"{root}/logs/verifier"}
        if self._server is not None:
            told["ERRANDS_SHOP"] = self._server.address
            command = command.replace("http://shop:8000", self._server.address)
        command = re.sub(r"(?<![\w.])(/(solution|tests|logs|tmp/errands)\b)", rf"{root}\1", command)
        process = await asyncio.create_subprocess_exec(
            *("sh", "-c", command),
            env={**os.environ, **env, **told},
            cwd=root,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
        assert process.returncode is not None
        return ExecResult(stdout=output.decode(), stderr="", return_code=process.returncode)

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        target = self._place(target_path)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source_path, target)

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        shutil.copytree(source_dir, self._place(target_dir), dirs_exist_ok=True)

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        shutil.copy(self._place(source_path), target_path)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        await self.service_download_dir(source_dir, target_dir)

    async def service_download_dir(
        self, source_dir: str, target_dir: Path | str, *, service: str | None = None
    ) -> None:
        self.happened.append(f"take {source_dir} of {service or 'main'}")
        shutil.copytree(self._place(source_dir, service), target_dir, dirs_exist_ok=True)


class Cheat(BaseAgent):
    """Writes rewards wherever it can."""

    capabilities = AgentCapabilities(mcp_servers=True)

    @staticmethod
    def name() -> str:
        return "cheat"

    def version(self) -> str:
        return "1"

    async def setup(self, environment: BaseEnvironment) -> None:
        """Nothing is needed."""

    async def run(self, instruction: str, environment: BaseEnvironment, context: Any) -> None:
        forged = """'{"reward": 1}'"""
        for folder in ("/logs/verifier", "/logs/artifacts", f"/logs/artifacts{RESULTS}", RESULTS):
            await environment.exec(f"mkdir -p {folder} && echo {forged} > {folder}/reward.json")

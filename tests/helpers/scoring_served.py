"""The desk for scores by hand on a free port, in a thread of the tests."""

import contextlib
import http.client
import re
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode

from errands.runs.protocol import Protocol
from errands.runs.runner import run
from errands.runs.store.places import open_run
from errands.shop.catalog.catalog import Catalog
from errands.verify.hand_scores import HandFile
from errands.verify.verification import Material, sample
from errands.web.core.auth import AuthMiddleware
from errands.web.core.limits import ServerLimits, listen
from errands.web.core.server import Server
from errands.web.review.scoring import ScoringSite


class Desk:
    """A running desk, and what a browser would do there."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._port = port

    def ask(
        self,
        path: str,
        form: list[tuple[str, str]] | None = None,
        method: str = "",
        **headers: str,
    ) -> tuple[int, str, str]:
        """Status, page, and where one is sent."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        with contextlib.closing(connection):
            body = None if form is None else urlencode(form)
            sent = {"Content-Type": "application/x-www-form-urlencoded", **headers}
            connection.request(method or ("GET" if form is None else "POST"), path, body, sent)
            answer = connection.getresponse()
            return answer.status, answer.read().decode(), answer.headers.get("Location", "")

    def check(self, place: int) -> str:
        page = self.ask(f"/scoring/{place}")[1]
        found = re.search(r'name="check" value="([^"]+)"', page)
        assert found, page
        return found[1]

    def score(self, place: int, *fields: tuple[str, str]) -> tuple[int, str, str]:
        form = [("check", self.check(place)), *(fields or (("type", "1"), ("price", "1")))]
        return self.ask(f"/scoring/{place}", form)


def played(catalog: Catalog, out: Path, agent: str = "careful", episodes: int = 12) -> Path:
    """A run of the shop."""
    protocol = Protocol(
        id="p", version=1, title="p", domain="shop", data=str(catalog.path), goals="synthetic",
        episodes=episodes, max_steps=20,
    )  # fmt: skip
    run(protocol, agent, out=out)
    return out


def read(place: Path) -> Material:
    with closing(open_run(place)) as store:
        return Material.read(store)


@contextlib.contextmanager
def scoring_served(
    material: Material,
    file: Path,
    count: int = 4,
    judge: str = "",
    interval: float | None = None,
) -> Iterator[Desk]:
    """Serve as `errands verify-reward --web` does, but for the process."""
    started = threading.Event()
    with HandFile(file, material.info.id, judge) as held, listen("127.0.0.1", 0) as listening:
        chosen = sample(material, count, 0)
        desk = ScoringSite(material, chosen, held, "synonym", judge, interval)
        server = Server([desk.part()], AuthMiddleware(), ServerLimits(), started.set)
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        assert started.wait(60)
        try:
            yield Desk(listening.getsockname()[1])
        finally:
            server.handle_exit(15, None)
            thread.join(30)
            assert not thread.is_alive()

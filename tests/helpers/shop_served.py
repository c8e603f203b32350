"""The shop's website on a free port, in a thread of the tests, and a shopper who reads pages."""

import contextlib
import html
import http.client
import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec

from errands.crowd.database import open_database
from errands.crowd.instructions.assignments import WritingSettings, write_settings
from errands.crowd.shopping.assignments import ShoppingAssignments
from errands.crowd.shopping.steps import LoggedStep, StepLog
from errands.crowd.store.database import Database
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import GoalSet
from errands.web.core.application import AppPart
from errands.web.core.auth import AuthMiddleware
from errands.web.core.clients import TrustedProxies
from errands.web.core.limits import ServerLimits, listen
from errands.web.core.server import Server
from errands.web.crowd.application import housekeeping, open_crowd_site
from errands.web.server import SiteConfig, open_log, open_shop
from errands.web.shop.site import ShopSite, shop_site
from errands.web.shop.visitors import Visitors

PASSWORD = "correct horse battery"


class Answer:
    """A response."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def text(self) -> str:
        return self.body.decode()

    def links(self, mark: str) -> list[str]:
        """Addresses in the page that contain a text, as a browser would follow them."""
        found = re.findall(r'(?:href|action)="([^"]*)"', self.text)
        return [html.unescape(link).partition("#")[0] for link in found if mark in link]


class Shop:
    """A running website."""

    def __init__(
        self, port: int, log: StepLog | None = None, database: Database | None = None
    ) -> None:
        self.port = port
        self.log = log
        self.database = database
        self.url = f"http://127.0.0.1:{port}"

    def ask(
        self,
        path: str,
        form: dict[str, str] | bytes | None = None,
        *,
        method: str | None = None,
        headers: dict[str, str] | None = None,
        follow: bool = True,
    ) -> Answer:
        body, sent = None, dict(headers or {})
        if form is not None:
            body = form if isinstance(form, bytes) else urlencode(form).encode()
            sent.setdefault("Content-Type", "application/x-www-form-urlencoded")
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            # Who sends too much is answered before the end.
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.request(method or ("GET" if body is None else "POST"), path, body, sent)
            response = connection.getresponse()
            given = {name.lower(): value for name, value in response.getheaders()}
            answer = Answer(response.status, given, response.read())
        if follow and answer.status == 303:
            return self.ask(given["location"])
        return answer

    def steps(self, name: str) -> list[LoggedStep]:
        assert self.log is not None
        session = self.log.find(name)
        assert session is not None
        return self.log.steps(session.number)

    def metric(self, name: str) -> float:
        return next(
            float(line.rsplit(" ", 1)[1])
            for line in self.ask("/metrics").text.splitlines()
            if line.startswith(name)
        )


def open_paid_work(database: Database, goals: GoalSet) -> None:
    """As an administrator does."""
    write_settings(database, WritingSettings(is_open=True, budget=1000.0))
    shopping = ShoppingAssignments(database, goals)
    opened = msgspec.structs.replace(shopping.settings(), is_open=True, budget=1000.0)
    shopping.set_settings(opened)


@contextlib.contextmanager
def shop_served(
    catalog: Catalog,
    store: Path | str,
    *,
    goals: Any = "synthetic",
    seed: int = 0,
    attrs: bool = False,
    most: int = 1000,
    visitors: int = 100_000,
    token: str | None = None,
    has_site: bool = True,
    has_crowd: bool = True,
    more: Sequence[AppPart] = (),
    paid: bool = True,
    proxies: TrustedProxies | None = None,
    **bounds: Any,
) -> Iterator[Shop]:
    """Run the website as `errands serve` does, but for the process; `more` parts come first;
    `paid`: an administrator has opened writing and shopping."""
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(open_database(str(store)))
        setting = open_shop(catalog, goals, SiteConfig(seed, attrs))
        steps = open_log(setting, database)
        limits = ServerLimits(sessions=most, visitors=visitors, **bounds)
        shoppers = Visitors(setting, steps, seed=seed, limits=limits)
        shown = (setting, shoppers) if has_site else ()
        office, _ = open_crowd_site(database, "demo", PASSWORD, *shown)
        if paid:
            open_paid_work(database, setting.goals)
        parts = [*more, housekeeping(database), *([office] if has_crowd else [])]
        if has_site:
            parts.append(shop_site(ShopSite(setting, shoppers)))
        started = threading.Event()
        auth = AuthMiddleware(token, public=True)
        server = Server(parts, auth, limits, started.set, proxies=proxies)
        listening = stack.enter_context(listen("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        assert started.wait(60)
        try:
            yield Shop(listening.getsockname()[1], steps, database)
        finally:
            server.handle_exit(15, None)
            thread.join(30)
            assert not thread.is_alive()

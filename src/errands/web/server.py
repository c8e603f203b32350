"""`errands serve`: opens the catalogue, takes the port, joins the parts, runs the server."""

import atexit
import contextlib
import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from errands.crowd.accounts.accounts import check_password
from errands.crowd.database import open_database
from errands.crowd.shopping.steps import StepLog
from errands.crowd.store.database import Database
from errands.envs.config import ShopConfig
from errands.envs.episode import ShopContext
from errands.errors import ErrandsError
from errands.extras import install_command
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import GoalSet
from errands.web.core.hosts import allowed_hosts
from errands.web.core.limits import ServerLimits, listen, raise_open_files
from errands.web.env_api.providers import EnvProvider, ShopProvider, TurkProvider
from errands.web.env_api.service import Service
from errands.web.env_api.workers import WorkerPool, WorkerSetup
from errands.web.runs.library import RunLibrary
from errands.web.shop.browsing import BROWSING, goals_to_serve
from errands.web.shop.visitors import Visitors

AGENTGYM: Final = "/agentgym"
"""Where AgentGym's routes lie when the shop's website has the root."""

__all__ = [
    "AGENTGYM",
    "CrowdConfig",
    "ServerStart",
    "SiteConfig",
    "open_log",
    "open_shop",
    "serve",
    "serve_shop",
    "worker_pools",
]


class SiteConfig(msgspec.Struct, frozen=True):
    """Options of the shop's website."""

    seed: int = 0
    """Of the generator that samples goals."""
    attrs: bool = False
    """Whether products have a page with their hidden attributes."""


class CrowdConfig(msgspec.Struct, frozen=True):
    """Options of crowd work."""

    tasks: str | None = "demo"
    """A folder of tasks that requesters may take from."""
    password: str | None = None
    """Of the admin, for a store that has none yet; None: one is generated."""
    reset_password: bool = False
    """Whether the admin gets another one."""


class ServerStart(msgspec.Struct, frozen=True):
    """What there is to say when the server runs."""

    address: str
    password: str | None = None
    """That was generated for the admin just now."""
    has_goals: bool = True
    """Whether there is anything to shop for; if not, visitors look around."""


def serve(
    *,
    catalog: str,
    goals: str,
    tasks: str | None,
    agentgym: bool = False,
    site: SiteConfig | None,
    crowd: CrowdConfig | None = None,
    store: str = "errands-site.sqlite",
    runs: Sequence[str] = (),
    host: str,
    port: int,
    token: str | None,
    allowed_host: Sequence[str] = (),
    trusted_proxy: Sequence[str] = (),
    limits: ServerLimits,
    on_start: Callable[[ServerStart], None],
) -> None:
    """Serve until asked to stop; `on_start` is told the address.

    With `tasks` there are environments, with `agentgym` they speak AgentGym's protocol (below
    /agentgym where a website has the root), with `site` there is the shop's website, with `crowd`
    people can work, with `runs` (directories) there are pages about runs. What visitors and
    workers do is kept in `store`. Requests may name the server by `allowed_host`, too, and clients
    are whom a `trusted_proxy` says.
    """
    try:
        from errands.web.core.auth import AuthMiddleware
        from errands.web.core.clients import trusted_proxies
        from errands.web.core.server import Server
        from errands.web.crowd.application import housekeeping, open_crowd_site
        from errands.web.env_api.agentgym import AgentGym
        from errands.web.env_api.agentgym import agentgym as agentgym_part
        from errands.web.env_api.endpoints import environments
        from errands.web.runs.site import runs_site
        from errands.web.shop.site import ShopSite, shop_site
    except ImportError as missing:
        raise ErrandsError(
            f"Serving needs {missing.name}, which is not installed; run {install_command('serve')}."
        ) from None
    if crowd is not None and crowd.password is not None:
        check_password(crowd.password)
    hosts, proxies = allowed_hosts(host, allowed_host), trusted_proxies(trusted_proxy)
    raise_open_files()
    with listen(host, port) as listening, contextlib.ExitStack() as stack:
        # Before the shop's, whose addresses begin with anything.
        parts = [runs_site(RunLibrary(runs))] if runs else []
        if tasks is not None or site is not None or agentgym:
            products = Catalog.open(catalog, verify="quick")
            # The first search of a process is slow; nobody should have to wait for it.
            products.search("warm up")
        if tasks is not None:
            shops = ShopProvider(products, goals, limits)
            providers: dict[str, EnvProvider] = {"shop": shops, "turk": TurkProvider(tasks)}
            pools = worker_pools(catalog, goals, tasks, limits)
            parts.append(environments(Service(providers, limits, pools=pools)))
        if agentgym:
            prefix = "" if site is None else AGENTGYM
            parts.append(agentgym_part(AgentGym(products, goals, limits), prefix))
        context = visitors = password = None
        has_goals = True
        # Whatever can be wrong is told before there is a new store.
        served = None if site is None else goals_to_serve(products, goals)
        if site is not None or crowd is not None:
            database = stack.enter_context(open_database(store))
            parts.append(housekeeping(database))
        if site is not None and served is not None:
            context = open_shop(products, served, site)
            has_goals = context.goals[0] is not BROWSING
            log = open_log(context, database)
            visitors = Visitors(context, log, seed=site.seed, limits=limits)
        if crowd is not None:
            part, password = open_crowd_site(
                *(database, crowd.tasks, crowd.password, context),
                # Nobody is asked to shop for nothing.
                visitors if has_goals else None,
                reset_password=crowd.reset_password,
            )
            parts.append(part)
        if context is not None and visitors is not None:
            parts.append(shop_site(ShopSite(context, visitors)))
        auth = AuthMiddleware(token, public=site is not None, hosts=hosts)
        start = ServerStart(_address(host, listening.getsockname()[1]), password, has_goals)
        server = Server(parts, auth, limits, lambda: on_start(start), proxies=proxies)
        server.run([listening])


def worker_pools(
    catalog: str, goals: str, tasks: str, limits: ServerLimits
) -> dict[str, WorkerPool]:
    """The processes that play environments, where there are any."""
    wanted = {
        "shop": (WorkerSetup("shop", catalog, goals, limits), limits.shop_processes),
        "turk": (WorkerSetup("turk", tasks, goals, limits), limits.form_processes),
    }
    return {name: WorkerPool(setup, count) for name, (setup, count) in wanted.items() if count}


def serve_shop(config: ShopConfig) -> str:
    """A shop's website in a thread, for the rest of this process; returns its address.

    For programs that drive a browser: only this machine can reach it, and what visitors did is
    forgotten with the process.
    """
    from errands.web.core.auth import AuthMiddleware
    from errands.web.core.server import Server
    from errands.web.crowd.application import housekeeping
    from errands.web.shop.site import ShopSite, shop_site

    folder = tempfile.mkdtemp(prefix="errands-site-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    database = open_database(str(Path(folder, "site.sqlite")))
    context, limits = ShopContext(config), ServerLimits()
    log = open_log(context, database)
    visitors = Visitors(context, log, seed=0, limits=limits)
    parts = [housekeeping(database), shop_site(ShopSite(context, visitors))]
    started = threading.Event()
    server = Server(parts, AuthMiddleware(None, public=True), limits, started.set)
    listening = listen("127.0.0.1", 0)
    thread = threading.Thread(
        target=server.run, args=([listening],), name="errands-site", daemon=True
    )
    thread.start()
    if not started.wait(60):
        raise ErrandsError("The shop's website did not start within a minute.")
    return _address("127.0.0.1", listening.getsockname()[1])


def _address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def open_shop(catalog: Catalog, goals: str | GoalSet, site: SiteConfig) -> ShopContext:
    """The shop behind the website."""
    config = ShopConfig(
        catalog,
        goals_to_serve(catalog, goals),
        observation="html",
        show_attrs=site.attrs,
        goal_draw="weighted",
        marks="true",
    )
    return ShopContext(config)


def open_log(context: ShopContext, database: Database) -> StepLog:
    """The log of its visitors; a database that belongs to another shop is an error."""
    about = {
        "catalogue": context.catalog.manifest.checksum,
        "goals": f"{context.goals.name} ({len(context.goals)})",
        "rules": "released",
    }
    return StepLog(database, about)

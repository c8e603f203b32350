"""`errands serve`: the catalogue opened, the port taken, the parts put together, the server run."""

import contextlib
from collections.abc import Callable, Sequence

import msgspec

from errands.crowd.shopping.steps import StepLog
from errands.crowd.store.database import Database, open_database
from errands.envs.config import ShopConfig
from errands.envs.episode import ShopContext
from errands.errors import ErrandsError
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import GoalSet
from errands.web.core.limits import ServerLimits, listen, raise_open_files
from errands.web.env_api.providers import EnvProvider, ShopProvider, TurkProvider
from errands.web.env_api.service import Service
from errands.web.runs.library import RunLibrary
from errands.web.shop.visitors import Visitors

__all__ = ["CrowdConfig", "ServerStart", "SiteConfig", "open_log", "open_shop", "serve"]


class SiteConfig(msgspec.Struct, frozen=True):
    """What the shop's website is told."""

    seed: int = 0
    """Of the generator that draws goals."""
    attrs: bool = False
    """Whether products have a page with their hidden attributes."""


class CrowdConfig(msgspec.Struct, frozen=True):
    """What the office is told."""

    tasks: str | None = "demo"
    """A folder of tasks that requesters may take from."""
    password: str | None = None
    """Of the admin, for a place that has none yet; None: one is made up."""
    reset_password: bool = False
    """Whether the admin gets another one."""


class ServerStart(msgspec.Struct, frozen=True):
    """What there is to say when the server runs."""

    address: str
    password: str | None = None
    """That was made up for the admin just now."""


def serve(
    *,
    catalog: str,
    goals: str,
    tasks: str | None,
    site: SiteConfig | None,
    office: CrowdConfig | None = None,
    store: str = "errands-site.sqlite",
    runs: Sequence[str] = (),
    host: str,
    port: int,
    token: str | None,
    limits: ServerLimits,
    on_start: Callable[[ServerStart], None],
) -> None:
    """Serve until asked to stop; `on_start` is told the address.

    With `tasks` there are environments, with `site` there is the shop's website, with `office`
    people can work, with `runs` (directories) there are pages about runs. What visitors and
    workers do is kept in `store`.
    """
    try:
        from errands.web.core.auth import AuthMiddleware
        from errands.web.core.server import Server
        from errands.web.crowd.application import open_crowd_site
        from errands.web.crowd.housekeeping import housekeeping
        from errands.web.env_api.endpoints import environments
        from errands.web.runs.site import runs_site
        from errands.web.shop.site import ShopSite, shop_site
    except ImportError as missing:
        raise ErrandsError(
            f"Serving needs {missing.name}, which is not installed; run"
            ' pip install "errands[serve]".'
        ) from None
    raise_open_files()
    with listen(host, port) as listening, contextlib.ExitStack() as stack:
        # Before the shop's, whose addresses begin with anything.
        parts = [runs_site(RunLibrary(runs))] if runs else []
        if tasks is not None or site is not None:
            opened = Catalog.open(catalog)
            # The first search of a process is slow; nobody should have to wait for it.
            opened.search("warm up")
        if tasks is not None:
            shop = ShopProvider(opened, goals, limits)
            offers: dict[str, EnvProvider] = {"shop": shop, "turk": TurkProvider(tasks)}
            parts.append(environments(Service(offers, limits)))
        setting = shoppers = password = None
        if site is not None or office is not None:
            database = stack.enter_context(open_database(store))
            parts.append(housekeeping(database))
        if site is not None:
            setting = open_shop(opened, goals, site)
            log = open_log(setting, database)
            shoppers = Visitors(
                setting, log, seed=site.seed, most=limits.sessions, visitors=limits.visitors
            )
        if office is not None:
            part, password = open_crowd_site(
                *(database, office.tasks, office.password, setting, shoppers),
                reset_password=office.reset_password,
            )
            parts.append(part)
        if setting is not None and shoppers is not None:
            parts.append(shop_site(ShopSite(setting, shoppers)))
        taken = listening.getsockname()[1]
        address = f"http://[{host}]:{taken}" if ":" in host else f"http://{host}:{taken}"
        gate = AuthMiddleware(token, public=site is not None)
        started = ServerStart(address, password)
        Server(parts, gate, limits, lambda: on_start(started)).run([listening])


def open_shop(catalog: Catalog, goals: str | GoalSet, site: SiteConfig) -> ShopContext:
    """The shop behind the website."""
    config = ShopConfig(
        catalog,
        goals,
        observation="html",
        show_attrs=site.attrs,
        goal_draw="weighted",
        marks="true",
    )
    return ShopContext(config)


def open_log(setting: ShopContext, database: Database) -> StepLog:
    """Its log; a database that belongs to another shop is refused."""
    about = {
        "catalogue": setting.catalog.manifest.checksum,
        "goals": f"{setting.goals.name} ({len(setting.goals)})",
        "rules": "released",
    }
    return StepLog(database, about)

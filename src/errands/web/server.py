"""`errands serve`: the catalogue opened, the port taken, the parts put together, the server run."""

import contextlib
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from errands.envs.shopping import Shopping
from errands.errors import ErrandsError, SettingError
from errands.shop.catalog import Catalog
from errands.shop.goal import GoalSet
from errands.web.limits import Limits, raise_open_files
from errands.web.offers import DeskOffer, Offer, ShopOffer
from errands.web.run_library import RunLibrary
from errands.web.service import Service
from errands.web.shoppers import Shoppers
from errands.web.steps import StepLog

__all__ = ["Site", "listen", "open_site", "serve"]


class Site(msgspec.Struct, frozen=True):
    """What the shop's website is told."""

    log: str
    """The file that sessions and their steps are logged in."""
    seed: int = 0
    """Of the generator that draws goals."""
    attrs: bool = False
    """Whether products have a page with their hidden attributes."""


def serve(
    *,
    catalog: str,
    goals: str,
    tasks: str | None,
    site: Site | None,
    runs: Sequence[str] = (),
    host: str,
    port: int,
    token: str | None,
    limits: Limits,
    on_start: Callable[[str], None],
) -> None:
    """Serve until asked to stop; `on_start` is told the address.

    With `tasks` there are environments, with `site` there is the shop's website, with `runs`
    (directories) there are pages about runs.
    """
    try:
        from errands.web.environments import environments
        from errands.web.gate import Gate
        from errands.web.running import Server
        from errands.web.runs_site import runs_site
        from errands.web.shop_site import ShopSite, shop_site
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
            shop = ShopOffer(opened, goals, limits)
            offers: dict[str, Offer] = {"shop": shop, "turk": DeskOffer(tasks)}
            parts.append(environments(Service(offers, limits)))
        if site is not None:
            setting, log = open_site(opened, goals, site)
            stack.callback(log.close)
            shoppers = Shoppers(setting, log, seed=site.seed, most=limits.sessions)
            parts.append(shop_site(ShopSite(setting, shoppers), log))
        taken = listening.getsockname()[1]
        address = f"http://[{host}]:{taken}" if ":" in host else f"http://{host}:{taken}"
        gate = Gate(token, public=site is not None)
        Server(parts, gate, limits, lambda: on_start(address)).run([listening])


def open_site(catalog: Catalog, goals: str | GoalSet, site: Site) -> tuple[Shopping, StepLog]:
    """The shop behind the website, and its log."""
    setting = Shopping(
        catalog=catalog,
        goals=goals,
        split=None,
        observation="html",
        rules="released",
        max_steps=None,
        search_anywhere=True,
        num_prev_obs=0,
        num_prev_actions=0,
        show_attrs=site.attrs,
        special_queries=False,
        goal_draw="weighted",
        marks="true",
        after_purchase="locked",
    )
    about = {
        "catalogue": catalog.manifest.checksum,
        "goals": f"{setting.goals.name} ({len(setting.goals)})",
        "rules": "released",
    }
    return setting, StepLog(Path(site.log), about)


def listen(host: str, port: int) -> socket.socket:
    """Take the port at once, so that a port in use is one sentence."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        listening = socket.socket(family, kind, protocol)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
        except OSError:
            listening.close()
            raise
    except (OSError, OverflowError) as failure:
        raise SettingError(
            f"{host}:{port} cannot be listened on ({failure}); choose another --host or --port."
        ) from None
    return listening

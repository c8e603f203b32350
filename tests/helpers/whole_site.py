"""A website with everything that can be served: shop, crowd work, runs, environments."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from runs_served import made, make_run, run_info
from shop_served import Shop, shop_served

from errands.shop.catalog.catalog import Catalog
from errands.web.core.application import AppPart
from errands.web.core.limits import ServerLimits
from errands.web.env_api.endpoints import environments
from errands.web.env_api.providers import ShopProvider, TurkProvider
from errands.web.env_api.service import Service
from errands.web.runs.library import RunLibrary
from errands.web.runs.site import runs_site


def runs_part(folder: Path) -> AppPart:
    """The pages about one run."""
    make_run(folder / "runs" / "one", run_info(1), [made(0, 0.5)])
    return runs_site(RunLibrary([str(folder / "runs")]))


def environments_part(catalog: Catalog) -> AppPart:
    limits = ServerLimits()
    providers = {"shop": ShopProvider(catalog, "synthetic", limits), "turk": TurkProvider("demo")}
    return environments(Service(providers, limits))


@contextlib.contextmanager
def whole_site(catalog: Catalog, folder: Path) -> Iterator[Shop]:
    parts = [runs_part(folder), environments_part(catalog)]
    with shop_served(catalog, folder / "site.sqlite", more=parts) as shop:
        yield shop

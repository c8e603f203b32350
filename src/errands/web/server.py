"""`errands serve --environments`: the catalogue opened, the port taken, the server run."""

import socket
from collections.abc import Callable

from errands.errors import ErrandsError, SettingError
from errands.shop.catalog import Catalog
from errands.web.limits import Limits, raise_open_files
from errands.web.offers import DeskOffer, Offer, ShopOffer
from errands.web.service import Service

__all__ = ["listen", "serve_environments"]


def serve_environments(
    *,
    catalog: str,
    goals: str,
    tasks: str,
    host: str,
    port: int,
    token: str | None,
    limits: Limits,
    on_start: Callable[[str], None],
) -> None:
    """Serve until asked to stop; `on_start` is told the address."""
    try:
        from errands.web.running import Server
    except ImportError as missing:
        raise ErrandsError(
            f"Serving needs {missing.name}, which is not installed; run"
            ' pip install "errands[serve]".'
        ) from None
    raise_open_files()
    with listen(host, port) as listening:
        opened = Catalog.open(catalog)
        # The first search of a process is slow; nobody should have to wait for it.
        opened.search("warm up")
        shop = ShopOffer(opened, goals, limits)
        offers: dict[str, Offer] = {"shop": shop, "turk": DeskOffer(tasks)}
        taken = listening.getsockname()[1]
        address = f"http://[{host}]:{taken}" if ":" in host else f"http://{host}:{taken}"
        Server(Service(offers, limits), token, lambda: on_start(address)).run([listening])


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

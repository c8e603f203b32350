"""Who is at the other end of a connection: an address, or whom a trusted proxy names.

Behind a proxy all connections come from it, and it says in a header for whom. Anybody can send such
a header, so it is believed from addresses that the user trusts (`--trusted-proxy`), and in it only
what these have written: the last hop that is none of them is the client.
"""

import ipaddress
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from errands.errors import SettingError

__all__ = ["TrustedProxies", "client_group", "client_of", "trusted_proxies", "with_clients"]

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_MOST_HOPS: Final = 32
_FOR: Final = re.compile(r'(?:^|;)\s*for\s*=\s*"?([^";\s]*)"?', re.IGNORECASE)
_PORT: Final = re.compile(r":[0-9]{1,5}$")


class TrustedProxies(msgspec.Struct, frozen=True):
    """Networks whose word about a client is taken."""

    networks: tuple[_Network, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.networks)

    def trusts(self, address: str) -> bool:
        number = _number(address)
        return number is not None and any(number in network for network in self.networks)

    def client(self, peer: str, headers: Sequence[tuple[bytes, bytes]]) -> str:
        """The client of a request that came from `peer`; where the two headers that proxies use
        differ, one of them is the client's own invention, and neither counts."""
        if not self.trusts(peer):
            return peer
        said: dict[bytes, list[str]] = {b"x-forwarded-for": [], b"forwarded": []}
        for name, value in headers:
            if name in said:
                said[name].append(value.decode("latin-1"))
        chains = (
            (",".join(said[b"x-forwarded-for"]), _plain_hop),
            (",".join(said[b"forwarded"]), _forwarded_hop),
        )
        clients = {
            self._last_stranger(peer, map(hop, _from_the_end(chain)))
            for chain, hop in chains
            if chain
        }
        return clients.pop() if len(clients) == 1 else peer

    def _last_stranger(self, peer: str, hops: Iterator[str]) -> str:
        client = peer
        for hop in hops:
            number = _number(hop)
            if number is None:  # `unknown`, a made-up name, nonsense
                break
            client = str(number)
            if not self.trusts(client):
                break
        return client


def trusted_proxies(given: Sequence[str]) -> TrustedProxies:
    """Proxies by their addresses (`10.0.0.5`) or networks (`10.0.0.0/8`)."""
    networks = []
    for text in given:
        try:
            networks.append(ipaddress.ip_network(text.strip(), strict=False))
        except ValueError:
            raise SettingError(
                f"--trusted-proxy {text}: expected an address (10.0.0.5) or a network (10.0.0.0/8)."
            ) from None
    return TrustedProxies(tuple(networks))


def with_clients(app: ASGIApp, proxies: TrustedProxies) -> ASGIApp:
    """An application whose requests come from the clients that trusted proxies name."""
    if not proxies:
        return app

    async def named(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and scope.get("client"):
            peer, port = scope["client"]
            scope["client"] = (proxies.client(peer, scope["headers"]), port)
        await app(scope, receive, send)

    return named


def client_of(scope: Scope) -> str:
    """Who is calling, as far as limits are concerned."""
    client = scope.get("client")
    return client_group(client[0]) if client else ""


@lru_cache(4096)
def client_group(address: str) -> str:
    """Whom an address belongs to: of IPv6, where everybody has very many, the network."""
    number = _number(address)
    if number is None:
        return address
    if isinstance(number, ipaddress.IPv6Address):
        return str(ipaddress.IPv6Network((number, 64), strict=False))
    return str(number)


def _number(address: str) -> _Address | None:
    try:
        number = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return None
    if isinstance(number, ipaddress.IPv6Address) and number.ipv4_mapped is not None:
        return number.ipv4_mapped
    return number


def _from_the_end(chain: str) -> Iterator[str]:
    return reversed(chain.rsplit(",", _MOST_HOPS)[-_MOST_HOPS:])


def _plain_hop(hop: str) -> str:
    """`10.0.0.1`, `10.0.0.1:80`, `2001:db8::1`, `[2001:db8::1]:80`: the address."""
    hop = hop.strip()
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    return _PORT.sub("", hop) if hop.count(":") == 1 else hop


def _forwarded_hop(hop: str) -> str:
    """As in `for="[2001:db8::1]:80";proto=https`."""
    found = _FOR.search(hop)
    return _plain_hop(found[1]) if found else ""

"""By which names a server may be called.

A stranger's page can have its own name point to this machine (DNS rebinding), and its browser then
takes the server for a part of that page; only the `Host` of its requests tells. So a server answers
to names that are its own, and to those that it was told. An address in numbers belongs to nobody's
page but the server's own.
"""

import ipaddress
import re
import socket
from collections.abc import Sequence
from typing import Final

import msgspec

from errands.errors import SettingError

__all__ = ["AllowedHosts", "allowed_hosts", "is_loopback"]

_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
"""What every machine calls itself."""
_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[^:\[\]]+)(?::[0-9]{0,5})?")
_NAME: Final = re.compile(r"(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?")


class AllowedHosts(msgspec.Struct, frozen=True):
    """The hosts that a request may name, with any port: ports are forwarded, names are not."""

    names: frozenset[str] = _LOOPBACK
    domains: tuple[str, ...] = ()
    """Endings with their dot: every name below is allowed."""
    numbers: bool = False
    """Whether any address in numbers is."""
    any: bool = False

    def allows(self, host: bytes) -> bool:
        if self.any:
            return True
        found = _HOST.fullmatch(host.decode("latin-1").lower())
        if found is None:
            return False
        name = found[1]
        return (
            name in self.names
            or (self.numbers and _is_number(name))
            or name.removesuffix(".").endswith(self.domains)
        )


def allowed_hosts(bound: str, more: Sequence[str] = ()) -> AllowedHosts:
    """The hosts of a server that listens on an address: that address, this machine's names, and
    what the user says (`--allowed-host`): a name, `*.example.org`, or `*`."""
    names = {*_LOOPBACK, _bracketed(bound.lower())}
    domains = []
    for given in more:
        name = _bracketed(given.strip().lower())
        if name == "*" or _is_number(name):
            names.add(name)
        elif _NAME.fullmatch(name) is None:
            raise SettingError(
                f"--allowed-host {given}: expected a name or an address without a port,"
                " *.example.org for all names below one, or * for any."
            )
        elif name.startswith("*."):
            domains.append(name[1:])
        else:
            names.add(name)
    if is_loopback(bound):
        return AllowedHosts(frozenset(names), tuple(domains), any="*" in names)
    own = socket.gethostname().lower()
    names |= {own, own.partition(".")[0], f"{own.partition('.')[0]}.local"}
    return AllowedHosts(frozenset(names), tuple(domains), numbers=True, any="*" in names)


def is_loopback(bound: str) -> bool:
    """Whether only this machine reaches what listens there."""
    try:
        return ipaddress.ip_address(bound).is_loopback
    except ValueError:
        return bound.lower() == "localhost"


def _bracketed(host: str) -> str:
    """A host as requests name it: in brackets where it has colons."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True

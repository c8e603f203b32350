"""Addresses: which are of a shop's hosts, and which only look at something there."""

import re
from typing import Final
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from errands.errors import SettingError

__all__ = ["check_host", "host_of", "is_within", "looks_only", "path_of"]

_HOST: Final = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+")
_USUAL: Final = {"http": 80, "https": 443}
_ACTS: Final = frozenset({
    "account", "add", "addtobasket", "addtocart", "addtowishlist", "admin", "basket", "buy",
    "buynow", "cart", "checkout", "delete", "done", "login", "logout", "myaccount", "order",
    "orders", "payment", "purchase", "register", "remove", "signin", "signout", "signup",
    "unsubscribe", "wishlist", "wpadmin",
})  # fmt: skip


def check_host(host: str, example: str) -> None:
    """Refuse what is no name of a host."""
    if not _HOST.fullmatch(host):
        raise SettingError(f"--host {host!r}: expected a host's name, as {example}.")


def host_of(url: str) -> str:
    """The host of an address, with its port unless that is the usual one; empty where it has none.

    >>> host_of("http://127.0.0.1:8000/x"), host_of("https://shop.example:443/"), host_of("http://[")
    ('127.0.0.1:8000', 'shop.example', '')
    """
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        return ""
    if ":" in host:
        host = f"[{host}]"
    return host if port in (None, _USUAL.get(parts.scheme)) else f"{host}:{port}"


def is_within(url: str, hosts: tuple[str, ...]) -> bool:
    """Whether an address is one of a host's, or of a host below it, at the same port.

    >>> is_within("https://www.shop.example/x", ("shop.example",))
    True
    >>> is_within("https://shop.example:8443/x", ("shop.example",))
    False
    """
    parts = _split(url)
    if parts is None or parts.scheme not in _USUAL or parts.username is not None:
        return False
    if any(unquote(part) in (".", "..") for part in parts.path.split("/")):
        return False  # What it leads to depends on who reads it.
    host = host_of(url)
    return any(host == own.lower() or host.endswith(f".{own.lower()}") for own in hosts)


def path_of(url: str) -> str:
    """The path of an address, as it is sent."""
    parts = _split(url)
    return parts.path if parts is not None else ""


def looks_only(url: str) -> bool:
    """Whether nothing in an address sounds like doing something: a cart, a checkout, a login.

    For shops whose addresses follow no known pattern. Whole parts of the path count, and names and
    values of the query, so that a toy cart can still be looked at.

    >>> looks_only("https://shop.example/goods/toy-cart-7"), looks_only("https://shop.example/?buy=7")
    (True, False)
    """
    parts = _split(url)
    if parts is None:
        return False
    words = [unquote(part).partition(".")[0] for part in parts.path.split("/")]
    words += [word for pair in parse_qsl(parts.query, keep_blank_values=True) for word in pair]
    return not any(re.sub(r"[\W_]+", "", word.lower()) in _ACTS for word in words)


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  # A port that is no number is told here.
    except ValueError:
        return None
    return parts

"""Who is at the other end, with and without proxies between."""

import contextlib
import http.client
from pathlib import Path

import pytest
from shop_served import PASSWORD, shop_served

from errands.errors import SettingError
from errands.shop.catalog.catalog import Catalog
from errands.web.core.clients import client_group, trusted_proxies

PROXIES = trusted_proxies(["10.0.0.0/8", "2001:db8::7", "127.0.0.1"])


@pytest.mark.parametrize(
    ("peer", "headers", "client"),
    [
        ("192.0.2.1", {"x-forwarded-for": "198.51.100.9"}, "192.0.2.1"),
        ("10.1.1.1", {}, "10.1.1.1"),
        ("10.1.1.1", {"x-forwarded-for": "198.51.100.9"}, "198.51.100.9"),
        ("::ffff:10.1.1.1", {"x-forwarded-for": "198.51.100.9"}, "198.51.100.9"),
        ("10.1.1.1", {"x-forwarded-for": "6.6.6.6, 198.51.100.9, 10.2.2.2"}, "198.51.100.9"),
        ("10.1.1.1", {"x-forwarded-for": "6.6.6.6, nonsense, 10.2.2.2"}, "10.2.2.2"),
        ("10.1.1.1", {"x-forwarded-for": "nonsense"}, "10.1.1.1"),
        ("10.1.1.1", {"x-forwarded-for": "10.3.3.3, 10.2.2.2"}, "10.3.3.3"),
        ("10.1.1.1", {"x-forwarded-for": "198.51.100.9:4711"}, "198.51.100.9"),
        ("10.1.1.1", {"x-forwarded-for": "[2001:db8::9]:80"}, "2001:db8::9"),
        ("2001:db8::7", {"x-forwarded-for": "2001:db8::9"}, "2001:db8::9"),
        ("10.1.1.1", {"forwarded": 'proto=https;For="[2001:db8::9]:80"'}, "2001:db8::9"),
        ("10.1.1.1", {"forwarded": "for=6.6.6.6, for=198.51.100.9;by=10.1.1.1"}, "198.51.100.9"),
        ("10.1.1.1", {"forwarded": "for=unknown"}, "10.1.1.1"),
        ("10.1.1.1", {"forwarded": "for=1.1.1.1", "x-forwarded-for": "1.1.1.1"}, "1.1.1.1"),
        ("10.1.1.1", {"forwarded": "for=1.1.1.1", "x-forwarded-for": "2.2.2.2"}, "10.1.1.1"),
    ],
)
def test_the_last_hop_that_is_no_proxy(peer: str, headers: dict[str, str], client: str) -> None:
    sent = [(name.encode(), value.encode()) for name, value in headers.items()]
    assert PROXIES.client(peer, sent) == client


def test_addresses_of_one_network_are_one_client() -> None:
    assert client_group("2001:db8::1") == client_group("2001:db8::ffff:1") != client_group("::1")
    assert client_group("::ffff:10.0.0.1") == client_group("10.0.0.1") != client_group("10.0.0.2")
    assert client_group("testclient") == "testclient"


def test_what_is_no_address_is_one_sentence() -> None:
    with pytest.raises(SettingError, match="--trusted-proxy proxy: expected an address"):
        trusted_proxies(["10.0.0.1", "proxy"])


def test_guesses_behind_a_proxy_do_not_lock_the_owner_out(little: Catalog, tmp_path: Path) -> None:
    def tried(port: int, password: str, client: str) -> int:
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        with contextlib.closing(line):
            sent = {"X-Forwarded-For": f"192.0.2.99, {client}"}
            line.request("POST", "/office/login", f"password={password}", sent)
            return line.getresponse().status

    right = PASSWORD.replace(" ", "+")
    with shop_served(little, tmp_path / "a.sqlite", proxies=PROXIES) as shop:
        assert [tried(shop.port, "no", "6.6.6.6") for _ in range(11)] == [403] * 10 + [429]
        assert tried(shop.port, right, "198.51.100.9") == 303
        assert tried(shop.port, right, "6.6.6.6") == 429
    with shop_served(little, tmp_path / "b.sqlite") as shop:
        names = [f"6.6.6.{number}" for number in range(11)]
        said = [tried(shop.port, "no", name) for name in names]
        assert said == [403] * 10 + [429], "what anybody may write makes nobody another"

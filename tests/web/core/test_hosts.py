"""By which names a server may be called."""

import json
import socket

import pytest
from served import Served
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from errands.errors import SettingError
from errands.web.core.hosts import AllowedHosts, allowed_hosts

OWN = ("localhost", "127.0.0.1", "[::1]", "LocalHost")
FOREIGN = (
    *("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "notlocalhost", ""),
    *("localhost:80@evil.example", "evil.example/127.0.0.1", "[::1", "::1", "local host", "*"),
    *("localhost,evil.example", "xlocalhost", "127.0.0.1:80:80", "localhost:http"),
)


def is_allowed(hosts: AllowedHosts, name: str) -> bool:
    return hosts.allows(name.encode()) or hosts.allows(f"{name}:8000".encode())


@pytest.mark.parametrize("bound", ["127.0.0.1", "localhost", "::1", "127.3.2.1"])
def test_on_this_machine_only_its_names_count(bound: str) -> None:
    hosts = allowed_hosts(bound)
    shown = f"[{bound}]" if ":" in bound else bound
    assert all(
        hosts.allows(f"{own}{port}".encode()) for own in (*OWN, shown) for port in ("", ":1")
    )
    assert [
        name for name in (*FOREIGN, "10.0.0.5", "[2001:db8::1]") if is_allowed(hosts, name)
    ] == []


def test_elsewhere_numbers_and_the_machines_name_count() -> None:
    hosts = allowed_hosts("0.0.0.0")
    own = socket.gethostname()
    for name in (*OWN, own, "10.0.0.5", "[2001:db8::1]", "0.0.0.0"):
        assert is_allowed(hosts, name), name
    assert [name for name in FOREIGN if is_allowed(hosts, name)] == []


@pytest.mark.parametrize("bound", ["127.0.0.1", "0.0.0.0"])
def test_names_that_are_allowed(bound: str) -> None:
    hosts = allowed_hosts(bound, ["Shop.example.org", "*.lab.example", "192.0.2.7", "2001:db8::7"])
    for name in (*OWN, "shop.EXAMPLE.org", "a.lab.example", "a.b.lab.example", "[2001:db8::7]"):
        assert is_allowed(hosts, name), name
    assert is_allowed(hosts, "192.0.2.7")
    for name in (*FOREIGN, "lab.example", "evillab.example", "x.shop.example.org", "example.org"):
        assert not is_allowed(hosts, name), name
    assert all(is_allowed(allowed_hosts(bound, ["*"]), name) for name in FOREIGN)


@pytest.mark.parametrize("given", ["", "a b", "shop:8000", "http://x", "*x", "a.*.b", "-a"])
def test_what_is_no_name_is_one_sentence(given: str) -> None:
    with pytest.raises(SettingError, match=r"--allowed-host .*: expected a name"):
        allowed_hosts("127.0.0.1", [given])


def test_a_page_that_has_its_name_point_here_is_refused(server: Served) -> None:
    foreign = {"Host": "evil.example", "Origin": "http://evil.example"}
    for path in ("/v1", "/health", "/openapi.json"):
        status, answer = server.ask(path, headers=foreign)
        assert (status, answer["error"]["code"]) == (421, "foreign_host")
        assert "'evil.example'" in answer["error"]["message"]
        assert "--allowed-host" in answer["error"]["message"]
    with pytest.raises(InvalidStatus) as refused:
        connect(
            f"ws://evil.example:{server.port}/v1/socket",
            sock=socket.create_connection(("127.0.0.1", server.port), 30),
            proxy=None,
        ).__enter__()
    assert refused.value.response.status_code == 421


@pytest.mark.parametrize(
    ("request_line", "hosts", "status"),
    [
        ("HTTP/1.0", [], 200),
        ("HTTP/1.1", [], 400),
        ("HTTP/1.0", ["evil.example"], 421),
        ("HTTP/1.1", ["localhost", "evil.example"], 400),
        ("HTTP/1.1", ["localhost"], 200),
    ],
)
def test_a_request_names_its_host_once(
    server: Served, request_line: str, hosts: list[str], status: int
) -> None:
    named = "".join(f"Host: {host}\r\n" for host in hosts)
    with socket.create_connection(("127.0.0.1", server.port), 30) as line:
        line.sendall(f"GET /health {request_line}\r\n{named}Connection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: line.recv(4096), b""))
    assert int(answer.split()[1]) == status
    assert json.loads(answer.partition(b"\r\n\r\n")[2])

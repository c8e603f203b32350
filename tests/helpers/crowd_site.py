"""People who use the office: they keep cookies, follow links and send the forms they were shown."""

import base64
import html
import json
import re
import secrets
from typing import Any

from shop_served import PASSWORD, Answer, Shop


class Visitor:
    """A browser without scripts."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.cookies: dict[str, str] = {}
        self.page: Answer | None = None

    def get(self, path: str, **settings: Any) -> Answer:
        return self._asked(path, None, **settings)

    def post(self, path: str, form: dict[str, str] | None = None, **settings: Any) -> Answer:
        """Send a form with the check of the page seen last."""
        return self._asked(path, {**self._check(), **(form or {})}, **settings)

    def upload(self, path: str, fields: dict[str, str], files: dict[str, bytes]) -> Answer:
        """Send a form with files."""
        edge = secrets.token_hex(8)
        parts = [
            f'--{edge}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
            for name, value in {**self._check(), **fields}.items()
        ]
        parts += [
            f'--{edge}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n'
            "Content-Type: application/octet-stream\r\n\r\n".encode()
            + content
            + b"\r\n"
            for name, content in files.items()
        ]
        body = b"".join(parts) + f"--{edge}--\r\n".encode()
        kind = {"Content-Type": f"multipart/form-data; boundary={edge}"}
        return self._asked(path, body, headers=kind)

    def _check(self) -> dict[str, str]:
        found = re.search(r'name="check" value="(\w+)"', self.page.text) if self.page else None
        return {"check": found[1]} if found else {}

    def _asked(
        self, path: str, form: Any, *, headers: dict[str, str] | None = None, follow: bool = True
    ) -> Answer:
        sent = dict(headers or {})
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        answer = self.shop.ask(path, form, headers=sent, follow=False)
        given = re.match(r"(\w+)=([^;]*)", answer.headers.get("set-cookie", ""))
        if given:
            self.cookies[given[1]] = given[2].strip('"')
        self.page = answer
        if follow and answer.status == 303:
            return self._asked(answer.headers["location"], None)
        return answer


def admin(shop: Shop) -> Visitor:
    """Somebody who has logged in with the password."""
    visitor = Visitor(shop)
    assert visitor.post("/office/login", {"password": PASSWORD}).status == 200
    return visitor


def invited(shop: Shop, name: str, role: str = "worker") -> str:
    """The token of a new account."""
    answer = call(shop, "POST", "/v1/office/people", {"names": [name], "role": role})
    assert answer.status == 201, answer.text
    token: str = json.loads(answer.body)["invited"][0]["token"]
    return token


def requester(shop: Shop, name: str = "Rita") -> Visitor:
    """Somebody who has come in by a requester's link."""
    visitor = Visitor(shop)
    assert visitor.get(f"/office/enter/{invited(shop, name, 'requester')}").status == 200
    return visitor


def call(
    shop: Shop, method: str, path: str, body: Any = None, *, token: str | None = None
) -> Answer:
    """Ask as a program: with a token, else with the admin's password."""
    secret = base64.b64encode(f"admin:{PASSWORD}".encode()).decode()
    given = f"Basic {secret}" if token is None else f"Bearer {token}"
    sent = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": given, "Content-Type": "application/json"}
    return shop.ask(path, sent, method=method, headers=headers, follow=False)


def text_of(answer: Answer) -> str:
    """What a page says."""
    return html.unescape(re.sub(r"<[^>]*>", " ", answer.text))


def open_paid_work(shop: Shop) -> None:
    """Open writing and shopping, as the admin."""
    opened = {"is_open": True, "budget": 1000.0}
    done = call(shop, "PUT", "/v1/office/instructions/settings", opened)
    assert done.status == 200, done.text
    path = "/v1/office/demonstrations"
    settings = json.loads(call(shop, "GET", path).body)["settings"]
    done = call(shop, "PUT", f"{path}/settings", {**settings, **opened})
    assert done.status == 200, done.text

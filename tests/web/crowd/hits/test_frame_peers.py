"""A task that wants peer connections, the one way to the network that no policy closes.

In its own window they are taken away; a frame inside would have them again, so each of these
tries to keep one. Who succeeds sends a packet to a socket of ours.
"""

import contextlib
import html
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from crowd_served import close_all, put_up
from crowd_site import invited
from shop_served import Shop, shop_served

from errands.browser import chromium
from errands.shop.catalog.catalog import Catalog

pytest.importorskip("playwright.sync_api", reason=chromium.MISSING_PACKAGE)

CALLING = (
    "<script>const peer = new RTCPeerConnection({iceServers: [{urls: 'stun:127.0.0.1:PORT'}]});"
    "peer.createDataChannel('x');"
    "peer.createOffer().then((offer) => peer.setLocalDescription(offer));</script>"
)
ADDED = "const frame = document.createElement('iframe'); frame.srcdoc = CALLING;"
HERE = f"{ADDED} document.body.append(frame);"
SHADE = f"{ADDED} const host = document.createElement('p'); document.body.append(host);"
TREE = (
    "'<p><template shadowrootmode=closed><iframe srcdoc=\"'"
    " + CALLING.replace(/\"/g, '&quot;') + '\"></iframe></template></p>'"
)
SCRIPTS = {
    "plain": HERE,
    "no search": f"document.querySelectorAll = () => []; {HERE}",
    "no removal": f"Element.prototype.remove = () => {{}}; {HERE}",
    "no list": f"NodeList.prototype[Symbol.iterator] = function* () {{}}; {HERE}",
    "no length": (f"Object.defineProperty(NodeList.prototype, 'length', {{get: () => 0}}); {HERE}"),
    "no calls": (
        f"{ADDED} Function.prototype.call = Function.prototype.apply = () => [];"
        " document.body.append(frame);"
    ),
    "no search in the shade": (
        "DocumentFragment.prototype.querySelectorAll = () => [];"
        f" {SHADE} host.attachShadow({{mode: 'closed'}}).append(frame);"
    ),
    "no watch": (
        "MutationObserver.prototype.observe = () => {};"
        f" {SHADE} host.attachShadow({{mode: 'closed'}}).append(frame);"
    ),
    "a copy": (
        f"{ADDED} const host = document.createElement('p');"
        " host.attachShadow({mode: 'open', clonable: true}).append(frame);"
        " document.body.append(host.cloneNode(true));"
    ),
    "unsafe": f"document.querySelector('p').setHTMLUnsafe({TREE});",
    "written": f"document.write({TREE});",
    "written in pieces": (
        f"const text = {TREE}; document.write(text.slice(0, 24).toUpperCase());"
        " document.write(text.slice(24));"
    ),
}
DECLARED = {
    "declared": '<template shadowrootmode="closed">FRAME</template>',
    "declared, open": "<template ShadowRootMode=open>FRAME</template>",
    "half written": (
        "<script>document.write('<template shadowro')</script>otmode=closed>FRAME</template>"
    ),
}


@pytest.fixture(scope="module")
def shop(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    with shop_served(little, tmp_path_factory.mktemp("peers") / "site.sqlite") as running:
        yield running


@pytest.fixture
def ear() -> Iterator[socket.socket]:
    """Hears who sends packets."""
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as heard:
        heard.bind(("127.0.0.1", 0))
        heard.setblocking(False)
        yield heard


def calling(ear: socket.socket) -> str:
    return CALLING.replace("PORT", str(ear.getsockname()[1]))


def framed(ear: socket.socket) -> str:
    return f'<iframe srcdoc="{html.escape(calling(ear))}"></iframe>'


def heard(page: Any, ear: socket.socket, seconds: float = 0.8) -> bool:
    for _ in range(round(10 * seconds)):
        page.wait_for_timeout(100)
        with contextlib.suppress(BlockingIOError):
            return bool(ear.recv(1000))
    return False


def looked_at(browser: Any, shop: Shop, template: str) -> Any:
    close_all(shop)
    project = put_up(shop, f"<p>${{word}}</p><input name=a>{template}")
    page = browser.new_page()
    page.goto(f"{shop.url}/work/{invited(shop, 'Victim')}/tasks/{project}")
    return page


def test_calls_are_heard(browser: Any, shop: Shop, ear: socket.socket) -> None:
    """Otherwise the other tests would prove nothing."""
    page = browser.new_page()
    page.goto(f"{shop.url}/health")
    page.set_content(f"<p></p>{framed(ear)}")
    assert heard(page, ear, 60)
    page.close()


@pytest.mark.parametrize("way", SCRIPTS)
def test_no_frame_made_by_scripts_calls(
    browser: Any, shop: Shop, ear: socket.socket, way: str
) -> None:
    text = json.dumps(calling(ear)).replace("</", "<\\/")
    page = looked_at(
        browser, shop, f"<script>const CALLING = {text}; {{ {SCRIPTS[way]} }}</script>"
    )
    assert not heard(page, ear)
    page.close()


@pytest.mark.parametrize("way", DECLARED)
def test_no_frame_in_markup_calls(browser: Any, shop: Shop, ear: socket.socket, way: str) -> None:
    page = looked_at(browser, shop, f"<div>{DECLARED[way].replace('FRAME', framed(ear))}</div>")
    assert not heard(page, ear)
    page.close()

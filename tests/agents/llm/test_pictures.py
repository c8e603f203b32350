"""Screenshots of a real browser, in questions and in demonstrations."""

from typing import Any

import pytest

from errands.envs.turk import TurkEnv
from errands.turk.drivers import start_browser
from errands.turk.pages.driver import DriverError


def test_pages_and_demonstrations_come_with_pictures(
    endpoint: Any, factory: Any, play: Any
) -> None:
    try:
        start_browser().close()
    except DriverError as failure:
        pytest.skip(f"needs a browser: {failure}")
    endpoint.script = lambda request, number: "leave('x')"
    env = TurkEnv(split="test", driver="browser", observation="html+screenshot")
    try:
        made = factory("turk", env, demos=2, shrink=4.0)
        played = play(made, env, options={"task": "Two Charts", "row": 0})
    finally:
        env.close()
    assert played.terminated
    messages = endpoint.requests[0]["messages"]
    users = [message["content"] for message in messages if message["role"] == "user"]
    assert len(users) == 3
    pictures = [content[1]["image_url"]["url"] for content in users]
    assert all(picture.startswith("data:image/png;base64,") for picture in pictures)
    assert len(set(pictures)) == 3

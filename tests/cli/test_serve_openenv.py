"""`errands serve --openenv`: what it refuses, and a server as a process of its own."""

import importlib.util
import json
import re
import signal
import subprocess
import sys
from urllib import error, request

import pytest

from errands.cli import app
from errands.errors import SettingError
from errands.extras import install_command

HAS_OPENENV = importlib.util.find_spec("openenv") is not None
CODE = "from errands.cli import main; main()"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--openenv", "--environments"], "leave out --environments"),
        (["--openenv", "--no-site"], "leave out --site"),
        (["--openenv", "--data", "demo"], "leave out --data"),
        (["--openenv", "--reset-password"], "leave out --reset-password"),
        (["--protocol", "shop-demo"], "add --openenv"),
        (["--openenv", "--token", ""], "--token is empty"),
    ],
)
def test_options_that_would_do_nothing_are_refused(words: list[str], why: str) -> None:
    with pytest.raises(SettingError, match=re.escape(why)) as caught:
        app(["serve", *words], standalone_mode=False)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(HAS_OPENENV, reason="OpenEnv is installed")
def test_a_missing_openenv_is_one_sentence() -> None:
    with pytest.raises(ImportError, match=re.escape(f"run {install_command('openenv')}")):
        app(["serve", "--openenv"], standalone_mode=False)


@pytest.mark.skipif(not HAS_OPENENV, reason="needs OpenEnv: pip install 'errands[openenv]'")
def test_a_server_says_its_address_wants_its_token_and_ends() -> None:
    words = ["serve", "--openenv", "--port", "0", "--protocol", "turk-demo", "--token", "secret"]
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.fullmatch(r"Serving turk-demo for OpenEnv on (http://127\.0\.0\.1:\d+)\n", line)
        assert found, line
        asked = request.Request(f"{found[1]}/errands/splits")
        with pytest.raises(error.HTTPError, match="401") as caught:
            request.urlopen(asked)
        caught.value.close()
        asked.add_header("Authorization", "Bearer secret")
        with request.urlopen(asked) as answer:
            assert json.load(answer) == [{"name": "turk-demo", "type": "test"}]
    finally:
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=20)
    assert "Traceback" not in said

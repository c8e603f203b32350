"""`errands mcp` as a user types it; tests/integrations/test_mcp.py talks to what it serves."""

import socket
from collections.abc import Callable, Iterator

import pytest
from school import Said

pytest.importorskip("mcp", reason="needs mcp: pip install 'errands[mcp]'")


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that is in use."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--port", "80"], "--port is for --http"),
        (["--split", "train"], "for a single protocol"),
        (["--data", "shop-1k"], "for a single protocol"),
        (["--protocol", "no-such"], "There is no protocol 'no-such'"),
        (["--protocol", "shop-demo", "--protocol", "shop-learn"], "protocols of one domain"),
        (["--protocol", "shop-demo", "--data", "no-such"], "needs the catalogue 'no-such'"),
    ],
)
def test_wrong_options_are_one_sentence(
    errands: Callable[..., Said], words: list[str], why: str
) -> None:
    said = errands("mcp", *words, status=2)
    assert why in said.err
    assert not said.out


def test_a_port_in_use_is_one_sentence(errands: Callable[..., Said], taken: int) -> None:
    assert "cannot be listened on" in errands("mcp", "--http", "--port", taken, status=2).err

"""Protocols that pick their goals one by one."""

from pathlib import Path

import pytest

from errands.runs.episode_source import ShopSource, open_source
from errands.runs.protocol import Protocol, ProtocolError, read_protocols
from errands.runs.runner import protocol_key, run
from errands.shop.catalog.catalog import Catalog


def protocol(little: Catalog, *picked: int) -> Protocol:
    return Protocol(
        id="mine", version=1, title="", domain="shop", data=str(little.path), picked=picked
    )


def test_these_goals_in_this_order(little: Catalog, tmp_path: Path) -> None:
    chosen = protocol(little, 7, 3, 7)
    source = open_source(chosen)
    assert list(source.keys) == ["goal 7", "goal 3", "goal 7"]
    assert source.options(1) == {"goal": 3}
    finished = run(chosen, "rule", out=tmp_path / "run")
    assert finished.kept == 3


def test_other_goals_are_another_protocol(little: Catalog) -> None:
    def key(*picked: int) -> str:
        held = protocol(little, *picked)
        return protocol_key(held, held, ShopSource(held))

    assert len({key(), key(1, 2), key(2, 1), key(1)}) == 4


def test_goals_that_cannot_be_picked(little: Catalog, tmp_path: Path) -> None:
    with pytest.raises(ProtocolError, match="picks goal 999999"):
        open_source(protocol(little, 0, 999_999))
    with pytest.raises(ProtocolError, match="picks goal -1"):
        open_source(protocol(little, -1))
    path = tmp_path / "mine.toml"
    common = 'version = 1\ndata = "demo"\npicked = [1]\n'
    for wrong in ('half = "shop"\nsplit = "test"\n', 'half = "turk"\n'):
        path.write_text(f"[mine]\n{common}{wrong}")
        with pytest.raises(ProtocolError, match="picked"):
            read_protocols(path)

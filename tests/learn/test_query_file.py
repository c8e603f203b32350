"""Files of predicted queries: written here, read by the choice oracle."""

from pathlib import Path

import pytest

from errands.errors import DataError

pytest.importorskip("torch", reason="needs PyTorch: pip install 'errands[train]'")

from errands.agents.oracles.query_source import query_source
from errands.learn.search import predict_queries, write_queries


class Tokenizer:
    """Gives the words of an instruction, one after the other."""

    def queries(self, instruction: str, beams: int = 5) -> list[str]:
        return instruction.split()[:beams]


def test_the_choice_oracle_finds_what_was_written(tmp_path: Path) -> None:
    said = ['Red 3" hat., and price lower than 20.00 dollars', "blue lamp", "blue lamp"]
    heard: list[int] = []
    found = predict_queries(Tokenizer(), said, 2, on_text=lambda: heard.append(1))
    assert len(heard) == 3
    assert list(found.values()) == [["red", '3"'], ["blue", "lamp"]]
    write_queries(tmp_path / "found.json", found)
    source, _ = query_source("predicted", str(tmp_path / "found.json"), "skip", "")
    assert source.query(said[0]) == "red"
    assert source.query("Blue lamp, and price lower than 30.00 dollars") == "blue"


def test_a_file_is_not_replaced_unless_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    path.write_text("mine")
    with pytest.raises(DataError, match="--force"):
        write_queries(path, {"a": ["b"]})
    assert path.read_text() == "mine"
    write_queries(path, {"a": ["b"]}, replace=True)
    assert '"b"' in path.read_text()
    with pytest.raises(DataError, match="cannot be written"):
        write_queries(tmp_path / "nowhere" / "found.json", {})

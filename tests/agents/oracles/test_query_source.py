"""Queries are found however their instruction is written."""

import json
from pathlib import Path

import pytest

from errands.agents.agent import AgentError
from errands.agents.oracles.query_source import query_source
from errands.errors import DataError
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import instruction_key

HELD = {
    "i want a 3 hat": ["hat", "", "red hat 3"],
    "I need a chair.": ["chair"],
    "nothing": [],
}


@pytest.fixture
def path(tmp_path: Path) -> str:
    made = tmp_path / "queries.json"
    made.write_text(json.dumps(HELD))
    return str(made)


@pytest.mark.parametrize(
    ("kind", "query"), [("human-first", "hat"), ("human-last", "red hat 3"), ("predicted", "hat")]
)
def test_sources(path: str, kind: str, query: str) -> None:
    source, checksum = query_source(kind, path, "skip", "")
    said = 'I want a 3" hat., and price lower than 20.00 dollars'
    assert source.query(said) == query
    assert source.query("i need a chair") == "chair"
    for other in ("something else", "nothing"):
        with pytest.raises(AgentError, match=r"There is no (human|predicted) query"):
            source.query(other)
    kept, _ = query_source(kind, path, "instruction", checksum)
    assert kept.query("Something else, and price") == "Something else, and price"


def test_the_instruction_itself() -> None:
    source, checksum = query_source("instruction", "", "instruction", "")
    assert source.query("A, and price lower than 3.00 dollars").endswith("dollars")
    assert checksum == ""


@pytest.mark.parametrize(
    "content", ["[]", "{", '{"a": "b"}', '{"a": [1]}', b"\xff".decode("latin1")]
)
def test_not_a_file_of_queries(tmp_path: Path, content: str) -> None:
    bad = tmp_path / "bad.json"
    bad.write_bytes(content.encode("latin1"))
    with pytest.raises(DataError, match="expected a JSON object"):
        query_source("predicted", str(bad), "skip", "")


def test_a_changed_or_missing_file(path: str) -> None:
    _, checksum = query_source("predicted", path, "skip", "")
    Path(path).write_text(json.dumps({**HELD, "new": ["x"]}))
    with pytest.raises(DataError, match="it has changed"):
        query_source("predicted", path, "skip", checksum)
    assert query_source("predicted", path, "skip", "")[0].query("new") == "x"
    with pytest.raises(DataError, match="cannot be read"):
        query_source("predicted", path + "no", "skip", "")


@pytest.mark.shared
def test_the_real_map(catalog_1k: Catalog) -> None:
    """Every canonical goal string that the map has is found, and the 1k set's goals are known."""
    shared = Path(__file__).resolve().parents[4] / "shared" / "data" / "webshop-text"
    held = json.loads((shared / "goal_query_map.json").read_text())
    source, _ = query_source("human-first", str(shared / "goal_query_map.json"), "skip", "")
    assert len({instruction_key(key) for key in held}) == len(held) == 1506
    for key, queries in held.items():
        assert source.query(f"{key}, and price lower than 40.00 dollars") == queries[0]
    known = {
        instruction_key(text) for text in json.loads((shared / "human_goals.json").read_text())
    }
    goals = catalog_1k.goals("human")
    assert len(goals) == 13
    for goal in (goals[index] for index in range(len(goals))):
        assert instruction_key(goal.instruction_text) in known

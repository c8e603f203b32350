"""The code of README, front page and tutorials runs, and ends where they say."""

import json
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from chat_endpoint import Endpoint
from code_blocks import ROOT, follow
from effort import SLOW

import errands  # noqa: F401 - registers the environments
from errands.runs import open_run
from errands.shop import Catalog

DOCS = ROOT / "docs"


@pytest.mark.parametrize("name", ["README.md", "docs/index.md"])
def test_front_pages(name: str, tmp_path: Path) -> None:
    assert follow(ROOT / name, tmp_path) >= 2


@pytest.mark.parametrize("name", ["first-episode", "your-own-agent", "your-own-tasks"])
def test_tutorials(name: str, tmp_path: Path) -> None:
    assert follow(DOCS / "tutorials" / f"{name}.md", tmp_path) >= 5


def test_train_an_agent(tmp_path: Path) -> None:
    """Its trainings are left to `make test-slow`."""
    pytest.importorskip("torch", reason="needs PyTorch: pip install 'errands[train]'")
    assert follow(DOCS / "tutorials" / "train-an-agent.md", tmp_path) == (6 if SLOW else 2)


def test_evaluate_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai", reason="needs the client: pip install 'errands[llm]'")
    endpoint = Endpoint()
    endpoint.script = lambda request, number: _answer(str(request["messages"]))
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    try:
        assert follow(DOCS / "tutorials" / "evaluate-a-model.md", tmp_path) >= 4
    finally:
        endpoint.server.shutdown()
        endpoint.server.server_close()
    store = open_run(tmp_path / "runs" / "model")
    try:
        # It never buys, so the steps run out; nothing failed.
        assert [one.status for one in store.summaries()] == ["truncated"] * 5
    finally:
        store.close()


def _answer(messages: str) -> str:
    """Of a model that searches once, and leaves every field as it is."""
    if "modify_" in messages:
        return "leave()"
    return "Action: search[shoes]"


def test_your_own_shop(tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'errands[mine]'")
    # The keys that are pressed where the tutorial asks for an opinion.
    assert follow(DOCS / "tutorials" / "your-own-shop.md", tmp_path, keys="a3d1ua2n4q") >= 10
    with (tmp_path / "products.csv").open(encoding="utf-8") as table:
        assert sum(1 for _ in table) == 200
    catalog = Catalog.open(tmp_path / "my-shop")
    assert len(catalog) == 196
    decisions = (tmp_path / "candidates.decisions.jsonl").read_text().splitlines()
    uses = {json.loads(line)["use"] for line in decisions}
    assert {"drop", "good for", "which is", None} <= uses
    store = open_run(tmp_path / "runs" / "oracle")
    try:
        assert 1.0 in [one.reward for one in store.summaries()]
    finally:
        store.close()
    assert _rewards(catalog, 20) == [1.0] * 20


def _rewards(catalog: Catalog, goals: int) -> list[float]:
    """What is paid to somebody who buys what the first goals want."""
    env: Any = gymnasium.make("errands/Shop-v0", catalog=str(catalog.path), goals="synthetic")
    rewards = []
    for number in range(goals):
        goal = catalog.goals("synthetic")[number]
        assert isinstance(goal.goal_options, dict)
        env.reset(options={"goal": number})
        for action in (
            f"search[{goal.name}]",
            f"click[{goal.asin.lower()}]",
            *(f"click[{value}]" for value in goal.goal_options.values()),
            "click[buy now]",
        ):
            _, reward, terminated, _, _ = env.step(action)
        assert terminated
        rewards.append(reward)
    env.close()
    return rewards

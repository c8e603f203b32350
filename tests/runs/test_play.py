"""One episode: what is recorded, whose failure a failure is, and that time runs out."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from errands.agents.agent import AgentError, EndOfRun, ModelError, Move, Usage
from errands.agents.careful import CarefulShopper
from errands.runs.episode import digest
from errands.runs.episode_source import ShopSource, TurkSource
from errands.runs.play import PlayConfig, episode_seed, failed, play, play_waiting
from errands.runs.protocol import Protocol
from errands.runs.replay import replay, watch
from errands.shop.catalog.catalog import Catalog
from errands.turk.pages.driver import DriverError


@pytest.fixture(scope="module")
def shop(little: Catalog) -> ShopSource:
    return ShopSource(
        Protocol(
            id="t",
            version=1,
            title="t",
            domain="shop",
            data=str(little.path),
            split="test",
            episodes=20,
            max_steps=15,
        )
    )


class Scripted:
    """Does what it is told; an exception among its lines is raised."""

    def __init__(self, *script: Any) -> None:
        self._script = iter(script)

    def begin(self, observation: Any, info: Mapping[str, Any]) -> None:
        self.instruction = info.get("instruction")

    def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        line = next(self._script)
        if isinstance(line, BaseException):
            raise line
        return line() if callable(line) else line


class Waiting(Scripted):
    async def begin(self, observation: Any, info: Mapping[str, Any]) -> None:  # type: ignore[override]
        await asyncio.sleep(0)
        super().begin(observation, info)

    async def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        await asyncio.sleep(0)
        return super().act(observation, info)


def test_an_episode_is_recorded_whole_and_replays_to_the_same_pages(shop: ShopSource) -> None:
    episode = play(shop, shop.env(), CarefulShopper(), 3, PlayConfig(observations="full"))
    summary = episode.summary
    assert (summary.number, summary.key, summary.status) == (3, "goal 3", "done")
    assert summary.reward is not None
    assert summary.success == (summary.reward == 1.0)
    assert summary.steps == len(episode.steps) >= 3
    assert {"r_type", "r_att", "r_price"} <= set(summary.parts)
    assert summary.searches >= 1
    assert summary.items >= 1
    for step in episode.steps:
        assert step.observation is not None
        assert digest(step.observation) == step.digest
    assert episode.last is not None
    again = replay(shop, episode)
    assert again.same
    assert again.compared == again.pages == len(episode.steps) + 1
    shown = list(watch(shop, episode))
    assert [page.text for page in shown[:-1]] == [step.observation for step in episode.steps]
    assert all(page.same and "<html" in page.html for page in shown)


def test_a_replay_tells_what_is_not_the_same(shop: ShopSource) -> None:
    episode = play(shop, shop.env(), CarefulShopper(), 3, PlayConfig(observations="hash"))
    first = msgspec.structs.replace(episode.steps[0], digest="00")
    other = msgspec.structs.replace(episode, steps=(first, *episode.steps[1:]))
    assert replay(shop, other).differences == ("page 0 is another",)
    summary = msgspec.structs.replace(episode.summary, reward=0.123)
    found = replay(shop, msgspec.structs.replace(episode, summary=summary))
    assert "not 0.123" in found.differences[0]


@pytest.mark.parametrize("kept", ["full", "hash", "none"])
def test_how_much_of_the_pages_is_kept(shop: ShopSource, kept: str) -> None:
    episode = play(shop, shop.env(), CarefulShopper(), 0, PlayConfig(observations=kept))
    step = episode.steps[0]
    assert (step.observation is not None) == (kept == "full")
    assert bool(step.digest) == bool(episode.last_digest) == (kept != "none")


def test_the_steps_run_out(shop: ShopSource) -> None:
    episode = play(shop, shop.env(), Scripted(*["search[x]"] * 15), 0, PlayConfig())
    assert (episode.summary.status, episode.summary.reward) == ("truncated", 0.0)


@pytest.mark.parametrize(
    ("failure", "owner", "reason"),
    [
        (ValueError("no idea"), "agent", "ValueError: no idea"),
        (AgentError("I give up"), "agent", "I give up"),
        (ModelError("The model is out of reach"), "model", "out of reach"),
        (DriverError("The page crashed, twice"), "page", "crashed"),
        (RuntimeError(), "agent", "RuntimeError"),
        (SystemExit(3), "agent", "SystemExit: 3"),
        (3, "agent", "not with int"),
    ],
)
def test_a_failure_is_an_error_with_an_owner_and_never_a_reward(
    shop: ShopSource, failure: Any, owner: str, reason: str
) -> None:
    for agent in (Scripted("search[x]", failure), Waiting("search[x]", failure)):
        if isinstance(agent, Waiting):
            episode = asyncio.run(play_waiting(shop, shop.env(), agent, 1, PlayConfig()))
        else:
            episode = play(shop, shop.env(), agent, 1, PlayConfig())
        summary = episode.summary
        assert (summary.status, summary.reward, summary.success) == ("error", None, None)
        assert summary.owner == owner
        assert reason in summary.error
        assert [step.action for step in episode.steps] == ["search[x]"]


def test_a_failing_environment_is_not_the_agents_fault(shop: ShopSource) -> None:
    class Broken:
        def reset(self, options: Any) -> Any:
            raise OSError("the disk is gone")

    episode = play(shop, Broken(), CarefulShopper(), 0, PlayConfig())
    assert (episode.summary.owner, episode.summary.status) == ("environment", "error")


def test_the_end_of_a_run_is_no_episode(shop: ShopSource) -> None:
    with pytest.raises(EndOfRun):
        play(shop, shop.env(), Scripted(EndOfRun("enough")), 0, PlayConfig())
    with pytest.raises(EndOfRun):
        asyncio.run(play_waiting(shop, shop.env(), Waiting(EndOfRun("enough")), 0, PlayConfig()))


def test_time_runs_out_even_inside_an_agent_that_catches_everything(shop: ShopSource) -> None:
    def hang() -> str:
        begun = time.monotonic()
        while time.monotonic() - begun < 120:
            try:
                time.sleep(5)
            except Exception:
                continue
        return "search[x]"

    begun = time.monotonic()
    episode = play(shop, shop.env(), Scripted("search[x]", hang), 0, PlayConfig(seconds=2))
    assert time.monotonic() - begun < 60
    assert (episode.summary.owner, episode.summary.status) == ("time", "error")
    assert len(episode.steps) == 1


def test_time_runs_out_while_waiting(shop: ShopSource) -> None:
    class Slow(Waiting):
        async def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
            await asyncio.sleep(60)

    episode = asyncio.run(play_waiting(shop, shop.env(), Slow(), 0, PlayConfig(seconds=0.2)))
    assert episode.summary.owner == "time"


def test_moves_bring_thoughts_and_costs(shop: ShopSource) -> None:
    usage = Usage(calls=1, tokens_in=10, tokens_out=2, cost=0.5)
    move = Move("search[shoes]", "shoes were asked for", usage)
    episode = play(shop, shop.env(), Scripted(move, move, *["x"] * 13), 0, PlayConfig())
    assert episode.steps[0].thought == "shoes were asked for"
    summary = episode.summary
    assert (summary.tokens_in, summary.tokens_out, summary.cost) == (20, 4, 1.0)


def test_waiting_agents_play_what_others_play(shop: ShopSource) -> None:
    class Careful(CarefulShopper):
        async def act(self, observation: str, info: Mapping[str, Any]) -> str:  # type: ignore[override]
            await asyncio.sleep(0)
            return super().act(observation, info)

    here = play(shop, shop.env(), CarefulShopper(), 5, PlayConfig())
    waiting = asyncio.run(play_waiting(shop, shop.env(), Careful(), 5, PlayConfig()))
    assert [step.action for step in here.steps] == [step.action for step in waiting.steps]
    assert here.summary.reward == waiting.summary.reward


def test_an_asynchronous_agent_needs_its_mode(shop: ShopSource) -> None:
    episode = play(shop, shop.env(), Waiting("search[x]"), 0, PlayConfig())
    assert "mode must be 'model'" in episode.summary.error


def test_paperwork_keeps_the_fields_scores() -> None:
    source = TurkSource(
        Protocol(
            id="t",
            version=1,
            title="t",
            domain="turk",
            data="demo",
            observation="html",
            tasks=("Doorbell Log",),
            per_task=1,
        )
    )
    episode = play(
        source, source.env(), Scripted("modify_text('nowhere', 'x')", "submit()"), 0, PlayConfig()
    )
    assert episode.summary.status == "done"
    assert episode.summary.parts["task"] == "Doorbell Log"
    assert episode.summary.parts["page_chars"] > 100
    assert {len(field) for field in episode.summary.parts["fields"]} == {5}
    assert episode.steps[0].message
    assert replay(source, episode).same
    source.close()


def test_seeds_of_episodes_differ_and_stay() -> None:
    assert episode_seed(0, 0) == 131978767253905  # Scores depend on it.
    assert len({episode_seed(seed, number) for seed in range(9) for number in range(99)}) == 891


def test_what_is_left_of_a_lost_episode(shop: ShopSource) -> None:
    lost = failed(shop, 7, "worker", "it ended twice").summary
    assert (lost.number, lost.key, lost.status, lost.reward) == (7, "goal 7", "error", None)
    assert lost.parts == {"cluster": shop.goals[7].asin}


class Watcher:
    """Looks at the first field, where it is shown pictures, and ends the episode."""

    def __init__(self) -> None:
        self.picture: Any = None
        self.pictures: list[bytes] = []

    def watch(self, picture: Any) -> None:
        self.picture = picture

    def begin(self, observation: Any, info: Mapping[str, Any]) -> None:
        pass

    def act(self, observation: Any, info: Mapping[str, Any]) -> str:
        if self.picture is None:
            return "click[buy now]"
        self.pictures.append(self.picture(info["fields"][0]["name"]))
        return "submit()"


def test_an_agent_may_look_at_form_pages(browser_driver: Any) -> None:
    source = TurkSource(
        Protocol(
            id="t",
            version=1,
            title="t",
            domain="turk",
            data="demo",
            split="test",
            settings={"driver": "browser"},
        )
    )
    agent = Watcher()
    episode = play(source, source.env(), agent, 0, PlayConfig())
    source.close()
    assert episode.summary.status == "done"
    assert episode.summary.steps == 1, "a look is no step"
    assert [picture[:4] for picture in agent.pictures] == [b"\x89PNG"]


def test_in_the_shop_there_is_nothing_to_look_at(shop: ShopSource) -> None:
    agent = Watcher()
    assert play(shop, shop.env(), agent, 0, PlayConfig()).summary.status == "truncated"
    assert agent.picture is None

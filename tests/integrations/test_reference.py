"""The reference answer of an episode, as tool calls."""

import pytest

from errands.errors import SettingError
from errands.integrations import open_episodes
from errands.integrations.episodes import ToolEpisodes
from errands.integrations.reference import gold_calls


@pytest.mark.parametrize("domain", ["shop", "forms"])
def test_its_last_call_earns_all_that_there_is_to_earn(
    domain: str, request: pytest.FixtureRequest
) -> None:
    episodes: ToolEpisodes = request.getfixturevalue(domain)
    for number, row in enumerate(episodes):
        calls = gold_calls(episodes, number)
        assert not episodes.at({**row, "calls": calls[:-1]}).done
        tools = episodes.at({**row, "calls": calls})
        assert tools.done
        if domain == "shop":
            assert tools.reward == 1.0
        assert tools.reward > 0.8
        assert tools.steps == len(calls)


def test_an_episode_that_is_not_there_is_one_sentence(shop: ToolEpisodes) -> None:
    with pytest.raises(SettingError, match="no episode 12"):
        gold_calls(shop, 12)


def test_too_few_steps_for_any_purchase_make_no_calls() -> None:
    episodes = open_episodes("shop-demo", episodes=1, max_steps=2)
    assert gold_calls(episodes, 0) == []

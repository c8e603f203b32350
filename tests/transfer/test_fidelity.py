"""There and back: our own shop's website through the bridge is our shop again.

The website's pages are made, asked for by their addresses and read back; an agent that plays over
them must see and do what it would in the shop itself.
"""

from urllib.parse import urlsplit

import pytest

from errands.agents.registry import make_factory
from errands.envs.shop import ShopEnv
from errands.shop.catalog.catalog import Catalog
from errands.shop.navigation import RESULTS, Shop, State
from errands.shop.render.html import html
from errands.shop.urls import parse
from errands.transfer.environment import LiveShopEnv
from errands.transfer.fetch.fetcher import FetchedPage, PageRequest
from errands.transfer.goals import catalog_goals
from errands.transfer.sites.site import site_named

GOALS = 25


class _Website:
    """The shop's website, without a network."""

    def __init__(self, catalog: Catalog) -> None:
        self.asked: list[PageRequest] = []
        self._catalog = catalog
        self._shop = Shop(catalog)

    def __call__(self, request: PageRequest) -> FetchedPage:
        self.asked.append(request)
        address = parse(urlsplit(request.url).path)
        assert address is not None
        hits = self._catalog.find(address.query, 50)
        state = State(RESULTS, address.query, address.number, hits)
        if address.page != RESULTS:
            number = self._catalog.number(address.asin)
            state = State(address.page, address.query, address.number, hits, number)
        return FetchedPage(
            request.url, 200, html(self._shop.look(state), "", session=address.session)
        )


def _same(text: str) -> str:
    """A page whatever its white space: HTML has none of its own."""
    return "\n".join(" ".join(line.split()) for line in text.splitlines())


def _envs(little: Catalog) -> tuple[ShopEnv, LiveShopEnv, _Website]:
    goals = little.goals("human")
    website = _Website(little)
    real = LiveShopEnv(
        catalog_goals(goals[index] for index in range(GOALS)),
        site_named("webshop"), website, max_steps=15, details=True,
    )  # fmt: skip
    own = ShopEnv(catalog=little, goals="human", observation="text_rich", max_steps=15)
    return own, real, website


@pytest.mark.parametrize("agent", ["rule", "shopper", "il"])
def test_an_agent_sees_and_does_the_same(
    agent: str, little: Catalog, request: pytest.FixtureRequest
) -> None:
    own, real, website = _envs(little)
    settings: dict[str, str] = {}
    if agent == "il":
        settings = {"checkpoint": str(request.getfixturevalue("taught"))}
    bought = steps = 0
    for goal in range(GOALS):
        players = [make_factory(agent, "shop", env, settings).agent(goal) for env in (own, real)]
        seen = [env.reset(options={"goal": goal}) for env in (own, real)]
        for player, (observation, info) in zip(players, seen, strict=True):
            player.begin(observation, info)
        before = len(website.asked)
        over = False
        while not over:
            (one, info), (other, real_info) = seen
            assert _same(one) == _same(other)
            assert info["available_actions"] == real_info["available_actions"]
            actions = [
                player.act(observation, held)
                for player, (observation, held) in zip(players, seen, strict=True)
            ]
            assert actions[0] == actions[1]
            mine, its = own.step(str(actions[0])), real.step(str(actions[0]))
            steps += 1
            assert mine[2:4] == its[2:4]
            over = mine[2] or mine[3]
            seen = [(mine[0], mine[4]), (its[0], its[4])]
            if mine[2]:
                bought += 1
                held = its[4]["purchase"]
                assert held["product"]["id"] == own.episode.page.product.asin  # type: ignore[union-attr]
                assert held["options"] == own.episode.page.options
        kinds = [asked.kind for asked in website.asked[before:]]
        assert set(kinds) <= {"search", "item"}
        assert len(kinds) == sum(seen[1][1]["requests"].values())
    assert steps >= 3 * GOALS
    assert bought > 0 or agent == "il", "one that has hardly learnt may never buy"

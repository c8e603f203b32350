"""What the tests of all frameworks share: a few episodes of each domain, and the scripted model."""

from collections.abc import Iterator

import pytest
from chat_endpoint import Endpoint
from scripted_model import Script

from errands.integrations.episodes import ToolEpisodes, open_episodes

SHOP = "shop-demo"
FORMS = "turk-demo"


@pytest.fixture(scope="session")
def shop() -> ToolEpisodes:
    """Twelve goals of the demo shop."""
    return open_episodes(SHOP, episodes=12)


@pytest.fixture(scope="session")
def forms() -> ToolEpisodes:
    """Twelve form pages, each of another task."""
    return open_episodes(FORMS, episodes=12)


@pytest.fixture(scope="session")
def shop_script(shop: ToolEpisodes) -> Script:
    return Script(shop)


@pytest.fixture(scope="session")
def form_script(forms: ToolEpisodes) -> Script:
    return Script(forms)


@pytest.fixture
def shop_endpoint(shop_script: Script) -> Iterator[Endpoint]:
    """A chat endpoint that plays `careful`'s calls."""
    endpoint = shop_script.endpoint()
    yield endpoint
    endpoint.close()


@pytest.fixture
def form_endpoint(form_script: Script) -> Iterator[Endpoint]:
    """A chat endpoint that plays the oracle's calls."""
    endpoint = form_script.endpoint()
    yield endpoint
    endpoint.close()

"""Other frameworks, one file each, over one core: the same tools, the same score everywhere.

`frameworks` says which there are and checks what is installed; `episodes` opens a protocol's
episodes as tools. Every other module here adapts these two to one framework and is imported by it
or by name alone, so that `errands` itself needs none of them.
"""

from typing import TYPE_CHECKING

from errands.lazy import lazy_exports

__all__ = [
    "FRAMEWORKS",
    "EpisodeTools",
    "Framework",
    "IntegrationError",
    "ShopTools",
    "ToolEpisodes",
    "ToolError",
    "ToolSpec",
    "TurkPointerTools",
    "TurkTools",
    "call_tool",
    "form_messages",
    "open_episodes",
    "opening_messages",
    "require",
]

if TYPE_CHECKING:
    from errands.agents.llm.shop.tools import ShopTools, opening_messages
    from errands.agents.llm.tools import EpisodeTools, ToolError, ToolSpec, call_tool
    from errands.agents.llm.turk.tools import TurkPointerTools, TurkTools, form_messages
    from errands.integrations.episodes import ToolEpisodes, open_episodes
    from errands.integrations.frameworks import (
        FRAMEWORKS,
        Framework,
        IntegrationError,
        require,
    )
else:
    __getattr__ = lazy_exports(__name__)

"""Language-model agents: `transport` talks to a chat endpoint, `shop` and `turk` show it pages and
read its answers, `prompts` has the words."""

from typing import TYPE_CHECKING

from errands.lazy import lazy_exports

__all__ = [
    "EpisodeTools",
    "LanguageModel",
    "ShopTools",
    "ToolError",
    "ToolSpec",
    "TurkPointerTools",
    "TurkTools",
    "call_tool",
    "form_messages",
    "make",
    "opening_messages",
]

if TYPE_CHECKING:
    from errands.agents.llm.factory import LanguageModel, make
    from errands.agents.llm.shop.tools import ShopTools, opening_messages
    from errands.agents.llm.tools import EpisodeTools, ToolError, ToolSpec, call_tool
    from errands.agents.llm.turk.tools import TurkPointerTools, TurkTools, form_messages
else:
    __getattr__ = lazy_exports(__name__)

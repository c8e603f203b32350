"""Language-model agents: `transport` talks to a chat endpoint, `shop` and `turk` show it pages and
read its answers, `prompts` has the words."""

from typing import TYPE_CHECKING

from errands.lazy import lazy_exports

__all__ = ["LanguageModel", "ShopTools", "ToolError", "make", "opening_messages"]

if TYPE_CHECKING:
    from errands.agents.llm.factory import LanguageModel, make
    from errands.agents.llm.shop.tools import ShopTools, ToolError, opening_messages
else:
    __getattr__ = lazy_exports(__name__)

"""`WebAgentSiteEnv`: the original's environment that drives a browser, which there is not."""

from typing import Any, NoReturn

from errands.errors import SettingError

__all__ = ["WebAgentSiteEnv"]


class WebAgentSiteEnv:
    """Kept so that imports of it work: whoever makes one is told what to use."""

    def __init__(self, *arguments: Any, **options: Any) -> NoReturn:
        raise SettingError(
            "WebAgentSiteEnv drove Chrome through Selenium and is not supported: use"
            " WebAgentTextEnv (the same pages, without a browser), or `errands serve` and a browser"
            " of yours."
        )

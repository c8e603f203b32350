"""The environment as webshop-minimal has it: it tells the parts of the reward at the purchase."""

from typing import Any

from errands_legacy import text_env
from errands_legacy.server import SimBrowser, SimServer
from errands_legacy.sources import PathLike

from webshop_minimal import utils

__all__ = ["SimBrowser", "SimServer", "WebAgentTextEnv"]


class WebAgentTextEnv(text_env.WebAgentTextEnv):
    """The original's, with the files that `init_basedir` chose unless others are given."""

    def __init__(
        self,
        observation_mode: str = "html",
        file_path: PathLike | None = None,
        server: SimServer | None = None,
        **kwargs: Any,
    ) -> None:
        chosen = file_path or utils.get_file_path() or None
        super().__init__(observation_mode, chosen, server, **kwargs)

    def _info(self, done: bool) -> Any:
        return self.server.user_sessions[self.session]["verbose_info"] if done else None

"""Errands over the network: one process that owns the catalogue, and everything it serves.

`core` makes one ASGI application out of parts: `env_api` (environments for trainers on other
machines), `shop` (the shop as a website), `crowd` (crowd work), `runs` (pages about runs), `review`
(mined attributes and scores by hand, for one person). Needs the extra `errands[serve]`.
"""

from typing import TYPE_CHECKING

from errands.lazy import lazy_exports

__all__ = ["CrowdConfig", "ServerLimits", "ServerStart", "SiteConfig", "serve"]

if TYPE_CHECKING:
    from errands.web.core.limits import ServerLimits
    from errands.web.server import CrowdConfig, ServerStart, SiteConfig, serve
else:
    __getattr__ = lazy_exports(__name__)

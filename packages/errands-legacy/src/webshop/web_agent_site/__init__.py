"""`web_agent_site` under another name: the same modules, not copies of them."""

import importlib
import sys

__all__: list[str] = []

for _name in (
    "engine engine.engine engine.goal engine.normalize envs envs.web_agent_site_env"
    " envs.web_agent_text_env models models.models utils"
).split():
    _module = importlib.import_module(f"web_agent_site.{_name}")
    sys.modules[f"{__name__}.{_name}"] = _module
    if "." not in _name:
        globals()[_name] = _module

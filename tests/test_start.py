"""What a process imports before it shops: counted, for a clock would say the same less surely."""

import json
import subprocess
import sys

from errands.shop.catalog.catalog import Catalog

START = """
import json, sys
stages = [list(sys.modules)]
import errands, gymnasium
stages.append(list(sys.modules))
env = gymnasium.make("errands/Shop-v0", catalog=sys.argv[1])
stages.append(list(sys.modules))
env.reset(seed=0)
env.step("search[red shoes]")
stages.append(list(sys.modules))
print(json.dumps(stages))
"""
PACKAGES = {
    "errands", "gymnasium", "farama_notifications", "markupsafe", "msgspec", "numpy",
    "typing_extensions", "zstandard",
}  # fmt: skip
"""What is not Python's own; rapidfuzz waits for the first purchase."""


def ours(modules: set[str]) -> set[str]:
    return {name for name in modules if name.partition(".")[0] == "errands"}


def test_an_environment_is_made_of_few_modules(little: Catalog) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", START, str(little.path)], capture_output=True, text=True, check=True
    )
    bare, imported, made, searched = map(set, json.loads(ran.stdout))
    found = {name.partition(".")[0] for name in made - bare} - set(sys.stdlib_module_names)
    # Parts of extension modules, under names of Cython's.
    assert {name for name in found if "cython" not in name} - {"__mp_main__"} == PACKAGES
    assert not searched - made - set(sys.stdlib_module_names)
    assert len(ours(imported)) <= 5
    assert len(ours(made)) <= 54
    above = ("errands.turk", "errands.agents", "errands.runs", "errands.web", "errands.cli")
    assert not [name for name in made if name.startswith(above)]

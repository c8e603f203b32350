"""Every agent is made by its name, its settings are checked, and mistakes get one sentence."""

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from errands.agents.agent import PrivilegedAgent
from errands.agents.registry import find_kind, kinds, make_factory
from errands.envs.shop import ShopEnv
from errands.envs.turk import TurkEnv
from errands.errors import SettingError
from errands.extras import install_command
from errands.shop.catalog.catalog import Catalog

PLAYABLE = [
    (kind.name, domain)
    for kind in kinds()
    for domain in kind.domains
    # Trained agents need something that was trained: tests/learn.
    if kind.name not in ("llm", "human", "il", "rl", "rnn")
]


@pytest.fixture
def shop(little: Catalog) -> ShopEnv:
    return ShopEnv(little, max_steps=40)


@pytest.mark.parametrize(("name", "domain"), PLAYABLE)
def test_every_agent_plays_and_repeats_itself(
    name: str, domain: str, shop: ShopEnv, turk_env: TurkEnv, play: Any, tmp_path: Path
) -> None:
    env: Any = shop if domain == "shop" else turk_env
    settings = {}
    if name == "shopper":
        env = ShopEnv(shop.context.catalog, max_steps=40, observation="text_rich")
    if name == "teacher":
        env = ShopEnv(
            shop.context.catalog, goals="human", split="disjoint-train", max_steps=40,
            observation="text_rich",
        )  # fmt: skip
    if name == "replay":
        script = tmp_path / "script.txt"
        lines = ["search[a]", "click[next >]"] * 20 if domain == "shop" else ["submit()"]
        script.write_text("\n".join(lines))
        settings = {"actions": script}
    factory = make_factory(name, domain, env, settings)
    kind = find_kind(name)
    assert (factory.name, factory.mode) == (name, kind.mode)
    assert set(factory.settings) == set(kind.settings)
    assert isinstance(factory.agent(0), PrivilegedAgent) == kind.privileged
    goal = env.context.indices[0] if name == "teacher" else 3
    wheres = [{"goal": goal}] if domain == "shop" else [{"task": turk_env.tasks.names[4], "row": 1}]
    for where in wheres:
        first = play(env, factory, where, 7)
        assert first == play(env, factory, where, 7)
        # What is kept of a run's settings makes the same agents again.
        again = make_factory(name, domain, env, factory.settings)
        assert dict(again.settings) == dict(factory.settings)
        assert first == play(env, again, where, 7)
        if name == "random":
            others = [play(env, factory, where, seed).actions for seed in range(8, 14)]
            assert any(other != first.actions for other in others)
    factory.close()


def test_the_table_is_complete() -> None:
    names = [kind.name for kind in kinds()]
    assert len(set(names)) == len(names)
    for kind in kinds():
        assert set(kind.domains) <= {"shop", "turk"}
        assert kind.domains
        assert "\n" not in kind.summary
        module = kind.factory.partition(":")[0]
        assert kind.name == "llm" or importlib.util.find_spec(module)
        for setting in kind.settings.values():
            assert type(setting.default) is setting.type
            assert setting.help


@pytest.mark.parametrize(
    ("name", "domain", "settings", "words"),
    [
        ("randm", "shop", {}, ["'randm'", "did you mean 'random'", "choice-oracle"]),
        ("zzz", "shop", {}, ["'zzz'", "expected random"]),
        ("rule", "turk", {}, ["'rule' plays shop only", "do-nothing"]),
        ("oracle", "shop", {}, ["'oracle' plays turk only", "careful"]),
        ("rule", "kitchen", {}, ["not 'kitchen'", "none"]),
        ("rule", "shop", {"speed": 1}, ["'speed'", "it has none"]),
        ("choice-oracle", "shop", {"query": "human"}, ["query=human", "human-first"]),
        ("choice-oracle", "shop", {"query": "human-last"}, ["queries=PATH"]),
        ("choice-oracle", "shop", {"queries": "x.json"}, ["x.json", "not used"]),
        ("choice-oracle", "shop", {"missing": "no"}, ["missing=no", "skip"]),
        ("replay", "shop", {}, ["actions=PATH"]),
        ("nowhere:Agent", "shop", {}, ["no module 'nowhere'", "module:attribute"]),
        ("json:Agent", "shop", {}, ["'json' has no 'Agent'"]),
        ("json:loadz", "shop", {}, ["did you mean 'load' or 'loads'"]),
        ("json:__name__", "shop", {}, ["json:__name__ has no method 'begin'"]),
        (":x", "shop", {}, ["':x'", "module:attribute"]),
        ("json:dumps", "shop", {}, ["json:dumps has no method 'begin' and no 'act'"]),
    ],
)  # fmt: skip
def test_mistakes(
    name: str,
    domain: str,
    settings: dict[str, Any],
    words: list[str],
    shop: ShopEnv,
    turk_env: TurkEnv,
) -> None:
    with pytest.raises(SettingError) as caught:
        make_factory(name, domain, turk_env if domain == "turk" else shop, settings)
    for word in words:
        assert word in str(caught.value)


def test_careful_says_what_it_reads(little: Catalog) -> None:
    with pytest.raises(SettingError, match="observation='text'"):
        make_factory("careful", "shop", ShopEnv(little, observation="html"), {})
    with pytest.raises(SettingError, match="earlier"):
        make_factory("careful", "shop", ShopEnv(little, num_prev_obs=1), {})


OWN = '''
"""A user's own agents."""

class Buyer:
    def begin(self, observation, info): ...
    def act(self, observation, info):
        return "search[shoes]" if info["available_actions"]["has_search_bar"] else "click[next >]"

class Seeded(Buyer):
    def __init__(self, seed): self.seed = seed

class Needy(Buyer):
    def __init__(self, model): ...

class Waiting(Buyer):
    async def act(self, observation, info): return "search[shoes]"

class Silent:
    def begin(self, observation, info): ...

class Hasty:
    def act(self, observation, info): return "search[shoes]"

class Empty: ...

class House:
    name, mode = "house", "compute"
    def __init__(self, domain, env, settings):
        self.domain, self.env, self.settings = domain, env, settings
    def agent(self, seed): return Buyer()
    def close(self): ...

def nothing(domain, env, settings): return None

class Group:
    Inner = Buyer
'''


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module in the folder that the user is in, which Python does not look into by itself."""
    name = f"own_agents_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(OWN)
    (tmp_path / f"{name}_broken.py").write_text("import nothing_of_the_kind\n")
    (tmp_path / f"{name}_wrong.py").write_text("1 / 0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    return name


def test_own_agent_class(own: str, shop: ShopEnv, play: Any) -> None:
    factory = make_factory(f"{own}:Buyer", "shop", shop, {})
    assert (factory.name, factory.mode, dict(factory.settings)) == (f"{own}:Buyer", "compute", {})
    assert play(shop, factory, {"goal": 0}).actions[:2] == ["search[shoes]", "click[next >]"]
    assert make_factory(f"{own}:Seeded", "shop", shop, {}).agent(5).seed == 5  # type: ignore[attr-defined]
    assert make_factory(f"{own}:Waiting", "shop", shop, {}).mode == "model"
    assert make_factory(f"{own}:Group.Inner", "shop", shop, {}).agent(0)


def test_own_maker(own: str, shop: ShopEnv) -> None:
    factory: Any = make_factory(f"{own}:House", "shop", shop, {"a": "1"})
    assert (factory.domain, factory.env, factory.settings) == ("shop", shop, {"a": "1"})


@pytest.mark.parametrize(
    ("what", "settings", "words"),
    [
        (":Buyer", {"a": 1}, ["without settings", "'a'"]),
        (":Needy", {}, ["needs 'model'"]),
        (":nothing", {}, ["NoneType without 'name'"]),
        (
            ":Silent",
            {},
            [":Silent has no method 'act'; an agent is a class with begin(observation"],
        ),
        (":Hasty", {}, [":Hasty has no method 'begin'; an agent is"]),
        (":Empty", {}, [":Empty has no method 'begin' and no 'act'"]),
        (".py:Buyer", {}, ["without .py: own_agents_", ":Buyer."]),
        (":Byer", {}, ["did you mean 'Buyer'"]),
        ("_broken:X", {}, ["cannot be imported", "nothing_of_the_kind"]),
        ("_wrong:X", {}, ["cannot be imported", "ZeroDivisionError"]),
    ],
)
def test_own_mistakes(
    what: str, settings: dict[str, Any], words: list[str], own: str, shop: ShopEnv
) -> None:
    with pytest.raises(SettingError) as caught:
        make_factory(own + what, "shop", shop, settings)
    for word in words:
        assert word in str(caught.value)


def test_a_missing_extra_says_what_to_install(
    shop: ShopEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "errands.agents.llm.factory", None)
    with pytest.raises(SettingError, match=re.escape(install_command("llm"))):
        make_factory("llm", "shop", shop, {"anything": "goes"})

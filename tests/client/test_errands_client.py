"""The client of one file plays what the package plays here, and says what is wrong."""

import ast
import random
import re
import sys
import warnings
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from served import Served, served

from errands.envs.shop import ShopEnv
from errands.envs.shop_vector import ShopVectorEnv
from errands.envs.turk import TurkEnv
from errands.shop.catalog.catalog import Catalog
from errands.web.core.limits import ServerLimits

FILE = Path(__file__).parents[2] / "packages" / "errands-client" / "errands_client.py"


def chosen(dice: random.Random, info: dict[str, Any]) -> str:
    clickables = info["available_actions"]["clickables"]
    if dice.random() < 0.3 or not clickables:
        return f"search[{info['instruction'][:40]} läßt \U0001f600]"
    return f"click[{dice.choice(clickables)}]"


def test_it_is_short_and_needs_nothing() -> None:
    source = FILE.read_text()
    assert sum(bool(line.strip()) for line in source.splitlines()) < 400
    tree = ast.parse(source, feature_version=(3, 8))
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [n.name for n in node.names]
        )
    }
    assert imported - sys.stdlib_module_names == {"gym", "gymnasium", "numpy"}


def test_the_page_about_it_runs(
    client: ModuleType, server: Served, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (FILE.parents[2] / "docs" / "guides" / "old-pythons.md").read_text()
    [block] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    monkeypatch.setitem(sys.modules, "errands_client", client)
    names: dict[str, Any] = {}
    exec(block.replace("http://127.0.0.1:8000", url), names)
    assert names["over"]
    assert names["info"]["instruction"]


@pytest.mark.parametrize(
    "settings",
    [{}, {"observation": "html", "rules": "paper", "max_steps": 6}, {"split": "eval"}],
)
def test_a_shop_equals_the_local_one(
    client: ModuleType, url: str, little: Catalog, settings: dict[str, Any]
) -> None:
    local = ShopEnv(little, **settings)
    remote = client.ErrandsEnv(url, **settings)
    dice = random.Random(5)
    here = local.reset(seed=11)
    assert remote.reset(seed=11) == here
    info, ends = here[1], 0
    for number in range(120):
        action = chosen(dice, info)
        step = local.step(action)
        assert remote.step(action) == step
        assert remote.render() == step[0]
        info = step[-1]
        if step[2] or step[3]:
            ends += 1
            options = {"goal": np.int64(number)} if dice.random() < 0.5 else None
            here = local.reset(options=options)
            assert remote.reset(options=options) == here
            info = here[1]
    assert ends > 2
    remote.close()


def test_a_form_equals_the_local_one(client: ModuleType, url: str) -> None:
    local = TurkEnv("demo", driver="dom", observation="text")
    remote = client.ErrandsEnv(url, "turk", observation="text")
    for options in ({"task": "Address Cleanup", "row": 0}, None):
        assert remote.reset(seed=2, options=options) == local.reset(seed=2, options=options)
        for action in ("modify_text('name', 'Mrs Odile Farn')", "nonsense(", "submit()"):
            assert remote.step(action) == local.step(action)
    remote.close()
    local.close()


@pytest.mark.parametrize("environment", ["shop", "turk"])
def test_check_env_has_nothing_to_say(
    gymnasium_client: ModuleType, url: str, environment: str
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium_client.ErrandsEnv(url, environment)
        assert isinstance(env, gymnasium.Env)
        check_env(env, skip_render_check=True)
        env.close()


@pytest.mark.parametrize("environment", ["shop", "turk"])
def test_samples_are_actions(client: ModuleType, url: str, environment: str) -> None:
    env = client.ErrandsEnv(url, environment)
    env.reset(seed=0)
    env.action_space.seed(4)
    actions = [env.action_space.sample() for _ in range(30)]
    assert len(set(actions)) > 2
    assert all(env.action_space.contains(action) for action in actions)
    assert not env.action_space.contains(7)
    env.action_space.seed(4)
    assert [env.action_space.sample() for _ in range(30)] == actions
    env.close()


def test_the_old_interface_has_four_things(client: ModuleType, url: str) -> None:
    env = client.ErrandsEnv(url, old_api=True, max_steps=2)
    seen = env.reset(seed=3)
    assert isinstance(seen, str)
    observation, reward, done, info = env.step("search[lamp]")
    assert (observation == seen, reward, done) == (False, 0.0, False)
    assert "TimeLimit.truncated" not in info
    *_, done, info = env.step("search[lamp]")
    assert done
    assert info["TimeLimit.truncated"] is True
    env.close()


def test_the_old_seed_is_that_of_the_next_reset(plain_client: ModuleType, url: str) -> None:
    env = plain_client.ErrandsEnv(url, old_api=True)
    first = env.reset(seed=8)
    second = env.reset()
    assert env.seed(8) == [8]
    assert [env.reset(), env.reset()] == [first, second]
    env.close()


def test_a_vector_equals_the_local_one(client: ModuleType, url: str, little: Catalog) -> None:
    local = ShopVectorEnv(5, catalog=little, max_steps=6)
    remote = client.ErrandsVectorEnv(5, url, max_steps=6)
    infos = same(remote.reset(seed=3), local.reset(seed=3))
    dice = random.Random(1)
    for _ in range(30):
        actions = [
            chosen(
                dice,
                {"available_actions": infos["available_actions"][i], "instruction": "red lamp"},
            )
            for i in range(5)
        ]
        infos = same(remote.step(actions), local.step(actions))
    same(
        remote.reset(options={"goal": [3, 3, 1, 2, 0]}),
        local.reset(options={"goal": [3, 3, 1, 2, 0]}),
    )
    same(remote.reset(seed=[1, 2, 3, 4, 5]), local.reset(seed=[1, 2, 3, 4, 5]))
    remote.close()


def same(one: tuple[Any, ...], other: tuple[Any, ...]) -> dict[str, Any]:
    for a, b in zip(one[:-1], other[:-1], strict=True):
        assert list(a) == list(b)
    assert one[-1].keys() == other[-1].keys()
    for name in one[-1]:
        # What an environment does not tell is None here, and any number in an array of numbers.
        told = one[-1].get(f"_{name}", [True] * len(one[0]))
        pairs = zip(one[-1][name], other[-1][name], told, strict=True)
        assert all(a == b for a, b, has in pairs if has), name
    infos: dict[str, Any] = one[-1]
    return infos


def test_columns_are_arrays_where_there_are_arrays(
    gymnasium_client: ModuleType, plain_client: ModuleType, url: str
) -> None:
    for client, kind in ((gymnasium_client, np.ndarray), (plain_client, list)):
        envs = client.ErrandsVectorEnv(2, url, "turk", max_steps=3)
        assert isinstance(envs.reset(seed=0)[1]["fields"], kind)
        _, rewards, terminated, _, _ = envs.step(["submit()"] * 2)
        assert isinstance(rewards, kind)
        assert all(terminated)
        envs.close()


def test_without_autoreset_the_end_stays(client: ModuleType, url: str) -> None:
    envs = client.ErrandsVectorEnv(3, url, "turk", autoreset=False)
    with pytest.raises(ValueError, match="all begin anew"):
        envs.reset(options={"reset_mask": [True, False, True]})
    envs.reset(seed=0)
    pages = envs.step(["submit()", "scroll_down()", "scroll_down()"])[0]
    seen, rewards, terminated, _, _ = envs.step(["submit()", "scroll_down()", "submit()"])
    assert list(terminated) == [True, False, True]
    assert (seen[0], rewards[0]) == (pages[0], 0.0)
    _, infos = envs.reset(options={"reset_mask": [True, False, False], "row": 0})
    assert list(infos["_task"]) == [True, False, False]
    assert list(envs.step(["scroll_down()"] * 3)[2]) == [False, False, True]
    envs.close()
    if client.gym:
        assert envs.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.DISABLED


def test_more_sessions_than_fit_one_message(
    plain_client: ModuleType, server: Served, url: str
) -> None:
    before = server.metric("errands_sessions_open")
    envs = plain_client.ErrandsVectorEnv(600, url)
    envs.reset(seed=0)
    assert len(envs.step([f"search[{'ä lamp ' * 570}]"] * 600)[0]) == 600
    assert server.metric("errands_sessions_open") == before + 600
    envs.close()
    envs.close()
    assert server.metric("errands_sessions_open") == before


@pytest.mark.parametrize(
    "address",
    ["", "127.0.0.1:8000", "ftp://h:1", "http://", "http://h:x", "http://h:99999", "http://a b",
     "http://h\r\nX: y", "http://[::1", "http://" + "a" * 64 + ".b", "http://ä", None, 7],
)  # fmt: skip
def test_an_address_that_is_none(client: ModuleType, address: Any) -> None:
    with pytest.raises(ValueError, match=r"^url=.*expected a server's address.*:8000'\.$"):
        client.ErrandsEnv(address)


def test_wrong_arguments_are_one_sentence(client: ModuleType, url: str) -> None:
    for make, sentence in (
        (lambda: client.ErrandsEnv(url, "shopp"), "environment='shopp': expected shop or turk"),
        (lambda: client.ErrandsEnv(url, token="a\r\nb"), "token: expected"),
        (lambda: client.ErrandsEnv(url, timeout=0), "timeout=0: expected seconds"),
        (lambda: client.ErrandsVectorEnv(0, url), "num_envs=0: expected 1 or more"),
    ):
        with pytest.raises(ValueError, match=sentence):
            make()
    envs = client.ErrandsVectorEnv(2, url)
    with pytest.raises(ValueError, match="goal has 3 values; expected 2"):
        envs.reset(options={"goal": [1, 2, 3]})
    with pytest.raises(ValueError, match="seed has 1 values; expected 2"):
        envs.reset(seed=[1])
    envs.reset()
    with pytest.raises(ValueError, match="1 actions were given; expected 2"):
        envs.step(["search[a]"])
    envs.close()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"max_stepz": 3}, "max_stepz"),
        ({"catalog": "demo"}, "catalog"),
        ({"observation": "pixels"}, "There is no observation format 'pixels'"),
        ({"max_steps": float("nan")}, "not JSON"),
        ({"rules": object()}, "rules"),
        ({"rules": ["a"]}, "not as expected"),
    ],
)
def test_wrong_settings_are_the_servers_sentence(
    client: ModuleType, url: str, server: Served, settings: dict[str, Any], sentence: str
) -> None:
    before = server.metric("errands_sessions_open")
    with pytest.raises(client.ErrandsServerError, match=sentence) as refused:
        client.ErrandsEnv(url, **settings)
    assert refused.value.code.startswith("bad_")
    assert server.metric("errands_sessions_open") == before


def test_a_refused_call_has_changed_nothing(client: ModuleType, url: str) -> None:
    env = client.ErrandsEnv(url, max_steps=1)
    with pytest.raises(client.ErrandsServerError, match=r"call reset\(\) first"):
        env.step("search[a]")
    with pytest.raises(client.ErrandsServerError, match="There is no goal") as refused:
        env.reset(options={"goal": 10**6})
    assert refused.value.code == "bad_setting"
    env.reset(seed=1)
    with pytest.raises(client.ErrandsServerError, match="5000 characters; the most is 4096"):
        env.step("x" * 5000)
    assert env.step("search[lamp \ud83d]")[3]
    with pytest.raises(client.ErrandsServerError) as over:
        env.step("search[a]")
    assert over.value.code == "episode_over"
    env.close()
    with pytest.raises(client.ErrandsServerError, match="reset"):
        env.step("search[a]")


def test_a_vector_of_which_one_was_refused_begins_anew(client: ModuleType, url: str) -> None:
    envs = client.ErrandsVectorEnv(2, url)
    envs.reset(seed=1)
    with pytest.raises(client.ErrandsServerError, match="5000 characters"):
        envs.step(["search[a]", "x" * 5000])
    with pytest.raises(client.ErrandsServerError, match=r"call reset\(\) first"):
        envs.step(["search[a]", "search[a]"])
    envs.reset(seed=1)
    envs.step(["search[a]", "search[a]"])
    envs.close()


def test_a_token_is_asked_for(client: ModuleType, scheme: str, little: Catalog) -> None:
    with served(little, token="secret") as guarded:
        url = guarded.url.replace("http", scheme)
        for token in (None, "wrong"):
            with pytest.raises(client.ErrandsServerError, match="wants its token") as refused:
                client.ErrandsEnv(url, token=token)
            assert refused.value.code == "unauthorized"
        env = client.ErrandsEnv(url, token="secret")
        env.reset(seed=0)
        env.close()


def test_a_busy_server_is_asked_again(
    client: ModuleType, scheme: str, little: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    with served(little, slow_calls=0) as busy:

        def wait(seconds: float) -> None:
            waits.append(seconds)
            if len(waits) % 2 == 0:
                busy.service.limits = ServerLimits(slow_calls=1)

        # Not the clock of the whole process: the server's threads wait, too.
        clock = SimpleNamespace(**{**vars(client.time), "sleep": wait})
        monkeypatch.setattr(client, "time", clock)
        envs = client.ErrandsVectorEnv(3, busy.url.replace("http", scheme), "turk")
        busy.service.limits = ServerLimits(slow_calls=0)
        envs.reset(seed=0)  # Each call of the batch was refused, and is made again.
        envs.step(["submit()"] * 3)
        assert waits == [1.0] * 4
        busy.service.limits = ServerLimits(in_flight=-1, slow_calls=0)
        clock.sleep = waits.append
        with pytest.raises(client.ErrandsServerError) as refused:
            envs.reset()
        assert refused.value.code == "busy"
        assert len(waits) == 24
        envs.close()

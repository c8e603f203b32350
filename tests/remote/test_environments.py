"""A remote shop is the local one, seen from afar."""

import random
import signal
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import gymnasium
import msgspec
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from served import Served, served
from websockets.sync.server import ServerConnection, serve

from errands.envs.config import ShopConfig
from errands.envs.shop import ShopEnv
from errands.envs.shop_vector import ShopVectorEnv
from errands.envs.turk import TurkEnv
from errands.envs.turk_config import TurkConfig
from errands.errors import ErrandsError, SettingError
from errands.remote.client import Connection, RemoteError
from errands.remote.environments import RemoteShopEnv, RemoteShopVectorEnv, RemoteTurkEnv
from errands.shop.catalog.catalog import Catalog
from errands.turk.actions.action import Action
from errands.web.core.limits import ServerLimits


@pytest.fixture(scope="module")
def demo() -> Catalog:
    return Catalog.open("demo")


@pytest.fixture(scope="module")
def shop(demo: Catalog) -> Iterator[Served]:
    with served(demo) as running:
        yield running


def chosen(dice: random.Random, info: dict[str, Any]) -> str:
    clickables = info["available_actions"]["clickables"]
    if dice.random() < 0.3 or not clickables:
        return f"search[{info['instruction']}]"
    return f"click[{dice.choice(clickables)}]"


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"observation": "text_rich", "goals": "human", "split": "train", "max_steps": 12},
        {"observation": "html", "rules": "paper", "goal_draw": "uniform"},
        {"observation": "url", "num_prev_obs": 2, "num_prev_actions": 1, "search_anywhere": False},
        {"after_purchase": "open", "show_attrs": True, "marks": "true", "max_steps": 30},
        {"split": "disjoint-test"},
    ],
)
def test_a_remote_shop_equals_the_local_one(
    shop: Served, demo: Catalog, settings: dict[str, Any]
) -> None:
    local = ShopEnv(demo, **settings)
    remote = gymnasium.make("errands/RemoteShop-v0", url=shop.url, **settings)
    dice = random.Random(5)
    here = local.reset(seed=11)
    assert remote.reset(seed=11) == here
    info = here[1]
    ends = 0
    for number in range(300):
        action = chosen(dice, info)
        step = local.step(action)
        assert remote.step(action) == step
        info = step[-1]
        if (step[2] or step[3]) and dice.random() < 0.5:
            ends += 1
            options = {"goal": np.int64(number)} if dice.random() < 0.5 else None
            here = local.reset(options=options)
            assert remote.reset(options=options) == here
            info = here[1]
    assert ends > 2
    remote.close()


def test_check_env_has_nothing_to_say(shop: Served) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = RemoteShopEnv(shop.url)
        check_env(env, skip_render_check=True)
        env.close()


@pytest.mark.parametrize("mode", ["next_step", "same_step", "disabled"])
def test_a_remote_vector_equals_the_local_one(shop: Served, demo: Catalog, mode: str) -> None:
    settings: dict[str, Any] = {"goals": "human", "max_steps": 8, "autoreset": mode}
    local = ShopVectorEnv(7, catalog=demo, **settings)
    remote = gymnasium.make_vec("errands/RemoteShop-v0", num_envs=7, url=shop.url, **settings)
    assert remote.metadata["autoreset_mode"] == local.metadata["autoreset_mode"]
    same(remote.reset(seed=3), local.reset(seed=3))
    dice = random.Random(mode)
    infos = local.reset(seed=4)[1]
    remote.reset(seed=4)
    for _ in range(40):
        actions = [
            chosen(
                dice,
                {"available_actions": infos["available_actions"][i], "instruction": "red lamp"},
            )
            for i in range(7)
        ]
        there, here = remote.step(actions), local.step(actions)
        same(there, here)
        infos = here[-1]
        if mode == "disabled" and (over := here[2] | here[3]).any():
            options = {"reset_mask": over, "goal": 3}
            same(remote.reset(options=options), local.reset(options=options))
    remote.close()


def same(one: tuple[Any, ...], other: tuple[Any, ...]) -> None:
    for a, b in zip(one[:-1], other[:-1], strict=True):
        assert np.array_equal(a, b)
    assert one[-1].keys() == other[-1].keys()
    for name in one[-1]:
        assert one[-1][name].tolist() == other[-1][name].tolist(), name


def test_more_shops_than_fit_one_message(shop: Served) -> None:
    envs = RemoteShopVectorEnv(1100, shop.url)
    envs.reset(seed=0)
    observations, *_ = envs.step(["search[lamp]"] * 1100)
    assert len(observations) == 1100
    before = shop.metric("errands_sessions_open")
    envs.close()
    assert shop.metric("errands_sessions_open") == before - 1100


def test_closing_closes_the_session(shop: Served) -> None:
    before = shop.metric("errands_sessions_open")
    env = RemoteShopEnv(shop.url, render_mode="ansi")
    assert env.render() is None
    assert shop.metric("errands_sessions_open") == before + 1
    observation, _ = env.reset(seed=1)
    assert env.render() == observation
    env.close()
    env.close()
    assert shop.metric("errands_sessions_open") == before


def test_mistakes_are_one_sentence(shop: Served) -> None:
    with pytest.raises(RemoteError, match="observation format 'pixels'") as refused:
        RemoteShopEnv(shop.url, observation="pixels")
    assert refused.value.code == "bad_setting"
    with pytest.raises(SettingError, match="expected a server's address"):
        RemoteShopEnv("127.0.0.1:8000")
    with pytest.raises(ErrandsError, match=r"There is no server at http://127\.0\.0\.1:1 "):
        RemoteShopEnv("http://127.0.0.1:1")
    with pytest.raises(SettingError, match="autoreset='never'"):
        RemoteShopVectorEnv(2, shop.url, autoreset="never")
    env = RemoteShopEnv(shop.url)
    with pytest.raises(ErrandsError, match="call reset"):
        env.step("search[a]")
    with pytest.raises(RemoteError, match="There is no goal"):
        env.reset(options={"goal": 10**6})
    env.close()


def test_a_busy_server_is_asked_again(demo: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    with served(demo, slow_calls=0) as busy, Connection(busy.url) as line:

        def wait(seconds: float) -> None:
            waits.append(seconds)
            if len(waits) == 2:
                busy.service.limits = ServerLimits(slow_calls=1)

        monkeypatch.setattr("errands.remote.client.time.sleep", wait)
        assert line.create("turk", {})
    assert waits == [1.0, 1.0]


def test_actions_that_are_long_fit_too(shop: Served) -> None:
    envs = RemoteShopVectorEnv(400, shop.url)
    envs.reset(seed=0)
    observations, *_ = envs.step([f"search[{'ä lamp ' * 570}]"] * 400)
    assert len(observations) == 400
    envs.close()


def test_half_a_surrogate_pair_is_an_action_too(shop: Served) -> None:
    env = RemoteShopEnv(shop.url)
    env.reset(seed=0)
    assert env.step("search[lamp \ud83d]")[1] == 0.0
    env.close()


class Alarm(BaseException):
    pass


def test_who_was_interrupted_gets_no_late_answer() -> None:
    """It would be taken for the answer to the next call."""

    rung = threading.Event()

    def late(line: ServerConnection) -> None:
        for number, _ in enumerate(line):
            rung.wait(60)
            line.send(msgspec.msgpack.encode({"answer": number}))

    def ring(*_: object) -> None:
        raise Alarm

    with serve(late, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        line = Connection(f"http://127.0.0.1:{server.socket.getsockname()[1]}")
        before = signal.signal(signal.SIGALRM, ring)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with pytest.raises(Alarm):
                line.call("step")
            rung.set()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        with pytest.raises(ErrandsError, match="connect anew"):
            line.call("reset")
        line.close()
        server.shutdown()
        thread.join()


def test_a_config_says_what_options_say(shop: Served) -> None:
    """Also with options beside it, which win; a catalogue is the server's own."""
    config = ShopConfig(split="test", observation="text_rich", max_steps=3)
    one = RemoteShopEnv(shop.url, config=config)
    other = RemoteShopEnv(shop.url, split="test", observation="text_rich", max_steps=3)
    assert one.reset(seed=1) == other.reset(seed=1)
    many = RemoteShopVectorEnv(2, shop.url, config=config, observation="url")
    assert all(seen.startswith("http") for seen in many.reset(seed=1)[0])
    with pytest.raises(ErrandsError, match="catalog"):
        RemoteShopEnv(shop.url, config=ShopConfig("elsewhere"))
    for env in (one, other, many):
        env.close()


@pytest.mark.parametrize(
    "settings",
    [
        {"driver": "dom"},
        {
            "driver": "dom",
            "observation": "text",
            "split": "train",
            "max_steps": 3,
            "rules": "released",
        },
        {"driver": "dom", "observation": "relevant", "fields": "hidden"},
    ],
)
def test_remote_form_pages_equal_the_local_ones(shop: Served, settings: dict[str, Any]) -> None:
    local = TurkEnv(**settings)
    remote = gymnasium.make("errands/RemoteTurk-v0", url=shop.url, **settings)
    dice = random.Random(7)
    here = local.reset(seed=11)
    assert remote.reset(seed=11) == here
    ends = 0
    for _ in range(60):
        fields = local.page.fields(list(local.instance.labels)) if local.instance else []
        action: Any = "submit()"
        if fields and dice.random() < 0.7:
            name = dice.choice(fields).name
            action = dice.choice(
                [
                    f"modify_text({name!r}, 'words')",
                    Action("modify_text", {"name": name, "value": "7"}),
                    {"name": "modify_radio", "arguments": {"name": name, "value": "1"}},
                    "nonsense(",
                ]
            )
        step = local.step(action)
        assert remote.step(action) == step
        if (step[2] or step[3]) and dice.random() < 0.7:
            ends += 1
            options = {"row": np.int64(0)} if dice.random() < 0.5 else None
            assert remote.reset(options=options) == local.reset(options=options)
    assert ends > 2
    remote.close()


def test_check_env_has_nothing_to_say_about_forms(shop: Served) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = RemoteTurkEnv(shop.url)
        check_env(env, skip_render_check=True)
        env.close()


def test_remote_form_pages_have_no_browser_and_no_other_tasks(shop: Served) -> None:
    with pytest.raises(RemoteError, match="no browser, only 'auto'"):
        RemoteTurkEnv(shop.url, driver="browser")
    with pytest.raises(ErrandsError, match="tasks"):
        RemoteTurkEnv(shop.url, config=TurkConfig("elsewhere"))
    with pytest.raises(SettingError, match="render_mode='human'"):
        RemoteTurkEnv(shop.url, render_mode="human")
    env = RemoteTurkEnv(shop.url, config=TurkConfig(split="train", observation="text"))
    with pytest.raises(ErrandsError, match="call reset"):
        env.step("submit()")
    with pytest.raises(RemoteError, match="There is no task 'none'"):
        env.reset(options={"task": "none"})
    env.close()

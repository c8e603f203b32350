"""The shop as pixels: what they show, that they stay the same, and what cannot have them."""

import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from effort import effort
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector.utils import iterate

from errands.agents.registry import make_factory
from errands.bench.pixels import random_pages
from errands.browser import chromium
from errands.browser.chromium import BrowserError
from errands.browser.engine import Engine
from errands.browser.page import WebPage
from errands.browser.screenshots import decode
from errands.browser.tab import TabConfig
from errands.envs.screenshots import Camera, shared_camera, still
from errands.envs.shop import ShopEnv
from errands.envs.shop_vector import ShopVectorEnv
from errands.errors import SettingError
from errands.runs.episode_source import open_source
from errands.runs.protocol import Protocol
from errands.runs.replay import replay
from errands.runs.runner import run
from errands.runs.store.places import open_run
from errands.shop.catalog.catalog import Catalog

GOAL = {"goal": 3}


@pytest.fixture
def pixels(little: Catalog) -> Iterator[ShopEnv]:
    """A shop seen through a browser; skips where there is none."""
    env = ShopEnv(little, observation="screenshot", render_mode="rgb_array")
    try:
        env.reset(options=GOAL)
    except BrowserError as failure:
        if str(failure) not in (chromium.MISSING_BROWSER, chromium.MISSING_PACKAGE):
            raise
        pytest.skip(str(failure))
    yield env
    env.close()


def search(env: ShopEnv) -> str:
    """A search that finds something."""
    return f"search[{env.context.catalog[env.goal.asin].title}]"


def way(env: ShopEnv) -> list[Any]:
    """What is seen from the search to the purchase."""
    pages = [env.reset(options=GOAL)[0]]
    seen, *_, info = env.step(search(env))
    pages.append(seen)
    product = info["available_actions"]["clickables"][2]  # After the buttons.
    for button in (product, "description", "< prev", "buy now"):
        seen, _, over, *_ = env.step(f"click[{button}]")
        pages.append(seen)
    assert over
    return pages


@pytest.mark.usefixtures("pixels")
@pytest.mark.parametrize("mode", ["screenshot", "html+screenshot"])
def test_check_env_has_nothing_to_say(little: Catalog, mode: str) -> None:
    env = gymnasium.make("errands/Shop-v0", catalog=little, observation=mode)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)
    env.close()


def test_every_page_fills_the_window_and_is_another(pixels: ShopEnv) -> None:
    pages = way(pixels)
    for page in pages:
        assert page in pixels.observation_space
        assert page.shape == (800, 1280, 3)
        # The bar at the top, and the page's colour down to the last line.
        assert page[10, 640].tolist() == [0x12, 0x34, 0x3B]
        assert page[-1, 0].tolist() == [0xF5, 0xF6, 0xF8]
    assert len({page.tobytes() for page in pages}) == 5, "back on the item it is the item again"
    assert (pages[2] == pages[4]).all()


def test_the_same_state_gives_the_same_pixels(pixels: ShopEnv, little: Catalog) -> None:
    first = way(pixels)
    camera = Camera()  # A browser of its own.
    other = ShopEnv(little, observation="html+screenshot", camera=camera)
    try:
        second = way(other)
        assert other.episode.html() == second[-1]["html"]
    finally:
        camera.close()
    for one, two in zip(first, second, strict=True):
        assert (one == two["screenshot"]).all()


def test_the_caret_does_not_blink(pixels: ShopEnv) -> None:
    html = pixels.episode.html()
    camera = Camera(tabs=1, remember=0)
    shots = {camera.take(pixels, html).tobytes() for _ in range(12)}
    assert len(shots) == 1
    # The field has the focus all the same.
    unfocused = camera.take(pixels, html.replace(" autofocus", ""))
    assert unfocused.tobytes() not in shots
    camera.close()


def test_rendering_gives_the_same_pixels(pixels: ShopEnv, little: Catalog) -> None:
    text = ShopEnv(little, render_mode="rgb_array")
    text.reset(options=GOAL)
    for action in (search(pixels), "nonsense"):
        seen, *_ = pixels.step(action)
        assert isinstance(text.step(action)[0], str)
        assert (pixels.render() == seen).all()
        assert (text.render() == seen).all()
    seen[:] = 0
    assert pixels.render().any(), "a picture that was given away is the receiver's"
    text.close()


def test_pictures_of_products_are_drawn(pixels: ShopEnv) -> None:
    seen, *_ = pixels.step(search(pixels))
    html = pixels.episode.html()
    assert "data:image/svg+xml" in html
    bare = shared_camera().take(pixels, html.replace("data:image/svg+xml", "data:image/none"))
    assert np.mean((seen != bare).any(axis=2)) > 0.1


def test_the_last_to_close_ends_the_browser(little: Catalog, pixels: ShopEnv) -> None:
    camera = shared_camera()
    other = ShopEnv(little, observation="screenshot")
    other.reset(options=GOAL)
    pixels.close()
    assert camera.open_tabs, "the other one still uses it"
    other.close()
    assert not camera.open_tabs
    other.reset(options={"goal": 4})
    assert camera.open_tabs, "a closed one can be used again"
    other.close()
    assert not camera.open_tabs


@pytest.mark.usefixtures("pixels")
@pytest.mark.parametrize(
    "catalog", ["little", pytest.param("catalog_1k", marks=pytest.mark.shared)]
)
def test_the_pixels_are_those_of_a_fresh_load(catalog: str, request: pytest.FixtureRequest) -> None:
    """A thousand states of both catalogues with ERRANDS_SLOW; the real one has pictures that no
    page may load."""
    pages = random_pages(request.getfixturevalue(catalog), effort(12, 1000), seed=4)
    camera, engine = Camera(tabs=2, remember=0), Engine(None, TabConfig(height=800))
    try:
        for start in range(0, len(pages), 20):
            some = pages[start : start + 20]
            for html, picture in zip(some, camera.take_all(engine, some), strict=True):
                with WebPage(engine, still(html)) as page:
                    fresh = decode(page.snapshot())
                assert hash(picture.tobytes()) == hash(fresh.tobytes()), html
    finally:
        camera.close()
        engine.close()
    assert camera.taken == len(pages)


def test_pages_that_come_again_are_remembered(pixels: ShopEnv) -> None:
    camera = Camera(tabs=1, remember=2)
    pages = [pixels.episode.html().replace("Find it", f"Find {word}") for word in "abc"]
    first = camera.take_all(pixels, [*pages[:2], *pages[:2]])
    assert camera.taken == 2
    assert (first[0] == first[2]).all()
    assert (camera.take(pixels, pages[0]) == first[0]).all()
    assert camera.taken == 2
    camera.take(pixels, pages[2])
    camera.take(pixels, pages[1])
    assert camera.taken == 4, "the one that was not asked for longest makes room"
    camera.close()
    assert not camera.open_tabs
    with pytest.raises(SettingError, match="tabs=0 is not possible; expected 1 or more"):
        Camera(tabs=0)


def test_tabs_are_opened_as_they_are_needed(pixels: ShopEnv) -> None:
    camera = Camera(tabs=2, remember=0)
    page = pixels.episode.html()
    try:
        camera.take(pixels, page)
        camera.take_all(pixels, [page] * 3)
        assert (camera.taken, camera.open_tabs) == (2, 1)
        pages = [page.replace("Instruction", str(number)) for number in range(6)]
        pictures = camera.take_all(pixels, pages)
        assert (camera.taken, camera.open_tabs) == (8, 2)
        assert len({picture.tobytes() for picture in pictures}) == 6
    finally:
        camera.close()


@pytest.mark.usefixtures("pixels")
@pytest.mark.parametrize("mode", ["screenshot", "html+screenshot"])
@pytest.mark.parametrize("autoreset", ["next_step", "same_step"])
def test_the_vector_shows_what_single_ones_show(little: Catalog, mode: str, autoreset: str) -> None:
    envs = gymnasium.make_vec(
        "errands/Shop-v0", 2, catalog=little, observation=mode, autoreset=autoreset, max_steps=3
    )
    assert isinstance(envs.unwrapped, ShopVectorEnv)
    singles = [ShopEnv(little, observation=mode, max_steps=3) for _ in range(2)]
    try:
        seen, _ = envs.reset(seed=7)
        alone = [env.reset(seed=7 + i)[0] for i, env in enumerate(singles)]
        for actions in (("search[lamp]", "nonsense"), ("click[next >]", "search[x]"), ("y", "z")):
            assert seen in envs.observation_space
            ours = iterate(envs.observation_space, seen)
            assert all(map(data_equivalence, ours, alone))
            seen, _, _, ended, infos = envs.step(actions)
            alone = [env.step(action)[0] for env, action in zip(singles, actions, strict=True)]
        assert ended.all()
        if autoreset == "same_step":
            assert all(map(data_equivalence, infos["final_obs"], alone))
            alone = [env.reset()[0] for env in singles]
        assert all(map(data_equivalence, iterate(envs.observation_space, seen), alone))
        snapshots = envs.unwrapped.snapshot()
        again, _ = envs.unwrapped.restore(snapshots)
        assert again in envs.observation_space
    finally:
        envs.close()
        for env in singles:
            env.close()


@pytest.mark.usefixtures("pixels")
def test_gymnasium_makes_a_vector_of_them(little: Catalog) -> None:
    envs = gymnasium.make_vec(
        "errands/Shop-v0",
        num_envs=2,
        vectorization_mode="sync",
        catalog=little,
        observation="screenshot",
    )
    try:
        seen, _ = envs.reset(seed=0)
        assert seen.shape == (2, 800, 1280, 3)
        after, *_ = envs.step(("search[lamp]", "nonsense"))
        assert [(after[i] != seen[i]).any() for i in range(2)] == [True, False]
    finally:
        envs.close()


@pytest.mark.usefixtures("pixels")
@pytest.mark.parametrize("mode", ["screenshot", "html+screenshot"])
def test_runs_are_kept_and_replayed(little: Catalog, tmp_path: Path, mode: str) -> None:
    protocol = Protocol(
        id="seen",
        version=1,
        title="The little shop, seen",
        domain="shop",
        data=str(little.path),
        goals="synthetic",
        episodes=2,
        observation=mode,
        max_steps=3,
    )
    run(protocol, "random", out=tmp_path / "run", workers=1)
    store = open_run(tmp_path / "run")
    source = open_source(protocol)
    try:
        for number in range(2):
            episode = store.episode(number)
            assert episode.summary.status in ("done", "truncated"), episode.summary.error
            found = replay(source, episode)
            assert found.same, found.differences
            assert found.compared == found.pages > 1
            assert (episode.steps[0].observation is None) == (mode == "screenshot")
    finally:
        source.close()
        store.close()


@pytest.mark.parametrize("mode", ["screenshot", "html+screenshot"])
@pytest.mark.parametrize("history", ["num_prev_obs", "num_prev_actions"])
def test_pixels_have_no_history(little: Catalog, mode: str, history: str) -> None:
    with pytest.raises(SettingError, match="num_prev_obs and num_prev_actions must be 0"):
        ShopEnv(little, observation=mode, **{history: 1})  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["screenshot", "html+screenshot"])
def test_who_wants_text_says_so(little: Catalog, mode: str) -> None:
    env = ShopEnv(little, observation=mode)
    with pytest.raises(SettingError, match="reads observation='text'"):
        make_factory("careful", "shop", env, {})
    pytest.importorskip("openai", reason="needs openai: pip install 'errands[llm]'")
    with pytest.raises(SettingError, match="take observation='text'"):
        make_factory("llm", "shop", env, {"model": "any"})


def test_without_a_chromium_one_sentence_says_what_to_do(
    little: Catalog, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("playwright", reason=chromium.MISSING_PACKAGE)
    monkeypatch.setenv(chromium.VARIABLE, str(tmp_path / "none"))
    camera = Camera()
    env = ShopEnv(little, observation="screenshot", camera=camera)
    with pytest.raises(BrowserError, match="give Chromium's path"):
        env.reset(options=GOAL)
    camera.close()


def test_text_needs_nothing_of_a_browser(little: Catalog) -> None:
    code = (
        "import sys, gymnasium, errands\n"
        f"env = gymnasium.make('errands/Shop-v0', catalog={str(little.path)!r})\n"
        "env.reset(seed=0); env.step('search[lamp]'); env.close()\n"
        "print([name for name in sys.modules"
        " if name.startswith('playwright') or name == 'errands.turk.browser.driver'])"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=True
    )
    assert said.stdout.strip() == "[]"

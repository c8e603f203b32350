"""Snapshots: plain data from which an episode goes on, here and in other processes."""

import copy
import json
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_up_shops import MadeUpShop

from errands.envs.shop import ShopEnv
from errands.envs.shop_vector import ShopVectorEnv
from errands.envs.snapshots import SnapshotError, rng_from, rng_text
from errands.envs.turk import TurkEnv
from errands.envs.turk_vector import TurkVectorEnv
from errands.errors import ErrandsError, GoalError
from errands.shop.catalog.catalog import Catalog
from errands.shop.goals import ListedGoals, select_goals
from errands.shop.rewards.rules import Purchase, Reward
from errands.transfer.environment import LiveShopEnv

FORM = {"task": "Teapot Reviews", "row": 1}

CONFIGS: list[dict[str, Any]] = [
    {},
    {"goals": "human", "num_prev_obs": 2, "num_prev_actions": 3, "max_steps": 9},
    {"num_prev_obs": 1, "observation": "url"},
    {"num_prev_actions": 2, "observation": "text_rich", "marks": "true"},
    {"observation": "html", "search_anywhere": False, "show_attrs": True, "split": "test"},
    {"after_purchase": "open", "max_steps": 12, "rules": "paper"},
    {"special_queries": True, "goal_draw": "uniform"},
]


def wander(info: dict[str, Any], rng: random.Random, title: str) -> str:
    """Some action, possible or not."""
    offered = info["available_actions"]
    if rng.random() < 0.15:
        return rng.choice(["nonsense", "search[<r>]", "search[with]", "click[buy now]", ""])
    if offered["has_search_bar"] or not offered["clickables"]:
        return f"search[{title}]"
    return f"click[{rng.choice(offered['clickables'])}]"


@pytest.mark.parametrize("options", CONFIGS, ids=lambda options: " ".join(options) or "plain")
def test_the_rest_of_an_episode_is_the_same(little: Catalog, options: dict[str, Any]) -> None:
    kinds = set()
    for seed in range(6):
        env, other = ShopEnv(little, **options), ShopEnv(little, **options)
        last: Any = env.reset(seed=seed, options={"session": "mine"})
        rng = random.Random(seed)
        title = re.sub(r"[\[\]]", " ", little.product_at(seed).title)
        for _ in range(14):
            taken = json.loads(json.dumps(env.snapshot()))
            kinds.add(taken["page"])
            assert other.restore(taken) == (last[0], last[-1])
            assert other.snapshot() == taken
            twin = copy.deepcopy(env)
            told = last[-1]
            for _ in range(4):
                action = wander(told, rng, title)
                played = other.step(action)
                assert played == twin.step(action)
                told = played[-1]
            assert other.reset() == twin.reset()
            last = env.step(wander(last[-1], rng, title))
    assert {"search", "results", "item", "done"} <= kinds


def test_another_process_goes_on(little: Catalog) -> None:
    env = ShopEnv(little, num_prev_obs=1)
    env.reset(seed=5)
    env.step("search[with]")
    taken = env.snapshot()
    script = (
        "import json, sys; from errands.envs import ShopEnv\n"
        "env = ShopEnv(sys.argv[1], num_prev_obs=1); shown = [env.restore(json.load(sys.stdin))]\n"
        "print(json.dumps([*shown, env.step('click[next >]'), env.reset()]))"
    )
    given = subprocess.run(
        [sys.executable, "-c", script, str(little.path)],
        input=json.dumps(taken),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    expected = [env.restore(taken), env.step("click[next >]"), env.reset()]
    assert json.loads(given) == json.loads(json.dumps(expected))


def test_nothing_of_the_goal_is_in_it(little: Catalog) -> None:
    env = ShopEnv(little, goals="human")
    for goal in range(10):
        env.reset(options={"goal": goal})
        taken = json.dumps(env.snapshot())
        for secret in (env.goal.asin, env.goal.name, *env.goal.attributes):
            assert secret not in taken
    form = TurkEnv(driver="dom")
    form.reset(options=FORM)
    taken = json.dumps(form.snapshot())
    assert len(taken) < 600
    for labels in form._instance().labels.values():
        for label in labels:
            assert f'"{label}"' not in taken


def rule(purchase: Purchase, goal: Any) -> Reward:
    return Reward(0.5, {})


@pytest.mark.parametrize(
    "options",
    [
        {"max_steps": 7},
        {"goals": "human"},
        {"rules": "paper"},
        {"rules": rule},
        {"observation": "html"},
        {"num_prev_obs": 1},
        {"after_purchase": "open"},
        {"split": "test"},
        {"search_anywhere": False},
    ],
    ids=" ".join,
)
def test_other_options_are_refused(little: Catalog, options: dict[str, Any]) -> None:
    env = ShopEnv(little)
    env.reset(seed=0)
    other = ShopEnv(little, **options)
    with pytest.raises(SnapshotError, match=r"^The snapshot is of '.*', and this environment is"):
        other.restore(env.snapshot())
    with pytest.raises(ErrandsError, match="no episode yet"):
        other.step("search[with]")
    other.reset(seed=1)
    here = other.snapshot()
    assert other.restore(here)[1]["goal"] == here["goal"]


def test_other_goals_and_catalogues_are_refused(little: Catalog, tmp_path: Path) -> None:
    goals = little.goals("human")
    some = [select_goals(goals, where=lambda i, _, n=n: i < n) for n in (50, 51)]
    first = ShopEnv(little, goals=some[0])
    first.reset(seed=0)
    with pytest.raises(SnapshotError, match=r"goals:50:.*goals:51:"):
        ShopEnv(little, goals=some[1]).restore(first.snapshot())
    dearer = ListedGoals("dearer", list(some[0]), lambda product: product.price + 1)
    assert ShopEnv(little, goals=dearer).restore(first.snapshot())
    redrawn = ShopEnv(little, goals=little.goals("human", seed=9))
    own = ShopEnv(little, goals="human")
    own.reset(seed=0)
    with pytest.raises(SnapshotError, match="restore it where data and options are the same"):
        redrawn.restore(own.snapshot())
    with pytest.raises(SnapshotError, match="catalog:"):
        ShopEnv("demo", goals="human").restore(own.snapshot())


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"page": "cellar"}, "was changed"),
        ({"steps": -1}, "was changed"),
        ({"steps": "two"}, "was changed"),
        ({"actions": "\ud800"}, "was changed"),
        ({"reward": 1.0}, "was changed"),
        ({"product": 10**9}, "it has product 1000000000, and there are 0 to 299"),
        ({"product": -1}, "it has product -1"),
        ({"options": [["size", "enormous"]]}, "the option 'size': 'enormous'"),
        ({"purchased": {"product": -5, "options": []}}, "it has product -5"),
        ({"rng": "PCG64 1 2"}, "the generator state 'PCG64 1 2'"),
        ({"rng": "MT19937 1 2 0 0"}, "the generator state"),
        ({"rng": f"PCG64 {'f' * 99} 1 0 0"}, "the generator state"),
        ({"rng": ""}, "the generator state"),
        ({"of": 3}, "This is no snapshot"),
    ],
)
def test_changed_snapshots_are_refused(
    little: Catalog, changes: dict[str, Any], complaint: str
) -> None:
    env = ShopEnv(little)
    env.reset(options={"goal": 0})
    _, _, _, _, info = env.step("search[with]")
    title = re.sub(r"[\[\]]", " ", little.product_at(5).title)
    info = env.step(f"search[{title}]")[4]
    env.step(f"click[{info['available_actions']['clickables'][2]}]")
    taken = env.snapshot()
    before = env.restore(taken)
    with pytest.raises(SnapshotError, match=re.escape(complaint)):
        env.restore({**taken, **changes})
    assert env.restore(env.snapshot()) == before


def test_what_is_no_snapshot_is_one_sentence(little: Catalog) -> None:
    env = ShopEnv(little)
    with pytest.raises(ErrandsError, match="no episode yet"):
        env.snapshot()
    for thing in (None, [], "x", {}, {"goal": 1}):
        with pytest.raises(SnapshotError, match="This is no snapshot"):
            env.restore(thing)  # type: ignore[arg-type]
    env.reset(seed=0)
    with pytest.raises(GoalError, match="no goal 1000000"):
        env.restore({**env.snapshot(), "goal": 1_000_000})
    form = TurkEnv(driver="dom")
    with pytest.raises(ErrandsError, match="no episode yet"):
        form.snapshot()
    with pytest.raises(SnapshotError, match=r"of 'Shop .* environment is 'Turk "):
        form.restore(env.snapshot())


def test_real_shops_cannot_be_restored() -> None:
    env = LiveShopEnv(["a red shoe"], "amazon", MadeUpShop("amazon"))
    env.reset(seed=0)
    with pytest.raises(ErrandsError, match="it is a real one"):
        env.snapshot()


def test_generators_of_others_are_refused(little: Catalog) -> None:
    env = ShopEnv(little)
    env.reset(seed=0)
    env.np_random = np.random.Generator(np.random.MT19937(1))
    with pytest.raises(SnapshotError, match="draws by MT19937"):
        env.snapshot()
    rng = np.random.default_rng(3)
    rng.integers(10, dtype=np.int32)  # Half a draw is kept.
    again = rng_from(rng_text(rng))
    assert [again.integers(99, dtype=np.int32) for _ in range(9)] == [
        rng.integers(99, dtype=np.int32) for _ in range(9)
    ]


def test_many_shops(little: Catalog) -> None:
    envs = ShopVectorEnv(3, catalog=little, max_steps=4)
    with pytest.raises(ErrandsError, match="call reset"):
        envs.snapshot()
    envs.reset(seed=0)
    shown, _, _, _, infos = envs.step(["search[with]", "nonsense", "search[a]"])
    taken = json.loads(json.dumps(envs.snapshot()))

    def rest(envs: ShopVectorEnv) -> list[Any]:
        return [repr(envs.step(["click[next >]"] * 3)) for _ in range(6)]

    expected = rest(envs)
    assert repr(envs.restore(taken)) == repr((shown, infos))
    assert rest(envs) == expected
    other = ShopVectorEnv(3, catalog=little, max_steps=4)
    other.restore(taken)
    assert rest(other) == expected
    # One state in many places, and out of a single environment.
    single = ShopEnv(little, max_steps=4)
    single.restore(taken[0])
    pages, infos = envs.restore([single.snapshot()] * 3)
    assert set(pages) == {shown[0]}
    # Where there is None, all stays as it is.
    pages, infos = envs.restore([None, taken[1], None])
    assert pages == (shown[0], shown[1], shown[0])
    assert infos["_goal"].tolist() == [False, True, False]


def test_a_restore_that_fails_changes_nothing(little: Catalog) -> None:
    envs = ShopVectorEnv(2, catalog=little)
    envs.reset(seed=0)
    taken = envs.snapshot()
    envs.step(["search[with]", "search[with]"])
    now = envs.snapshot()
    with pytest.raises(SnapshotError, match="was changed"):
        envs.restore([taken[0], {**taken[1], "steps": -1}])
    with pytest.raises(SnapshotError, match="1 snapshots were given; expected 2"):
        envs.restore(taken[:1])
    for thing in (taken[0], None, "ab"):
        with pytest.raises(SnapshotError, match="was given; expected a list of 2 snapshots"):
            envs.restore(thing)  # type: ignore[arg-type]
    assert envs.snapshot() == now
    with pytest.raises(SnapshotError, match="no episodes yet"):
        ShopVectorEnv(2, catalog=little).restore([taken[0], None])


def answers(info: dict[str, Any]) -> list[str]:
    """A call for every field that has choices, and a text for the others."""
    calls = []
    for field in info["fields"]:
        kind = field["type"]
        if field["options"]:
            calls.append(f"modify_{kind}({field['name']!r}, {field['options'][-1]!r})")
        elif kind in ("text", "textarea"):
            calls.append(f"modify_text({field['name']!r}, 'it\\'s \"so\"\\n[1]')")
    return calls


@pytest.mark.parametrize("observation", ["html", "text", "relevant"])
def test_the_rest_of_a_form_is_the_same(observation: str) -> None:
    made = {"driver": "dom", "observation": observation, "max_steps": 30}
    env, other = TurkEnv(**made), TurkEnv(**made)
    for seed in range(8):
        last: Any = env.reset(seed=seed)
        for answer in [*answers(last[1]), "nonsense", "get_html()", "submit()", "submit()"]:
            taken = json.loads(json.dumps(env.snapshot()))
            assert other.restore(taken) == (last[0], last[-1])
            assert other.snapshot() == taken
            last = env.step(answer)
            assert other.step(answer) == last
        assert other.reset() == env.reset()


def test_forms_of_other_tasks_options_or_answers_are_refused(tmp_path: Path) -> None:
    def folder(name: str, label: str) -> Path:
        task = tmp_path / name / "Colours"
        task.mkdir(parents=True)
        (task / "template.html").write_text('<p>${what}</p><input type="text" name="colour">')
        (task / "batch.csv").write_text(f"what,Answer.colour\nsky,{label}\ngrass,green\n")
        return tmp_path / name

    places = [folder("one", "blue"), folder("two", "grey")]
    env = TurkEnv(places[0], driver="dom")
    env.reset(options={"task": "Colours", "row": 0})
    env.step("modify_text('colour', 'blue')")
    taken = env.snapshot()
    with pytest.raises(SnapshotError, match="its page or its answers are others"):
        TurkEnv(places[1], driver="dom").restore(taken)
    for options in ({"rules": "released"}, {"max_steps": 3}, {"fields": "hidden"}):
        with pytest.raises(SnapshotError, match="restore it where data and options"):
            TurkEnv(places[0], driver="dom", **options).restore(taken)  # type: ignore[arg-type]
    with pytest.raises(SnapshotError, match="tasks:"):
        TurkEnv(driver="dom").restore(taken)
    for wrong in ({"row": 9}, {"task": "Smells"}, {"rng": "x"}, {"actions": "submit()"}):
        with pytest.raises(ErrandsError):
            env.restore({**taken, **wrong})
        assert env.snapshot() == taken
    with pytest.raises(SnapshotError, match=r"the action .*, which is not possible"):
        env.restore({**taken, "actions": ["modify_text('smell', 'x')"]})
    assert TurkEnv(places[0], driver="dom").restore(taken)[0].count("blue") == 1


def test_endless_forms_are_not_kept() -> None:
    env = TurkEnv(driver="dom")
    _, info = env.reset(options={"task": "Notice Shortener", "row": 0})
    name = next(field["name"] for field in info["fields"] if field["type"] == "textarea")
    assert env.step(f"modify_text({name!r}, {'x' * 600_000!r})")[4]["valid_action"]
    env.snapshot()
    env.step(f"modify_text({name!r}, {'y' * 600_000!r})")
    with pytest.raises(SnapshotError, match="longer than 1,048,576 characters"):
        env.snapshot()
    env.reset(options=FORM)
    env.snapshot()


def test_many_forms() -> None:
    envs = TurkVectorEnv(3, driver="dom", max_steps=3)
    envs.reset(options=FORM)
    shown, _, _, _, infos = envs.step(["modify_radio('stars', '5')", "nonsense", "submit()"])
    taken = json.loads(json.dumps(envs.snapshot()))

    def rest(envs: TurkVectorEnv) -> list[Any]:
        return [repr(envs.step(["modify_radio('stars', '4')"] * 3)) for _ in range(5)]

    expected = rest(envs)
    assert repr(envs.restore(taken)) == repr((shown, infos))
    assert rest(envs) == expected
    with pytest.raises(SnapshotError):
        envs.restore([taken[0], taken[1], {**taken[2], "data": "other"}])
    pages, _ = envs.restore([taken[0]] * 3)
    assert set(pages) == {shown[0]}
    envs.close()

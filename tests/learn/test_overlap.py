"""Models carry fingerprints of the goals they learnt from, and are not tested on them."""

import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from protocols import Rules
from typer.testing import CliRunner

from errands.cli import app
from errands.envs.shop_vector import ShopVectorEnv
from errands.errors import SettingError
from errands.learn.a2c import PRESETS as RL
from errands.learn.a2c import train_rl
from errands.learn.data.demonstrations import read_demonstrations
from errands.learn.environments import TrainingEnv, open_training_env
from errands.learn.search import SearchTrainingConfig, train_search
from errands.reports.content import gather
from errands.runs.episode_source import ShopSource
from errands.runs.protocol import Protocol
from errands.runs.runner import run
from errands.runs.store.places import create_run, open_run
from errands.shop.catalog.catalog import Catalog
from errands.shop.fingerprints import FILE, GoalFingerprints, read_fingerprints


def _wanted(protocol: Protocol) -> list[tuple[str, str]]:
    with closing(ShopSource(protocol)) as source:
        return list(source.wanted())


def _settings(taught: Path, **more: str) -> dict[str, str]:
    return {"checkpoint": str(taught), **more}


def test_demonstrations_know_their_goals(demos: str, rules: Rules) -> None:
    goals = read_demonstrations(demos, least=0).goals
    wanted = _wanted(rules())
    assert goals.overlap(wanted) == len(wanted) == 30
    assert len(goals.products) == len({asin for asin, _ in wanted})
    few = read_demonstrations(demos)  # Only what is learnt from counts.
    assert 0 < few.episodes < 30
    assert len(few.goals.wordings) <= few.episodes
    assert goals.overlap(_wanted(rules(split="disjoint-test", episodes=None))) == 0


def test_demonstrations_of_older_runs_are_known_by_their_words(
    demos: str, rules: Rules, tmp_path: Path
) -> None:
    with closing(open_run(demos)) as store:
        info, episodes = store.info, list(store.episodes())
    with closing(create_run(str(tmp_path / "old"), info)) as store, store.writer() as writer:
        for episode in episodes:
            plain = msgspec.structs.replace(episode.summary, parts={})
            writer.write(msgspec.structs.replace(episode, summary=plain))
    goals = read_demonstrations(str(tmp_path / "old"), least=0).goals
    assert len(goals.products) == 0
    assert goals.overlap(_wanted(rules())) == 30


def test_a_test_on_what_was_learnt_is_refused(
    taught: Path, demos: str, rules: Rules, tmp_path: Path
) -> None:
    """A model that was trained on 301 of 500 test goals played without remark."""
    learnt = read_demonstrations(demos).goals
    count = learnt.overlap(_wanted(rules()))
    with pytest.raises(SettingError) as refused:
        run(rules(), "il", out=tmp_path / "no", settings=_settings(taught))
    said = str(refused.value)
    assert f"learnt from the products or words of {count} of the 30 goals played" in said
    assert "--allow-overlap" in said
    assert str(taught) in said
    assert not (tmp_path / "no").exists()


def test_allowed_it_is_said_in_title_and_key(
    taught: Path, demos: str, rules: Rules, tmp_path: Path
) -> None:
    count = read_demonstrations(demos).goals.overlap(_wanted(rules(episodes=6)))
    base: dict[str, Any] = {"settings": _settings(taught), "allow_overlap": True}
    result = run(rules(episodes=6), "il", out=tmp_path / "run", **base)
    assert result.info.protocol_key.endswith(f" overlap={count}")
    learnt = f"the agent learnt from the products or words of {count} of the 6 goals played"
    assert result.info.protocol["title"] == f"school ({learnt})"
    assert learnt in result.info.remarks
    with closing(open_run(result.place)) as store:
        assert learnt in gather([store]).title
    assert run(rules(episodes=6), "il", out=tmp_path / "run", resume=True, **base).played == 0


def test_goals_that_share_nothing_are_played_without_a_word(
    taught: Path, rules: Rules, tmp_path: Path
) -> None:
    protocol = rules(split="disjoint-test", episodes=3)
    result = run(protocol, "il", out=tmp_path / "run", settings=_settings(taught))
    assert "overlap" not in result.info.protocol_key
    assert result.info.remarks == ()
    again = run(
        protocol, "il", out=tmp_path / "again", settings=_settings(taught), allow_overlap=True
    )
    assert again.info.protocol_key == result.info.protocol_key


def test_a_search_model_counts_as_well(
    taught: Path, demos: str, rules: Rules, tmp_path: Path
) -> None:
    tests = rules(split="disjoint-test", episodes=8)
    run(tests, "shopper", out=tmp_path / "tests", observations="full", settings={"errors": 0})
    leaking = read_demonstrations(str(tmp_path / "tests"), least=0)
    config = SearchTrainingConfig(epochs=1, threads=1)
    train_search(leaking.queries, tmp_path / "search", config, goals=leaking.goals)
    train_search(leaking.queries, tmp_path / "words", config)
    for name in ("search", "words"):
        settings = _settings(taught, search=str(tmp_path / name))
        with pytest.raises(SettingError, match=r"of 8 of the 8 goals played"):
            run(tests, "il", out=tmp_path / "no", settings=settings)
    sound = read_demonstrations(demos)
    train_search(sound.queries, tmp_path / "sound", config, goals=sound.goals)
    settings = _settings(taught, search=str(tmp_path / "sound"))
    assert run(tests, "il", out=tmp_path / "yes", settings=settings).kept == 8


def test_a_checkpoint_from_before_says_that_it_is_unknown(
    taught: Path, rules: Rules, tmp_path: Path
) -> None:
    old = tmp_path / "old"
    shutil.copytree(taught, old)
    (old / FILE).unlink()
    result = run(rules(episodes=2), "il", out=tmp_path / "run", settings=_settings(old))
    (remark,) = result.info.remarks
    assert remark.startswith(f"{old} was made before fingerprints of goals")
    assert remark.endswith("unknown")


def test_reinforcement_keeps_what_it_and_its_beginning_learnt_from(
    taught: Path, demos: str, little: Catalog, rules: Rules, tmp_path: Path
) -> None:
    config = msgspec.structs.replace(
        RL["small"], total_timesteps=16, num_envs=2, num_steps=4, critic_warmup_updates=1
    )
    goals = little.goals("human")
    others = GoalFingerprints.of((goals[i].asin, goals[i].instruction_text) for i in range(5))

    def training(fingerprints: GoalFingerprints | None) -> TrainingEnv:
        env = ShopVectorEnv(
            2, autoreset="disabled", catalog=little, goals="human", observation="text_rich",
            max_steps=6,
        )  # fmt: skip
        return TrainingEnv(env, range(5), fingerprints=fingerprints)

    train_rl(training(others), tmp_path / "rl", config, start=taught)
    found = read_fingerprints(tmp_path / "rl")
    both = read_demonstrations(demos).goals | others
    assert found is not None
    assert all((one == other).all() for one, other in zip(found, both, strict=True))
    shutil.copytree(taught, tmp_path / "old")
    (tmp_path / "old" / FILE).unlink()
    train_rl(training(others), tmp_path / "unknown", config, start=tmp_path / "old")
    assert read_fingerprints(tmp_path / "unknown") is None


def test_a_training_environment_knows_its_goals(rules: Rules, tmp_path: Path) -> None:
    protocol = rules(episodes=4)
    file = tmp_path / "mine.toml"
    file.write_text(
        f'[mine]\nversion = 1\ndomain = "shop"\ndata = "{protocol.data}"\ngoals = "human"\n'
        'split = "disjoint-train"\nepisodes = 4\n'
    )
    found = open_training_env(f"{file}#mine", 1).fingerprints
    assert found is not None
    assert found.overlap(_wanted(protocol)) == 4
    assert len(found.wordings) <= 4


def test_the_command_takes_it(taught: Path, rules: Rules, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        f'[mine]\nversion = 1\ndomain = "shop"\ndata = "{rules().data}"\ngoals = "human"\n'
        'split = "disjoint-train"\nepisodes = 3\n'
    )
    words = ["run", f"{file}#mine", "--agent", "il", "--checkpoint", str(taught), "--out"]
    refused = CliRunner().invoke(app, [*words, str(tmp_path / "a")])
    assert isinstance(refused.exception, SettingError)
    allowed = CliRunner().invoke(app, [*words, str(tmp_path / "b"), "--allow-overlap", "--json"])
    assert allowed.exit_code == 0, allowed.output
    assert " overlap=" in allowed.stdout

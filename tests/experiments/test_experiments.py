"""The experiments, whole but tiny, on the little catalogue."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from effort import SLOW, only_slow
from tiny_models import write_bert
from typer.testing import CliRunner

if not importlib.util.find_spec("torch") or not importlib.util.find_spec("resvg_py"):
    pytest.skip("pip install 'errands[train]' to train", allow_module_level=True)

from errands.cli import app
from errands.errors import DataError, ErrandsError, GoalError, SettingError
from errands.experiments import config as experiment_config
from errands.experiments import paper, scheduler
from errands.experiments.config import FULL, PAPER_RNN, QUICK, ExperimentConfig
from errands.experiments.fresh import with_fresh_goals
from errands.experiments.jobs import Demonstrate, Play, Search
from errands.experiments.paper import EXPERIMENTS
from errands.experiments.table import to_markdown
from errands.experiments.travel import travel_experiment
from errands.learn.data.batch import TokenLimits
from errands.learn.models.choice import ChoiceConfig
from errands.runs.episode_source import open_source
from errands.runs.protocol import find_protocol
from errands.runs.store.places import open_run
from errands.shop.build.builder import generate_catalog
from errands.shop.catalog.catalog import Catalog
from errands.shop.splits import split_indices

SMALL = ChoiceConfig(width=8, lengths=TokenLimits(page=16))


@pytest.fixture(scope="module")
def tiny(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> ExperimentConfig:
    def replace(config: object, **changes: object) -> object:
        return msgspec.structs.replace(config, **changes)  # type: ignore[type-var]

    small = ChoiceConfig(encoder="matching", width=8, layers=1, heads=2)
    ppo = {"total_timesteps": 64, "num_envs": 4, "num_steps": 8, "choice": small}
    gru = ChoiceConfig(encoder="gru", width=8, hidden=8, word_attention=True)
    return msgspec.structs.replace(
        QUICK,
        seeds=(0, 1) if SLOW else (1,),
        catalog=str(little.path),
        demonstrations=20,
        episodes=6,
        pictures=replace(QUICK.pictures, epochs=1, width=4),
        search=replace(QUICK.search, epochs=1),
        imitation=replace(QUICK.imitation, epochs=1, choice=SMALL),
        dagger=replace(
            QUICK.dagger, num_iterations=1, num_envs=4, num_steps=24, looks=2, choice=small
        ),
        further=replace(QUICK.further, **ppo),
        scratch=replace(QUICK.scratch, **ppo),
        rnn=replace(QUICK.rnn, total_timesteps=64, choice=gru),
        encoder=write_bert(tmp_path_factory.mktemp("hub") / "bert"),
        pretrained=replace(
            QUICK.pretrained, epochs=1, choice=ChoiceConfig(lengths=TokenLimits(page=16))
        ),
    )


@pytest.fixture(scope="module")
def done(tiny: ExperimentConfig, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which every experiment was run."""
    folder = tmp_path_factory.mktemp("experiment") / "e"
    scheduler.open_folder(folder, tiny)
    jobs = {job.name: job for each in EXPERIMENTS.values() for job in each.jobs(tiny)}
    looked: list[tuple[dict[str, float], int]] = []
    scheduler.run_jobs(
        list(jobs.values()), folder, tiny, 2, lambda way, ready: looked.append((dict(way), ready))
    )
    assert looked[-1] == ({}, len(jobs))
    return folder


def test_the_main_table_has_every_agent_over_its_seeds(done: Path, tiny: ExperimentConfig) -> None:
    table = EXPERIMENTS["table"].read(done, tiny)
    names = [row.name for row in table.rows]
    assert names == [
        *("rule", "careful", "shopper", "IL", "RL", "IL+RL", "RNN", "choice oracle"),
    ]
    for row in table.rows:
        is_script = row.name in ("rule", "careful", "shopper", "choice oracle")
        assert len(row.scores) == (1 if is_script else len(tiny.seeds))
        assert all(len(line) == 6 for line in row.rewards)
        assert row.score.mean == pytest.approx(sum(row.scores) / len(row.scores))
    assert [claim.says.split()[0] for claim in table.claims] == ["IL", "IL+RL", "IL+RL", "choice"]
    oracle, rule = table.rows[-1], table.rows[0]
    assert (oracle.score.mean or 0) > (rule.score.mean or 0)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_table_is_written_down(name: str, done: Path, tiny: ExperimentConfig) -> None:
    table = EXPERIMENTS[name].read(done, tiny)
    text = to_markdown(table)
    assert text.startswith(f"## {table.title}\n")
    assert all(f"| {row.name} |" in text for row in table.rows)


def test_models_saw_and_searched_as_planned(done: Path, tiny: ExperimentConfig) -> None:
    def about(name: str) -> dict[str, object]:
        return json.loads((done / name / "about.json").read_text())["config"]

    assert about("il-1")["choice"]["pictures"] == 0  # type: ignore[index]
    assert about("il-seeing-1")["choice"]["pictures"] == 4  # type: ignore[index]
    assert about("dagger-ppo-1")["seed"] == 1
    assert about("rnn-1")["choice"]["encoder"] == "gru"  # type: ignore[index]
    store = open_run(str(done / "run-il-1"))
    try:
        settings = store.info.agent_settings
        assert settings["search"].endswith("search-1")
        assert settings["checkpoint"].endswith("il-1")
        assert store.info.seed == 1
    finally:
        store.close()


def test_pretrained_weights_are_compared_with_drawn_ones(
    done: Path, tiny: ExperimentConfig
) -> None:
    if not tiny.encoder:
        pytest.skip("needs transformers: pip install 'errands[hf]'")
    rows = [row.name for row in EXPERIMENTS["pretrained"].read(done, tiny).rows]
    assert rows == ["rule", "IL", "IL without pretrained choice"]
    for name, is_drawn in (("il-pretrained-1", False), ("il-drawn-1", True)):
        choice = json.loads((done / name / "about.json").read_text())["config"]["choice"]
        assert (choice["encoder"], choice["from_scratch"]) == ("pretrained", is_drawn)
        assert choice["lengths"]["page"] == 16
    both = msgspec.structs.replace(tiny, search_model="facebook/bart-base")
    names = [row.name for row in EXPERIMENTS["pretrained"].rows(both)]
    assert names == [*rows, "IL without pretrained search"]
    weights = {
        job.name: getattr(job, "weights", "") for job in EXPERIMENTS["pretrained"].jobs(both)
    }
    assert weights["search-drawn-1"] == "drawn"
    bare = msgspec.structs.replace(tiny, encoder="")
    with pytest.raises(SettingError, match="name one with --encoder"):
        EXPERIMENTS["pretrained"].check(bare)
    with pytest.raises(DataError, match="which writes no text from a text"):
        EXPERIMENTS["pretrained"].check(msgspec.structs.replace(tiny, search_model=tiny.encoder))
    with pytest.raises(DataError, match="cannot be had"):
        EXPERIMENTS["pretrained"].check(msgspec.structs.replace(tiny, encoder="./nowhere"))


def test_the_paper_s_rnn_can_be_asked_for() -> None:
    assert (PAPER_RNN.choice.hidden, PAPER_RNN.total_timesteps, PAPER_RNN.num_envs) == (
        512,
        10**5,
        4,
    )
    notes = EXPERIMENTS["table"].notes
    assert "--rnn paper" in notes(FULL)[1]
    assert "hidden size 512." in notes(msgspec.structs.replace(FULL, rnn=PAPER_RNN))[1]
    with pytest.raises(SettingError, match="no RNN 'huge'"):
        CliRunner().invoke(app, ["experiment", "table", "--rnn", "huge"], catch_exceptions=False)


def test_agents_of_table_7_go_round_in_circles_as_published(
    done: Path, tiny: ExperimentConfig
) -> None:
    def breaker(name: str) -> str:
        with closing(open_run(str(done / name))) as store:
            return str(store.info.agent_settings["cycle_breaker"])

    assert breaker("run-il-published-choice-1") == breaker("run-il-circling-1") == "off"
    assert breaker("run-il-best-choice-1") == breaker("run-il-1") == "on"


def test_trained_agents_travel(done: Path, tiny: ExperimentConfig, tmp_path: Path) -> None:
    config = msgspec.structs.replace(tiny, difficulty="easy", goals=4, episodes=4)
    generate_catalog(tmp_path / "other", products=300, seed=9, difficulty="easy", workers=1)
    experiment = travel_experiment([str(tmp_path / "other")])
    jobs = experiment.jobs(config)
    trained = {"dagger-1", "dagger-ppo-1", "run-rule", "run-oracle", "run-dagger-1"}
    assert trained <= {job.name for job in jobs}
    # Another seed's shop has 5,000 products: the named one stands for it here.
    there = [job for job in jobs if "place-" in job.name or job.name in trained]
    other = travel_experiment([str(tmp_path / "other"), "demo"]).jobs(config)
    assert {job.name for job in there} < {job.name for job in other}
    scheduler.run_jobs(there, done, config, 2)
    [learnt] = (job.name for job in there if re.fullmatch("run-place-.*-dagger-1", job.name))
    with closing(open_run(str(done / learnt))) as store:
        assert store.info.agent_settings["checkpoint"].endswith("dagger-1")
        assert len(store.numbers()) == 4
    with pytest.raises(SettingError, match="add --difficulty"):
        experiment.check(tiny)
    with pytest.raises(SettingError, match="no protocol of the shop"):
        travel_experiment(["turk-demo=here"])
    with pytest.raises(SettingError, match="named twice"):
        travel_experiment(["here", "here"])


def test_nothing_is_done_twice(done: Path, tiny: ExperimentConfig) -> None:
    before = scheduler.costs(done)
    scheduler.open_folder(done, tiny)
    scheduler.run_jobs(EXPERIMENTS["table"].jobs(tiny), done, tiny, 2)
    assert scheduler.costs(done) == before


def test_a_folder_is_of_one_config(done: Path, tiny: ExperimentConfig, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="other settings"):
        scheduler.open_folder(done, msgspec.structs.replace(tiny, seeds=(0, 2)))
    (tmp_path / "thing").touch()
    with pytest.raises(SettingError, match="other things in it"):
        scheduler.open_folder(tmp_path, tiny)
    (done.parent / "damaged").mkdir()
    (done.parent / "damaged" / "plan.json").write_text("{")
    with pytest.raises(DataError, match="damaged"):
        scheduler.open_folder(done.parent / "damaged", tiny)


@only_slow
def test_a_killed_experiment_leaves_nobody_behind_and_goes_on(
    little: Catalog, tmp_path: Path
) -> None:
    folder = tmp_path / "e"
    command = [sys.executable, "-m", "errands", "experiment", "search", "--quick"]
    command += ["--data", str(little.path), "--out", str(folder), "--workers", "1"]
    started = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not list((folder / "demonstrations").glob("*")) and time.monotonic() < deadline:
        time.sleep(0.1)
    helpers = _children(started.pid)
    assert helpers
    started.kill()
    started.wait()
    while any(map(_is_there, helpers)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(_is_there, helpers))
    config = msgspec.structs.replace(QUICK, catalog=str(little.path))
    scheduler.open_folder(folder, config)
    scheduler.run_jobs([Demonstrate("demonstrations")], folder, config, 1)
    store = open_run(str(folder / "demonstrations"))
    try:
        assert len(store.numbers()) == store.info.episodes
    finally:
        store.close()


def test_a_job_killed_before_its_run_was_made_begins_it(little: Catalog, tmp_path: Path) -> None:
    config = msgspec.structs.replace(QUICK, catalog=str(little.path), demonstrations=3)
    folder = tmp_path / "e"
    scheduler.open_folder(folder, config)
    (folder / "demonstrations").mkdir()
    (folder / "demonstrations" / "runner.lock").write_text("1")
    scheduler.run_jobs([Demonstrate("demonstrations")], folder, config, 1)
    store = open_run(str(folder / "demonstrations"))
    try:
        assert len(store.numbers()) == store.info.episodes == 3
    finally:
        store.close()


def _children(process: int) -> list[int]:
    tasks = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def _is_there(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().split(")")[1].split()[0] != "Z"
    except OSError:
        return False


def test_a_failure_says_whose_it_is(tiny: ExperimentConfig, tmp_path: Path) -> None:
    scheduler.open_folder(tmp_path / "e", tiny)
    with pytest.raises(SettingError, match=r"^run-x: .*nobody"):
        scheduler.run_jobs([Play("run-x", "nobody")], tmp_path / "e", tiny, 1)
    with pytest.raises(SettingError, match="No job makes what is needed for late"):
        scheduler.run_jobs([Search("late", 0, "never")], tmp_path / "e", tiny, 1)


def test_every_job_comes_after_what_it_needs() -> None:
    for experiment in EXPERIMENTS.values():
        seen: set[str] = set()
        for job in experiment.jobs(FULL):
            assert seen.issuperset(job.needs), job
            seen.add(job.name)


def test_the_command(done: Path, tiny: ExperimentConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiment_config, "QUICK", tiny)
    monkeypatch.setattr(paper, "LEAST_TEST_GOALS", 6)
    arguments = ["--quick", "--out", str(done), "--data", tiny.catalog]
    shown = CliRunner().invoke(app, ["experiment", "pictures", *arguments])
    assert shown.exit_code == 0, shown.output
    assert "IL without pictures" in shown.output
    assert (done / "pictures.md").exists()
    told = CliRunner().invoke(app, ["experiment", "table", *arguments, "--json", "--check"])
    found = json.loads(told.stdout)
    assert told.exit_code == (0 if found["holds"] else 1)
    assert set(found["work"]) >= {"dagger-1", "run-rule"}
    said = CliRunner().invoke(app, ["experiment", "table", *arguments]).output
    assert re.search(r"^(not )?shown: IL is above shopper in score", said, re.M)
    assert "hidden size 8" in said


def test_fresh_goals_share_nothing(little: Catalog, tmp_path: Path) -> None:
    config = msgspec.structs.replace(QUICK, catalog=str(little.path), difficulty="paper", goals=40)
    ready = with_fresh_goals(tmp_path, config)
    assert with_fresh_goals(tmp_path, config) == ready
    with (
        closing(open_source(find_protocol(ready.test))) as tested,
        closing(open_source(find_protocol(ready.train))) as trained,
    ):
        assert len(tested.keys) == 40
        assert len(trained.keys) > 300
        assert not {*tested.clusters} & {*trained.clusters}
    assert with_fresh_goals(tmp_path, QUICK) is QUICK
    with pytest.raises(SettingError, match="no table of the difficulty 'hard'"):
        with_fresh_goals(tmp_path, msgspec.structs.replace(config, difficulty="hard"))
    with pytest.raises(GoalError, match="were asked for"):
        with_fresh_goals(tmp_path / "n", msgspec.structs.replace(config, goals=len(little)))


def test_too_few_goals_are_refused_before_anything_is_done(little: Catalog, tmp_path: Path) -> None:
    """One goal was judged, and the table said "shown"."""
    out = tmp_path / "e"
    words = ["experiment", "table", "--quick", "--out", str(out), "--data", str(little.path)]
    with pytest.raises(SettingError, match=r"has \d+ test goals .* needs 100 or more"):
        CliRunner().invoke(app, words, catch_exceptions=False)
    assert not out.exists()


def test_what_was_deleted_or_damaged_is_made_again(done: Path, tiny: ExperimentConfig) -> None:
    (done / "done" / "run-rule.json").write_bytes(b"\xff")
    shutil.rmtree(done / "run-oracle")
    assert {"run-rule", "run-oracle"}.isdisjoint(scheduler.costs(done))
    scheduler.run_jobs(EXPERIMENTS["table"].jobs(tiny), done, tiny, 1)
    assert {"run-rule", "run-oracle"} <= scheduler.costs(done).keys()
    EXPERIMENTS["table"].read(done, tiny)


def test_a_run_with_errors_is_not_done(tiny: ExperimentConfig, tmp_path: Path) -> None:
    folder = tmp_path / "e"
    scheduler.open_folder(folder, tiny)
    goals = Catalog.open(tiny.catalog).goals("human")
    other = goals[split_indices("disjoint-train", goals)[0]].instruction_text
    (folder / "queries.json").write_text(json.dumps({other: ["a lamp"]}))
    settings = {"query": "predicted", "queries": str(folder / "queries.json"), "missing": "skip"}
    with pytest.raises(DataError, match="run-x: 6 episodes ended in an error"):
        scheduler.run_jobs([Play("run-x", "choice-oracle", settings)], folder, tiny, 1)
    assert not scheduler.costs(folder)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["table", "--difficulty", "odd"], "There is no table of the difficulty 'odd'"),
        (["table", "--difficulty", "easy", "--goals", "1000000"], "1,000,000"),
        (["travel", "--place", "nowhere"], "There is no catalogue 'nowhere'"),
        (["human-queries", "{pairs}", "--model", "no/such"], "no/such cannot be had"),
    ],
)
def test_what_is_refused_leaves_nothing(words: list[str], message: str, tmp_path: Path) -> None:
    pairs, out = tmp_path / "pairs.json", tmp_path / "out"
    asked = {f"please find me a {colour} hat": [f"{colour} hat"] for colour in ("red", "blue")}
    pairs.write_text(json.dumps(asked))
    words = [word.replace("{pairs}", str(pairs)) for word in words]
    with pytest.raises(ErrandsError, match=message):
        CliRunner().invoke(app, ["experiment", *words, "--out", str(out)], catch_exceptions=False)
    assert not out.exists()
    if words[0] != "human-queries":
        out.mkdir()
        with pytest.raises(ErrandsError, match=message):
            CliRunner().invoke(
                app, ["experiment", *words, "--out", str(out)], catch_exceptions=False
            )
        assert not any(out.iterdir())

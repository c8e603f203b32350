"""How pages are seen belongs to the agent: what it declares, what is asked for, what is kept."""

import os
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from effort import SLOW
from little_runs import little_protocol

import errands
from errands.agents.factory import SimpleFactory
from errands.agents.views import chosen_observation, declared_observations
from errands.errors import SettingError
from errands.reports.content import command_of, gather
from errands.reports.markdown import to_markdown
from errands.runs.replay import reopen_source, replay
from errands.runs.runner import RunResult, run
from errands.runs.store.base import StoreError
from errands.runs.store.places import create_run, open_run
from errands.shop.catalog.catalog import Catalog

SOURCE = Path(errands.__file__).parents[1]


def brief(page: Any, instruction: str, score: float | None) -> str:
    return f"{page.state.page}: {instruction} ({score})"


def lengths(page: Any) -> str:
    return f"{len(page.text())} characters"


class Named:
    def __init__(self, name: str) -> None:
        self.name = name
        self.version = "2"

    def __call__(self, page: Any, instruction: str, score: float | None) -> str:
        return f"{self.name}: {instruction}"


@pytest.fixture
def played(little: Catalog, tmp_path: Path) -> Any:
    def play(observation: Any, episodes: int = 4, **options: Any) -> RunResult:
        place = tmp_path / "run"
        return run(
            *("shop-demo", "random"), data=str(little.path), observation=observation,
            episodes=episodes, out=place, **options,
        )  # fmt: skip

    return play


def _replayed(result: RunResult) -> None:
    """Every page of a run comes back in its own format."""
    with closing(open_run(result.place)) as store, closing(reopen_source(store.info)) as source:
        for episode in store.episodes(sorted(store.numbers())):
            again = replay(source, episode)
            assert again.same, again.differences
            assert again.compared == again.pages > 0


def test_a_format_is_kept_with_the_agent_and_not_in_the_key(played: Any) -> None:
    result = played("text_rich")
    assert result.info.protocol_key.endswith(" episodes=4")
    assert (result.info.observation, result.info.shown_as) == ("text_rich", "text_rich")
    assert result.info.protocol["observation"] == ""
    _replayed(result)
    assert "--observation text_rich" in command_of(result.info)
    with pytest.raises(StoreError, match="another run: its agent's observation is text_rich"):
        played("text", resume=True)


@pytest.mark.parametrize("observation", [brief, f"{__name__}:brief"])
def test_a_format_of_yours_is_resumed_and_replayed(
    played: Any, little: Catalog, observation: Any
) -> None:
    class Stop(Exception):
        pass

    def stop(summary: Any) -> None:
        raise Stop

    with pytest.raises(Stop):
        played(observation, on_episode=stop)
    result = played(observation, resume=True)
    assert (result.kept, result.played) == (4, 3)
    assert result.info.observation == f"{__name__}:brief"
    assert result.info.versions["observation"] == f"{__name__}:brief@0"
    assert "brief" not in result.info.protocol_key
    _replayed(result)
    assert played(f"{__name__}:brief", resume=True, workers=2).played == 0


def test_a_format_that_no_name_finds_plays_in_one_process(played: Any) -> None:
    with pytest.raises(SettingError, match="for several workers name it: observation="):
        played(Named("mine"), workers=2)
    result = played(Named("mine"))
    assert result.info.versions["observation"] == "mine@2"
    with pytest.raises(SettingError, match=r"has no 'Named\(\)'"):
        reopen_source(result.info)


def test_form_pages(tmp_path: Path) -> None:
    def play(observation: Any, name: str) -> RunResult:
        return run(
            *("turk-demo", "do-nothing"), observation=observation, driver="dom", per_task=1,
            episodes=3, out=tmp_path / name,
        )  # fmt: skip

    ours = play("text", "ours")
    theirs = play(lengths, "theirs")
    assert ours.info.protocol_key == theirs.info.protocol_key
    assert theirs.info.versions["observation"] == f"{__name__}:lengths@0"
    for result in (ours, theirs):
        _replayed(result)


def test_wrong_formats_are_one_sentence(played: Any) -> None:
    with pytest.raises(SettingError, match=r"no observation format 'txt'; did you mean 'text'"):
        played("txt")
    with pytest.raises(SettingError, match=r"observation format 7 cannot be called"):
        played(7)


TOY = """
def toy(page, instruction, score):
    return f"toy: {instruction}"


def toy_form(page):
    return "a form"


toy.version = toy_form.version = "3"
"""


@pytest.fixture
def toy_package(tmp_path: Path) -> Path:
    """A package as pip installs it, with formats of both domains behind entry points."""
    site = tmp_path / "site"
    about = site / "toy_formats-1.0.dist-info"
    about.mkdir(parents=True)
    (site / "toy_formats.py").write_text(TOY)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-formats\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        "[errands.observations]\ntoy = toy_formats:toy\n"
        "[errands.turk_observations]\ntoy = toy_formats:toy_form\n"
    )
    return site


STRANGERS = [
    ("shop-demo", "random", "toy", "toy_formats:toy@3"),
    ("turk-demo", "do-nothing", "toy", "toy_formats:toy_form@3"),
    ("shop-demo", "random", "toy_formats:toy", "toy_formats:toy@3"),
]


@pytest.mark.parametrize(
    ("protocol", "agent", "observation", "version"),
    STRANGERS if SLOW else STRANGERS[1:2],
)
def test_a_strangers_format_is_run_resumed_and_replayed(
    little: Catalog, tmp_path: Path, toy_package: Path,
    protocol: str, agent: str, observation: str, version: str,
) -> None:  # fmt: skip
    def command(*words: object) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "errands", *map(str, words)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": f"{SOURCE}{os.pathsep}{toy_package}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    domain = ("--data", little.path) if protocol == "shop-demo" else ("--driver", "dom")
    words = (
        *("run", protocol, "--agent", agent, "--observation", observation, *domain),
        *("--episodes", 2, "--out", "run", "--json"),
    )
    assert f'"observation": "{observation}"' in command(*words)
    with closing(open_run(str(tmp_path / "run"))) as store:
        assert store.info.versions["observation"] == version
    assert '"played": 0' in command(*words, "--resume")
    assert "2 episodes replayed" in command("replay", "run")


class Rich:
    """Reads one format, and says so."""

    observations = ("text_rich", "text")

    def begin(self, observation: str, info: Any) -> None:
        assert "[button]" in observation

    def act(self, observation: str, info: Any) -> str:
        return "search[red shoes]"


class Forms(Rich):
    observations = {"shop": ("text_rich",), "turk": ("text",)}  # noqa: RUF012


class Own(Rich):
    observations = (brief,)

    def begin(self, observation: str, info: Any) -> None:
        assert observation.startswith("search: ")


def reader(domain: str, env: Any, settings: Any) -> Any:
    return SimpleFactory("reader", lambda seed: Rich())


reader.observations = ("text_rich",)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("agent", "domain", "expected"),
    [
        ("careful", "shop", ("text",)),
        ("il", "shop", ("text_rich",)),
        ("random", "shop", ()),
        ("llm", "turk", ()),
        (Rich, "shop", ("text_rich", "text")),
        (Rich(), "shop", ("text_rich", "text")),
        (Rich, "turk", ("text",)),
        (Forms, "turk", ("text",)),
        (reader, "shop", ("text_rich",)),
        (f"{__name__}:Own", "shop", (brief,)),
        (type("One", (), {"observations": "html"}), "shop", ("html",)),
        (type("Method", (), {"observations": lambda self: []}), "shop", ()),
        (type("Silent", (), {"observations": property(lambda self: 1)}), "shop", ()),
        (type("Theirs", (), {"observations": ["mine:format"]}), "shop", ("mine:format",)),
    ],
)
def test_agents_declare_what_they_read(agent: Any, domain: str, expected: Any) -> None:
    assert declared_observations(agent, domain) == expected


def test_what_an_agent_saw_is_no_declaration() -> None:
    class Keeps:
        def __init__(self) -> None:
            self.observations = ["Instruction: ..."]

        def begin(self, observation: str, info: Any) -> None: ...
        def act(self, observation: str, info: Any) -> str:
            return ""

    assert declared_observations(Keeps(), "shop") == ()


@pytest.mark.parametrize("wrong", [5, {"text"}, ("text", 7), {"shop": 3}])
def test_a_wrong_declaration_is_one_sentence(wrong: Any) -> None:
    with pytest.raises(SettingError, match="expected a tuple of formats"):
        declared_observations(type("Wrong", (), {"observations": wrong}), "shop")


def test_a_format_that_the_domain_has_not_is_named() -> None:
    with pytest.raises(SettingError, match=r"reads 'txt', which no page of 'shop' is shown as"):
        declared_observations(type("Wrong", (), {"observations": ("txt",)}), "shop")


def test_the_agents_choice_then_the_protocols() -> None:
    assert chosen_observation("random", "shop", None) == "text"
    assert chosen_observation("random", "turk", None) == "html"
    assert chosen_observation("random", "shop", None, "url") == "url"
    assert chosen_observation("careful", "shop", None, "text_rich") == "text"
    assert chosen_observation(Rich, "shop", None, "text") == "text"
    assert chosen_observation(Rich, "shop", "text") == "text"
    with pytest.raises(SettingError, match=r"'careful' reads 'text', and observation='html'"):
        chosen_observation("careful", "shop", "html")


@pytest.mark.parametrize(
    ("protocol", "agent", "shown"),
    [
        ("webshop-paper", "careful", "text"),
        ("webshop-paper", "shopper", "text_rich"),
        ("webshop-1k", "shopper", "text_rich"),
        ("webshop-1k", "careful", "text"),
        ("webshop-1k", Rich, "text_rich"),
        ("webshop-1k", Own, f"{__name__}:brief"),
    ],
)
def test_every_agent_plays_under_every_protocol(
    little: Catalog, tmp_path: Path, protocol: str, agent: Any, shown: str
) -> None:
    """Refused before: `webshop-paper` fixed text_rich, and `webshop-1k` text."""
    result = run(protocol, agent, data=str(little.path), episodes=3, out=tmp_path / "run")
    assert result.info.observation == shown
    _replayed(result)
    with closing(open_run(result.place)) as store:
        assert all(one.status != "error" for one in store.summaries())


def test_agents_with_different_views_are_compared(little: Catalog, tmp_path: Path) -> None:
    for agent in ("careful", "shopper"):
        run("shop-demo", agent, data=str(little.path), episodes=8, out=tmp_path / agent)
    with ExitStack() as stack:
        stores = [
            stack.enter_context(closing(open_run(str(tmp_path / agent))))
            for agent in ("careful", "shopper")
        ]
        report = gather(stores)
    (comparison,) = report.comparisons
    assert not comparison.refused
    assert comparison.pairs == 8


def test_one_agent_with_two_views_is_told_apart(little: Catalog, tmp_path: Path) -> None:
    for shown in ("text", "html"):
        run("shop-demo", "rule", data=str(little.path), episodes=2, observation=shown,
            out=tmp_path / shown)  # fmt: skip
    with ExitStack() as stack:
        stores = [
            stack.enter_context(closing(open_run(str(tmp_path / shown))))
            for shown in ("text", "html")
        ]
        report = gather(stores)
    assert [one.label for one in report.runs] == ["rule (text)", "rule (html)"]
    assert "shown as html" in to_markdown(report)


def test_a_file_from_before_says_a_default(little: Catalog, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        f'[mine]\nversion = 1\ndomain = "shop"\ndata = "{little.path}"\nepisodes = 2\n'
        'observation = "text_rich"\n'
    )
    any_page = run(f"{file}#mine", "rule", out=tmp_path / "rule")
    assert any_page.info.observation == "text_rich"
    assert any_page.info.remarks == ()
    careful = run(f"{file}#mine", "careful", out=tmp_path / "careful")
    assert careful.info.observation == "text"
    assert "the protocol says observation=text_rich, and the agent is shown text" in str(
        careful.info.remarks
    )
    assert any_page.info.protocol_key == careful.info.protocol_key


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, ""),
        ({"observation": "text_rich"}, " observation=text_rich"),
        ({"observation": f"{__name__}:brief"}, f" observation:{__name__}:brief@0"),
    ],
)
def test_runs_from_before_are_replayed_and_resumed(
    little: Catalog, tmp_path: Path, given: dict[str, Any], words: str
) -> None:
    """Their protocol says how pages were shown, and so did their key."""
    protocol = little_protocol(little, 4)
    fresh = run(protocol, "rule", out=tmp_path / "new", **given).info
    shown = fresh.observation
    key = f"little@1 data:{fresh.checksum[:12]}{words} own:1e24e11c"
    if words.startswith(" observation="):
        key = f"little@1 data:{fresh.checksum[:12]} own:1e24e11c{words}"
    older = msgspec.structs.replace(
        fresh,
        id="older",
        protocol={**fresh.protocol, "observation": shown},
        protocol_key=key,
        observation="",
        versions={"errands": "2.0"},
    )
    with closing(open_run(str(tmp_path / "new"))) as store:
        played = [store.episode(number) for number in range(2)]
    with closing(create_run(str(tmp_path / "old"), older)) as store, store.writer() as writer:
        for episode in played:
            writer.write(episode)
    resumed = run(protocol, "rule", out=tmp_path / "old", resume=True, **given)
    assert (resumed.kept, resumed.played) == (4, 2)
    assert resumed.info.shown_as == shown
    _replayed(resumed)
    with pytest.raises(StoreError, match="another run: its agent's observation"):
        run(protocol, "rule", out=tmp_path / "old", resume=True, observation="html")

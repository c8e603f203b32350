"""Whole runs over a cassette: the rule agent, a trained one, a language model; kept and resumed."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from made_up_shops import GOODS, MadeUpShop, run_transfer

from errands.errors import DataError, GoalError, SettingError
from errands.shop.catalog.catalog import Catalog
from errands.transfer.environment import LiveShopEnv
from errands.transfer.fetch.cassette import Recorder, Replayer
from errands.transfer.fetch.fetcher import FetchedPage, FetchError, PageRequest
from errands.transfer.fetch.saved_pages import SavedPages
from errands.transfer.goals import TransferGoal, catalog_goals, instruction_goal, read_goals
from errands.transfer.journal import StepLine, TransferJournal, read_run
from errands.transfer.play import default_file
from errands.transfer.sites.site import SiteReader, site_named
from errands.transfer.tables import rows_of

SEARCH = "https://shop.example/search?q={query}&page={page}"
SITES = ("amazon", "ebay", "schema.org")
INSTRUCTION = "a red trail runner with a non slip sole, and price lower than 40.00 dollars"


def _site(name: str) -> SiteReader:
    return site_named(name, search=SEARCH if name == "schema.org" else "")


def _asked(out: Path, episode: int = 0) -> list[tuple[str, str]]:
    """What left in an episode: kind and address."""
    return [(made.kind, made.url) for made in read_run(out).episodes[episode].requests]


@pytest.mark.parametrize("name", SITES)
def test_the_rule_agent_over_a_recorded_cassette(name: str, tmp_path: Path) -> None:
    site, tape, shop = _site(name), tmp_path / "tape.jsonl", MadeUpShop(name)
    goals = [instruction_goal(INSTRUCTION)]
    with contextlib.closing(Recorder(tape, shop)) as recorder:
        live, ended = run_transfer(goals, site, recorder, "rule", out=tmp_path / "live.jsonl")
    assert ended == ""
    replayed, _ = run_transfer(goals, site, Replayer(tape), "rule", out=tmp_path / "again.jsonl")

    first = GOODS[0]["number" if name == "ebay" else "id"].lower()
    words = INSTRUCTION.lower()
    for run in (live, replayed):
        played = run.episodes[0]
        assert [(step.page, step.action) for step in played.steps] == [
            ("search", ""),
            ("results", f"search[{words}]"),
            ("item", f"click[{first}]"),
            ("done", "click[buy now]"),
        ]
        assert played.end is not None
        assert (played.end.status, played.end.steps) == ("done", 3)
        assert played.purchase is not None
        assert played.purchase.product.title == GOODS[0]["title"]
        assert played.purchase.options == {}
        assert played.score is None, "an instruction alone is scored by hand"
    # Exactly two requests, one of each kind, and the same in both.
    assert [request.kind for request in shop.asked] == ["search", "item"]
    assert shop.asked[0].url == site.search_url(words, 1)
    assert [tuple(request) for request in shop.asked] == _asked(live.path) == _asked(replayed.path)
    assert [step.observation for step in live.episodes[0].steps] == [
        step.observation for step in replayed.episodes[0].steps
    ]


@pytest.mark.parametrize("name", SITES)
def test_a_trained_agent_over_a_recorded_cassette(name: str, tmp_path: Path, taught: Path) -> None:
    """It has hardly learnt anything, so that it draws its choices; in three errands it buys."""
    site, tape, shop = _site(name), tmp_path / "tape.jsonl", MadeUpShop(name)
    goals = [instruction_goal(INSTRUCTION)] * 3
    given: dict[str, Any] = {
        "settings": {"checkpoint": str(taught), "choose": "sample"},
        "max_steps": 60,
        "per_episode": 200,
    }
    with contextlib.closing(Recorder(tape, shop)) as recorder:
        live, _ = run_transfer(goals, site, recorder, "il", out=tmp_path / "live.jsonl", **given)
    again, _ = run_transfer(
        goals, site, Replayer(tape), "il", out=tmp_path / "again.jsonl", **given
    )
    asked = [_asked(live.path, number) for number in range(3)]
    assert any(played.purchase is not None for played in live.finished)
    for number, played in live.episodes.items():
        replayed = again.episodes[number]
        actions = [step.action for step in played.steps]
        assert played.end is not None
        assert played.end.error == ""
        assert played.steps == replayed.steps
        assert actions[1] == "search[red trail runner non slip sole]", "the instruction's own words"
        _check_steps(played.steps, asked[number])
        assert asked[number] == _asked(again.path, number)
        bought = actions[-1] == "click[buy now]"
        assert (played.end.status == "done") == bought == (played.purchase is not None)
    # The cassette asked the shop for each page once; each episode asked for what it needed.
    assert {tuple(request) for request in shop.asked} == {each for held in asked for each in held}
    assert len(shop.asked) == len(set(shop.asked))


def _check_steps(steps: list[StepLine], asked: list[tuple[str, str]]) -> None:
    """Each action was possible, and only searches and opened items asked for anything."""
    needed: dict[tuple[str, str], None] = {}
    for before, step in pairwise(steps):
        if step.action.startswith("click["):
            name = step.action[6:-1]
            page = before.observation.lower()
            assert f"button] {name} [" in page, "only what is on the page is clicked"
        if step.page == "results" and before.page in ("search", "results"):
            needed[("search", step.site_url)] = None
        elif step.page == "item" and before.page == "results":
            needed[("item", step.site_url)] = None
    assert {kind for kind, _ in asked} <= {"search", "item"}
    assert len(asked) == len(set(asked)), "nothing is asked for twice"
    assert [each for each in asked if each[0] == "item"] == [
        each for each in needed if each[0] == "item"
    ]
    searches = [each for each in asked if each[0] == "search"]
    turned = sum(step.action == "click[next >]" for step in steps)
    assert {each for each in needed if each[0] == "search"} <= set(searches)
    assert len(searches) <= 1 + turned


class _Model(BaseHTTPRequestHandler):
    """A model that searches, opens, chooses and buys."""

    answers: Sequence[str] = ()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        answer = self.answers[self.server.count]  # type: ignore[attr-defined]
        self.server.count += 1  # type: ignore[attr-defined]
        message = {"role": "assistant", "content": answer}
        body = {
            "id": "1", "object": "chat.completion", "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10},
        }  # fmt: skip
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words: Any) -> None:
        """Says nothing."""


def test_a_language_model_shops_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_MODELS_KEY", "none")
    pytest.importorskip("openai", reason="needs openai: pip install 'goals[llm]'")
    answers = ["search[trail runner]", "click[B0SHOE0002]", "click[9]", "click[Buy Now]"] * 2
    handler = type("Handler", (_Model,), {"answers": answers})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.count = 0  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        run, _ = run_transfer(
            [instruction_goal("a shoe"), instruction_goal("another")], _site("amazon"),
            MadeUpShop("amazon"), "llm", out=tmp_path / "run.jsonl",
            settings={"model": "m", "base_url": f"http://127.0.0.1:{server.server_port}/v1",
                      "key_env": "A_MODELS_KEY"},
        )  # fmt: skip
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    for played in run.episodes.values():
        assert played.end is not None
        assert played.end.error == ""
        assert played.end.tokens_out == 40
        assert played.purchase is not None
        assert played.purchase.options == {"size": "9"}
        assert [made.kind for made in played.requests] == ["search", "item"]


ERRANDS = """
[[errand]]
instruction = "a red trail runner, size 9, and price lower than 40.00 dollars"
name = "Red Trail Runner"
category = "Clothing › Shoes"
attributes = ["Non Slip"]
options = ["9"]
price = 40.0

[[errand]]
instruction = "a blue shoe"

[[errand]]
instruction = "a trail runner that costs nearly nothing"
name = "Trail Runner"
attributes = ["non slip", "waterproof"]
price = 5
"""


def test_errands_with_goals_are_scored_by_themselves(tmp_path: Path) -> None:
    (tmp_path / "errands.toml").write_text(ERRANDS)
    goals = read_goals(tmp_path / "errands.toml")
    assert [goal.by_hand for goal in goals] == [False, True, False]
    run, _ = run_transfer(
        goals, _site("amazon"), MadeUpShop("amazon"), "rule", out=tmp_path / "run.jsonl"
    )
    first, second, third = (run.episodes[at].score for at in range(3))
    assert first is not None
    # (attribute + price) of (attribute, option, price): the rule agent chooses no options.
    assert (first.attribute, first.option, first.type, first.price) == (1.0, 0.0, 1.0, 1.0)
    assert first.total == pytest.approx(2 / 3)
    assert second is None
    assert third is not None
    assert (third.attribute, third.option, third.price) == (0.5, None, 0.0)
    assert third.total == pytest.approx(third.type / 3)


def test_goals_of_a_catalogue(little: Catalog, tmp_path: Path) -> None:
    goals = little.goals("human")
    goals = catalog_goals(goals[index] for index in range(3))
    run, _ = run_transfer(
        goals, _site("ebay"), MadeUpShop("ebay"), "rule", out=tmp_path / "run.jsonl"
    )
    assert all(played.score is not None for played in run.finished)
    assert len(run.finished) == 3


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.toml", "[[errand]]\nprice = 3", "instruction"),
        ("a.toml", "[[errand]]\ninstruction = 'x'\nprice = 3", "no attributes"),
        ("a.toml", "[[errand]]\ninstruction='x'\nattributes=['a']\nprice = -3", "above 0"),
        ("a.toml", "[[errand]]\ninstruction='x'\ncolour='red'", "colour"),
        ("a.toml", "errand = 3", "expected form"),
        ("a.toml", "[[", "not TOML"),
        ("a.toml", "errand = " + "9" * 5_000, "not TOML"),
        ("a.toml", "errand = " + "[" * 5_000, "nests too deeply"),
        ("a.json", '{"goals": ' + "[" * 50_000, "goal file"),
        ("a.toml", "", "no goals"),
        ("a.txt", "# nothing\n\n", "no goals"),
        ("a.json", "{}", "goal file"),
        ("a.json", "x", "goal file"),
        ("a.csv", "x", "expected a file of goals"),
    ],
)
def test_files_that_are_no_goals(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(GoalError, match=said):
        read_goals(tmp_path / name)
    (tmp_path / name).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(GoalError, match="UTF-8"):
        read_goals(tmp_path / name)
    with pytest.raises(GoalError, match="cannot be read"):
        read_goals(tmp_path / f"none-{name}")


def test_a_failed_episode_is_an_error_and_the_others_go_on(tmp_path: Path) -> None:
    shop = MadeUpShop("amazon")

    def moody(request: PageRequest) -> FetchedPage:
        if request.kind == "search" and "blue" in request.url:
            raise FetchError("closed on Sundays")
        return shop(request)

    goals = [instruction_goal(text) for text in ("a red shoe", "a blue shoe", "a green shoe")]
    run, ended = run_transfer(goals, _site("amazon"), moody, "rule", out=tmp_path / "run.jsonl")
    assert ended == ""
    assert [played.end.status for played in run.finished if played.end] == [
        "done", "error", "done",
    ]  # fmt: skip
    failed = run.episodes[1]
    assert failed.end is not None
    assert "closed on Sundays" in failed.end.error
    assert failed.score is None, "an error is no score"
    assert failed.requests[0].error == "closed on Sundays"


def test_limits_and_going_on(tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    goals = [instruction_goal(f"shoe {at}") for at in range(4)]
    site = _site("amazon")
    run, ended = run_transfer(goals, site, MadeUpShop("amazon"), "rule", out=out, per_run=5)
    assert "5 requests" in ended
    assert len(run.finished) == 2
    with pytest.raises(DataError, match="--resume"):
        run_transfer(goals, site, MadeUpShop("amazon"), "rule", out=out)
    # A kill in the middle of a line leaves a piece of it.
    out.write_bytes(out.read_bytes() + b'{"what":"step","epi')
    shop = MadeUpShop("amazon")
    run, ended = run_transfer(goals, site, shop, "rule", out=out, resume=True)
    assert ended == ""
    assert [played.number for played in run.finished] == [0, 1, 2, 3]
    assert all(len(played.requests) == 2 for played in run.finished)
    assert len(shop.asked) == 4, "what was played is not played again"
    assert run.requests == 9, "but what an unfinished episode sent counts for the run"
    scored = [TransferGoal(each.instruction, each.goal, by_hand=False) for each in goals]
    british = site_named("amazon", host="www.amazon.co.uk")
    for changed, said in (
        ({"goals": goals[:2]}, "list of instructions"), ({"goals": scored}, "list of goals"),
        ({"agent": "careful"}, "agent"), ({"seed": 5}, "seed"), ({"rules": "paper"}, "--rules"),
        ({"max_steps": 9}, "--max-steps"), ({"details": True}, "--details"),
        ({"pages": "elsewhere"}, "source of pages"), ({"site": british}, "shop's address"),
    ):  # fmt: skip
        given: dict[str, Any] = {
            "goals": goals, "site": site, "fetch": shop, "agent": "rule", "out": out,
            "resume": True, **changed,
        }  # fmt: skip
        with pytest.raises(DataError, match=f"its {said}|its .*{said}"):
            run_transfer(**given)


class HalfACharacter:
    """An agent that seeks what is no text."""

    def begin(self, observation: Any, info: Mapping[str, Any]) -> None:
        """Nothing to prepare."""

    def act(self, observation: Any, info: Mapping[str, Any]) -> str:
        return "search[a \ud800 shoe]"


def test_what_is_no_text_is_written_down_all_the_same(tmp_path: Path) -> None:
    run, _ = run_transfer(
        [instruction_goal("a shoe")], _site("amazon"), MadeUpShop("amazon"),
        f"{__name__}:HalfACharacter", out=tmp_path / "run.jsonl",
        max_steps=2,
    )  # fmt: skip
    played = run.episodes[0]
    assert played.end is not None
    assert (played.end.status, played.end.error) == ("truncated", "")
    assert played.steps[1].action == "search[a ? shoe]"


def test_steps_that_run_out_score_nothing(tmp_path: Path) -> None:
    run, _ = run_transfer(
        [instruction_goal("a shoe")], _site("amazon"), MadeUpShop("amazon"), "rule",
        out=tmp_path / "run.jsonl",
        max_steps=2,
    )  # fmt: skip
    played = run.episodes[0]
    assert played.end is not None
    assert played.score is not None
    assert (played.end.status, played.score.total, played.purchase) == ("truncated", 0.0, None)


def test_a_killed_run_keeps_every_step(tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    script = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(__file__).parents[1] / "helpers")!r})
from pathlib import Path
from made_up_shops import MadeUpShop, run_transfer
from errands.transfer.goals import instruction_goal
from errands.transfer.sites.site import site_named
shop = MadeUpShop("amazon")
def fetch(request):
    if request.kind == "item" and len(shop.asked) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return shop(request)
goals = [instruction_goal("shoe 0"), instruction_goal("shoe 1")]
run_transfer(goals, site_named("amazon"), fetch, "rule", out=Path({str(out)!r}))
"""
    done = subprocess.run([sys.executable, "-c", script], env=os.environ, check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    run = read_run(out)
    assert [played.number for played in run.finished] == [0]
    assert [step.page for step in run.episodes[1].steps] == ["search", "results"]
    goals = [instruction_goal("shoe 0"), instruction_goal("shoe 1")]
    run, _ = run_transfer(
        goals, _site("amazon"), MadeUpShop("amazon"), "rule", out=out, resume=True
    )
    assert len(run.finished) == 2
    assert [step.page for step in run.episodes[1].steps] == ["search", "results", "item", "done"]


def test_one_file_has_one_writer(tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    with (
        TransferJournal(out, is_new=True),
        pytest.raises(DataError, match="another process"),
    ):
        TransferJournal(out, is_new=False)


@pytest.mark.parametrize(
    "data", [b"", b"{}\n", b"x\n", b'{"what":"start","episode":0}\n', b"\xff\n"]
)
def test_what_is_no_run(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "run.jsonl").write_bytes(data)
    with pytest.raises(DataError):
        read_run(tmp_path / "run.jsonl")
    with pytest.raises(DataError, match="a folder"):
        read_run(tmp_path)


def test_agents_that_know_the_answer_do_not_play(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="shown the answers"):
        run_transfer(
            [instruction_goal("x")], _site("amazon"), MadeUpShop("amazon"), "choice-oracle",
            out=tmp_path / "run.jsonl",
        )  # fmt: skip
    assert default_file("amazon", "mine:Agent").name.startswith("transfer-amazon-mine.Agent-")


@pytest.mark.parametrize("agent", ["careful", "random", "shopper"])
def test_other_agents_of_the_shop_play_too(agent: str, tmp_path: Path) -> None:
    run, _ = run_transfer(
        [instruction_goal(INSTRUCTION)], _site("amazon"), MadeUpShop("amazon"), agent,
        out=tmp_path / "run.jsonl", max_steps=20,
    )  # fmt: skip
    played = run.episodes[0]
    assert played.end is not None
    assert played.end.error == ""
    assert {made.kind for made in played.requests} == {"search", "item"}


@pytest.mark.shared
@pytest.mark.parametrize("name", ["amazon", "ebay", "webshop"])
@pytest.mark.parametrize("agent", ["rule", "il"])
def test_over_the_saved_real_pages(
    name: str, agent: str, saved: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Recorded from saved pages, replayed from the cassette: the same steps and requests."""
    settings = {}
    if agent == "il":
        settings = {"checkpoint": str(request.getfixturevalue("taught"))}
    site, tape = site_named(name), tmp_path / "tape.jsonl"
    goals = [instruction_goal("red basketball shoes, and price lower than 90.00 dollars")]
    with contextlib.closing(Recorder(tape, SavedPages(saved, site))) as recorder:
        live, _ = run_transfer(
            goals, site, recorder, agent, out=tmp_path / "live.jsonl", settings=settings,
            max_steps=15, stand_in=True,
        )  # fmt: skip
    again, _ = run_transfer(
        goals, site, Replayer(tape), agent, out=tmp_path / "again.jsonl", settings=settings,
        max_steps=15, stand_in=True,
    )  # fmt: skip
    played, replayed = live.episodes[0], again.episodes[0]
    assert [step.action for step in played.steps] == [step.action for step in replayed.steps]
    assert _asked(live.path) == _asked(again.path)
    assert {kind for kind, _ in _asked(live.path)} <= {"search", "item"}
    assert _asked(live.path)[0][0] == "search"
    assert played.end is not None
    assert played.end.error == ""
    if agent == "rule":
        assert [step.page for step in played.steps] == ["search", "results", "item", "done"]


UNREAD = {
    "search": "<h1>150,000+ results for shoes</h1><ul><li class='new-card'>Red shoe</li></ul>",
    "item": "<meta property='og:type' content='product'><main id='new-item'>Red shoe</main>",
}
"""Pages of layouts that nobody knows."""


@pytest.mark.parametrize("name", SITES)
@pytest.mark.parametrize("kind", sorted(UNREAD))
def test_a_page_that_is_not_understood_is_an_error_and_no_score(
    name: str, kind: str, tmp_path: Path
) -> None:
    shop = MadeUpShop(name)

    def fetch(request: PageRequest) -> FetchedPage:
        page = shop(request)
        if request.kind == kind:
            return FetchedPage(request.url, 200, UNREAD[kind])
        return page

    wanted = read_goals(_toml(tmp_path))
    run, ended = run_transfer(wanted, _site(name), fetch, "rule", out=tmp_path / "run.jsonl")
    assert ended == ""
    played = run.episodes[0]
    assert played.end is not None
    assert (played.end.status, played.end.owner) == ("error", "page")
    said = "150,000 results" if kind == "search" else "it says that it is a product"
    assert said in played.end.error
    assert played.score is None
    (row,) = rows_of([run])
    assert (row.episodes, row.errors, row.score) == (0, 1, None)


@pytest.mark.parametrize("name", SITES)
def test_a_shop_that_honestly_has_nothing_is_wandered_through(name: str, tmp_path: Path) -> None:
    def fetch(request: PageRequest) -> FetchedPage:
        return FetchedPage(request.url, 200, "<h1>No results for shoes</h1>")

    wanted = read_goals(_toml(tmp_path))
    run, _ = run_transfer(
        wanted, _site(name), fetch, "rule", out=tmp_path / "run.jsonl", max_steps=4
    )
    played = run.episodes[0]
    assert played.end is not None
    assert (played.end.status, played.end.owner) == ("truncated", "")
    assert played.score is not None
    assert played.score.total == 0.0


def test_results_that_end_behind_the_first_page_are_no_error(tmp_path: Path) -> None:
    """The last page of a count that is larger than what there is."""

    def fetch(request: PageRequest) -> FetchedPage:
        shop = MadeUpShop("ebay")
        page = shop(request)
        if "_pgn=2" in request.url:
            return FetchedPage(request.url, 200, "<h1>150 results for shoes</h1>")
        return page

    env = LiveShopEnv(["a red shoe"], _site("ebay"), fetch)
    env.reset()
    env.step("search[shoe]")
    *_, info = env.step("click[next >]")
    assert not info.get("error")


def test_what_contradicts_itself_is_in_the_record(tmp_path: Path) -> None:
    shop = MadeUpShop("schema.org")

    def fetch(request: PageRequest) -> FetchedPage:
        page = shop(request)
        shown = '<h1>x</h1><b class="price">$3.00</b>'
        return FetchedPage(request.url, 200, page.body + shown * (request.kind == "item"))

    wanted = [instruction_goal(INSTRUCTION)]
    run, _ = run_transfer(wanted, _site("schema.org"), fetch, "rule", out=tmp_path / "run.jsonl")
    played = run.episodes[0]
    assert played.end is not None
    assert any("price: 20 USD in its data, 3 USD where it is shown" in n for n in played.end.notes)
    assert played.purchase is not None
    assert played.purchase.product.doubts


def _toml(folder: Path) -> Path:
    path = folder / "goals.toml"
    path.write_text(
        '[[errand]]\ninstruction = "a red trail runner"\nattributes = ["non slip"]\nprice = 40.0\n'
    )
    return path


def test_saved_items_are_found_by_their_queries(tmp_path: Path) -> None:
    for number in (1, 2):
        link = f"https://shop.example/Product.aspx?Item=N82E{number}"
        page = f'<link rel="canonical" href="{link}"><meta property="og:type" content="product">'
        (tmp_path / f"{number}.html").write_text(f"{page}<h1>Lamp {number}</h1>")
    pages = SavedPages(tmp_path, site_named("schema.org"))
    asked = "https://shop.example/Product.aspx?Item=N82E2&cm_re=x"
    assert "Lamp 2" in pages(PageRequest("item", asked)).body

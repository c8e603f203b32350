"""Looking at runs in the browser: what is shown, what is proven, and what no text can do."""

import contextlib
import html
import http.client
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from runs_served import made, make_run, run_info, runs_served, start_runner, write_protocol
from served import Served

from errands.errors import SettingError
from errands.runs.runner import run
from errands.runs.store.base import StoreError
from errands.runs.store.places import open_run, run_lock
from errands.shop.catalog.catalog import Catalog
from errands.web.runs.library import RunLibrary

EVIL = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>\x00\ud800"
TAGS = re.compile(r"<(?:script>|img|iframe src=x)|onerror=alert\(2\)>(?!&)")


@pytest.fixture(scope="module")
def folder(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs that were really played: two of the shop, one of paperwork."""
    place = tmp_path_factory.mktemp("played")
    protocol = write_protocol(place, Path(little.path), 12)
    run(protocol, "random", out=place / "runs" / "random")
    run(protocol, "rule", out=place / "runs" / "rule")
    run("turk-demo", "do-nothing", out=place / "runs" / "forms" / "idle", episodes=6)
    return place / "runs"


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[Served]:
    with runs_served(folder) as running:
        yield running


def text_of(site: Served, path: str, status: int = 200) -> str:
    found, headers, body = site.raw(path)
    assert found == status, body[:300]
    assert headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe-inline" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    return body.decode()


def ids(site: Served) -> dict[str, str]:
    """The ids of runs by agent."""
    return {row["agent"]: row["id"] for row in site.ask("/v1/runs")[1]["runs"]}


def test_all_runs_are_listed_with_their_figures(site: Served, folder: Path) -> None:
    page = text_of(site, "/runs")
    status, answer = site.ask("/v1/runs")
    assert (status, answer["total"], answer["unreadable"]) == (200, 3, [])
    started = [row["started"] for row in answer["runs"]]
    assert started == sorted(started, reverse=True)
    for row in answer["runs"]:
        with contextlib.closing(open_run(folder.parent / row["name"])) as store:
            rewards = [s.reward for s in store.summaries() if s.reward is not None]
        assert row["kept"] == row["episodes"] == len(rewards)
        assert row["score"]["mean"] == pytest.approx(100 * sum(rewards) / len(rewards))
        assert row["score"]["low"] <= row["score"]["mean"] <= row["score"]["high"]
        assert not row["writing"]
        assert f'href="/runs/{row["id"]}"' in page
        assert f"{row['kept']} of {row['episodes']}" in page
    assert "complete" in page
    assert "http-equiv" not in page, "nothing is being written, so nothing moves"


def test_runs_can_be_chosen_by_protocol_and_agent(site: Served) -> None:
    known = ids(site)
    page = text_of(site, "/runs?agent=rule")
    assert known["rule"] in page
    assert known["random"] not in page
    assert site.ask("/v1/runs?protocol=turk-demo")[1]["total"] == 1
    assert site.ask("/v1/runs?protocol=little&agent=do-nothing")[1]["runs"] == []
    assert "no such run" in text_of(site, "/runs?agent=nobody")
    assert site.ask("/v1/runs?offset=1&limit=1")[1]["runs"][0]["id"] in known.values()


def test_one_run_shows_figures_and_episodes(site: Served) -> None:
    id = ids(site)["random"]
    page = text_of(site, f"/runs/{id}")
    for number in range(12):
        assert f'href="/runs/{id}/episodes/{number}"' in page
    assert "<svg" in page
    assert "FILE.toml#little" in page  # A protocol of the user's own.
    figures = text_of(site, f"/runs/{id}/report")
    assert "What the reward is made of" in figures
    assert site.raw(f"/runs/{id}/report.md")[2].startswith(b"# ")
    told = json.loads(site.raw(f"/runs/{id}/report.json")[2])
    assert told["runs"][0]["info"]["agent"] == "random"
    forms = text_of(site, f"/runs/{ids(site)['do-nothing']}/report")
    assert "Score of each task" in forms


def test_every_step_is_shown_beside_its_page_and_proven(site: Served, folder: Path) -> None:
    id = ids(site)["random"]
    with contextlib.closing(open_run(folder / "random")) as store:
        episode = store.episode(3)
    assert all(step.observation is None for step in episode.steps), "only fingerprints were kept"
    address = f"/runs/{id}/episodes/3"
    seen = 0
    while address:
        page = text_of(site, address.partition("#")[0])
        assert "its fingerprint is that of the page the agent saw" in page
        assert f"All {len(episode.steps) + 1} pages and every reward came back the same" in page
        if seen < len(episode.steps):
            assert f"<code>{html.escape(episode.steps[seen].action)}</code>" in page
        else:
            assert f"reward {episode.summary.reward:.4g}" in page
        frame = re.search(r'<iframe sandbox="" src="([^"]+)"', page)
        assert frame, page
        status, headers, body = site.raw(frame[1])
        assert status == 200
        assert headers["content-security-policy"].startswith("sandbox; default-src 'none'")
        assert b"Instruction" in body
        found = re.search(r'rel="next" href="([^"]+)"', page)
        address = html.unescape(found[1]) if found else ""
        seen += 1
    assert seen == len(episode.steps) + 1
    assert 'rel="prev"' in page


def test_paperwork_shows_the_form_that_was_kept(site: Served) -> None:
    id = ids(site)["do-nothing"]
    page = text_of(site, f"/runs/{id}/episodes/0?step=end")
    assert "Kept when it was played; played again, the same page came back." in page
    assert '<ul class="fields">' in page, "the reward's parts"
    assert site.raw(f"/runs/{id}/episodes/0/pages/0")[0] == 200


def test_runs_are_compared_as_reports_do(site: Served) -> None:
    known = ids(site)
    page = text_of(site, f"/runs/compare?run={known['random']}&run={known['rule']}")
    assert "Sign-flip test" in page
    assert "over the 12 episodes both played" in page
    other = text_of(site, f"/runs/compare?run={known['rule']}&run={known['do-nothing']}")
    assert "Task Score" in other
    assert "Compare them all the same" not in page
    assert "Choose two" in text_of(site, "/runs/compare", 400)
    assert "Choose two" in text_of(site, f"/runs/compare?run={known['rule']}", 400)
    assert "no such run" in text_of(site, f"/runs/compare?run={known['rule']}&run=x", 404)


def test_what_is_not_there_is_said(site: Served) -> None:
    id = ids(site)["rule"]
    for path in (
        *("/runs/nothing", "/runs/nothing/episodes/0", f"/runs/{id}/episodes/99"),
        *(f"/runs/{id}/episodes/0?step=99", f"/runs/{id}/episodes/0?step=0"),
        *(f"/runs/{id}/episodes/{10**30}", f"/runs/{id}/episodes/0?step=%C2%B2"),
        f"/runs/{id}/episodes/0/pages/99",
    ):
        assert "<h1>Not found</h1>" in text_of(site, path, 404), path
    for query in ("offset=-1", "limit=0", "limit=501", "least=nan", "most=2", "order=key",
                  "way=left", "status=odd", "offset=" + "9" * 300):  # fmt: skip
        text_of(site, f"/runs/{id}?{query}", 400)
        status, answer = site.ask(f"/v1/runs/{id}/episodes?{query}")
        assert (status, answer["error"]["code"]) == (400, "bad_request")
    for path in ("/v1/runs/x", "/v1/runs/x/episodes", f"/v1/runs/{id}/episodes/99"):
        assert site.ask(path)[0] == 404


def test_no_path_comes_from_outside(site: Served, folder: Path) -> None:
    (folder.parent / "secret.txt").write_text("the secret")
    real = str(folder / "rule")
    for path in (
        *("/runs/..%2Frule", "/runs/%2e%2e%2fsecret.txt", f"/runs/{real.replace('/', '%2F')}"),
        *("/runs/../../secret.txt", "/runs/static/../../secret.txt", "/runs/rule", "/runs/."),
        *("/runs/static/..%2f..%2fserver.py", "/v1/runs/..%2frule", "/runs/%00"),
    ):
        status, _, body = site.raw(path)
        assert status == 404, path
        assert b"the secret" not in body
    (folder / "sneaky").symlink_to(folder.parent)
    try:
        assert len(RunLibrary([str(folder)]).runs()) == 3, "links lead nowhere"
    finally:
        (folder / "sneaky").unlink()
    assert real not in text_of(site, "/runs"), "where runs lie is nobody's business"


def test_programs_get_the_same(site: Served, folder: Path) -> None:
    id = ids(site)["random"]
    status, answer = site.ask(f"/v1/runs/{id}")
    assert (status, answer["info"]["agent"]) == (200, "random")
    status, answer = site.ask(f"/v1/runs/{id}/episodes?order=reward&way=down&limit=5&offset=2")
    assert (status, answer["total"], len(answer["episodes"])) == (200, 12, 5)
    rewards = [one["reward"] for one in answer["episodes"]]
    assert rewards == sorted(rewards, reverse=True)
    status, answer = site.ask(f"/v1/runs/{id}/episodes/3")
    with contextlib.closing(open_run(folder / "random")) as store:
        episode = store.episode(3)
    assert [step["action"] for step in answer["steps"]] == [s.action for s in episode.steps]
    assert (answer["before"], answer["after"]) == (2, 4)
    described = site.ask("/openapi.json")[1]
    assert {"/v1/runs", "/v1/runs/{id}", "/v1/runs/{id}/episodes"} <= described["paths"].keys()
    names = described["components"]["schemas"]
    assert all(f[21:] in names for f in re.findall(r"#/components/schemas/\w+", str(described)))
    assert site.ask("/ready")[0] == 200
    assert site.metric("errands_runs_known") == 3
    assert site.metric("errands_runs_replays_total") >= 0


def test_thousands_are_read_a_page_at_a_time(tmp_path: Path) -> None:
    rewards = [None, 0.0, 0.5, 1.0]
    episodes = [made(n, rewards[n % 4], page=None) for n in range(4000)]
    make_run(tmp_path / "many", run_info(5000), episodes)
    with runs_served(tmp_path) as site:
        [id] = ids(site).values()
        page = text_of(site, f"/runs/{id}")
        assert len(re.findall(r'/episodes/\d+"', page)) == 50
        assert "1 to 50 of 4,000" in page
        assert "The run stopped: 1,000 of 5,000 episodes are missing." in page
        [last] = re.findall(r'rel="last" href="([^"]+)"', page)
        assert "/episodes/3999" in text_of(site, html.unescape(last))
        failed = text_of(site, f"/runs/{id}?status=error&order=seconds&way=down")
        assert "1 to 50 of 1,000" in failed
        assert re.findall(r'/episodes/(\d+)"', failed)[:2] == ["3996", "3992"]
        middle = text_of(site, f"/runs/{id}?least=0.4&most=0.6&offset=900")
        assert "901 to 950 of 1,000" in middle
        assert "No episode is like that" in text_of(site, f"/runs/{id}?least=0.6&most=0.7")
        assert "No episode is like that" in text_of(site, f"/runs/{id}?offset=90000")


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    page = f"<html><head><base href=//evil><meta http-equiv=refresh content=0></head><body>{EVIL}"
    page += "<a href='javascript:alert(3)' ping=//evil>x</a><svg onload=alert(4)></svg></body>"
    texts: dict[str, Any] = {"action": EVIL, "thought": EVIL, "message": EVIL, "key": EVIL}
    info = run_info(
        3,
        agent=EVIL,
        agent_settings={"model": EVIL},
        protocol_key=EVIL,
        remarks=(EVIL,),
        started=EVIL,
        protocol={"id": EVIL, "title": EVIL, "data": EVIL, EVIL: EVIL},
    )
    parts = {"r_" + EVIL: 1.0, "fields": [[EVIL, EVIL, 0.5, 0.5]]}
    episodes = [
        made(0, 0.5, page=page, parts=parts, **texts),
        made(1, None, page=EVIL, error=EVIL, owner=EVIL, key=EVIL),
        made(2, 1.0, page=None, **texts),
    ]
    make_run(tmp_path / "<b>evil'", info, episodes)
    with runs_served(tmp_path) as site:
        [id] = [row["id"] for row in site.ask("/v1/runs")[1]["runs"]]
        assert re.fullmatch("[a-z0-9-]+", id)
        paths = ["/runs", f"/runs/{id}", f"/runs/{id}/report"]
        paths += [f"/runs/{id}/episodes/{n}?step={s}" for n in range(3) for s in ("1", "2", "end")]
        for path in paths:
            shown = text_of(site, path)
            assert not TAGS.search(shown), path
            assert "<b>evil" not in shown
            assert "&lt;script&gt;" in shown
        framed = site.raw(f"/runs/{id}/episodes/0/pages/0")[2].decode()
        for bad in ("<script", "onerror", "onload", "javascript:", "http-equiv", "<base", "ping"):
            assert bad not in framed
        cannot = text_of(site, f"/runs/{id}/episodes/2?step=1")
        assert "This page cannot be shown: its text was not kept, and" in cannot
        assert "<iframe" not in cannot
        assert site.ask(f"/v1/runs/{id}/episodes/0")[1]["steps"][0]["thought"] == EVIL


def test_damaged_and_foreign_files_do_not_stop_the_rest(tmp_path: Path) -> None:
    make_run(tmp_path / "good", run_info(1), [made(0, 1.0)])
    for name, held in (("text", b"hello"), ("empty", b""), ("torn", None)):
        (tmp_path / name).mkdir()
        whole = (tmp_path / "good" / "run.sqlite").read_bytes()
        (tmp_path / name / "run.sqlite").write_bytes(whole[:5000] if held is None else held)
    torn = bytearray((tmp_path / "good" / "run.sqlite").read_bytes())
    torn[4096 * 2 :] = b"\xff" * (len(torn) - 4096 * 2)
    (tmp_path / "holes").mkdir()
    (tmp_path / "holes" / "run.sqlite").write_bytes(torn)
    with runs_served(tmp_path) as site:
        page = text_of(site, "/runs")
        answer = site.ask("/v1/runs")[1]
        assert [row["name"].split("/")[-1] for row in answer["runs"]] == ["good"]
        assert len(answer["unreadable"]) == 4
        for one in answer["unreadable"]:
            assert one["reason"]
            assert str(tmp_path) not in one["reason"]
        assert "is no run of Errands" in page
        assert site.metric("errands_runs_unreadable") >= 3
        # One that breaks while it is shown is told, too, and one that goes away is gone.
        good = answer["runs"][0]["id"]
        (tmp_path / "good" / "run.sqlite").write_bytes(torn)
        assert text_of(site, f"/runs/{good}", 503)


def test_places_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="There is nothing at"):
        RunLibrary([str(tmp_path / "absent")])
    with pytest.raises(StoreError, match="cannot be kept at mysql"):
        RunLibrary(["mysql://somewhere/db"])
    pytest.importorskip("psycopg", reason="needs psycopg: pip install 'errands[postgres]'")
    library = RunLibrary(["postgresql://me:secret@127.0.0.1:1/db"])
    assert library.runs() == []
    [told] = library.unreadable()
    assert "cannot be reached" in told.reason
    assert "secret" not in told.reason


def test_a_token_is_asked_for_by_the_browser(folder: Path) -> None:
    with runs_served(folder, token="t0ken") as site:
        for given in ("", "Basic dXNlcjo=", "Basic !!!", "Basic dXNlcjp0MGtlbg", "Bearer x"):
            status, headers, _ = site.raw("/runs", headers={"Authorization": given})
            assert status == 401, given
            assert headers["www-authenticate"].startswith("Basic ")
        basic = {"Authorization": "Basic dXNlcjp0MGtlbg=="}
        assert site.raw("/runs", headers=basic)[0] == 200
        assert site.raw("/v1/runs", headers=basic)[0] == 401, "programs send the token itself"
        assert site.raw("/v1/runs")[0] == 200
        assert site.raw("/runs")[0] == 200


@pytest.fixture
def runner(little: Catalog, tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """A run of 100 episodes, which takes half a minute unless told to hurry."""
    protocol = write_protocol(tmp_path, Path(little.path), 100)
    process = start_runner(protocol, tmp_path / "runs" / "slow")
    yield process
    process.kill()
    process.communicate()


def wait_for(what: Any, seconds: float = 60.0) -> Any:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = what()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("it did not happen in time")


def test_a_run_in_progress_moves_on_and_loses_nothing(
    runner: "subprocess.Popen[str]", tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    runs.mkdir(exist_ok=True)
    with runs_served(runs) as site:
        wait_for(lambda: [r for r in site.ask("/v1/runs")[1]["runs"] if r["kept"] > 1])
        [row] = site.ask("/v1/runs")[1]["runs"]
        assert row["writing"]
        assert row["kept"] < 100
        id = row["id"]
        page = text_of(site, f"/runs/{id}")
        assert '<noscript><meta http-equiv="refresh"' in page
        assert "<progress" in page
        assert "Played last" in page
        assert '<noscript><meta http-equiv="refresh"' in text_of(site, "/runs")
        assert "All " in text_of(site, f"/runs/{id}/episodes/0"), "played again meanwhile"

        connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=60)
        told: list[dict[str, Any]] = []
        with contextlib.closing(connection):
            connection.request("GET", f"/runs/{id}/events")
            stream = connection.getresponse()
            assert stream.getheader("content-type", "").startswith("text/event-stream")
            ended = False
            for line in stream:
                if line.startswith(b"event: end"):
                    ended = True
                elif line.startswith(b"data: ") and not ended:
                    told.append(json.loads(line[6:]))
                    if len({one["kept"] for one in told}) > 2:
                        (tmp_path / "hurry").touch()
        assert ended
        kept = [one["kept"] for one in told]
        assert kept == sorted(kept)
        assert len(set(kept)) > 2, "it moved on"
        assert kept[-1] == 100
        assert 0 <= told[-1]["mean_reward"] <= 1
        out, _ = runner.communicate(timeout=60)
        assert runner.returncode == 0, out
        page = text_of(site, f"/runs/{id}")
        assert "http-equiv" not in page
        assert "complete" in page
    with contextlib.closing(open_run(runs / "slow")) as store:
        assert store.numbers() == set(range(100))


def test_a_server_that_stops_ends_its_streams(
    runner: "subprocess.Popen[str]", tmp_path: Path
) -> None:
    runs = tmp_path / "runs"
    runs.mkdir(exist_ok=True)
    with runs_served(runs) as site:
        rows = wait_for(lambda: site.ask("/v1/runs")[1]["runs"])
        connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=60)
        connection.request("GET", f"/runs/{rows[0]['id']}/events")
        stream = connection.getresponse()
        assert stream.readline().startswith(b"event: progress")
        begun = time.monotonic()
    assert time.monotonic() - begun < 30
    stream.read()
    connection.close()
    assert runner.poll() is None, "the runner goes on"


def test_runs_of_different_protocols_are_compared_only_when_asked(tmp_path: Path) -> None:
    for name, reward in (("one", 0.5), ("two", 1.0)):
        info = run_info(8, agent=name, protocol_key=f"{name}@1")
        make_run(tmp_path / name, info, [made(number, reward) for number in range(8)])
    with runs_served(tmp_path / "one", tmp_path / "two" / "run.sqlite") as site:
        known = ids(site)
        address = f"/runs/compare?run={known['one']}&run={known['two']}"
        page = text_of(site, address)
        assert "They follow different protocols" in page
        [link] = re.findall(r'href="([^"]+anyway=1)"', page)
        assert "two is better than one: 50.0 points" in text_of(site, html.unescape(link))


def test_the_command_serves_runs_and_needs_no_catalogue(folder: Path) -> None:
    code = "from errands.cli import main; main()"
    words = ["serve", "--runs", str(folder), "--port", "0", "--data", "no-such-catalogue"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        found = re.fullmatch(
            r"Serving runs on http://127\.0\.0\.1:(\d+)\n", process.stdout.readline()
        )
        assert found
        site = Served(None, int(found[1]), None)  # type: ignore[arg-type]
        assert len(ids(site)) == 3
        assert "All runs" in text_of(site, "/runs")
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0
        assert "/runs in a browser" in said
        assert "Traceback" not in said
    finally:
        process.kill()
        process.communicate()


def test_runs_in_a_database_are_shown_like_others(
    little: Catalog, tmp_path: Path, postgres_url: str
) -> None:
    protocol = write_protocol(tmp_path, Path(little.path), 6)
    run(protocol, "rule", out=f"{postgres_url}&run=one")
    run(protocol, "random", out=f"{postgres_url}&run=two")
    run(protocol, "rule", out=tmp_path / "files" / "rule")
    with runs_served(postgres_url, tmp_path / "files") as site:
        rows = {row["name"]: row for row in site.ask("/v1/runs")[1]["runs"]}
        assert {"one", "two", "files/rule"} <= rows.keys()
        assert rows["one"]["score"] == rows["files/rule"]["score"]
        assert (rows["one"]["kept"], rows["one"]["writing"]) == (6, False)
        with run_lock(f"{postgres_url}&run=one"):
            assert site.ask(f"/v1/runs/{rows['one']['id']}")[1]["run"]["writing"]
        for order in ("number", "reward", "steps", "cost"):
            query = f"order={order}&way=down&least=0.1&limit=3&offset=1"
            inside, beside = (
                site.ask(f"/v1/runs/{rows[name]['id']}/episodes?{query}")[1]
                for name in ("one", "files/rule")
            )
            assert [e["number"] for e in inside["episodes"]] == [
                e["number"] for e in beside["episodes"]
            ]
            assert inside["total"] == beside["total"]
        address = f"/runs/{rows['one']['id']}"
        assert "complete" in text_of(site, address)
        assert "came back the same" in text_of(site, f"{address}/episodes/2")
        assert site.ask(f"/v1{address}/episodes/2")[1]["before"] == 1
        text_of(site, f"{address}/episodes/77", 404)
        text_of(site, f"/runs/compare?run={rows['one']['id']}&run={rows['two']['id']}")
        assert "secret" not in text_of(site, "/runs")

"""`errands run --agent llm` against an endpoint that is as strict as those of today: every outcome
of an answer, end to end, in both domains."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import strict_chat
from command import in_process
from strict_chat import KEY, MODEL, REASONING, StrictEndpoint

from errands.runs.store.places import open_run

EXAMPLE = "errands run turk-test --agent llm --model gpt-5-mini --set demos=3 --workers 16"
SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "turkingbench"


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[StrictEndpoint]:
    made = StrictEndpoint()
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", made.url)
    yield made
    made.close()


def run(folder: Path, *words: object, status: int = 0, protocol: str = "shop-demo") -> Any:
    """What `errands run --json` says, of a few episodes."""
    given = ("run", protocol, "--agent", "llm", "--model", MODEL, "--out", folder, "--json")
    few = () if "--episodes" in words else ("--episodes", 2)
    done = in_process(*given, *few, "--max-steps", 6, *words)
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return json.loads(done.stdout)


def shops(request: dict[str, Any], number: int = 0) -> str:
    """Search the instruction, take the first product, buy it."""
    task = request["messages"][1]["content"]
    page = task.rpartition("Observation:\n")[2]
    if "[Search]" in page:
        return f"search[{task.split(chr(10))[0].removeprefix('Instruction: ')}]"
    products = re.findall(r"^\[(B0\w{8})\]$", page, re.M)
    return f"click[{products[0]}]" if products else "click[Buy Now]"


def fills(request: dict[str, Any], number: int = 0) -> str:
    """Leave the field that is asked for as it is."""
    asked = [one["content"] for one in request["messages"] if one["role"] == "user"]
    fields = re.findall(r"^Field: (.+)$", "\n".join(asked), re.M)
    return f"leave({fields[-1]!r})"


def test_current_models_work_by_default(endpoint: StrictEndpoint, tmp_path: Path) -> None:
    endpoint.script = shops
    told = run(tmp_path / "run")
    assert endpoint.refused == []
    assert (told["errors"], told["failed"], told["ended"]) == (0, "", "")
    assert told["score"]["mean"] is not None
    sent = endpoint.requests[0]
    assert sent.keys() == {"model", "messages", "max_completion_tokens"}
    answers = told["answers"]
    assert answers["outcomes"]["action"] == answers["answers"] == 6
    assert answers["tokens_reasoning"] == 6 * REASONING
    assert (answers["valid_share"], answers["nothing_share"]) == (1.0, 0.0)


def test_the_example_of_the_help_works(endpoint: StrictEndpoint, tmp_path: Path) -> None:
    help_text = in_process("run", "--help").stdout
    assert EXAMPLE.replace(" ", "") in re.sub(r"[\s│]", "", help_text)
    endpoint.script = fills
    words = EXAMPLE.split()[1:]
    if SHARED.is_dir():
        more = ["--data", SHARED, "--driver", "dom", "--episodes", 2]
    else:
        words[words.index("turk-test")] = "turk-demo"
        more = ["--driver", "dom", "--episodes", 2]
    done = in_process(*words, *more, "--max-steps", 3, "--out", tmp_path / "run", "--json")
    assert "Traceback" not in done.stderr
    assert endpoint.refused == []
    assert endpoint.requests, done.stderr
    told = json.loads(done.stdout)
    assert (told["errors"], told["failed"]) == (0, ""), told
    assert told["answers"]["nothing"] == 0


OUTCOMES = {
    "refused": strict_chat.refusal("I cannot help with that."),
    "filtered": strict_chat.FILTER,
    "cut": strict_chat.LENGTH,
    "empty": strict_chat.EMPTY,
    "unreadable": "Let me think about what to do next.",
    "invalid": "click[something that is not there]",
}


@pytest.mark.parametrize("domain", ["shop", "turk"])
@pytest.mark.parametrize("outcome", OUTCOMES)
def test_each_outcome_is_counted_for_steps_episodes_and_the_run(
    endpoint: StrictEndpoint, tmp_path: Path, outcome: str, domain: str
) -> None:
    good = shops if domain == "shop" else fills

    def script(request: dict[str, Any], number: int) -> Any:
        if number != 0:
            return good(request)
        if outcome == "invalid" and domain == "turk":
            name = fills(request).removeprefix("leave(").removesuffix(")")
            return f"modify_radio({name}, 'no such option')"
        return OUTCOMES[outcome]

    endpoint.script = script
    protocol = "shop-demo" if domain == "shop" else "turk-demo"
    more = () if domain == "shop" else ("--driver", "dom")
    told = run(tmp_path / "run", *more, "--set", "max_empty=0.9", protocol=protocol)
    assert endpoint.refused == []
    assert told["failed"] == ""
    assert told["answers"]["outcomes"][outcome] == 1
    assert told["answers"]["episodes_with"][outcome] == 1
    store = open_run(tmp_path / "run")
    [first, _] = list(store.episodes())
    store.close()
    assert first.steps[0].calls[0].outcome == outcome
    assert first.summary.parts["model"]["answers"][outcome] == 1
    said = in_process("report", tmp_path / "run", "--out", tmp_path / "report")
    assert said.returncode == 0
    page = (tmp_path / "report" / "report.html").read_text()
    assert "Model answers" in page
    report = json.loads((tmp_path / "report" / "report.json").read_text())
    [one] = report["runs"]
    assert one["figures"]["answers"]["outcomes"][outcome] == 1
    assert "## Model answers" in (tmp_path / "report" / "report.md").read_text()


@pytest.mark.parametrize("domain", ["shop", "turk"])
@pytest.mark.parametrize("outcome", ["refused", "filtered", "cut", "empty", "unreadable"])
def test_a_run_whose_answers_came_to_nothing_has_failed(
    endpoint: StrictEndpoint, tmp_path: Path, outcome: str, domain: str
) -> None:
    endpoint.script = lambda request, number: OUTCOMES[outcome]
    protocol = "shop-demo" if domain == "shop" else "turk-demo"
    more = () if domain == "shop" else ("--driver", "dom")
    told = run(tmp_path / "run", *more, status=1, protocol=protocol)
    assert told["errors"] == 0
    assert "answers of the model came to nothing" in told["failed"]
    assert told["score"]["mean"] is None
    assert told["success"]["mean"] is None
    assert told["answers"]["nothing_share"] == 1.0
    assert "tasks" not in told


def test_a_failed_run_has_no_zeros_anywhere(endpoint: StrictEndpoint, tmp_path: Path) -> None:
    """Of form pages, tasks and fields were 0.0; of repeats, pass@k was; and it could be sent."""
    endpoint.script = lambda request, number: strict_chat.EMPTY
    for name, protocol, more in (
        ("form", "turk-demo", ("--driver", "dom")),
        ("shop", "shop-demo", ("--repeat", 2)),
    ):
        run(tmp_path / name, *more, status=1, protocol=protocol)
        said = in_process("report", tmp_path / name, "--out", tmp_path / f"{name}-report")
        assert said.returncode == 0, said.stderr
        report = json.loads((tmp_path / f"{name}-report" / "report.json").read_text())
        figures = report["runs"][0]["figures"]
        assert (figures["paperwork"], figures["repeats"]) == (None, None)
        told = (tmp_path / f"{name}-report" / "report.md").read_text()
        assert "## TurkingBench" not in told
        assert "pass@k" not in told
        sent = in_process("submit", tmp_path / name, "--out", tmp_path / f"{name}.errands.json.gz")
        assert sent.returncode != 0
        assert "has failed and has no score" in sent.stderr


def test_invalid_actions_did_not_come_to_nothing(endpoint: StrictEndpoint, tmp_path: Path) -> None:
    endpoint.script = lambda request, number: "click[nothing of the kind]"
    words = ("run", "shop-demo", "--agent", "llm", "--model", MODEL, "--episodes", 1)
    done = in_process(*words, "--max-steps", 3, "--out", tmp_path / "run")
    line = "Model answers: 3, 0.0 % came to nothing; 3 invalid actions; valid actions: 0.0 %."
    assert line in done.stdout
    assert re.search(r"Tokens: [\d,]+ in, [\d,]+ out\. Cost: \$\d+\.\d{4}\.", done.stdout)


def test_a_failed_run_says_so_everywhere(endpoint: StrictEndpoint, tmp_path: Path) -> None:
    endpoint.script = lambda request, number: strict_chat.LENGTH
    words = ("run", "shop-demo", "--agent", "llm", "--model", MODEL, "--episodes", 2)
    done = in_process(*words, "--max-steps", 3, "--out", tmp_path / "bad")
    assert done.returncode == 1
    assert "The run has failed and has no score: 12 of 12 answers" in done.stderr
    assert "--set max_tokens=32000" in done.stderr
    assert "Model answers: 12, 100.0 % came to nothing" in done.stdout
    assert re.search(r"│ task score +│ +- │", done.stdout)
    endpoint.script = shops
    run(tmp_path / "good")
    said = in_process("report", tmp_path / "bad", tmp_path / "good", "--out", tmp_path / "both")
    assert said.returncode == 0
    assert "(failed: llm" in said.stdout.replace("\n", "")
    report = json.loads((tmp_path / "both" / "report.json").read_text())
    assert "(failed: " in report["title"]
    assert report["comparisons"] == []
    assert any("has failed, and has no score" in one for one in report["runs"][0]["remarks"])
    page = (tmp_path / "both" / "report.html").read_text()
    assert re.search(r'class="big"><b>failed</b>', page)


def test_how_much_may_come_to_nothing_can_be_set(endpoint: StrictEndpoint, tmp_path: Path) -> None:
    def script(request: dict[str, Any], number: int) -> Any:
        return strict_chat.EMPTY if number % 3 == 0 else shops(request)

    endpoint.script = script
    assert run(tmp_path / "some")["failed"] == ""
    endpoint.requests.clear()
    told = run(tmp_path / "none", "--set", "max_empty=0", status=1)
    assert "max_empty=0 allows" in told["failed"]


def test_a_filter_may_say_so_by_a_status(endpoint: StrictEndpoint, tmp_path: Path) -> None:
    endpoint.script = lambda request, number: strict_chat.PROMPT_FILTER
    told = run(tmp_path / "run", status=1)
    assert told["answers"]["outcomes"]["filtered"] == told["answers"]["answers"] == 24
    assert told["errors"] == 0


def test_too_small_a_limit_is_told_from_a_bad_model(
    endpoint: StrictEndpoint, tmp_path: Path
) -> None:
    endpoint.script = shops
    told = run(tmp_path / "run", "--set", f"max_completion_tokens={REASONING}", status=1)
    assert endpoint.requests[0]["max_completion_tokens"] == REASONING
    assert told["answers"]["outcomes"]["cut"] == told["answers"]["answers"]


@pytest.mark.parametrize(
    ("setting", "instead"),
    [
        ("stop=send", "stop=none"),
        ("temperature=0", "temperature=none"),
        ("limit_name=max_tokens", "max_completion_tokens=N"),
        ("top_p=0.5", "top_p=none"),
    ],
)
def test_what_the_model_refuses_is_named_with_what_to_do(
    endpoint: StrictEndpoint, tmp_path: Path, setting: str, instead: str
) -> None:
    endpoint.script = shops
    words = ("run", "shop-demo", "--agent", "llm", "--model", MODEL, "--episodes", 1)
    done = in_process(*words, "--set", setting, "--out", tmp_path / "run")
    assert done.returncode == 1
    assert f"do without it: --set {instead}" in done.stderr
    assert len(endpoint.requests) == 1, "another try would be refused, too"


def test_tools_are_played_and_kept(endpoint: StrictEndpoint, tmp_path: Path) -> None:
    def script(request: dict[str, Any], number: int) -> Any:
        page = request["messages"][-1]["content"]
        if number == 1:
            return strict_chat.calls(("think", {"thought": "the first will do"}))
        products = re.findall(r"^\[(B0\w{8})\]$", page, re.M)
        if "[Search]" in page:
            return strict_chat.calls(("search", {"query": "shoes"}))
        if "OK." in page:
            return strict_chat.calls(("click", {"name": "no such thing"}))
        if products:
            return strict_chat.calls(("click", {"name": products[0]}))
        if "Invalid action!" in page:
            return strict_chat.calls(("click", {"name": "Back to Search"}))
        return strict_chat.calls(("click", {"name": "Buy Now"}))

    endpoint.script = script
    told = run(tmp_path / "run", "--set", "calls=tools", "--episodes", 1)
    assert endpoint.refused == []
    assert told["answers"]["outcomes"]["thought"] == 1
    assert told["answers"]["outcomes"]["invalid"] == 1
    store = open_run(tmp_path / "run")
    episode = store.episode(0)
    store.close()
    calls = [call for step in episode.steps for call in step.calls]
    sent = [request["messages"] for request in endpoint.requests]
    assert [list(call.messages) for call in calls] == sent, "messages as they were sent"
    assert [list(call.tools) for call in calls] == [one["tools"] for one in endpoint.requests]
    assert calls[0].calls[0].name == "search"
    assert {call.finish for call in calls} == {"tool_calls"}
    assert sum(call.tokens_in for call in calls) == episode.summary.tokens_in
    assert sum(call.cost for call in calls) == pytest.approx(episode.summary.cost)


def test_retries_and_cache_hits_are_kept_with_each_call(
    endpoint: StrictEndpoint, tmp_path: Path
) -> None:
    answer = endpoint.answer
    failed: list[int] = []

    def flaky(handler: Any, request: dict[str, Any], reply: Any) -> None:
        if not failed:
            failed.append(1)
            endpoint.send(handler, 503, {}, b"busy")
        else:
            answer(handler, request, reply)

    endpoint.answer = flaky  # type: ignore[method-assign]
    endpoint.script = shops
    cache = ("--set", f"cache={tmp_path / 'cache'}", "--set", "wait=0.01")
    assert run(tmp_path / "first", *cache)["answers"]["retries"] == 1
    told = run(tmp_path / "second", *cache)
    assert told["answers"]["cached"] == told["answers"]["answers"] == 6
    store = open_run(tmp_path / "second")
    call = store.episode(0).steps[0].calls[0]
    store.close()
    assert (call.cached, call.cost, call.finish) == (True, 0.0, "stop")


def test_without_pages_no_messages_are_kept(endpoint: StrictEndpoint, tmp_path: Path) -> None:
    endpoint.script = shops
    run(tmp_path / "run", "--observations", "hash")
    store = open_run(tmp_path / "run")
    call = store.episode(0).steps[0].calls[0]
    store.close()
    assert (call.messages, call.tools) == ((), ())
    assert call.answer.startswith("search[")

"""A tiny model is fine-tuned on what the teacher said, goes on after a stop to the same weights,
and is served to the agent `llm`, which shops with it."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import finetune_chat as example
import pytest
import serve_chat
from little_runs import little_protocol
from tiny_model import save_tiny_model
from typer.testing import CliRunner

from errands.runs import open_run, run
from errands.runs.export import export
from errands.shop.catalog.catalog import Catalog

torch = pytest.importorskip("torch", reason="needs errands[train]")
pytest.importorskip("transformers", reason="needs errands[hf]")

# What other people's packages warn of is not ours to mend.
pytestmark = pytest.mark.filterwarnings("default")

FOLDER = example.TEMPLATE.parent
ASKED = {"style": "react", "calls": "tools", "shots": 0, "top": 3, "window": 0}
COUNT = 8


@pytest.fixture(scope="module")
def conversations(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("taught")
    protocol = little_protocol(little, COUNT, split="disjoint-train")
    run(protocol, "teacher", out=folder / "teacher")
    out = folder / "sft.jsonl"
    with closing(open_run(folder / "teacher")) as store:
        settings = {"shots": 0, "top": 3, "prompt": str(FOLDER / "short_prompt.md")}
        export(store, out, "chat", style="react", settings=settings)
    return out


@pytest.fixture(scope="module")
def tiny(conversations: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(
        tmp_path_factory.mktemp("tiny"),
        conversations.read_text().splitlines(),
        example.TEMPLATE.read_text(),
    )


def tuned(conversations: Path, tiny: Path, out: Path, *options: str) -> Any:
    words = [str(conversations), "--model", str(tiny), "--out", str(out), "--batch", "4", *options]
    return CliRunner().invoke(_app(), words)


def _app() -> Any:
    import typer

    app = typer.Typer()
    app.command()(example.main)
    return app


def weights(folder: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    loaded: dict[str, Any] = load_file(folder / "model.safetensors")
    return loaded


def log(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def test_only_what_was_said_is_learnt(conversations: Path, tiny: Path) -> None:
    _, tokenizer = example.load(str(tiny), None)
    lines = [json.loads(line) for line in conversations.read_text().splitlines()]
    for line, one in zip(
        lines, example.read_examples(conversations, tokenizer, 100_000), strict=True
    ):
        whole = tokenizer.apply_chat_template(line["messages"], tools=line["tools"], tokenize=False)
        assert tokenizer.decode(one.tokens) == whole.rstrip("\n")
        learnt = tokenizer.decode(
            [token for token, wanted in zip(one.tokens, one.learnt, strict=True) if wanted]
        )
        said = [message for message in line["messages"] if message["role"] == "assistant"]
        assert learnt.count("<|im_end|>") == learnt.count("<tool_call>") == len(said)
        assert "<|im_start|>" not in learnt
        for message in said:
            [call] = message["tool_calls"]
            assert json.dumps(call["function"]["arguments"]) in learnt


def test_the_loss_falls_and_a_stop_changes_nothing(
    conversations: Path, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--epochs", "6", "--learning-rate", "3e-3")
    done = tuned(conversations, tiny, tmp_path / "whole", *options)
    assert done.exit_code == 0, done.output
    told = log(tmp_path / "whole")
    assert [one["step"] for one in told] == list(range(1, 13))
    assert told[-1]["loss"] < 0.8 * told[0]["loss"]
    assert not (tmp_path / "whole" / example.STATE).exists()

    class Stopped(Exception):
        pass

    step = example.Optimizer.step
    count = 0

    def stopping(self: Any, share: float) -> None:
        nonlocal count
        count += 1
        if count == 6:
            raise Stopped
        step(self, share)

    with monkeypatch.context() as patch:
        patch.setattr(example.Optimizer, "step", stopping)
        broken = tuned(conversations, tiny, tmp_path / "again", *options, "--save-minutes", "0")
    assert isinstance(broken.exception, Stopped)
    assert not (tmp_path / "again" / "model.safetensors").exists()
    other = tuned(
        conversations, tiny, tmp_path / "again", "--epochs", "5", "--learning-rate", "3e-3"
    )
    assert other.exit_code == 2
    assert "holds another training" in other.output
    done = tuned(conversations, tiny, tmp_path / "again", *options)
    assert "goes on after update 5." in done.output
    assert [one["loss"] for one in log(tmp_path / "again")] == [one["loss"] for one in told]
    first, second = weights(tmp_path / "whole"), weights(tmp_path / "again")
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_together_is_the_same_as_one_by_one(conversations: Path, tiny: Path) -> None:
    model, tokenizer = example.load(str(tiny), None)
    model = model.float()
    group = example.read_examples(conversations, tokenizer, 100_000)[:3]
    alone = sum(example.loss_of(model, [one]).item() for one in group)
    assert example.loss_of(model, group).item() == pytest.approx(alone, rel=1e-4)


def test_small_steps_are_not_rounded_away(tiny: Path) -> None:
    model, _ = example.load(str(tiny), None)
    optimizer = example.Optimizer(model, 1e-6)
    before = [one.clone() for one in optimizer.masters]
    for _ in range(3):
        for one in optimizer.weights:
            one.grad = torch.ones_like(one)
        optimizer.step(1.0)
    moved = [(old - new).mean().item() for old, new in zip(before, optimizer.masters, strict=True)]
    assert all(one == pytest.approx(3e-6, rel=0.1) for one in moved)


def test_the_rate_rises_and_falls() -> None:
    shares = [example.share_of_rate(step, 100, 10) for step in range(100)]
    assert shares[0] == pytest.approx(0.1)
    assert max(shares) == shares[9] == pytest.approx(1.0)
    assert shares[10:] == sorted(shares[10:], reverse=True)
    assert 0 < shares[-1] < 0.02


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (None, (), "cannot be read"),
        ("no json", (), "cannot be read"),
        ("", (), "has no conversation of"),
        ('{"messages": []}', (), "(KeyError: 'tools')"),
        ("[1]", (), "is no conversation of `errands export --format chat` (TypeError"),
        ("good", ("--longest", "10"), "has no conversation of 10 tokens"),
        ("good", ("--model", "./empty"), "./empty cannot be trained"),
        ("good", ("--template", "plain"), "does not write tool calls"),
        ("good", ("--template", "forgetful"), "writes earlier messages anew"),
    ],
)
def test_mistakes_are_one_sentence(
    conversations: Path, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    text: str | None, options: tuple[str, ...], words: str,
) -> None:  # fmt: skip
    (tmp_path / "empty").mkdir()
    (tmp_path / "plain").write_text(
        "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
    )
    (tmp_path / "forgetful").write_text(
        "{{ messages | length }}{% for message in messages %}{{ message }}{% endfor %}"
    )
    monkeypatch.chdir(tmp_path)
    data = tmp_path / "data.jsonl"
    if text is not None:
        data.write_text(conversations.read_text() if text == "good" else text)
    done = tuned(data, tiny, tmp_path / "out", *options)
    assert done.exit_code == 2
    assert words in done.output


def test_zero_epochs_save_the_model_as_it_is(
    conversations: Path, tiny: Path, tmp_path: Path
) -> None:
    done = tuned(conversations, tiny, tmp_path / "out", "--epochs", "0")
    assert done.exit_code == 0, done.output
    before, after = weights(tiny), weights(tmp_path / "out")
    assert all(torch.equal(before[name].bfloat16(), after[name]) for name in after)
    assert example.load(str(tmp_path / "out"), None)[1].chat_template


@pytest.fixture(scope="module")
def endpoint(tiny: Path) -> Iterator[str]:
    model, tokenizer = example.load(str(tiny), None)
    engine = serve_chat.Engine(model, tokenizer, 4)
    served = serve_chat.server(engine, 0)
    thread = threading.Thread(target=served.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{served.server_port}/v1"
    served.shutdown()
    served.server_close()
    thread.join()
    engine.close()


def test_the_agent_plays_with_what_is_served(
    endpoint: str, little: Catalog, tmp_path: Path
) -> None:
    settings = {**ASKED, "model": "tiny", "base_url": endpoint, "max_tokens": 8, "max_empty": 1}
    protocol = little_protocol(little, 4, max_steps=2, split="disjoint-test")
    played = run(protocol, "llm", settings=settings, workers=4, out=tmp_path / "run")
    assert played.kept == 4
    with closing(open_run(tmp_path / "run")) as store:
        for episode in store.episodes():
            assert episode.summary.status == "truncated", episode.summary
            calls = [call for step in episode.steps for call in step.calls]
            assert len(calls) >= 2
            for call in calls:
                assert 0 <= call.tokens_out <= 8
                assert call.tokens_in > 50


def asked(endpoint: str, body: Any, path: str = "/chat/completions") -> tuple[int, Any]:
    import httpx

    answer = httpx.post(endpoint + path, json=body, timeout=60)
    return answer.status_code, answer.json()


def test_greedy_answers_are_those_of_the_model_alone_or_together(endpoint: str, tiny: Path) -> None:
    """Left padding and company change no answer (in float32, where rounding decides nothing)."""
    model, tokenizer = example.load(str(tiny), None)
    model = model.float().eval()
    engine = serve_chat.Engine(model, tokenizer, 4)
    bodies = [
        {"messages": [{"role": "user", "content": words}], "max_tokens": 12}
        for words in ("lamp", "I look for a red lamp, at most $20.00.", "Buy Now")
    ]
    answers: dict[int, Any] = {}

    def ask(place: int) -> None:
        answers[place] = engine.ask(bodies[place])

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    engine.close()
    for place, body in enumerate(bodies):
        prompt = tokenizer.apply_chat_template(
            body["messages"], tokenize=True, add_generation_prompt=True, return_tensors="pt"
        )["input_ids"]
        made = model.generate(prompt, max_new_tokens=12, do_sample=False)
        alone = made[0, prompt.shape[1] :].tolist()
        end = tokenizer.eos_token_id
        alone = alone[: alone.index(end)] if end in alone else alone
        assert answers[place].text == tokenizer.decode(alone, skip_special_tokens=True)
        assert answers[place].tokens_in == prompt.shape[1]


def test_what_is_no_request_is_refused(endpoint: str) -> None:
    assert asked(endpoint, {"messages": 3})[0] == 400
    assert asked(endpoint, [1])[0] == 400
    assert asked(endpoint, {})[1]["error"]["message"].startswith("This is no chat request")
    assert asked(endpoint, {}, "/elsewhere")[0] == 404


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ('<tool_call>\n{"name": "click", "arguments": {"name": "Buy Now"}}\n</tool_call>', "click"),
        ('I think.\n<tool_call>{"name": "search", "arguments": {"query": "x"}}', "search"),
        ("<tool_call>no json</tool_call>", None),
        ("<tool_call>[1]</tool_call>", None),
        ("click[Buy Now]", None),
    ],
)
def test_calls_are_taken_out_of_what_was_said(text: str, called: str | None) -> None:
    message = serve_chat.message_of(text, has_tools=True)
    if called is None:
        assert message == {"role": "assistant", "content": text}
    else:
        [call] = message["tool_calls"]
        assert call["function"]["name"] == called
        assert isinstance(json.loads(call["function"]["arguments"]), dict)
    assert serve_chat.message_of(text, has_tools=False)["content"] == text


def test_trainers_read_the_calls_that_the_template_writes(tiny: Path) -> None:
    _, tokenizer = example.load(str(tiny), example.TEMPLATE)
    call = {"type": "function", "function": {"name": "click", "arguments": {"name": "red"}}}
    messages = [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
    ]
    shown = tokenizer.apply_chat_template(messages, tokenize=False)
    asked_with, assistant, said = shown.rstrip("\n").partition("assistant\n")
    asked_with += assistant
    assert tokenizer.parse_response(said, prefix=asked_with)["tool_calls"] == [call]


@pytest.mark.parametrize("name", ["finetune_chat", "serve_chat"])
def test_help_has_examples_and_needs_no_torch(name: str) -> None:
    program = "import sys; sys.modules['torch'] = None; import runpy; sys.argv[1:] = ['--help'];"
    shown = subprocess.run(
        [sys.executable, "-c", f"{program} runpy.run_path({str(FOLDER / name) + '.py'!r},"
         " run_name='__main__')"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert shown.returncode == 0, shown.stderr
    assert f"python examples/{name}.py" in shown.stdout

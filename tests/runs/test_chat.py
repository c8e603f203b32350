"""`errands export --format chat`: conversations to learn from, of models, people and scripts."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from command import in_process
from little_runs import little_protocol
from strict_chat import KEY, MODEL, StrictEndpoint, calls

from errands.agents.agent import Move
from errands.errors import ErrandsError
from errands.runs.export import export
from errands.runs.runner import run
from errands.runs.store.base import StoreError
from errands.runs.store.places import open_run
from errands.shop.catalog.catalog import Catalog

# The shape of the templates that models come with: tools first, calls and results in tags.
TEMPLATE = """
{%- for tool in tools %}TOOL {{ tool | tojson }}
{% endfor %}
{%- for message in messages %}<|{{ message.role }}|>
{%- if message.role == 'assistant' %}
{%- generation %}{{ message.content }}
{%- for call in message.tool_calls or [] %}<call>{{ call.function.name }}
{%- for name, value in call.function.arguments.items() %} {{ name }}={{ value }}{% endfor %}</call>
{%- endfor %}<|end|>{% endgeneration %}
{%- else %}{{ message.content }}<|end|>{% endif %}
{% endfor %}"""


class Person:
    """Notes a thought, tries something that is not there, and buys the first product."""

    def begin(self, observation: Any, info: Any) -> None:
        self._said = iter(["search", "wrong", "first", "buy"])

    def act(self, observation: Any, info: Any) -> Move:
        clickables = info["available_actions"]["clickables"]
        match next(self._said):
            case "search":
                return Move(f"search[{info['instruction']}]", "I begin\nwith its words.")
            case "wrong":
                return Move("click[a thing that is not there]")
            case "first":
                buttons = ("back to search", "next >", "< prev")
                return Move(f"click[{next(one for one in clickables if one not in buttons)}]")
        return Move("click[buy now]")


@pytest.fixture(scope="module")
def played(little: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chat")
    protocol = little_protocol(little, 4)
    run(protocol, "rule", out=folder / "rule")
    run(protocol, Person, out=folder / "person")
    run("turk-demo", "oracle", out=folder / "forms", episodes=8, driver="dom")
    return folder


def lines(place: Path, **options: Any) -> list[dict[str, Any]]:
    out = place.parent / "out.jsonl"
    with closing(open_run(place)) as store:
        export(store, out, "chat", replace=True, **options)
    return [json.loads(line) for line in out.read_text().splitlines()]


def calls_of(line: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [
        (call["function"]["name"], call["function"]["arguments"])
        for message in line["messages"]
        for call in message.get("tool_calls", ())
    ]


def test_a_script_becomes_a_conversation_in_the_words_of_the_model_agent(played: Path) -> None:
    for line in lines(played / "rule"):
        assert len(line["messages"]) == len(line["train"])
        roles = [message["role"] for message in line["messages"]]
        assert roles[:2] == ["system", "user"]
        assert roles[-1] == "assistant", "nothing is said after the last action"
        assert [role == "assistant" for role in roles] == line["train"]
        assert [tool["function"]["name"] for tool in line["tools"]] == ["search", "click"]
        names = calls_of(line)
        assert names[0][0] == "search"
        assert names[-1] == ("click", {"name": "Buy Now"}), "in the letters of the page"
        assert 0 <= line["reward"] <= 1
        assert line["success"] is (line["reward"] == 1)


def test_it_is_what_the_agent_would_have_sent(played: Path, little: Catalog) -> None:
    """The same errand played by the agent with tools: its last request is the conversation."""
    endpoint = StrictEndpoint()
    [line, *_] = lines(played / "rule")
    wanted = iter(calls_of(line))

    def script(request: dict[str, Any], number: int) -> Any:
        name, arguments = next(wanted)
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": "x", "type": "function", "function": function}
        return {"content": None, "tool_calls": [call]}

    endpoint.script = script
    with pytest.MonkeyPatch.context() as patch, closing(endpoint):
        patch.setenv("OPENAI_API_KEY", KEY)
        settings = {"model": MODEL, "base_url": endpoint.url, "calls": "tools", "style": "act"}
        run(
            little_protocol(little, 4), "llm", settings=settings, episodes=1,
            out=played / "again",
        )  # fmt: skip
    assert endpoint.refused == []
    sent = endpoint.requests[-1]["messages"]
    for message in sent:
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    mine = [
        {name: value for name, value in message.items() if name != "name"}
        for message in line["messages"][:-1]
    ]
    assert sent == mine
    assert endpoint.requests[-1]["tools"] == line["tools"]


def test_a_persons_thoughts_and_mistakes(played: Path) -> None:
    [line, *_] = lines(played / "person", style="react")
    assert [tool["function"]["name"] for tool in line["tools"]] == ["search", "click", "think"]
    names = calls_of(line)
    assert names[0] == ("think", {"thought": "I begin with its words."})
    assert line["messages"][3] == {
        "role": "tool",
        "tool_call_id": "call_0",
        "name": "think",
        "content": "OK.",
    }
    learnt = dict(zip([str(name) for name in names], line["train"][2::2], strict=True))
    assert learnt[str(("click", {"name": "a thing that is not there"}))] is False
    assert sum(learnt.values()) == len(learnt) - 1
    assert "think" not in json.dumps(lines(played / "person")[0]["tools"])


def test_form_pages_are_conversations_with_their_tools(played: Path) -> None:
    made = lines(played / "forms")
    assert len(made) == 8
    for line in made:
        assert line["reward"] == 1.0
        assert calls_of(line)[-1] == ("submit", {})
        assert {name for name, _ in calls_of(line)} <= {"fill", "submit"}
        assert all(isinstance(one.get("value", ""), str) for _, one in calls_of(line))
        assert line["train"] == [one["role"] == "assistant" for one in line["messages"]]


def test_chat_templates_take_it_and_the_mask_is_theirs(played: Path) -> None:
    utilities = pytest.importorskip(
        "transformers.utils.chat_template_utils", reason="needs transformers"
    )
    for line in [*lines(played / "rule"), *lines(played / "forms", style="act")]:
        [text], [spans] = utilities.render_jinja_template(
            [line["messages"]],
            tools=line["tools"],
            chat_template=TEMPLATE,
            return_assistant_tokens_mask=True,
        )
        assert text.count("TOOL {") == len(line["tools"])
        learnt = [text[start:end] for start, end in spans]
        assert len(learnt) == sum(line["train"])
        for (name, arguments), part in zip(calls_of(line), learnt, strict=True):
            assert f"<call>{name}" in part
            assert all(f"{key}={value}" in part for key, value in arguments.items())


def test_only_episodes_that_are_good_enough(played: Path) -> None:
    everything = lines(played / "rule")
    most = max(line["reward"] for line in everything)
    chosen = lines(played / "rule", min_reward=most)
    assert [line["number"] for line in chosen] == [
        line["number"] for line in everything if line["reward"] >= most
    ]


@pytest.fixture
def model_run(little: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    endpoint = StrictEndpoint()
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    said = ["think[lamps]", "search[lamp]", "no idea", "still none", "click[Back to Search]"]
    endpoint.script = lambda request, number: said[number % len(said)]
    settings = {"model": MODEL, "base_url": endpoint.url, "max_empty": 1}
    run(little_protocol(little, 1, max_steps=4), "llm", settings=settings, out=tmp_path / "model")
    yield tmp_path / "model"
    endpoint.close()


def test_a_model_is_written_like_anybody_else(model_run: Path) -> None:
    [line] = lines(model_run, style="react")
    names = calls_of(line)
    assert names[:2] == [("think", {"thought": "lamps"}), ("search", {"query": "lamp"})]
    mistake = next(at for at, one in enumerate(line["messages"]) if "invalid" in one["content"])
    assert line["train"][mistake] is False


def test_requests_as_they_were_sent(model_run: Path) -> None:
    made = lines(model_run, style="sent")
    with closing(open_run(model_run)) as store:
        calls = [call for step in store.episode(0).steps for call in step.calls]
    assert len(made) == len(calls)
    for line, call in zip(made, calls, strict=True):
        assert line["messages"][:-1] == list(call.messages)
        assert line["messages"][-1] == {"role": "assistant", "content": call.answer}
        assert line["train"] == [False] * len(call.messages) + [
            call.outcome in ("action", "thought")
        ]
        assert line["outcome"] == call.outcome
    assert {line["outcome"] for line in made} == {"thought", "action", "unreadable"}


def test_mistakes_are_one_sentence(played: Path, tmp_path: Path) -> None:
    def refused(place: str, **options: Any) -> str:
        with closing(open_run(played / place)) as store, pytest.raises(StoreError) as problem:
            export(store, tmp_path / "x.jsonl", "chat", **options)
        assert not (tmp_path / "x.jsonl").exists()
        return str(problem.value)

    assert "There is no style 'reactt'; did you mean 'react' or" in refused("rule", style="reactt")
    assert "has no messages of a model" in refused("rule", style="sent")
    assert "have no thoughts" in refused("forms", style="react")
    done = in_process("export", played / "rule", tmp_path / "x.jsonl", "--style", "act")
    assert done.returncode == 2
    assert "--style is for --format chat." in done.stderr


def test_the_command_says_what_was_left_out(played: Path, tmp_path: Path) -> None:
    words = ("export", played / "rule", tmp_path / "x.jsonl", "--format", "chat")
    done = in_process(*words, "--min-reward", "1")
    assert done.returncode == 0
    written = len((tmp_path / "x.jsonl").read_text().splitlines())
    assert f"{written} episodes written" in done.stdout
    assert f"{4 - written} others failed or have a reward below 1" in done.stdout


def test_an_episode_that_does_not_come_back_is_an_error(played: Path, tmp_path: Path) -> None:
    import msgspec

    from errands.runs.store.places import create_run

    with closing(open_run(played / "rule")) as store:
        episode, info = store.episode(0), store.info
    other = msgspec.structs.replace(episode.summary, reward=0.123)
    with closing(create_run(str(tmp_path / "forged"), info)) as forged:
        forged.add(msgspec.structs.replace(episode, summary=other))
        with pytest.raises(StoreError, match=r"Episode 0 cannot be written .* not 0\.123"):
            export(forged, tmp_path / "x.jsonl", "chat")


class Taught(Person):
    """Opens the first product twice, with a thought before each action, and buys."""

    def begin(self, observation: Any, info: Any) -> None:
        self._said = iter(["search", "first", "back", "wrong", "first", "buy"])
        self._next = self._said

    def act(self, observation: Any, info: Any) -> Move:
        clickables = info["available_actions"]["clickables"]
        products = [one for one in clickables if one.startswith("b0")]
        kind = next(self._next)
        action = {
            "search": f"search[{info['instruction']}]",
            "first": f"click[{products[0] if products else ''}]",
            "back": "click[< prev]",
            "wrong": "click[a thing that is not there]",
            "buy": "click[buy now]",
        }[kind]
        return Move(action, f"Now comes {kind}.")


@pytest.mark.parametrize(
    ("settings", "requests"),
    [
        ({"shots": 0, "top": 3}, 1),
        ({"shots": 0, "top": 3, "window": "2600"}, 2),
        ({"shots": 0, "top": 2, "calls": "text"}, 11),
        ({"calls": "text", "window": 3500}, 11),
        ({"shots": 0, "top": 3, "prompt": "short_prompt.md"}, 1),
    ],
)
def test_it_is_what_the_agent_sends_with_these_settings(
    little: Catalog, tmp_path: Path, settings: dict[str, Any], requests: int
) -> None:
    """Said again by a model, request for request: what it is asked is what a line begins with."""
    if "prompt" in settings:
        settings = {**settings, "prompt": str(EXAMPLES / settings["prompt"])}
    run(little_protocol(little, 1), Taught, out=tmp_path / "taught")
    made = lines(tmp_path / "taught", style="react", settings=settings)
    assert len(made) >= requests
    answers = []
    for line in made:
        for at, (message, train) in enumerate(zip(line["messages"], line["train"], strict=True)):
            is_mistake = "not there" in json.dumps(message) and message["role"] == "assistant"
            assert not (train and is_mistake)
            if train:
                answers.append((line["messages"][:at], message, line["tools"]))
    said: list[Any] = []
    for message in (answer for _, answer, _ in answers):
        said.append(_as_answered(message))
        if "Now comes wrong" in json.dumps(message):
            said.append(_as_answered_call("click", "a thing that is not there", settings))
    endpoint = StrictEndpoint()
    endpoint.script = lambda request, number: said[number]
    with pytest.MonkeyPatch.context() as patch, closing(endpoint):
        patch.setenv("OPENAI_API_KEY", KEY)
        asked = {"calls": "tools", "window": 0, **settings, "model": MODEL, "style": "react"}
        run(
            little_protocol(little, 1), "llm", settings={**asked, "base_url": endpoint.url},
            out=tmp_path / "again",
        )  # fmt: skip
    assert endpoint.refused == []
    sent = [_with_objects(request) for request in endpoint.requests]
    assert len(sent) == len(said)
    for messages, _, tools in answers:
        bare = [{k: v for k, v in message.items() if k != "name"} for message in messages]
        assert (bare, tools) in sent


EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def _as_answered(message: dict[str, Any]) -> Any:
    """A message of ours as a model answers it."""
    if "tool_calls" not in message:
        return message["content"]
    [call] = message["tool_calls"]
    return calls((call["function"]["name"], call["function"]["arguments"]))


def _as_answered_call(name: str, words: str, settings: dict[str, Any]) -> Any:
    if settings.get("calls") == "text":
        return f"{name}[{words}]"
    return calls((name, {"name": words}))


def _with_objects(request: dict[str, Any]) -> tuple[list[dict[str, Any]], list[Any]]:
    """A request's messages as they are written for templates, and its tools."""
    for message in request["messages"]:
        for call in message.get("tool_calls", ()):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return request["messages"], request.get("tools", [])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"tops": 3}, "A conversation has no setting 'tops': did you mean 'top'?"),
        ({"style": "act"}, "A conversation has no setting 'style'"),
        ({"top": "many"}, "top='many': expected a whole number, 0 or more"),
        ({"window": 1500}, "window=1500 leaves too little room"),
    ],
)
def test_settings_are_checked(
    played: Path, tmp_path: Path, settings: dict[str, Any], words: str
) -> None:
    with closing(open_run(played / "rule")) as store, pytest.raises(ErrandsError) as problem:
        export(store, tmp_path / "x.jsonl", "chat", settings=settings)
    assert words in str(problem.value)


def test_settings_are_for_the_shop(played: Path, tmp_path: Path) -> None:
    with (
        closing(open_run(played / "forms")) as store,
        pytest.raises(StoreError, match="The setting 'top' is for the shop's conversations"),
    ):
        export(store, tmp_path / "x.jsonl", "chat", settings={"top": 3})


def test_what_is_not_shown_cannot_be_clicked(little: Catalog, tmp_path: Path) -> None:
    class Second(Taught):
        """Opens the second product, and buys it."""

        def act(self, observation: Any, info: Any) -> Move:
            clickables = info["available_actions"]["clickables"]
            products = [one for one in clickables if one.startswith("b0")]
            if products:
                return Move(f"click[{products[1]}]")
            return Move("click[buy now]") if "buy now" in clickables else super().act(None, info)

    run(little_protocol(little, 1), Second, out=tmp_path / "second")
    words = r"Episode 0 cannot be written .* which top=1 does not show"
    with closing(open_run(tmp_path / "second")) as store, pytest.raises(StoreError, match=words):
        export(store, tmp_path / "x.jsonl", "chat", settings={"top": "1"})


def test_the_command_takes_settings(played: Path, tmp_path: Path) -> None:
    words = ("export", played / "rule", tmp_path / "x.jsonl", "--set", "shots=0")
    done = in_process(*words, "--format", "chat", "--style", "react")
    assert done.returncode == 0, done.stderr
    [first, *_] = (tmp_path / "x.jsonl").read_text().splitlines()
    assert "An example" not in json.loads(first)["messages"][0]["content"]
    done = in_process(*words)
    assert "--set is for --format chat." in done.stderr

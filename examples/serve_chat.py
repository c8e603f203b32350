"""Serve a fine-tuned chat model to the agent `llm`: a small OpenAI-compatible endpoint on loopback.

    python examples/serve_chat.py shopper --port 8001
    errands run shop-learn --agent llm --model shopper --set base_url=http://127.0.0.1:8001/v1 \\
        --set calls=tools --set style=react --set shots=0 --set top=3 --set window=0

Requests that wait are answered together, as many as `--batch` says, with a KV cache. On a GPU, vLLM
or another server does the same faster. See docs/guides/fine-tuning.md.
"""

import json
import queue
import re
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, NoReturn

import typer

CALL = re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|\Z)", re.DOTALL)
TOGETHER_SECONDS = 0.03
"""How long a request waits for others to be answered with it."""


class BadRequest(Exception):
    """What is wrong with a request, in one sentence."""


class Asked(NamedTuple):
    """A request that waits for its answer."""

    prompt: str
    max_tokens: int
    temperature: float
    stop: list[str]
    answer: "Future[Answer]"


class Answer(NamedTuple):
    """What the model said."""

    text: str
    finish: str
    tokens_in: int
    tokens_out: int


class Engine:
    """A model, and the thread that asks it."""

    def __init__(self, model: Any, tokenizer: Any, batch: int, seed: int = 0) -> None:
        import torch

        self.model, self.tokenizer, self.batch = model.eval(), tokenizer, batch
        self.tokenizer.padding_side = "left"
        if self.tokenizer.pad_token is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token
        torch.manual_seed(seed)
        self.waiting: queue.Queue[Asked | None] = queue.Queue()
        self.thread = threading.Thread(target=self._answer_all, daemon=True)
        self.thread.start()

    def ask(self, body: dict[str, Any]) -> Answer:
        """The answer to a chat request."""
        try:
            prompt = self.tokenizer.apply_chat_template(
                _templated(body["messages"]), tools=body.get("tools") or None, tokenize=False,
                add_generation_prompt=True,
            )  # fmt: skip
            stop = body.get("stop") or []
            asked = Asked(
                prompt, int(body.get("max_tokens") or 128), float(body.get("temperature") or 0.0),
                [stop] if isinstance(stop, str) else list(stop), Future(),
            )  # fmt: skip
        except (KeyError, TypeError, ValueError) as failure:
            raise BadRequest(f"This is no chat request: {failure!r}.") from None
        self.waiting.put(asked)
        return asked.answer.result()

    def close(self) -> None:
        """No more is answered."""
        self.waiting.put(None)
        self.thread.join()

    def _answer_all(self) -> None:
        while (first := self.waiting.get()) is not None:
            group = [first]
            until = time.monotonic() + TOGETHER_SECONDS
            while len(group) < self.batch:
                try:
                    one = self.waiting.get(timeout=max(0.0, until - time.monotonic()))
                except queue.Empty:
                    break
                if one is None or one.temperature != first.temperature:
                    self.waiting.put(one)
                    break
                group.append(one)
            try:
                answers = self._generate(group)
            except Exception as failure:
                for asked in group:
                    asked.answer.set_exception(failure)
            else:
                for asked, answer in zip(group, answers, strict=True):
                    asked.answer.set_result(answer)

    def _generate(self, group: Sequence[Asked]) -> list[Answer]:
        import torch

        device = self.model.device
        given = self.tokenizer(
            [one.prompt for one in group], return_tensors="pt", padding=True,
            add_special_tokens=False,
        ).to(device)  # fmt: skip
        longest = max(one.max_tokens for one in group)
        temperature = group[0].temperature
        sampling = {"do_sample": True, "temperature": temperature} if temperature else {}
        with torch.inference_mode():
            made = self.model.generate(
                **given, max_new_tokens=longest, pad_token_id=self.tokenizer.pad_token_id,
                **(sampling or {"do_sample": False}),
            )  # fmt: skip
        width = given["input_ids"].shape[1]
        return [
            self._read(asked, row[width:].tolist(), int(mask.sum()))
            for asked, row, mask in zip(group, made, given["attention_mask"], strict=True)
        ]

    def _read(self, asked: Asked, tokens: list[int], tokens_in: int) -> Answer:
        end = self.tokenizer.eos_token_id
        finish = "stop" if end in tokens[: asked.max_tokens] else "length"
        tokens = tokens[: tokens.index(end)] if end in tokens else tokens
        tokens = tokens[: asked.max_tokens]
        text = self.tokenizer.decode(tokens, skip_special_tokens=True)
        for stop in asked.stop:
            before, found, _ = text.partition(stop)
            text, finish = before, "stop" if found else finish
        return Answer(text, finish, tokens_in, len(tokens))


def _templated(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Messages as chat templates take them: a call's arguments are an object."""
    made = []
    for message in messages:
        calls = [
            {**call, "function": {**call["function"], "arguments": _arguments(call["function"])}}
            for call in message.get("tool_calls") or ()
        ]
        made.append({**message, "tool_calls": calls} if calls else message)
    return made


def _arguments(function: dict[str, Any]) -> Any:
    try:
        return json.loads(function["arguments"])
    except ValueError:
        return function["arguments"]


def message_of(text: str, *, has_tools: bool) -> dict[str, Any]:
    """What was said, with the calls in it taken out."""
    calls = []
    for written in CALL.findall(text) if has_tools else ():
        try:
            call = json.loads(written)
            name, arguments = str(call["name"]), json.dumps(call.get("arguments", {}))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
        function = {"name": name, "arguments": arguments}
        calls.append({"id": f"call_{len(calls)}", "type": "function", "function": function})
    if calls:
        return {"role": "assistant", "content": None, "tool_calls": calls}
    return {"role": "assistant", "content": text}


def reply(engine: Engine, body: dict[str, Any]) -> dict[str, Any]:
    """A chat completion."""
    answer = engine.ask(body)
    message = message_of(answer.text, has_tools=bool(body.get("tools")))
    finish = "tool_calls" if "tool_calls" in message else answer.finish
    return {
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body.get("model", ""),
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": answer.tokens_in,
            "completion_tokens": answer.tokens_out,
            "total_tokens": answer.tokens_in + answer.tokens_out,
        },
    }


def server(engine: Engine, port: int) -> ThreadingHTTPServer:
    """A server on this machine alone; `serve_forever` begins it."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.path != "/v1/chat/completions":
                self._send(404, _error(f"There is nothing at {self.path}."))
                return
            try:
                asked = json.loads(body)
                if not isinstance(asked, dict):
                    raise BadRequest("This is no chat request: expected a JSON object.")
                self._send(200, reply(engine, asked))
            except (ValueError, BadRequest) as failure:
                self._send(400, _error(str(failure)))
            except Exception as failure:
                self._send(500, _error(f"The model failed: {failure!r}."))

        def do_GET(self) -> None:
            self._send(200, {"object": "list", "data": [{"id": "model", "object": "model"}]})

        def _send(self, status: int, answer: dict[str, Any]) -> None:
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            with suppress(ConnectionError):  # Who asked did not wait.
                self.end_headers()
                self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Requests are kept with the run that sends them."""

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


def _error(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error"}}


def main(
    model: str = typer.Argument(help="A directory that finetune_chat.py wrote, or a model's name."),
    port: int = typer.Option(8001, min=0, max=65535, help="On 127.0.0.1; 0: any that is free."),
    batch: int = typer.Option(8, min=1, help="Requests that are answered together."),
    threads: int = typer.Option(None, min=1, help="Of the CPU (default: all)."),
) -> None:
    """Serve a chat model with an OpenAI-compatible endpoint on loopback.

    Examples:

    \b
      python examples/serve_chat.py shopper
      python examples/serve_chat.py shopper --port 9000 --batch 1
    """
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        if threads is not None:
            torch.set_num_threads(threads)
        made = AutoModelForCausalLM.from_pretrained(model, dtype=torch.bfloat16)
        made.to("cuda" if torch.cuda.is_available() else "cpu")
        engine = Engine(made, AutoTokenizer.from_pretrained(model), batch)
        served = server(engine, port)
    except ImportError as failure:
        stop(f"{failure.name or 'A part'} is missing: run pip install '.[train,hf]' in a clone.")
    except (OSError, ValueError) as failure:
        stop(f"{model} cannot be served: {str(failure).splitlines()[0]}")
    print(f"http://127.0.0.1:{served.server_port}/v1", flush=True)
    try:
        served.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        served.server_close()


def stop(reason: str) -> NoReturn:
    typer.echo(reason, err=True)
    sys.exit(2)


if __name__ == "__main__":
    typer.run(main)

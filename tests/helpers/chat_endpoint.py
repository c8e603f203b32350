"""A chat endpoint on loopback that answers, fails and breaks off as it is told."""

import contextlib
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Script = Callable[[dict[str, Any], int], Any]


class Endpoint:
    """Runs `script(request, number)` for each call; what that returns decides what is sent.

    A text is an answer, a dictionary is a message with tool calls; `(status, headers, body)` is
    sent as it is; the other things that can happen are methods' names below.
    """

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.script: Script = lambda request, number: "search[red mug]"
        self.released = threading.Event()
        self.usage: dict[str, int] | None = {"prompt_tokens": 100, "completion_tokens": 10}
        self._lock = threading.Lock()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *arguments: object) -> None:
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with endpoint._lock:
                    number = len(endpoint.requests)
                    endpoint.requests.append(body)
                    endpoint.headers.append({k.lower(): v for k, v in self.headers.items()})
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    endpoint.answer(self, body, endpoint.script(body, number))

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 200

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def completion(self, message: dict[str, Any], finish: str = "stop") -> dict[str, Any]:
        choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
        body = {"id": "1", "object": "chat.completion", "model": "m", "choices": [choice]}
        return body | ({"usage": self.usage} if self.usage else {})

    def answer(self, handler: Any, request: dict[str, Any], reply: Any) -> None:
        if reply == "HANG":
            self.released.wait(60)
            handler.close_connection = True
        elif reply == "CUT":
            handler.send_response(200)
            handler.send_header("Content-Type", "application/json")
            handler.send_header("Content-Length", "5000")
            handler.end_headers()
            handler.wfile.write(b'{"choices": [{"message": {"content": "click[b')
            handler.close_connection = True
        elif reply == "HANG UP":
            handler.close_connection = True
        elif reply == "CUT STREAM":
            self.send(handler, 200, {"Content-Type": "text/event-stream"}, self.pieces("sea")[:-3])
        elif isinstance(reply, tuple):
            self.send(handler, reply[0], reply[1], reply[2])
        else:
            message = reply if isinstance(reply, dict) else {"content": reply}
            if request.get("stream"):
                body = self.pieces(message.get("content") or "", message.get("tool_calls", ()))
                self.send(handler, 200, {"Content-Type": "text/event-stream"}, b"".join(body))
            else:
                body = json.dumps(self.completion(message)).encode()
                self.send(handler, 200, {"Content-Type": "application/json"}, body)

    def pieces(self, text: str, calls: Any = ()) -> list[bytes]:
        deltas: list[dict[str, Any]] = [{"content": letter} for letter in text]
        for index, call in enumerate(calls):
            function = call["function"]
            deltas.append(
                {"tool_calls": [{"index": index, "function": {"name": function["name"]}}]}
            )
            for letter in function["arguments"]:
                part = {"index": index, "function": {"arguments": letter}}
                deltas.append({"tool_calls": [part]})
        chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        chunks.append({"choices": [], "usage": self.usage})
        return [b"data: %s\n\n" % json.dumps(c).encode() for c in chunks] + [b"data: [DONE]\n\n"]

    def send(self, handler: Any, status: int, headers: dict[str, str], body: Any) -> None:
        body = b"".join(body) if isinstance(body, list) else body
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def close(self) -> None:
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

"""An endpoint on 127.0.0.1 that answers by a script: real HTTP, one answer after the other."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from ml.endpoint import Config

KEY = "sk-test-0123456789"


@dataclass
class Answer:
    """One scripted answer. `body` is sent as it is; `pause_s` passes before it, `drip_s` between its bytes.

    `cut` closes the connection after so many bytes of the body although more were announced.
    """

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    pause_s: float = 0.0
    drip_s: float = 0.0
    cut: int | None = None


def says(value: Any, *, tokens: tuple[int, int] | None = (100, 10), reason: str = "stop", **more: Any) -> Answer:
    """A completion whose content is `value` as JSON, or the text itself."""
    text = value if isinstance(value, str) else json.dumps(value)
    body: dict[str, Any] = {
        "model": "scripted-1",
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": reason}],
    }
    if tokens is not None:
        body["usage"] = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}
    return Answer(body=json.dumps(body).encode(), **more)


def fails(status: int, message: str = "", **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, json.dumps({"error": {"message": message}}).encode(), named)


Script = Sequence[Answer] | Callable[[dict[str, Any]], Answer]


class Server:
    """Answers by `script`: a list, or a function of the request's body. `asked` keeps the bodies, `times` when."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        self.gone = 0  # answers that nobody waited for
        lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with lock:
                    server.times.append(time.monotonic())
                    server.asked.append(body)
                    server.headers.append(dict(self.headers.items()))
                    number = len(server.asked) - 1
                    if callable(server.script):
                        answer = server.script(body)
                    else:
                        answer = server.script[number] if number < len(server.script) else fails(418, "script is over")
                try:
                    self.send(answer)
                except OSError:
                    server.gone += 1
                    self.close_connection = True

            def send(self, answer: Answer) -> None:
                time.sleep(answer.pause_s)
                self.send_response(answer.status)
                for name, value in {"Content-Type": "application/json", **answer.headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer.body)))
                self.end_headers()
                for k in range(len(answer.body)) if answer.drip_s else ():
                    self.wfile.write(answer.body[k : k + 1])
                    time.sleep(answer.drip_s)
                if not answer.drip_s:
                    self.wfile.write(answer.body[: answer.cut])
                if answer.cut is not None:
                    self.close_connection = True

            def log_message(self, *_: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self) -> Server:
        self.thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.http.shutdown()
        self.http.server_close()

    def config(self, **more: Any) -> Config:
        """A configuration that knows this server, with short waits."""
        quick: dict[str, Any] = {"first_wait_s": 0.02, "longest_wait_s": 0.1, "timeout_s": 5.0, "per_minute": 6000.0}
        return Config(f"http://127.0.0.1:{self.http.server_address[1]}/v1", "scripted", KEY, **quick | more)


def said(body: dict[str, Any]) -> str:
    """All the words of a request."""
    texts = []
    for message in body["messages"]:
        content = message["content"]
        parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
        texts += parts
    return "\n".join(texts)

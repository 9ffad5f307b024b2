"""A server in a thread, and clients of it by plain HTTP."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from examples import llama
from examples.llama.serving.application import Limits, application
from examples.llama.serving.scheduler import Scheduler

PATIENCE = 60  # seconds, after which something hangs


class Server:
    """What serves, and how to reach it."""

    def __init__(self, model: llama.Model, scheduler: Scheduler, port: int) -> None:
        self.model = model
        self.scheduler = scheduler
        self.port = port

    def send(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body of the answer to a request."""
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            link.request(method, path, body, named)
            answer = link.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        finally:
            link.close()

    def post(
        self, request: Any, path: str = "/v1/chat/completions"
    ) -> tuple[int, dict[str, str], Any]:
        """Return the answer to a request, parsed."""
        body = json.dumps(request).encode()
        status, headers, answer = self.send("POST", path, body, Content_Type="application/json")
        if headers["content-type"].startswith("text/event-stream"):
            return status, headers, events(answer)
        return status, headers, json.loads(answer)

    def ask(self, text: str, **more: Any) -> tuple[int, dict[str, str], Any]:
        """Ask a question, greedily."""
        messages = [{"role": "user", "content": text}]
        return self.post({"model": "tiny", "messages": messages, "temperature": 0} | more)

    def embed(self, texts: Any, **more: Any) -> tuple[int, dict[str, str], Any]:
        """Ask for embeddings."""
        return self.post({"model": "tiny", "input": texts} | more, "/v1/embeddings")

    def begun(self, text: str, **more: Any) -> socket.socket:
        """Return the socket of a question that has been sent and whose answer is not read."""
        messages = [{"role": "user", "content": text}]
        # Greedily: a drawn token may be one that ends the answer.
        request = {"model": "tiny", "messages": messages, "temperature": 0} | more
        body = json.dumps(request).encode()
        link = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        head = (
            "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        link.sendall(head.encode() + body)
        return link

    def state(self) -> dict[str, Any]:
        """Return what the server says of its health."""
        state: dict[str, Any] = json.loads(self.send("GET", "/health")[2])
        return state

    def until(self, **expected: int) -> None:
        """Wait until the server says so of its health."""
        wait(lambda: expected.items() <= self.state().items())


def wait(condition: Callable[[], bool]) -> None:
    """Wait for a condition."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def events(body: bytes) -> list[Any]:
    """Return the records of a stream that has ended as it should."""
    lines = [line.removeprefix("data: ") for line in body.decode().split("\n\n")]
    assert lines[-2:] == ["[DONE]", ""]
    return [json.loads(line) for line in lines[:-2]]


def spoken(answer: Any) -> str:
    """Return the text of an answer, whole or a stream's."""
    if isinstance(answer, list):
        deltas = [message["choices"][0]["delta"] for message in answer if message["choices"]]
        return "".join(message.get("content", "") for message in deltas)
    text: str = answer["choices"][0]["message"]["content"]
    return text


@contextmanager
def serving(
    model: llama.Model, limits: Limits | None = None, *, grace: float = 0.0, **options: Any
) -> Iterator[Server]:
    """Serve a model on a free port."""
    text = llama.Tokenizer.of(model.file)
    scheduler = Scheduler(model, text, **({"parallel": 4, "context": 256} | options))
    app = application(scheduler, text, "tiny", limits or Limits(hosts=("127.0.0.1", "localhost")))
    config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=PATIENCE)
    server = uvicorn.Server(config)
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, args=([bound],))
    thread.start()
    try:
        wait(lambda: server.started)
        yield Server(model, scheduler, bound.getsockname()[1])
    finally:
        scheduler.close(grace)
        server.should_exit = True
        thread.join(PATIENCE)
        bound.close()
    assert not thread.is_alive()

"""The server: every answer its own, whatever clients send and however they leave."""

from __future__ import annotations

import http.client
import json
import random
import re
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

for needed in ("gguf", "tokenizers", "jinja2", "starlette", "uvicorn"):
    pytest.importorskip(needed, reason=f"{needed}, which the server needs, is not installed")

from llama_clients import serving, spoken, wait  # noqa: E402
from llama_files import Tiny  # noqa: E402

from examples import llama  # noqa: E402
from examples.llama.serving.application import Limits  # noqa: E402

TEXTS = [f"{word} number {n}, {'and so on ' * (n % 4)}" for n, word in enumerate("abcdefghijkl")]
TEXTS += [TEXTS[3] + " more", TEXTS[3] + " or less"]  # which begin alike


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> llama.Model:
    return llama.load(Tiny().write(tmp_path_factory.mktemp("m") / "tiny.gguf"), device="numpy")


def alone(model: llama.Model, text: str, tokens: int) -> str:
    """Return what the model says when nobody else asks."""
    tokenizer = llama.Tokenizer.of(model.file)
    generation = llama.generate(model, tokenizer, tokenizer.chat(text), tokens=tokens)
    return "".join(generation)


class Gate:
    """Holds the model's steps up: a number of them are let through."""

    def __init__(self, model: llama.Model, monkeypatch: pytest.MonkeyPatch, steps: int) -> None:
        self.open = threading.Semaphore(steps)
        read = model.read

        def gated(*args: Any) -> Any:
            assert self.open.acquire(timeout=60)
            return read(*args)

        monkeypatch.setattr(model, "read", gated)


def test_two_hundred_requests_of_eight_clients(model: llama.Model) -> None:
    drawn = random.Random(1)
    cases = [(drawn.choice(TEXTS), drawn.randint(1, 24), drawn.random() < 0.5) for _ in range(200)]
    expected = {(text, tokens): alone(model, text, tokens) for text, tokens, _ in cases}
    with serving(model, parallel=5, chunk=32) as server, ThreadPoolExecutor(8) as clients:

        def ask(case: tuple[str, int, bool]) -> str:
            text, tokens, stream = case
            status, _, answer = server.ask(text, max_tokens=tokens, stream=stream)
            assert status == 200, answer
            return spoken(answer)

        answers = list(clients.map(ask, cases))
        assert answers == [expected[text, tokens] for text, tokens, _ in cases]
        server.until(running=0, waiting=0)
        counts = server.scheduler.counts
        assert counts.requests == 200
        assert counts.steps < counts.generated  # they were made together
        tokenizer = llama.Tokenizer.of(model.file)
        prompt_tokens = sum(len(tokenizer.chat(text)) for text, _, _ in cases)
        assert counts.read + counts.reused == prompt_tokens
        assert counts.reused > prompt_tokens // 4  # many began like another one


def test_answers_and_streams_have_text_usage_and_finish_reason(model: llama.Model) -> None:
    with serving(model) as server:
        _, _, whole = server.ask(TEXTS[0], max_completion_tokens=7)
        _, _, again = server.ask(TEXTS[0], max_tokens=7)
        _, headers, parts = server.ask(
            TEXTS[0], max_tokens=7, stream=True, stream_options={"include_usage": True}
        )
        counts = whole["usage"]
        assert counts["completion_tokens"] == 7
        assert counts["prompt_tokens_details"] == {"cached_tokens": 0}
        assert again["usage"]["prompt_tokens_details"]["cached_tokens"] > 0
        assert again["choices"] == whole["choices"]
        assert whole["choices"][0]["finish_reason"] == "length"
        assert headers["content-type"].startswith("text/event-stream")
        assert spoken(parts) == spoken(whole) == alone(model, TEXTS[0], 7)
        assert parts[0]["choices"][0]["delta"]["role"] == "assistant"
        assert parts[-2]["choices"][0]["finish_reason"] == "length"
        assert parts[-1]["usage"]["total_tokens"] == counts["total_tokens"]
        assert all(part["usage"] is None for part in parts[:-1])
        assert len({message["id"] for message in (*parts, whole, again)}) == 3
        text = spoken(whole)
        for stop in (text[3], text[2:5], ["nothing", text[4:6]]):
            for stream in (False, True):
                _, _, cut = server.ask(TEXTS[0], max_tokens=7, stop=stop, stream=stream)
                end = text.index(stop if isinstance(stop, str) else stop[1])
                assert spoken(cut) == text[:end]
                last = cut[-1] if stream else cut
                assert last["choices"][0]["finish_reason"] == "stop"
        options = {"temperature": 1.5, "seed": 3, "top_p": 0.9, "max_tokens": 12}
        drawn = [spoken(server.ask(TEXTS[0], **options)[2]) for _ in range(2)]
        assert drawn[0] == drawn[1] != spoken(server.ask(TEXTS[0], **options | {"seed": 4})[2])
        status, _, body = server.send("GET", "/v1/models")
        assert (status, json.loads(body)["data"][0]["id"]) == (200, "tiny")
        assert server.send("GET", "/v1/models/tiny")[0] == 200


def test_the_client_package_of_others(model: llama.Model) -> None:
    openai = pytest.importorskip("openai", reason="openai is not installed")
    with serving(model) as server:
        client = openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none")
        messages = [{"role": "user", "content": TEXTS[1]}]
        options = {"model": "tiny", "messages": messages, "temperature": 0, "max_tokens": 9}
        whole = client.chat.completions.create(**options)
        parts = client.chat.completions.create(**options, stream=True)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in parts)
        assert text == whole.choices[0].message.content == alone(model, TEXTS[1], 9)
        assert client.models.list().data[0].id == "tiny"
        with pytest.raises(openai.NotFoundError, match="there is no model 'other' here"):
            client.chat.completions.create(**options | {"model": "other"})
        with pytest.raises(openai.BadRequestError, match="n is not served here"):
            client.chat.completions.create(**options, n=2)


def test_a_client_that_leaves_frees_its_slot(
    model: llama.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(model, monkeypatch, 0)
    with serving(model, parallel=2, context=512) as server:
        links = [
            server.begun(TEXTS[n], max_tokens=200, stream=stream)
            for n, stream in enumerate((True, False, True, False))
        ]
        # All are there before the first step, so that no answer ends by itself meanwhile.
        wait(lambda: server.state()["running"] + server.state()["waiting"] == 4)
        gate.open.release(2)
        server.until(running=2, waiting=2)
        for link in links:
            link.close()
        gate.open.release(1000)  # far fewer are needed
        server.until(running=0, waiting=0)
        assert server.scheduler.counts.generated < 100
        assert server.ask(TEXTS[5], max_tokens=5)[0] == 200


def test_a_full_queue_and_a_request_that_takes_too_long(
    model: llama.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(model, monkeypatch, 0)
    with serving(model, parallel=1, queue=1, seconds=0.5, context=512) as server:
        waiting = ThreadPoolExecutor(2)
        both = [waiting.submit(server.ask, TEXTS[n], max_tokens=200) for n in range(2)]
        server.until(running=1, waiting=1)
        status, headers, answer = server.ask(TEXTS[2])
        assert (status, answer["error"]["code"]) == (429, "queue_full")
        assert int(headers["retry-after"]) >= 1
        assert "waiting already" in answer["error"]["message"]
        threading.Event().wait(0.6)  # until both are late
        gate.open.release(1000)
        ends = [future.result() for future in both]
        assert sorted(status for status, _, _ in ends) == [200, 408]
        for status, _, answer in ends:
            if status == 408:
                assert answer["error"]["code"] == "timeout"
            else:
                assert answer["choices"][0]["finish_reason"] == "length"
        waiting.shutdown()


def test_the_end_of_the_server_cuts_answers_off(
    model: llama.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(model, monkeypatch, 5)
    with ThreadPoolExecutor(1) as clients:
        with serving(model, parallel=1) as server:
            running = clients.submit(server.ask, TEXTS[0], max_tokens=200, stream=True)
            wait(lambda: server.scheduler.counts.generated >= 3)
            server.scheduler.close()
            status, _, answer = server.ask(TEXTS[1])
            assert (status, answer["error"]["code"]) == (503, "shutting_down")
            gate.open.release(1000)
        status, _, answer = running.result()
        assert answer[-1]["choices"][0]["finish_reason"] == "length"
        assert alone(model, TEXTS[0], 30).startswith(spoken(answer))


def test_an_error_of_the_model_is_reported_and_later_requests_are_served(
    model: llama.Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(model) as server:
        with monkeypatch.context() as patched:
            patched.setattr(model, "read", lambda *args: 1 / 0)
            status, _, answer = server.ask(TEXTS[0])
            assert (status, answer["error"]["type"]) == (500, "server_error")
            _, _, parts = server.ask(TEXTS[0], stream=True)
            assert "ZeroDivisionError" in parts[-1]["error"]["message"]
        assert spoken(server.ask(TEXTS[0], max_tokens=5)[2]) == alone(model, TEXTS[0], 5)


def test_limits(model: llama.Model) -> None:
    with serving(model, Limits(tokens=50, body=2000, upload=0.3)) as server:
        for body, status, said in (
            ({"max_tokens": 51}, 400, "max_tokens must be an integer from 1 to 50"),
            ({"max_tokens": 0}, 400, "max_tokens must be"),
            ({"max_tokens": True}, 400, "max_tokens must be"),
            ({"temperature": 2.5}, 400, "temperature must be a number from 0 to 2"),
            ({"top_p": -1}, 400, "top_p must be"),
            ({"stop": [""]}, 400, "stop must be texts"),
            ({"stop": ["a"] * 5}, 400, "stop must be"),
            ({"n": 2}, 400, "n is not served here: leave it out, or say 1"),
            ({"logprobs": 1}, 400, "logprobs must be true or false"),
            ({"top_logprobs": 2}, 400, "top_logprobs goes with logprobs: true"),
            ({"logprobs": True, "top_logprobs": 21}, 400, "an integer from 0 to 20"),
            ({"tools": [{}]}, 400, "tools is not served here"),
            ({"colour": 1}, 400, "'colour' is not a known field"),
            ({"model": None}, 400, "give the name of the model"),
            ({"messages": []}, 400, "messages must be a list"),
            ({"messages": [{"role": "tool", "content": ""}]}, 400, "role must be one of"),
            ({"messages": [{"role": "user", "content": 3}]}, 400, "content must be a text"),
            ({"messages": [{"role": "user", "content": "\ud800"}]}, 400, "surrogate"),
            ({"messages": [{"role": "user", "content": "x" * 1000}]}, 400, "there is room for 256"),
            ({"messages": [{"role": "user", "content": "x" * 3000}]}, 413, "more than 2000 bytes"),
        ):
            code, _, answer = server.ask("hello", **body)
            assert (code, said in answer["error"]["message"]) == (status, True), answer
        assert server.send("POST", "/v1/chat/completions", b"{}")[0] == 415
        assert server.send("GET", "/health", Host="evil.example")[0] == 200  # any name here
        # A body that never comes.
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as link:
            link.sendall(
                b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
                b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
            )
            assert link.recv(100).startswith(b"HTTP/1.1 408")
    with serving(model) as server:
        assert server.send("GET", "/health", Host="evil.example")[0] == 403


VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 7, 1.5, -0.0, 1e308, 10**30, "", "tiny", "x", "\ud800", "\x00",
    [], [[]], {}, {"a": {}}, [None], ["a", 1], [{"role": "user"}], "👍" * 50, [{"type": "text"}],
    {"type": "text"}, [{"role": "user", "content": [{"type": "text", "text": "a"}]}],
]  # fmt: skip
FIELDS = [
    "model",
    "messages",
    "max_tokens",
    "max_completion_tokens",
    "temperature",
    "top_p",
    "top_k",
    "seed",
    "stop",
    "stream",
    "stream_options",
    "n",
    "logprobs",
    "top_logprobs",
    "input",
    "encoding_format",
    "logit_bias",
    "tools",
    "tool_choice",
    "response_format",
    "user",
    "unknown",
]


def malformed(drawn: random.Random) -> bytes:
    """Return what a client may send that is broken, as bytes of HTTP."""
    request: Any = {
        "model": "tiny",
        "messages": [{"role": "user", "content": "hello"}],
        "max_tokens": 3,
    }
    for _ in range(drawn.randint(1, 3)):
        request[drawn.choice(FIELDS)] = drawn.choice(VALUES)
    if drawn.random() < 0.2:
        request = drawn.choice(VALUES)
    body = json.dumps(request).encode()
    kind = drawn.randrange(8)
    if kind == 0:
        body = body[: drawn.randrange(len(body))]
    elif kind == 1:
        body = drawn.randbytes(drawn.randint(0, 60))
    elif kind == 2:
        body = drawn.choice((b"[" * 100_000, b'{"a":' * 50_000, b"9" * 5000, b"NaN", b"\xff\xfe"))
    length = len(body)
    method, path, version = "POST", "/v1/chat/completions", "HTTP/1.1"
    headers = {"Host": "localhost", "Content-Type": "application/json"}
    if kind == 3:
        method = drawn.choice(("GET", "PUT", "BREW", "p ost", "", "POST\x00"))
    elif kind == 4:
        path = drawn.choice(
            (
                "/",
                "/v1/embeddings",
                "//",
                "/v1/",
                "/%00",
                "/v1/chat/completions/x",
                "*",
                "/a b",
                "é",
            )
        )
    elif kind == 5:
        headers = {"Host": "a" * 70_000, "A": "\x01", "Transfer-Encoding": "chunked"}
    elif kind == 6:
        length = drawn.choice((length + 5, max(length - 5, 0), -1, 10**12))
    lines = [f"{method} {path} {version}", *(f"{name}: {text}" for name, text in headers.items())]
    return "\r\n".join([*lines, f"Content-Length: {length}", "", ""]).encode("utf-8") + body


def test_a_thousand_malformed_requests(model: llama.Model) -> None:
    limits = Limits(tokens=20, upload=0.2)
    with serving(model, limits, parallel=8, context=128) as server, ThreadPoolExecutor(8) as pool:

        def send(seed: int) -> bytes:
            sent = malformed(random.Random(seed))
            with socket.create_connection(("127.0.0.1", server.port), timeout=60) as link:
                answer = b""
                try:
                    link.sendall(sent)
                    link.shutdown(socket.SHUT_WR)  # the end; a client that waits for more is above
                    while part := link.recv(65536):
                        answer += part
                except ConnectionError:  # refused before all was sent
                    pass
                return answer

        heads = [
            send.partition(b"\r\n")[0].split(b" ")[1:2] for send in pool.map(send, range(1000))
        ]
        codes = {int(head[0]) for head in heads if head}
        assert codes <= {200, 400, 404, 405, 408, 413, 415, 422, 431}
        assert {400, 404, 405} <= codes
        server.until(running=0, waiting=0)
        assert spoken(server.ask(TEXTS[0], max_tokens=6)[2]) == alone(model, TEXTS[0], 6)


def test_the_command_serves_and_ends(tmp_path: Path) -> None:
    path = Tiny().write(tmp_path / "tiny.gguf")
    command = [sys.executable, "-m", "examples.llama", "serve", "--file", str(path), "--device"]
    options = ["numpy", "--port", "0", "--context", "128", "--tokens", "20"]
    with subprocess.Popen(
        [*command, *options], cwd=Path(__file__).parents[2], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        try:
            said = process.stderr.readline()
            match = re.search(r"http://127\.0\.0\.1:(\d+)/v1 answers, 4 requests", said)
            assert match is not None, said
            status, body = ask_until_ready(int(match[1]))
            assert (status, body["data"][0]["id"]) == (200, "tiny")
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) in (0, -signal.SIGTERM)
        finally:
            process.kill()


def ask_until_ready(port: int) -> tuple[int, Any]:
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        link.request("GET", "/v1/models")
        answer = link.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        link.close()


def test_the_command_refuses_wrong_options(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from examples.llama.serving.command import serve

    path = Tiny().write(tmp_path / "tiny.gguf")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        for options, said in (
            (["--port", str(taken.getsockname()[1])], "in use"),
            (["--port", "70000"], "70000 is not in the range"),
            (["--chunk", "0"], "--chunk 0: at least 1"),
            (["--seconds", "-1"], "--seconds -1.0: it must be 0 or more"),
            (["--parallel", "0", "--port", "0"], "0 sequences at once"),
            (["--file", str(tmp_path / "none.gguf"), "--port", "0"], "there is no file"),
        ):
            every = ["--file", str(path), "--device", "numpy", *options]
            result = CliRunner().invoke(serve, every)
            assert result.exit_code != 0
            assert said in result.stderr

"""The HTTP of the server: an ASGI application around a scheduler."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from examples.llama.errors import LlamaError
from examples.llama.sampling import Sampler
from examples.llama.serving.answers import DONE, Answer, embeddings, event
from examples.llama.serving.metrics import CONTENT_TYPE, exposition
from examples.llama.serving.requests import (
    Ask,
    EmbeddingAsk,
    RefusalError,
    parsed,
    parsed_embedding,
)
from examples.llama.serving.scheduler import BusyError, ClosingError, Event, Job, Scheduler
from examples.llama.tokenizer import Tokenizer

__all__ = ["Limits", "application"]

T = TypeVar("T")

NOBODY = Response(status_code=499)  # for a client that has left; it is never sent


@dataclass(frozen=True, slots=True)
class Limits:
    """What a request may ask for.

    Attributes
    ----------
    tokens : int
        Tokens of an answer.
    body : int
        Bytes of a request.
    upload : float
        Seconds that a request may take to arrive.
    hosts : sequence of str
        Names by which the server may be called; empty for any.
    """

    tokens: int = 1024
    body: int = 1 << 20
    upload: float = 30.0
    hosts: Sequence[str] = ()


def application(
    scheduler: Scheduler, tokenizer: Tokenizer, name: str, limits: Limits | None = None
) -> Starlette:
    """Return the application.

    Parameters
    ----------
    scheduler : Scheduler
        Not started; it runs as long as the application does.
    tokenizer : Tokenizer
        Of the same file.
    name : str
        What clients call the model.
    limits : Limits, optional
        What they may ask for.

    Returns
    -------
    Starlette
        For any ASGI server.
    """
    limits = limits or Limits()
    served = _Served(scheduler, tokenizer, name, limits)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        scheduler.start()
        try:
            yield
        finally:
            await run_in_threadpool(scheduler.stop)

    return Starlette(
        routes=[
            Route("/v1/chat/completions", served.completions, methods=["POST"]),
            Route("/v1/embeddings", served.embeddings, methods=["POST"]),
            Route("/v1/models", served.models, methods=["GET"]),
            Route("/v1/models/{name:path}", served.model, methods=["GET"]),
            Route("/health", served.health, methods=["GET"]),
            Route("/metrics", served.metrics, methods=["GET"]),
        ],
        lifespan=lifespan,
        middleware=[Middleware(_Hosts, hosts=frozenset(limits.hosts))],
        exception_handlers={RefusalError: _refused, HTTPException: _wrong, Exception: _failed},
    )


class _Served:
    """The routes."""

    def __init__(
        self, scheduler: Scheduler, tokenizer: Tokenizer, name: str, limits: Limits
    ) -> None:
        self.scheduler = scheduler
        self.tokenizer = tokenizer
        self.name = name
        self.limits = limits
        self.since = int(time.time())

    async def health(self, request: Request) -> Response:
        return JSONResponse({"status": "ok", **self.scheduler.state()})

    async def metrics(self, request: Request) -> Response:
        text = exposition(self.scheduler.values(), self.scheduler.metrics)
        return PlainTextResponse(text, headers={"content-type": CONTENT_TYPE})

    async def models(self, request: Request) -> Response:
        return JSONResponse({"object": "list", "data": [self._model()]})

    async def model(self, request: Request) -> Response:
        if request.path_params["name"] != self.name:
            raise RefusalError(
                f"there is no such model here; the one that is served is {self.name!r}",
                status=404, param="model", code="model_not_found",
            )  # fmt: skip
        return JSONResponse(self._model())

    def _model(self) -> dict[str, Any]:
        return {"id": self.name, "object": "model", "created": self.since, "owned_by": "portarray"}

    async def completions(self, request: Request) -> Response:
        body = await self._received(request)
        if body is None:
            return NOBODY
        ask, prompt = await run_in_threadpool(self._read, body)
        room = self._room(ask, len(prompt))
        events: asyncio.Queue[Event] = asyncio.Queue()
        job = Job(prompt, room, ask.sampler, _teller(events), ask.stops, ask.logprobs)
        self._submit(job)
        answer = Answer(self.name, job, self.tokenizer, usage=ask.usage)
        leave = partial(self.scheduler.cancel, job)
        if ask.stream:
            return _Stream(_events(answer, events, usage=ask.usage), leave)
        try:
            parts = await _unless_disconnected(request, _all(events))
        finally:
            leave()
        return NOBODY if parts is None else JSONResponse(answer.whole(parts))

    async def embeddings(self, request: Request) -> Response:
        body = await self._received(request)
        if body is None:
            return NOBODY
        ask, prompts = await run_in_threadpool(self._read_inputs, body)
        vectors = await _unless_disconnected(request, self._vectors(prompts))
        if vectors is None:
            return NOBODY
        tokens = sum(map(len, prompts))
        return JSONResponse(embeddings(self.name, vectors, tokens, as_base64=ask.base64))

    async def _vectors(self, prompts: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """Return the embeddings of prompts, as many at once as there are slots."""
        vectors: list[np.ndarray] = []
        count = self.scheduler.state()["parallel"]
        jobs: list[Job] = []
        end = time.monotonic() + self.scheduler.seconds  # for all of them together
        try:
            for n in range(0, len(prompts), count):
                queues = []
                if time.monotonic() > end:
                    raise _unfinished(Event("", "timeout"))
                for prompt in prompts[n : n + count]:
                    events: asyncio.Queue[Event] = asyncio.Queue()
                    job = Job(prompt, 0, Sampler(), _teller(events), embeds=True)
                    self._submit(job)
                    jobs.append(job)
                    queues.append(events)
                for events in queues:
                    (item,) = await _all(events)
                    assert item.embedding is not None
                    vectors.append(item.embedding)
        finally:
            for job in jobs:
                self.scheduler.cancel(job)
        return vectors

    def _submit(self, job: Job) -> None:
        try:
            self.scheduler.submit(job)
        except BusyError as error:
            raise RefusalError(
                str(error), status=429, code="queue_full",
                headers={"Retry-After": str(error.seconds)},
            ) from None  # fmt: skip
        except ClosingError as error:
            raise RefusalError(str(error), status=503, code="shutting_down") from None

    async def _received(self, request: Request) -> bytes | None:
        """Return the body of a request, or None if its client has left."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            # A page of another site can send other types without asking the browser's user.
            raise RefusalError("send the header Content-Type: application/json", status=415)
        try:
            return await asyncio.wait_for(self._body(request), self.limits.upload)
        except TimeoutError:
            raise RefusalError(
                f"the request did not arrive within {self.limits.upload:g} s",
                status=408, headers={"x-should-retry": "false", "connection": "close"},
            ) from None  # fmt: skip
        except ClientDisconnect:
            return None

    async def _body(self, request: Request) -> bytes:
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > self.limits.body:
                raise RefusalError(
                    f"the request has more than {self.limits.body} bytes",
                    status=413, headers={"connection": "close"},
                )  # fmt: skip
        return bytes(body)

    def _read(self, body: bytes) -> tuple[Ask, list[int]]:
        """Return what a body asks for, and the tokens of its messages."""
        ask = parsed(body, model=self.name, most=self.limits.tokens)
        try:
            prompt = self.tokenizer.encode_chat(ask.messages)
        except LlamaError as error:
            raise RefusalError(str(error), param="messages") from None
        return ask, prompt

    def _room(self, ask: Ask, prompt: int) -> int:
        """Return how many tokens are made at most."""
        room = self.scheduler.context - prompt
        if not prompt or room < max(ask.tokens or 1, 1):
            raise RefusalError(
                f"the messages are {prompt} tokens, and {ask.tokens or 1} more are asked for, but "
                f"there is room for {self.scheduler.context}: shorten them or ask for fewer",
                param="messages", code="context_length_exceeded",
            )  # fmt: skip
        return ask.tokens or min(room, self.limits.tokens)

    def _read_inputs(self, body: bytes) -> tuple[EmbeddingAsk, list[list[int]]]:
        """Return what a body asks for, and the tokens of its inputs."""
        config = self.scheduler.config
        ask = parsed_embedding(body, model=self.name, vocab=config.vocab, width=config.hidden)
        prompts = []
        for n, entry in enumerate(ask.inputs):
            tokens = (
                self.tokenizer.encode(entry, special=False) if isinstance(entry, str) else entry
            )
            if not 0 < len(tokens) <= self.scheduler.context:
                raise RefusalError(
                    f"input[{n}] is {len(tokens)} tokens, but 1 to {self.scheduler.context} can "
                    "be read at once",
                    param="input", code="context_length_exceeded",
                )  # fmt: skip
            prompts.append(tokens)
        return ask, prompts


def _teller(events: asyncio.Queue[Event]) -> Callable[[Event], None]:
    """Return what puts events of another thread into a queue of the running loop."""
    loop = asyncio.get_running_loop()

    def tell(event: Event) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(events.put_nowait, event)

    return tell


async def _unless_disconnected(request: Request, result: Coroutine[Any, Any, T]) -> T | None:
    """Return a result, or None if the client has left before."""
    task = asyncio.ensure_future(result)
    gone = asyncio.ensure_future(_disconnection(request))
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        if not task.done():
            task.cancel()
    return None if task.cancelled() or not task.done() else task.result()


class _Stream(StreamingResponse):
    """Server-sent events; however they end, the request is forgotten."""

    def __init__(self, events: AsyncIterator[bytes], leave: Callable[[], object]) -> None:
        super().__init__(
            events,
            media_type="text/event-stream",
            headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"},
        )
        self._leave = leave

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except ClientDisconnect:
            pass
        finally:
            self._leave()


async def _events(
    answer: Answer, events: asyncio.Queue[Event], *, usage: bool
) -> AsyncIterator[bytes]:
    yield answer.part({"role": "assistant", "content": ""})
    while True:
        item = await events.get()
        if item.end in ("timeout", "error"):
            yield event(_unfinished(item).as_dict())
            break
        if item.text or item.logprobs:
            yield answer.part({"content": item.text}, logprobs=item.logprobs)
        if item.end:
            yield answer.part({}, item.end)
            if usage:
                yield answer.last()
            break
    yield DONE


async def _all(events: asyncio.Queue[Event]) -> list[Event]:
    """Return the events of a request up to its end."""
    items: list[Event] = []
    while not items or not items[-1].end:
        items.append(await events.get())
        if items[-1].end in ("timeout", "error"):
            raise _unfinished(items[-1])
    return items


def _unfinished(item: Event) -> RefusalError:
    if item.end == "timeout":
        return RefusalError(
            "the server had no time for the request: ask again later, or for less",
            status=408, code="timeout", headers={"x-should-retry": "false"},
        )  # fmt: skip
    return RefusalError(f"the model failed: {item.text}", status=500, code="model_failed")


async def _disconnection(request: Request) -> None:
    """Return when the client has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


class _Hosts:
    """Refuses calls under other names: a page may not reach the server by a name of its own."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._hosts:
            header = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
            if header.rpartition(":")[0] not in self._hosts and header not in self._hosts:
                refusal = RefusalError(f"this server is not called {header[:100]!r}", status=403)
                await _answered(refusal)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _answered(refusal: RefusalError) -> Response:
    return JSONResponse(refusal.as_dict(), refusal.status, refusal.headers)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusalError)
    return _answered(error)


async def _wrong(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = f"{error.detail}: {request.method} {request.url.path[:200]}"
    return _answered(RefusalError(message, status=error.status_code, headers=error.headers))


async def _failed(request: Request, error: Exception) -> Response:
    return _answered(RefusalError(f"the server failed: {type(error).__name__}", status=500))

"""The HTTP of the server: an ASGI application around a scheduler."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from examples.llama.errors import LlamaError
from examples.llama.serving.answers import DONE, Answer, event
from examples.llama.serving.requests import Ask, RefusalError, parsed
from examples.llama.serving.scheduler import BusyError, ClosingError, Event, Job, Scheduler
from examples.llama.tokenizer import Tokenizer

__all__ = ["Limits", "application"]

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
            Route("/v1/models", served.models, methods=["GET"]),
            Route("/v1/models/{name:path}", served.model, methods=["GET"]),
            Route("/health", served.health, methods=["GET"]),
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
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            # A page of another site can send other types without asking the browser's user.
            raise RefusalError("send the header Content-Type: application/json", status=415)
        try:
            body = await asyncio.wait_for(self._body(request), self.limits.upload)
        except TimeoutError:
            raise RefusalError(
                f"the request did not arrive within {self.limits.upload:g} s",
                status=408, headers={"x-should-retry": "false", "connection": "close"},
            ) from None  # fmt: skip
        except ClientDisconnect:
            return NOBODY
        ask, prompt = await run_in_threadpool(self._read, body)
        events: asyncio.Queue[Event] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def tell(event: Event) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(events.put_nowait, event)

        job = Job(prompt, self._room(ask, len(prompt)), ask.sampler, tell, ask.stops)
        try:
            self.scheduler.submit(job)
        except BusyError as error:
            raise RefusalError(
                str(error), status=429, code="queue_full",
                headers={"Retry-After": str(error.seconds)},
            ) from None  # fmt: skip
        except ClosingError as error:
            raise RefusalError(str(error), status=503, code="shutting_down") from None
        answer = Answer(self.name, job)
        leave = partial(self.scheduler.cancel, job)
        if ask.stream:
            return _Stream(_events(answer, events, usage=ask.usage), leave)
        try:
            return await self._whole(request, answer, events)
        finally:
            leave()

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

    async def _whole(
        self, request: Request, answer: Answer, events: asyncio.Queue[Event]
    ) -> Response:
        text_task = asyncio.ensure_future(_text(events))
        gone = asyncio.ensure_future(_left(request))
        try:
            await asyncio.wait((text_task, gone), return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
            if not text_task.done():
                text_task.cancel()
        if text_task.cancelled() or not text_task.done():
            return NOBODY
        text, end = text_task.result()
        return JSONResponse(answer.whole(text, end))


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
            yield event(_unfinished(item).record())
            break
        if item.text:
            yield answer.part({"content": item.text})
        if item.end:
            yield answer.part({}, item.end)
            if usage:
                yield answer.last()
            break
    yield DONE


async def _text(events: asyncio.Queue[Event]) -> tuple[str, str]:
    """Return the whole text, and why it ended."""
    pieces = []
    while True:
        item = await events.get()
        if item.end in ("timeout", "error"):
            raise _unfinished(item)
        pieces.append(item.text)
        if item.end:
            return "".join(pieces), item.end


def _unfinished(item: Event) -> RefusalError:
    if item.end == "timeout":
        return RefusalError(
            "the server had no time for the request: ask again later, or for less",
            status=408, code="timeout", headers={"x-should-retry": "false"},
        )  # fmt: skip
    return RefusalError(f"the model failed: {item.text}", status=500, code="model_failed")


async def _left(request: Request) -> None:
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
    return JSONResponse(refusal.record(), refusal.status, refusal.headers)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusalError)
    return _answered(error)


async def _wrong(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    message = f"{error.detail}: {request.method} {request.url.path[:200]}"
    return _answered(RefusalError(message, status=error.status_code, headers=error.headers))


async def _failed(request: Request, error: Exception) -> Response:
    return _answered(RefusalError(f"the server failed: {type(error).__name__}", status=500))

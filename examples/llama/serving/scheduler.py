"""Several requests on one model: each step reads the next tokens of all of them.

One thread runs the model. Between two steps requests come and go, so that none waits for another
one's end: what is left of the prompts is read in chunks beside the tokens that are being made.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

import portarray as pa
from examples.llama.model import Model
from examples.llama.sampling import Sampler, TokenLogprob, chosen, token_logprob
from examples.llama.serving.metrics import Metrics
from examples.llama.serving.text import Text
from examples.llama.slots import Part, common
from examples.llama.tokenizer import Tokenizer

__all__ = ["BusyError", "ClosingError", "Event", "Job", "Scheduler"]


class BusyError(Exception):
    """The queue is full.

    Parameters
    ----------
    waiting : int
        How many requests wait.
    seconds : int
        After what time another try may succeed.
    """

    def __init__(self, waiting: int, seconds: int) -> None:
        super().__init__(f"{waiting} requests are waiting already: try again in {seconds} s")
        self.seconds = seconds


class ClosingError(Exception):
    """No requests are taken any more."""


class Event(NamedTuple):
    """What a request is told.

    Attributes
    ----------
    text : str
        What was made since the last one.
    end : str
        Why there is no more: ``"stop"``, ``"length"``, ``"timeout"`` or ``"error"``, or empty.
    logprobs : sequence of TokenLogprob
        Of the tokens since the last one, if the request wants them.
    embedding : numpy.ndarray or None
        The embedding of the prompt, if the request is for that: float32, of length 1.
    """

    text: str
    end: str = ""
    logprobs: Sequence[TokenLogprob] = ()
    embedding: np.ndarray | None = None


@dataclass(slots=True, eq=False)
class Job:
    """A request.

    Attributes
    ----------
    prompt : sequence of int
        Its tokens.
    tokens : int
        How many are to follow at most.
    sampler : Sampler
        Chooses them.
    tell : callable
        Takes events, in the thread of the model.
    stops : sequence of str
        Texts that end the answer.
    logprobs : int or None
        With how many of the likeliest tokens events say the logarithms of probabilities; None says
        none.
    embeds : bool
        Whether the embedding of the prompt is wanted, and no tokens.
    made : int
        How many tokens there are, the one that ended it among them.
    reused : int
        How many tokens of the prompt were not read, as keys and values of them were there.
    """

    prompt: Sequence[int]
    tokens: int
    sampler: Sampler
    tell: Callable[[Event], object]
    stops: Sequence[str] = ()
    logprobs: int | None = None
    embeds: bool = False
    generated: int = 0
    reused: int = 0
    _start: float = 0.0
    _deadline: float = 0.0
    _slot: int = -1
    _read: int = 0  # tokens of the prompt
    _next: int = 0  # the token that was made last
    _text: Text | None = None
    _logprobs: list[TokenLogprob] = field(default_factory=list)  # which no event has told
    _sum: np.ndarray | None = None  # of the features of the tokens that were read
    _disconnected: bool = False


@dataclass(slots=True)
class Counts:
    """What a scheduler has done."""

    requests: int = 0
    refused: int = 0
    steps: int = 0
    read: int = 0
    reused: int = 0
    generated: int = 0
    rate: float = field(default=1.0)  # requests that end in a second, lately


class Scheduler:
    """Runs requests on a model.

    Parameters
    ----------
    model : Model
        On any device.
    tokenizer : Tokenizer
        Of the same file.
    parallel : int, optional
        How many requests run at once.
    context : int, optional
        How many tokens each has room for, the prompt among them.
    queue : int, optional
        How many may wait.
    chunk : int, optional
        How many tokens of prompts a step reads at most.
    seconds : float, optional
        How long a request may take, waiting included.
    cache_dtype : str, optional
        What keys and values are kept in; the model's dtype if None.

    Attributes
    ----------
    context : int
        As given.
    config : Config
        The model's sizes.
    seconds : float
        As given.
    counts : Counts
        What it has done.
    metrics : Metrics
        How long it took.
    """

    def __init__(
        self,
        model: Model,
        tokenizer: Tokenizer,
        *,
        parallel: int = 4,
        context: int = 2048,
        queue: int = 32,
        chunk: int = 256,
        seconds: float = 300.0,
        cache_dtype: str | None = None,
    ) -> None:
        self.context = context
        self.config = model.config
        self.seconds = seconds
        self.counts = Counts()
        self.metrics = Metrics()
        self._model = model
        self._tokenizer = tokenizer
        self._slots = model.slots(parallel, context, dtype=cache_dtype)
        self._used = [0.0] * parallel  # when each slot was
        self._queue = queue
        self._chunk = chunk
        self._active: list[Job] = []
        self._waiting: deque[Job] = deque()
        self._changed = threading.Condition()
        self._closing = False
        self._ended = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="model", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def submit(self, job: Job) -> None:
        """Take a request.

        Raises
        ------
        BusyError
            If too many wait.
        ClosingError
            If the scheduler is being stopped.
        """
        with self._changed:
            if self._closing:
                raise ClosingError("the server is shutting down")
            running = len(self._active) + len(self._waiting)
            if running >= len(self._slots) + self._queue:
                self.counts.refused += 1
                raise BusyError(len(self._waiting), self._patience())
            job._start = time.monotonic()
            job._deadline = job._start + self.seconds
            self._waiting.append(job)
            self.counts.requests += 1
            self._changed.notify()

    def cancel(self, job: Job) -> None:
        """Forget a request, if it has not ended: its slot is free before the next step."""
        with self._changed:
            job._disconnected = True
            if job in self._waiting:
                self._waiting.remove(job)
                self.metrics.ended("cancelled")
            self._changed.notify()

    def state(self) -> dict[str, int]:
        """Return how many requests run and wait, and how many there is room for."""
        with self._changed:
            return {
                "running": len(self._active),
                "waiting": len(self._waiting),
                "parallel": len(self._slots),
                "queue": self._queue,
            }

    def values(self) -> dict[str, tuple[str, str, float]]:
        """Return types, descriptions and values of what is measured, by name."""
        state, counts = self.state(), self.counts
        return {
            "requests_running": ("gauge", "Requests that run.", state["running"]),
            "requests_waiting": ("gauge", "Requests that wait for a slot.", state["waiting"]),
            "slots": ("gauge", "Requests that can run at once.", state["parallel"]),
            "queue_capacity": ("gauge", "Requests that may wait.", state["queue"]),
            "requests_total": ("counter", "Requests that were accepted.", counts.requests),
            "requests_refused_total": (
                "counter", "Requests refused because the queue was full.", counts.refused
            ),
            "steps_total": ("counter", "Steps of the model.", counts.steps),
            "prompt_tokens_total": ("counter", "Tokens of prompts that were read.", counts.read),
            "prompt_tokens_reused_total": (
                "counter", "Tokens of prompts whose keys were there.", counts.reused
            ),
            "generated_tokens_total": ("counter", "Tokens that were made.", counts.generated),
        }  # fmt: skip

    def close(self, grace: float = 0.0) -> None:
        """Take no more requests, and let those that there are end within some seconds."""
        with self._changed:
            self._closing = True
            end = time.monotonic() + grace
            for job in (*self._active, *self._waiting):
                job._deadline = min(job._deadline, end)
            self._changed.notify()

    def stop(self) -> None:
        """Close it at once, and wait until its thread has ended."""
        self.close()
        self._thread.join()

    def _patience(self) -> int:
        """Return after how many seconds a place may be free."""
        return min(max(1, round(len(self._waiting) / self.counts.rate)), 60)

    # --- the model's thread ---------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            with self._changed:
                while not (self._active or self._waiting or self._closing):
                    self._changed.wait()
                if not self._active and not self._waiting:
                    return
                new = self._sorted_out()
            try:
                for job in new:
                    # An embedding needs the features of all tokens, not their keys and values.
                    prefix = () if job.embeds else job.prompt
                    job.reused = job._read = self._slots.keep(job._slot, prefix)
                    self.counts.reused += job.reused
                if self._active:
                    self._step()
            except Exception as error:  # noqa: BLE001  (the requests are told; others are served)
                self._fail(error)

    def _sorted_out(self) -> list[Job]:
        """Let requests go that have ended by themselves; give slots to those that wait."""
        now = time.monotonic()
        for job in [*self._active, *self._waiting]:
            if job._disconnected or now > job._deadline:
                # What was made in time is an answer, cut off as by its length.
                remaining = "" if job._text is None else job._text.end()
                self._end(
                    job, Event(remaining, "length") if job.generated else Event("", "timeout")
                )
        new = []
        while self._waiting and len(self._active) < len(self._slots):
            job = self._waiting.popleft()
            job._slot = self._slot_for(job)
            job._text = Text(self._tokenizer, job.stops)
            self._active.append(job)
            new.append(job)
        self._active.sort(key=lambda current: current._slot)  # neighbours attend together
        return new

    def _slot_for(self, job: Job) -> int:
        """Return the free slot that has most of a prompt, or the one not used for the longest."""
        taken = {active._slot for active in self._active}
        free = [n for n in range(len(self._slots)) if n not in taken]
        begins = {n: common(self._slots.tokens[n], job.prompt) for n in free}
        return max(free, key=lambda n: (begins[n], -self._used[n]))

    def _step(self) -> None:
        """Read the next tokens of all requests, and tell each what was made."""
        parts: list[Part] = []
        ready: list[Job] = []
        embedded: list[tuple[Job, Part]] = []
        room = self._chunk
        for job in self._active:
            unread = len(job.prompt) - job._read
            if not unread:
                parts.append(Part(job._slot, [job._next]))
                ready.append(job)
            elif room:
                some = job.prompt[job._read : job._read + min(unread, room)]
                room -= len(some)
                job._read += len(some)
                self.counts.read += len(some)
                part = Part(job._slot, some, needs_logits=len(some) == unread)
                if job.embeds:
                    embedded.append((job, part))
                    continue
                parts.append(part)
                if part.needs_logits:
                    ready.append(job)
        if embedded:
            self._embed(embedded)
        if not parts:
            return
        logits = self._model.read(parts, self._slots)
        self.counts.steps += 1
        if not ready:
            return
        tokens = chosen(
            logits, [current.sampler for current in ready], [current.generated for current in ready]
        )
        for n, (job, token) in enumerate(zip(ready, tokens, strict=True)):
            if job.logprobs is not None:
                job._logprobs.append(token_logprob(logits[n, :], token, job.logprobs))
            self._take(job, token)

    def _embed(self, embedded: Sequence[tuple[Job, Part]]) -> None:
        """Read tokens of prompts whose embeddings are wanted: the mean of the tokens' features."""
        features = self._model.features([part for _, part in embedded], self._slots)
        self.counts.steps += 1
        features = pa.astype(features, pa.float32)
        start, sums = 0, []
        for _, part in embedded:
            end = start + len(part.tokens)
            sums.append(pa.sum(features[start:end, :], axis=0))
            start = end
        totals = pa.stack(sums).to_device("numpy").native.astype(np.float64)
        for (job, part), total in zip(embedded, totals, strict=True):
            job._sum = total if job._sum is None else job._sum + total
            if part.needs_logits:
                length = np.linalg.norm(job._sum)
                embedding = (job._sum / max(length, np.finfo(np.float64).tiny)).astype(np.float32)
                self._end(job, Event("", "stop", embedding=embedding))

    def _take(self, job: Job, token: int) -> None:
        """Give a request its next token."""
        job.generated += 1
        if job.generated == 1:
            self.metrics.first_token.observe(time.monotonic() - job._start)
        job._next = token
        self.counts.generated += 1
        text = job._text
        assert text is not None
        ends = token in self._tokenizer.stops
        piece = "" if ends else text.add(token)
        if ends or text.stopped or job.generated == job.tokens:
            piece += text.end()  # which may hold a text that stops
            self._end(job, Event(piece, "stop" if ends or text.stopped else "length"))
        elif piece:
            self._tell(job, Event(piece))

    def _end(self, job: Job, event: Event) -> None:
        self.metrics.request.observe(time.monotonic() - job._start)
        with self._changed:
            self.metrics.ended("cancelled" if job._disconnected else event.end)
            if job in self._waiting:
                self._waiting.remove(job)
            if job in self._active:
                self._active.remove(job)
                now = time.monotonic()
                self._used[job._slot] = now
                since, self._ended = now - self._ended, now
                self.counts.rate += 0.2 * (min(1 / max(since, 1e-3), 1e3) - self.counts.rate)
        if not job._disconnected:
            self._tell(job, event)

    def _tell(self, job: Job, event: Event) -> None:
        """Send an event with the logarithms of probabilities that no event has told."""
        logprobs, job._logprobs = job._logprobs, []
        job.tell(event._replace(logprobs=logprobs))

    def _fail(self, error: Exception) -> None:
        """End all requests that run; what their slots hold is not known."""
        for job in list(self._active):
            self._slots.tokens[job._slot] = []
            self._end(job, Event(f"{type(error).__name__}: {error}", "error"))

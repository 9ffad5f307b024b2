"""What is sent: chat completions, whole or as the events of a stream."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping
from typing import Any

from examples.llama.serving.scheduler import Job

__all__ = ["DONE", "Answer", "event"]

DONE = b"data: [DONE]\n\n"


def event(message: Mapping[str, Any]) -> bytes:
    """Return a server-sent event."""
    return f"data: {json.dumps(message, ensure_ascii=False)}\n\n".encode()


class Answer:
    """The records of one answer, which have a number and a time in common.

    Parameters
    ----------
    model : str
        The name of the model.
    job : Job
        What makes it.
    """

    def __init__(self, model: str, job: Job) -> None:
        self._job = job
        self._common = {
            "id": f"chatcmpl-{secrets.token_hex(12)}",
            "created": int(time.time()),
            "model": model,
        }

    def usage(self) -> dict[str, Any]:
        """Return the numbers of tokens."""
        job = self._job
        return {
            "prompt_tokens": len(job.prompt),
            "completion_tokens": job.made,
            "total_tokens": len(job.prompt) + job.made,
            "prompt_tokens_details": {"cached_tokens": job.reused},
        }

    def whole(self, text: str, end: str) -> dict[str, Any]:
        """Return a completion."""
        message = {"role": "assistant", "content": text, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": end}
        return {
            **self._common,
            "object": "chat.completion",
            "choices": [choice],
            "usage": self.usage(),
        }

    def part(self, delta: Mapping[str, str], end: str | None = None) -> bytes:
        """Return an event with a part of the text, or with why there is no more."""
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": end}
        return event({**self._common, "object": "chat.completion.chunk", "choices": [choice]})

    def last(self) -> bytes:
        """Return the event with the numbers of tokens."""
        message = {"object": "chat.completion.chunk", "choices": [], "usage": self.usage()}
        return event({**self._common, **message})

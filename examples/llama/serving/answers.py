"""What is sent: chat completions, whole or as the events of a stream, and embeddings."""

from __future__ import annotations

import base64
import json
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from examples.llama.sampling import TokenLogprob
from examples.llama.serving.scheduler import Event, Job
from examples.llama.tokenizer import Tokenizer

__all__ = ["DONE", "Answer", "embeddings", "event"]

DONE = b"data: [DONE]\n\n"
LEAST = -9999.0  # JSON has no infinity; the interface says this of what is most unlikely


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
    tokenizer : Tokenizer
        Of the model.
    usage : bool
        Whether a stream ends with the usage; the parts before it then have an empty one.
    """

    def __init__(self, model: str, job: Job, tokenizer: Tokenizer, *, usage: bool) -> None:
        self._job = job
        self._tokenizer = tokenizer
        self._common = {
            "id": f"chatcmpl-{secrets.token_hex(12)}",
            "created": int(time.time()),
            "model": model,
            **({"usage": None} if usage else {}),
        }

    def usage(self) -> dict[str, Any]:
        """Return the numbers of tokens."""
        job = self._job
        return {
            "prompt_tokens": len(job.prompt),
            "completion_tokens": job.generated,
            "total_tokens": len(job.prompt) + job.generated,
            "prompt_tokens_details": {"cached_tokens": job.reused},
        }

    def whole(self, events: Sequence[Event]) -> dict[str, Any]:
        """Return a completion of all its events."""
        text = "".join(item.text for item in events)
        message = {"role": "assistant", "content": text, "refusal": None}
        logprobs = self._logprobs([entry for item in events for entry in item.logprobs])
        choice = {
            "index": 0,
            "message": message,
            "logprobs": logprobs,
            "finish_reason": events[-1].end,
        }
        return {
            **self._common,
            "object": "chat.completion",
            "choices": [choice],
            "usage": self.usage(),
        }

    def part(
        self,
        delta: Mapping[str, str],
        end: str | None = None,
        logprobs: Sequence[TokenLogprob] = (),
    ) -> bytes:
        """Return an event with a part of the text, or with why there is no more."""
        choice = {
            "index": 0,
            "delta": delta,
            "logprobs": self._logprobs(logprobs) if logprobs else None,
            "finish_reason": end,
        }
        return event({**self._common, "object": "chat.completion.chunk", "choices": [choice]})

    def last(self) -> bytes:
        """Return the event with the numbers of tokens."""
        message = {"object": "chat.completion.chunk", "choices": [], "usage": self.usage()}
        return event({**self._common, **message})

    def _logprobs(self, entries: Sequence[TokenLogprob]) -> dict[str, Any] | None:
        """Return the record of tokens' logarithms of probabilities, if they are wanted."""
        if self._job.logprobs is None:
            return None
        content = [
            {
                **self._token(entry.token, entry.logprob),
                "top_logprobs": [self._token(*pair) for pair in entry.top],
            }
            for entry in entries
        ]
        return {"content": content, "refusal": None}

    def _token(self, token: int, logprob: float) -> dict[str, Any]:
        # A token may be a part of a character: clients join the bytes.
        spelled = self._tokenizer.bytes_of(token)
        return {
            "token": spelled.decode(errors="replace"),
            "logprob": max(logprob, LEAST),
            "bytes": list(spelled),
        }


def embeddings(
    model: str, vectors: Sequence[np.ndarray], tokens: int, *, as_base64: bool
) -> dict[str, Any]:
    """Return the record of embeddings.

    Parameters
    ----------
    model : str
        The name of the model.
    vectors : sequence of numpy.ndarray
        Of float32.
    tokens : int
        How many tokens the inputs have together.
    as_base64 : bool
        Whether they are sent as their bytes instead of as numbers.

    Returns
    -------
    dict
        A record of JSON.
    """
    data = [
        {
            "object": "embedding",
            "index": n,
            "embedding": base64.b64encode(vector.astype("<f4").tobytes()).decode()
            if as_base64
            else vector.tolist(),
        }
        for n, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": data, "model": model, "usage": usage}

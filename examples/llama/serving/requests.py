"""What a request may be: read, checked, and refused with a reason."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from examples.llama.sampling import Sampler

__all__ = ["Ask", "EmbeddingAsk", "RefusalError", "parsed", "parsed_embedding"]

ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
MESSAGES = 1000
INPUTS = 2048
TOP_LOGPROBS = 20
STOPS = 4
# Fields that change nothing of an answer here; and those that would, with the value that does not.
WITHOUT_EFFECT = frozenset(
    ("metadata", "user", "store", "service_tier", "safety_identifier", "prompt_cache_key",
     "prompt_cache_retention", "parallel_tool_calls", "verbosity", "reasoning_effort")
)  # fmt: skip
NOT_HERE: Mapping[str, tuple[Any, ...]] = {
    "n": (1,),
    "frequency_penalty": (0, 0.0),
    "presence_penalty": (0, 0.0),
    "logit_bias": ({},),
    "tools": ([],),
    "tool_choice": ("none", "auto"),
    "functions": ([],),
    "function_call": ("none", "auto"),
    "response_format": ({"type": "text"},),
    "modalities": (["text"],),
    "audio": (),
    "prediction": (),
    "web_search_options": (),
}


class RefusalError(Exception):
    """A request that is not served.

    Parameters
    ----------
    message : str
        Why, and what to do.
    status : int, optional
        That of HTTP.
    param : str, optional
        The field it is about.
    code : str, optional
        A name of the reason.
    headers : mapping, optional
        What is sent beside it.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.param = param
        self.code = code
        self.headers = dict(headers or {})

    def as_dict(self) -> dict[str, Any]:
        """Return it in the interface's form."""
        kinds = {401: "authentication_error", 429: "rate_limit_error"}
        default = "server_error" if self.status >= 500 else "invalid_request_error"
        kind = kinds.get(self.status, default)
        return {
            "error": {
                "message": self.message, "type": kind, "param": self.param, "code": self.code,
            }
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ask:
    """A request.

    Attributes
    ----------
    messages : list of dict
        Roles and texts.
    tokens : int or None
        How many to make at most, if it says so.
    sampler : Sampler
        Chooses them.
    stops : tuple of str
        Texts that end the answer.
    stream : bool
        Whether the answer is sent while it is made.
    usage : bool
        Whether a stream ends with the numbers of tokens.
    logprobs : int or None
        Of how many of the likeliest tokens logarithms of probabilities are sent beside that of
        each token; None sends none.
    """

    messages: list[dict[str, str]]
    tokens: int | None
    sampler: Sampler
    stops: tuple[str, ...]
    stream: bool
    usage: bool
    logprobs: int | None


@dataclass(frozen=True, slots=True)
class EmbeddingAsk:
    """A request for embeddings.

    Attributes
    ----------
    inputs : list
        Texts, or lists of tokens.
    base64 : bool
        Whether embeddings are sent as the bytes of float32.
    """

    inputs: list[str | list[int]]
    base64: bool


def parsed(body: bytes, *, model: str, most: int) -> Ask:
    """Read the body of a request.

    Parameters
    ----------
    body : bytes
        JSON.
    model : str
        The name of the model that is served.
    most : int
        How many tokens may be asked for.

    Returns
    -------
    Ask
        What it asks for.

    Raises
    ------
    RefusalError
        If it is none, or asks for what is not served.
    """
    fields = _object(body, model, "messages")
    messages = _messages(fields.pop("messages", None))
    tokens = [_integer(fields, name, 1, most) for name in ("max_completion_tokens", "max_tokens")]
    temperature = _read_number(fields, "temperature", 0.0, 2.0)
    top_p = _read_number(fields, "top_p", 0.0, 1.0)
    if top_p == 0:
        top_p = math.ulp(0.0)  # the likeliest alone
    sampler = Sampler(
        1.0 if temperature is None else temperature,
        1.0 if top_p is None else top_p,
        _integer(fields, "seed", -(2**63), 2**64 - 1),
        _integer(fields, "top_k", 0, 2**31) or 0,
    )
    stream = _boolean(fields, "stream")
    options = fields.pop("stream_options", None)
    if options is not None and not (stream and isinstance(options, dict)):
        raise RefusalError("stream_options goes with stream: true alone", param="stream_options")
    usage = _boolean(dict(options or {}), "include_usage")
    stops = _stops(fields.pop("stop", None))
    with_logprobs = _boolean(fields, "logprobs")
    top = _integer(fields, "top_logprobs", 0, TOP_LOGPROBS)
    if top is not None and not with_logprobs:
        raise RefusalError("top_logprobs goes with logprobs: true alone", param="top_logprobs")
    _check_remaining(fields, NOT_HERE)
    limit = next((entry for entry in tokens if entry is not None), None)
    logprobs = (top or 0) if with_logprobs else None
    return Ask(messages, limit, sampler, stops, stream, usage, logprobs)


def parsed_embedding(body: bytes, *, model: str, vocab: int, width: int) -> EmbeddingAsk:
    """Read the body of a request for embeddings.

    Parameters
    ----------
    body : bytes
        JSON.
    model : str
        The name of the model that is served.
    vocab : int
        How many tokens the model has.
    width : int
        How many numbers its embeddings have.

    Returns
    -------
    EmbeddingAsk
        What it asks for.

    Raises
    ------
    RefusalError
        If it is none, or asks for what is not served.
    """
    fields = _object(body, model, "input")
    inputs = _inputs(fields.pop("input", None), vocab)
    encoding = fields.pop("encoding_format", None)
    if encoding not in (None, "float", "base64"):
        raise RefusalError("encoding_format must be float or base64", param="encoding_format")
    _check_remaining(fields, {"dimensions": (width,)})
    return EmbeddingAsk(inputs, encoding == "base64")


def _inputs(value: Any, vocab: int) -> list[str | list[int]]:
    """Return the inputs of a request: a text, a list of tokens, or a list of either."""

    def is_tokens(entry: Any) -> bool:
        return isinstance(entry, list) and bool(entry) and all(type(x) is int for x in entry)

    inputs = [value] if isinstance(value, str) or is_tokens(value) else value
    if not isinstance(inputs, list) or not 0 < len(inputs) <= INPUTS:
        raise RefusalError(
            f"input must be a text, a list of tokens, or a list of 1 to {INPUTS} of these",
            param="input",
        )
    for n, entry in enumerate(inputs):
        path = f"input[{n}]"
        if isinstance(entry, str):
            _plain(entry, path)
        elif not is_tokens(entry):
            raise RefusalError(f"{path} must be a text or a list of tokens", param=path)
        elif not all(0 <= token < vocab for token in entry):
            raise RefusalError(f"{path}: tokens must be from 0 to {vocab - 1}", param=path)
    return inputs


def _check_remaining(fields: Mapping[str, Any], not_here: Mapping[str, tuple[Any, ...]]) -> None:
    """Refuse fields that are not known, or would change an answer."""
    for name, value in fields.items():
        if name in WITHOUT_EFFECT or value is None:
            continue
        if name not in not_here:
            raise RefusalError(f"{name[:100]!r} is not a known field", param=name[:100])
        if not any(value == entry and type(value) is type(entry) for entry in not_here[name]):
            allowed = " or ".join(json.dumps(entry) for entry in not_here[name])
            advice = f"leave it out, or say {allowed}" if allowed else "leave it out"
            raise RefusalError(f"{name} is not served here: {advice}", param=name)


def _object(body: bytes, model: str, content: str) -> dict[str, Any]:
    """Return the fields of a request without that of the model, which must be the one served."""

    def constant(name: str) -> Any:
        raise ValueError(f"{name} is not a JSON number")

    try:
        fields = json.loads(body, parse_constant=constant)
    except RecursionError:
        raise RefusalError("the body is nested too deeply") from None
    except ValueError as error:  # of text that is not UTF-8, too
        raise RefusalError(f"the body is not JSON: {str(error)[:200]}") from None
    if not isinstance(fields, dict):
        raise RefusalError(f'the body must be an object: {{"model": ..., "{content}": ...}}')
    named = fields.pop("model", None)
    if not isinstance(named, str):
        raise RefusalError(f'give the name of the model: "model": "{model}"', param="model")
    if named != model:
        raise RefusalError(
            f"there is no model {named[:100]!r} here; the one that is served is {model!r}",
            status=404, param="model", code="model_not_found",
        )  # fmt: skip
    return fields


def _messages(value: Any) -> list[dict[str, str]]:
    if not isinstance(value, list) or not 0 < len(value) <= MESSAGES:
        raise RefusalError(f"messages must be a list of 1 to {MESSAGES}", param="messages")
    messages = []
    for n, message in enumerate(value):
        path = f"messages[{n}]"
        if not isinstance(message, dict):
            raise RefusalError(f"{path} must be an object with role and content", param=path)
        role = message.get("role")
        if not isinstance(role, str) or role not in ROLES:
            raise RefusalError(
                f"{path}: role must be one of {', '.join(ROLES)}", param=f"{path}.role"
            )
        if message.get("tool_calls") or message.get("function_call"):
            raise RefusalError(f"{path}: tools are not served here", param=path)
        messages.append({"role": ROLES[role], "content": _content(message.get("content"), path)})
    return messages


def _content(value: Any, path: str) -> str:
    parts = value if isinstance(value, list) else [{"type": "text", "text": value}]
    contents = []
    for part in parts:
        text = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None
        if not isinstance(text, str):
            raise RefusalError(
                f"{path}: content must be a text or a list of parts of the type text",
                param=f"{path}.content",
            )
        contents.append(_plain(text, f"{path}.content"))
    return "".join(contents)


def _plain(text: str, path: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise RefusalError(f"{path} has half of a surrogate pair", param=path) from None
    return text


def _stops(value: Any) -> tuple[str, ...]:
    stops = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(stops, list) or len(stops) > STOPS:
        raise RefusalError(f"stop must be a text or a list of up to {STOPS}", param="stop")
    if not all(isinstance(stop, str) and 0 < len(stop) <= 1000 for stop in stops):
        raise RefusalError("stop must be texts of 1 to 1000 characters", param="stop")
    return tuple(_plain(stop, "stop") for stop in stops)


def _boolean(fields: dict[str, Any], name: str) -> bool:
    value = fields.pop(name, None)
    if value is not None and not isinstance(value, bool):
        raise RefusalError(f"{name} must be true or false", param=name)
    return bool(value)


def _integer(fields: dict[str, Any], name: str, low: int, high: int) -> int | None:
    value = fields.pop(name, None)
    if value is None:
        return None
    if type(value) is not int or not low <= value <= high:
        raise RefusalError(f"{name} must be an integer from {low} to {high}", param=name)
    return value


def _read_number(fields: dict[str, Any], name: str, low: float, high: float) -> float | None:
    value = fields.pop(name, None)
    if value is None:
        return None
    if type(value) not in (int, float) or not low <= value <= high:
        raise RefusalError(f"{name} must be a number from {low:g} to {high:g}", param=name)
    return float(value)

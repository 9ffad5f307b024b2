"""``python -m examples.llama serve``: options of the server."""

from __future__ import annotations

import math
import socket
from pathlib import Path

import click
import uvicorn

from examples.llama.errors import LlamaError
from examples.llama.model import DTYPES, PACKED, load
from examples.llama.progress import ERRORS, bar, opened
from examples.llama.serving.application import Limits, application
from examples.llama.serving.scheduler import Scheduler
from portarray.errors import PortarrayError

__all__ = ["serve"]

LOOPBACK = ("127.0.0.1", "::1")
LOCAL = ("localhost", "127.0.0.1", "[::1]")  # what a client may call it then
BESIDE = 64  # connections beside those whose requests run or wait


@click.command(context_settings={"show_default": True})
@click.option("--file", "path", type=click.Path(path_type=Path), help="A GGUF file, as above.")
@click.option("--adapter", type=click.Path(path_type=Path, dir_okay=False), help="As above.")
@click.option("--name", help="What clients call the model.  [default: the file's name]")
@click.option("--device", default="auto", help="Where it runs: clarray, cuda.")
@click.option(
    "--dtype", default="auto", type=click.Choice([*PACKED, *DTYPES]), help="Of the weights."
)
@click.option("--cache-dtype", type=click.Choice(list(DTYPES)), help="Of keys and values.")
@click.option("--host", default="127.0.0.1", help="The address that is listened on.")
@click.option("--port", default=8080, type=click.IntRange(0, 65535), help="0 takes a free one.")
@click.option("--parallel", default=4, help="Requests that run at once.")
@click.option("--context", default=2048, help="Tokens that each has room for.")
@click.option("--queue", default=32, help="Requests that may wait; others are told to come later.")
@click.option("--chunk", default=256, help="Tokens of prompts that are read in one step.")
@click.option("--tokens", default=1024, help="Tokens that an answer has at most.")
@click.option("--body", default=1 << 20, help="Bytes that a request has at most.")
@click.option("--seconds", default=300.0, help="How long a request may take.")
@click.option("--grace", default=10.0, help="Seconds that requests have to end at the end.")
def serve(
    path: Path | None,
    adapter: Path | None,
    name: str | None,
    device: str,
    dtype: str,
    cache_dtype: str | None,
    host: str,
    port: int,
    parallel: int,
    context: int,
    queue: int,
    chunk: int,
    tokens: int,
    body: int,
    seconds: float,
    grace: float,
) -> None:
    """Serve a language model to the clients of the chat-completions interface."""
    least = {"--queue": queue, "--seconds": seconds, "--grace": grace}
    for option, value in least.items():
        if not 0 <= value < float("inf"):
            raise click.UsageError(f"{option} {value}: it must be 0 or more")
    for option, count in {"--chunk": chunk, "--tokens": tokens, "--body": body}.items():
        if count < 1:
            raise click.UsageError(f"{option} {count}: at least 1 is needed")
    with _bound(host, port) as bound:  # before the weights are read, which takes longer
        try:
            file, text = opened(path)
            context = min(context, file.config.context)
            with bar(file) as advance:
                model = load(
                    file,
                    device=device,
                    dtype=dtype,
                    context=context * max(parallel, 1),
                    adapter=adapter,
                    progress=advance,
                )
            scheduler = Scheduler(
                model, text, parallel=parallel, context=context, queue=queue, chunk=chunk,
                seconds=seconds, cache_dtype=cache_dtype,
            )  # fmt: skip
        except (LlamaError, PortarrayError) as error:
            raise click.ClickException(str(error)) from error
        hosts = LOCAL if bound.getsockname()[0] in LOOPBACK else ()
        limits = Limits(tokens=tokens, body=body, hosts=hosts)
        config = uvicorn.Config(
            application(scheduler, text, name or file.path.stem, limits),
            access_log=False,
            log_level="warning",
            server_header=False,
            limit_concurrency=parallel + queue + BESIDE,
            timeout_graceful_shutdown=math.ceil(grace) + 5,
        )
        address, port = bound.getsockname()[:2]
        shown = f"[{address}]" if ":" in address else address
        ready = (
            f"{model.device}, {model.dtype}: http://{shown}:{port}/v1 answers, {parallel} "
            f"requests at once with {context} tokens each"
        )
        _Server(config, scheduler, grace, ready).run([bound])


class _Server(uvicorn.Server):
    """Says when it can be reached, and tells the scheduler first when it is to end."""

    def __init__(
        self, config: uvicorn.Config, scheduler: Scheduler, grace: float, ready: str
    ) -> None:
        super().__init__(config)
        self._scheduler = scheduler
        self._grace = grace
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen."""
        await super().startup(sockets)
        ERRORS.print(self._ready, soft_wrap=True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let requests end, up to a time, then close the connections."""
        self._scheduler.close(self._grace)
        await super().shutdown(sockets)


def _bound(host: str, port: int) -> socket.socket:
    """Return a socket that has the address, which nobody else can take any more."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
        except OSError:
            bound.close()
            raise
    except OSError as error:
        raise click.ClickException(f"{host}, port {port}: {error}") from error
    return bound

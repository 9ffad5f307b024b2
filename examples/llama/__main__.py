"""The command ``python -m examples.llama``."""

from __future__ import annotations

import os
import sys

NEEDED = ("click", "gguf", "jinja2", "rich", "tokenizers")
NEEDED_BY_ADAPTERS = ("safetensors",)
NEEDED_TO_SERVE = ("starlette", "uvicorn")


def main() -> None:
    """Run the command; say how to install what it needs where that is missing."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a sign shows another one instead of failing.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    # PyTorch's threads spin for milliseconds after a call, on cores that kernels need.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    try:
        if sys.argv[1:2] == ["serve"]:
            from examples.llama.serving.command import serve

            serve(sys.argv[2:], prog_name="python -m examples.llama serve")
        from examples.llama.command import llama

        llama(prog_name="python -m examples.llama")
    except ModuleNotFoundError as error:
        if error.name not in NEEDED + NEEDED_BY_ADAPTERS + NEEDED_TO_SERVE:
            raise
        more = ",files" if error.name in NEEDED_BY_ADAPTERS else ""
        more += ",serve" if error.name in NEEDED_TO_SERVE else ""
        sys.exit(
            f"The language model needs {error.name}, which is not installed.\n"
            f'Install it with: pip install ".[cli,llm{more}]"'
        )


if __name__ == "__main__":
    main()

"""The command ``python -m examples.llama``."""

from __future__ import annotations

import sys

NEEDED = ("click", "gguf", "jinja2", "rich", "tokenizers")


def main() -> None:
    """Run the command; say how to install what it needs where that is missing."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that lacks a sign shows another one instead of failing.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        from examples.llama.command import llama

        llama(prog_name="python -m examples.llama")
    except ModuleNotFoundError as error:
        if error.name not in NEEDED:
            raise
        sys.exit(
            f"The language model needs {error.name}, which is not installed.\n"
            f'Install it with: pip install "portarray[cli,llm]"'
        )


if __name__ == "__main__":
    main()

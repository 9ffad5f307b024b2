"""The command ``python -m examples.training``."""

from __future__ import annotations

import sys

NEEDED = ("click", "matplotlib", "rich", "safetensors", "sklearn")
NEEDED_BY_LLAMA = ("gguf", "jinja2", "tokenizers")


def main() -> None:
    """Run the command; say how to install what it needs where that is missing."""
    try:
        from examples.training.command import train

        train(prog_name="python -m examples.training")
    except ModuleNotFoundError as error:
        if error.name not in NEEDED + NEEDED_BY_LLAMA:
            raise
        more = ",llm" if error.name in NEEDED_BY_LLAMA else ""
        sys.exit(
            f"Training needs {error.name}, which is not installed.\n"
            f'Install it with: pip install ".[cli,examples,files{more}]"'
        )


if __name__ == "__main__":
    main()

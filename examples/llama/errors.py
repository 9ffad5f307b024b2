"""The one error of this program: a file, a prompt or an option that cannot be used, and the fix."""

from __future__ import annotations

__all__ = ["LlamaError"]


class LlamaError(ValueError):
    """A file that is not a Llama model, or a request that the model cannot meet."""

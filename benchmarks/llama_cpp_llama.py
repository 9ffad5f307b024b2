"""llama.cpp as a peer of model.py, through the package llama-cpp-python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from llama_cpp import Llama

from examples.llama.file import ModelFile

__all__ = ["Cache", "LlamaCpp"]


@dataclass(slots=True)
class Cache:
    """The number of valid tokens in llama.cpp's cache."""

    length: int = 0


class LlamaCpp:
    """A model that llama.cpp runs on the CPU; its cache holds ``context`` tokens."""

    def __init__(self, file: ModelFile, *, threads: int, context: int) -> None:
        self.config = file.config
        self._model = Llama(
            str(file.path),
            n_ctx=context,
            n_batch=context,
            n_ubatch=512,
            n_threads=threads,
            n_threads_batch=threads,
            n_gpu_layers=0,
            verbose=False,
        )

    def cache(self, context: int) -> Cache:
        """Return an empty cache."""
        del context  # llama.cpp has its own
        return Cache()

    def prefill(self, tokens: Sequence[int], cache: Cache) -> np.ndarray[Any, Any]:
        """Read tokens; return the logits of the next."""
        model = self._model
        model.n_tokens = cache.length
        model.eval(tokens)
        cache.length = model.n_tokens
        logits = model._ctx.get_logits_ith(-1)
        return np.ctypeslib.as_array(logits, shape=(self.config.vocab,))

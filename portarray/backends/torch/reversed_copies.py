"""Copies in the place of reversed views, which PyTorch does not have.

A write into such a copy does not reach the tensor that was reversed, as it does with other
libraries. So it is an error, as long as that tensor is alive.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing import reductions

from portarray.backends.torch.launching import allocation
from portarray.backends.torch.tracing import is_traced
from portarray.backends.types import GUARDS

__all__ = ["marked"]

_weak_reference: Callable[[torch.UntypedStorage], Any] = reductions.StorageWeakRef


class _Copies:
    """A guard of the memory of reversed copies, called before writes while there are any."""

    __slots__ = ("__weakref__", "_originals", "_references")

    def __init__(self) -> None:
        self._originals: dict[Hashable, Any] = {}  # by the memory of the copies
        self._references: dict[Hashable, weakref.ref[Tensor]] = {}

    def add(self, copy: Tensor, original: Tensor) -> None:
        """Guard a copy and its views until they are freed."""
        memory = allocation(copy)

        def forget(_: weakref.ref[Tensor]) -> None:
            self._originals.pop(memory, None)
            self._references.pop(memory, None)
            if not self._originals:
                GUARDS.discard(_REFERENCE)

        self._references[memory] = weakref.ref(copy, forget)
        self._originals[memory] = _weak_reference(original.untyped_storage())
        GUARDS.add(_REFERENCE)

    def before_write(self, x: Any, memory: Hashable | None) -> None:
        """Raise for writes that the original, if it is alive, would not show."""
        original = self._originals.get(memory)
        if original is not None and not original.expired():
            raise ValueError(
                "assignment: PyTorch does not have reversed views; this array is a copy, and "
                "the array that was reversed would not change\n"
                "Hint: write into a copy, x.copy(), or into the array itself"
            )


_COPIES = _Copies()
_REFERENCE = weakref.ref(_COPIES)


def marked(copy: Tensor, original: Tensor) -> Tensor:
    """Return a reversed copy of a tensor; writes into it raise from now on."""
    if not torch.compiler.is_compiling() and not is_traced(copy) and copy.numel():
        _COPIES.add(copy, original)
    return copy

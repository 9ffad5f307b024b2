"""Gradients by PyTorch's autograd."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.compiler import is_compiling
from torch.overrides import has_torch_function

from portarray.backends.base import Backend
from portarray.backends.torch.nan import has_nan
from portarray.backends.types import ChangedInPlaceError, NoOwnGradientError

Natives = Sequence[Any]


class _Depth(threading.local):
    """Number of nested functions whose gradient is being taken."""

    now = 0


_depth = _Depth()


def with_tape(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return a function that leaves its gradient to the tape, as PyTorch's is wrong somewhere."""

    @functools.wraps(function)
    def called(*tensors: Tensor) -> Tensor:
        leave_to_tape(function.__name__, *tensors)
        return function(*tensors)

    return called


def leave_to_tape(name: str, *tensors: Tensor) -> None:
    """Raise if a gradient is taken through tensors, so that the tape takes it."""
    if _depth.now and any(x.requires_grad for x in tensors):
        raise NoOwnGradientError(f"PyTorch's gradient of {name} is not used")


def leave_second_to_tape(name: str, *tensors: Tensor) -> None:
    """Raise if a gradient of a gradient is taken through all tensors."""
    if _depth.now > 1 and all(x.requires_grad for x in tensors):
        raise NoOwnGradientError(f"PyTorch's second derivative of {name} is not used")


HALVES = frozenset({torch.float16, torch.bfloat16})
"""Dtypes of 16 bits, which are computed in float32 on CPUs."""


def in_float32(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return a function whose gradients of 16-bit numbers are summed and computed in float32."""

    @functools.wraps(function)
    def called(x: Tensor, *args: Any, **options: Any) -> Tensor:
        if x.requires_grad and x.dtype in HALVES:
            return function(x.float(), *args, **options).to(x.dtype)
        return function(x, *args, **options)

    return called


# In autograd's messages about missing derivatives and in-place changes.
_REFUSED = ("derivative", "in-place", "inplace", "not implemented", "require grad", "requires grad")


class OwnGradients(Backend):
    """The hooks of gradients."""

    def vjp(
        self,
        function: Callable[[Natives], Natives],
        primals: Natives,
        *,
        saved: list[list[Any]] | None,
    ) -> tuple[Natives, Callable[[Natives], Natives], Callable[[Any], Any]]:
        """See :meth:`portarray.backends.base.Backend.vjp`."""
        nested = _depth.now > 0
        inputs = []
        for x in primals:
            # A new tensor for each argument, so that a repeated one has a gradient for each.
            if x.requires_grad:
                nested = True
                inputs.append(x.view_as(x))
            else:
                inputs.append(x.detach().requires_grad_())
        hooks = None if saved is None else _SavedTensors(saved)
        _depth.now += 1
        enabled = torch.is_grad_enabled()
        if not enabled:
            torch.set_grad_enabled(True)
        try:
            if hooks is None:
                results = function(inputs)
            else:
                with saved_tensors_hooks(hooks.pack, _unpack):
                    results = function(inputs)
                hooks.check()
        except Exception as error:
            if _is_refusal(error) or _is_refusal(error.__cause__):
                raise NoOwnGradientError(str(error)) from error
            raise
        finally:
            _depth.now -= 1
            if not enabled:
                torch.set_grad_enabled(False)
        differentiable = [
            n for n, x in enumerate(results) if isinstance(x, Tensor) and x.requires_grad
        ]

        def vjp(cotangents: Natives) -> Natives:
            if not differentiable:
                return [None] * len(inputs)
            selected = tuple([cotangents[n] for n in differentiable])
            deeper = nested or _depth.now > 0 or True in [g.requires_grad for g in selected]
            try:
                gradients = _backward(
                    tuple([results[n] for n in differentiable]),
                    tuple(inputs),
                    selected,
                    create=deeper,
                    retain=deeper or saved is not None,
                )
            except RuntimeError as error:
                if _is_refusal(error):
                    raise NoOwnGradientError(str(error)) from error
                raise
            with_values = [x for x in gradients if x is not None and not x._is_zerotensor()]
            # Autograd multiplies cotangents of zero by infinite derivatives; the tape does not.
            if _has_nan(with_values):
                raise NoOwnGradientError("a gradient is NaN")
            if len(with_values) == len(gradients):
                return gradients
            return [None if x is None or x._is_zerotensor() else x for x in gradients]

        def released(x: Any) -> Any:
            return x.detach() if isinstance(x, Tensor) and not nested else x

        return [released(x) for x in results], vjp, released

    def is_watched(self, x: Any) -> bool:
        """See :meth:`portarray.backends.base.Backend.is_watched`."""
        return _depth.now > 0 and isinstance(x, Tensor) and x.requires_grad

    def stop_gradient(self, x: Any) -> Any:
        """See :meth:`portarray.backends.base.Backend.stop_gradient`."""
        return x.detach()

    def refuse_gradient(self, x: Any, error: Exception) -> Any:
        """See :meth:`portarray.backends.base.Backend.refuse_gradient`."""
        if (
            isinstance(x, Tensor) and x.requires_grad and torch.is_grad_enabled()
            and not _depth.now  # portarray's own gradient
        ):  # fmt: skip
            raise error
        return x


_Packed = tuple[list[Any], Tensor, int]


class _SavedTensors:
    """The tensors that autograd saves while a function runs, each in a list of its own."""

    def __init__(self, cells: list[list[Any]]) -> None:
        self._cells = cells
        self._packed: list[_Packed] = []

    def pack(self, x: Tensor) -> _Packed:
        """Return what autograd saves instead of a tensor."""
        packed = [x], x, x._version
        self._cells.append(packed[0])
        self._packed.append(packed)
        return packed

    def check(self) -> None:
        """Raise if a tensor was changed since it was saved: then the tape takes the gradient."""
        for _, x, version in self._packed:
            if x._version != version:
                raise NoOwnGradientError("a saved tensor was changed in place")
        self._packed.clear()


def _unpack(packed: _Packed) -> Tensor:
    """Return the tensor that autograd saved, or the copy made before it was written."""
    cell, original, version = packed
    x: Tensor = cell[0]
    if x is original and x._version != version:
        raise ChangedInPlaceError
    return x


def _backward(
    results: tuple[Tensor, ...],
    inputs: tuple[Tensor, ...],
    cotangents: tuple[Tensor, ...],
    *,
    create: bool,
    retain: bool,
) -> Sequence[Tensor | None]:
    """Compute ``torch.autograd.grad`` without its checks, which take as long as small calls.

    The caller has checked that cotangents match results.
    """
    gradients: Sequence[Tensor | None]
    if _engine is None or is_compiling() or has_torch_function(results + inputs):
        gradients = torch.autograd.grad(
            results, inputs, cotangents, create_graph=create, retain_graph=retain, allow_unused=True
        )
    else:
        gradients = _engine.run_backward(
            results, cotangents, retain, create, inputs, True, accumulate_grad=False
        )
    return gradients


def _has_nan(tensors: Sequence[Tensor]) -> bool:
    """Return whether tensors contain NaN; False for tensors without values."""
    if is_compiling() or has_torch_function(tensors) or _innermost_transform() is not None:
        return False
    return has_nan(*tensors)


_innermost_transform: Callable[[], Any] = torch._C._functorch.peek_interpreter_stack

# Not public, but all of torch.autograd calls it, with the same arguments since PyTorch 1.8.
_engine: Any = getattr(torch.autograd.Variable, "_execution_engine", None)


def _is_refusal(error: BaseException | None) -> bool:
    return isinstance(error, RuntimeError) and any(word in str(error) for word in _REFUSED)

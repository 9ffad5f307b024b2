"""Gradients by PyTorch's autograd."""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.compiler import is_compiling
from torch.overrides import has_torch_function

from portarray.backends.base import Backend
from portarray.backends.types import NoOwnGradientError

Natives = Sequence[Any]


class _Depth(threading.local):
    """Number of nested functions whose gradient is being taken."""

    now = 0


_depth = _Depth()

def with_tape(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return a function that leaves its gradient to the tape, as PyTorch's over- or underflows."""

    @functools.wraps(function)
    def called(*tensors: Tensor) -> Tensor:
        if _depth.now and any([x.requires_grad for x in tensors]):
            raise NoOwnGradientError(f"PyTorch squares the operands of {function.__name__}")
        return function(*tensors)

    return called


# In autograd's messages about missing derivatives and in-place changes.
_REFUSED = ("derivative", "in-place", "inplace", "not implemented", "require grad", "requires grad")


class OwnGradients(Backend):
    """The hooks of gradients."""

    def vjp(
        self, function: Callable[[Natives], Natives], primals: Natives, *, once: bool
    ) -> tuple[Natives, Callable[[Natives], Natives]]:
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
        _depth.now += 1
        enabled = torch.is_grad_enabled()
        if not enabled:
            torch.set_grad_enabled(True)
        try:
            results = function(inputs)
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
                    retain=deeper or not once,
                )
            except RuntimeError as error:
                if _is_refusal(error):
                    raise NoOwnGradientError(str(error)) from error
                raise
            gradients = tuple(
                [None if x is None or x._is_zerotensor() else x for x in gradients]
            )
            # Autograd multiplies cotangents of zero by infinite derivatives; the tape does not.
            if _has_nan(gradients):
                raise NoOwnGradientError("a gradient is NaN")
            return gradients

        if nested:
            return results, vjp
        return [x.detach() if isinstance(x, Tensor) else x for x in results], vjp

    def is_watched(self, x: Any) -> bool:
        """See :meth:`portarray.backends.base.Backend.is_watched`."""
        return _depth.now > 0 and isinstance(x, Tensor) and x.requires_grad

    def stop_gradient(self, x: Any) -> Any:
        """See :meth:`portarray.backends.base.Backend.stop_gradient`."""
        return x.detach()


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


_FEW = 2048
"""Elements up to which ``torch.equal`` is faster than a sum, which uses vector instructions."""

_nan = torch.tensor(math.nan)
_equal_finds_nan = not torch.equal(_nan, _nan)  # PyTorch had an error for the same tensor


def _has_nan(tensors: tuple[Tensor | None, ...]) -> bool:
    """Return whether tensors contain NaN; False for tensors without values."""
    if is_compiling() or has_torch_function(tensors) or _innermost_transform() is not None:
        return False
    for x in tensors:
        if x is None:
            continue
        if not x.is_cpu:  # read the device once
            flags = [x.isnan().any() for x in tensors if x is not None]
            return bool(torch.stack(flags).any())
        if x.numel() <= _FEW and _equal_finds_nan:
            if not torch.equal(x, x):
                return True
        else:
            total = x.sum().item()
            if total != total and bool(x.isnan().any()):  # noqa: PLR0124  (infinities can cancel)
                return True
    return False


_innermost_transform: Callable[[], Any] = torch._C._functorch.peek_interpreter_stack

# Not public, but all of torch.autograd calls it, with the same arguments since PyTorch 1.8.
_engine: Any = getattr(torch.autograd.Variable, "_execution_engine", None)


def _is_refusal(error: BaseException | None) -> bool:
    return isinstance(error, RuntimeError) and any(word in str(error) for word in _REFUSED)

"""PyTorch's own gradients."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from portarray.backends.base import Backend
from portarray.backends.types import NoOwnGradientError

Natives = Sequence[Any]


class _Depth(threading.local):
    """How many functions are being called of which a gradient is taken."""

    now = 0


_depth = _Depth()

# What autograd says where it has no derivative, or where something was changed in place.
_REFUSED = ("derivative", "in-place", "inplace", "not implemented", "require grad", "requires grad")


class OwnGradients(Backend):
    """The hooks of gradients."""

    def pulled(
        self, function: Callable[[Natives], Natives], primals: Natives, *, once: bool
    ) -> tuple[Natives, Callable[[Natives], Natives]]:
        """See :meth:`portarray.backends.base.Backend.pulled`."""
        # A new tensor for each argument: one that stands for two has a gradient for each.
        inputs = [x.view_as(x) if x.requires_grad else x.detach().requires_grad_() for x in primals]
        nested = _depth.now > 0 or any(x.requires_grad for x in primals)
        _depth.now += 1
        try:
            with torch.enable_grad():
                results = function(inputs)
        except Exception as error:
            if _is_refusal(error) or _is_refusal(error.__cause__):
                raise NoOwnGradientError(str(error)) from error
            raise
        finally:
            _depth.now -= 1
        followed = [n for n, x in enumerate(results) if isinstance(x, Tensor) and x.requires_grad]

        def pull(cotangents: Natives) -> Natives:
            if not followed:
                return [None] * len(inputs)
            deeper = nested or _depth.now > 0 or any(_needs(cotangents[n]) for n in followed)
            try:
                found: Sequence[Tensor | None] = torch.autograd.grad(
                    [results[n] for n in followed],
                    inputs,
                    [cotangents[n] for n in followed],
                    create_graph=deeper,
                    retain_graph=deeper or not once,
                    allow_unused=True,
                )
            except RuntimeError as error:
                if _is_refusal(error):
                    raise NoOwnGradientError(str(error)) from error
                raise
            return [None if x is None or x._is_zerotensor() else x for x in found]

        if nested:
            return results, pull
        return [x.detach() if isinstance(x, Tensor) else x for x in results], pull

    def pulls(self, x: Any) -> bool:
        """See :meth:`portarray.backends.base.Backend.pulls`."""
        return _depth.now > 0 and isinstance(x, Tensor) and x.requires_grad

    def stopped(self, x: Any) -> Any:
        """See :meth:`portarray.backends.base.Backend.stopped`."""
        return x.detach()


def _needs(x: Any) -> bool:
    return isinstance(x, Tensor) and x.requires_grad


def _is_refusal(error: BaseException | None) -> bool:
    return isinstance(error, RuntimeError) and any(word in str(error) for word in _REFUSED)

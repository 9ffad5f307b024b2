"""Compilation by PyTorch."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch

from portarray.backends.base import Backend

_OPTIONS = {
    "emulate_precision_casts": True,  # round half precision like the calls
    "joint_graph_constant_folding": False,  # takes 0 * x for 0 and x + 0.0 for x: NaN, -0.0
}

_CONTRACT = "enable_floating_point_contract_flag"
_WRAPPING = {f"cpp.{_CONTRACT}": "off -fwrapv"}
"""Has signed integers wrap around in C++: the one text of Inductor's in its command line."""


def _wide(x: torch.Tensor) -> torch.Tensor:
    return x.float() if x.dtype.itemsize < 4 else x


def _atanh(x: torch.Tensor) -> Any:
    """Return atanh; Inductor computes log((1 + x) / (1 - x)) / 2, which loses small numbers."""
    if x.is_complex():
        return NotImplemented
    y = torch.abs(_wide(x))
    return torch.copysign(torch.log1p(2 * y / (1 - y)) / 2, x).to(x.dtype)


def _abs(x: torch.Tensor) -> Any:
    """Return abs; Inductor's programs take that of the lowest integer for a positive number."""
    if x.is_floating_point() or x.is_complex():
        return NotImplemented
    lowest = torch.iinfo(x.dtype).min
    return torch.where(x == lowest, x, torch.where(x < 0, -x, x))


def _acosh(x: torch.Tensor) -> Any:
    """Return acosh; Inductor's squares overflow."""
    if x.is_complex():
        return NotImplemented
    y = _wide(x) - 1
    near = torch.log1p(y + torch.sqrt(y * (y + 2)))
    far = torch.log(y) + math.log(2)
    value = torch.where(y > 1 / torch.finfo(y.dtype).eps, far, near)
    return torch.where(y < 0, math.nan, value).to(x.dtype)


def _expm1(x: torch.Tensor) -> Any:
    """Return expm1; Inductor computes exp(x) - 1, which loses small numbers."""
    if x.is_complex() or not x.is_floating_point():
        return NotImplemented
    y = _wide(x)
    t = torch.tanh(y / 2)
    return torch.where(torch.abs(y) < 1, 2 * t / (1 - t), torch.exp(y) - 1).to(x.dtype)


def _nextafter(x: torch.Tensor, y: torch.Tensor) -> Any:
    """Return the next number of 16 bits; Inductor computes that of 32 and rounds it."""
    if x.dtype.itemsize != 2 or x.dtype != y.dtype:
        return NotImplemented
    equal = x == y
    x, y = x.expand(equal.shape), y.expand(equal.shape)
    bits = x.contiguous().view(torch.int16)
    away = (y > x) == (bits >= 0)
    smallest = torch.where(torch.signbit(y), -32767, 1).to(torch.int16)
    following = torch.where(x == 0, smallest, torch.where(away, bits + 1, bits - 1))
    result = torch.where(equal, y, following.view(x.dtype))
    return torch.where(torch.isnan(x) | torch.isnan(y), x + y, result)


_DECOMPOSITIONS: dict[Any, Callable[..., Any]] = {
    torch.ops.aten.abs.default: _abs,
    torch.ops.aten.acosh.default: _acosh,
    torch.ops.aten.atanh.default: _atanh,
    torch.ops.aten.expm1.default: _expm1,
    torch.ops.aten.nextafter.default: _nextafter,
}


class Compiling(Backend):
    """The hook of compilation."""

    def compiled(
        self,
        function: Callable[..., Any],
        natives: Sequence[Any],
        names: Collection[str],
        *,
        dynamic: bool = False,
    ) -> Any:
        """See :meth:`portarray.backends.base.Backend.compiled`.

        Inductor gets the traced operations directly: the guards of Dynamo, which could also trace
        them, take several times as long as a small program.
        """
        examples = [x.detach().contiguous() for x in natives]
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about PyTorch's own modules
            from torch import _inductor
            from torch._inductor import config
            from torch.fx.experimental.proxy_tensor import make_fx
            from torch.fx.experimental.symbolic_shapes import is_concrete_int

            # Fake tensors have no values: calls that read them raise.
            graph = make_fx(
                function,
                decomposition_table=_DECOMPOSITIONS,
                tracing_mode="symbolic" if dynamic else "fake",
                _allow_non_fake_inputs=True,
            )(*examples)
            if dynamic:
                examples = [
                    node.meta["val"] for node in graph.graph.nodes if node.op == "placeholder"
                ]
            flags = _WRAPPING if getattr(config.cpp, _CONTRACT, None) == "off" else {}
            run: Callable[..., Any] = _inductor.compile(
                graph,
                examples,
                options=_OPTIONS | flags,
            )

        def compiled(*natives: Any) -> Any:
            if torch.is_grad_enabled():
                for x in natives:
                    if x.requires_grad:
                        return function(*natives)  # autograd must see the calls
            return run(*[x if x.is_contiguous() else x.contiguous() for x in natives])

        sizes = graph.shape_env if dynamic else None
        if sizes is not None:
            # Guards do not mention the sizes that operations have fixed: examples have these.
            fixed = [
                [(axis, int(size)) for axis, size in enumerate(x.shape) if is_concrete_int(size)]
                for x in examples
            ]

            def serves(natives: Sequence[Any]) -> bool:
                if any(
                    x.shape[axis] != size
                    for x, axes in zip(natives, fixed, strict=True)
                    for axis, size in axes
                ):
                    return False
                return sizes.evaluate_guards_for_args(examples, [x.contiguous() for x in natives])

            compiled.serves = serves  # type: ignore[attr-defined]
        return compiled

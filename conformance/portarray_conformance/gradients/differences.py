"""References for gradients: central differences, and PyTorch's own gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import portarray as pa
from portarray_conformance.gradients.case import Drawn, Values

__all__ = ["KinkError", "autograd", "central", "argnums", "loss", "placed"]

STEP = 2e-4
"""Step of the differences; their error is of fourth order."""
WIDE, NARROW = 1e-6, 3e-3
"""Largest errors in double and in single precision, relative to 1 plus the largest element."""
SINGLE = 0.25
"""Share of examples in single precision on devices with double precision."""
AGREED = 1e-7
"""Largest deviation between differences of two steps, relative to 1 plus the largest element."""


class KinkError(Exception):
    """A function has no derivative near a point, as far as differences can tell."""


def placed(values: Values, device: Any, *, narrow: bool) -> pa.Array:
    """Return values on a device, in single precision if ``narrow``."""
    if narrow:
        values = values.astype({"f": "f4", "c": "c8"}.get(values.dtype.kind, values.dtype))
    if values.dtype.name == "int64" and not has(device, "int64"):
        values = values.astype("i4")
    return pa.asarray(values, device=device)


def has(device: Any, dtype: str) -> bool:
    """Return whether a device has a dtype."""
    return dtype in pa.__array_namespace_info__().dtypes(device=device)


def argnums(drawn: Drawn) -> list[int]:
    """Return the positions of the differentiable arguments."""
    return [n for n, x in enumerate(drawn.args) if x.dtype.kind in "fc"]


def _weights(shape: tuple[int, ...], *, is_complex: bool) -> Values:
    rng = np.random.default_rng(7)
    drawn: Values = np.asarray(rng.normal(size=shape))
    return np.asarray(drawn + 1j * rng.normal(size=shape)) if is_complex else drawn


def loss(y: Any) -> Any:
    """Return the elements of an array, weighted and summed: one real number."""
    is_complex = pa.isdtype(y.dtype, "complex floating")
    w = pa.asarray(_weights(y.shape, is_complex=is_complex), dtype=y.dtype, device=y.device)
    return pa.sum(pa.real(pa.conj(w) * y) if is_complex else y * w)


def central(function: Callable[[Sequence[Values]], Any], at: Sequence[Values], n: int) -> Values:
    """Return the derivatives by the elements of argument n, by central differences.

    For complex arguments: the derivative by the real part plus 1j times that by the imaginary
    part. Raises KinkError like :func:`along`.
    """
    x = at[n]
    derivatives: Values = np.zeros_like(x)
    for index in np.ndindex(*x.shape):
        for unit in (1, 1j) if x.dtype.kind == "c" else (1,):
            direction = np.zeros_like(x)
            direction[index] = unit
            derivatives[index] += unit * along(function, at, {n: direction})
    return derivatives


def along(
    function: Callable[[Sequence[Values]], Any], at: Sequence[Values], directions: dict[int, Values]
) -> Any:
    """Return the derivative in a direction, by central differences of fourth order.

    Raises KinkError if differences of two steps are not equal: the function has a kink or a jump.
    """

    def moved(step: float) -> Any:
        return function(
            [x + step * directions[n] if n in directions else x for n, x in enumerate(at)]
        )

    def difference(step: float) -> Any:
        near = moved(step) - moved(-step)
        far = moved(2 * step) - moved(-2 * step)
        return (8 * near - far) / (12 * step)

    coarse, fine = difference(STEP), difference(STEP / 2)
    size = 1 + np.max(np.abs(coarse), initial=0)
    apart = np.max(np.abs(coarse - fine), initial=0)
    if not apart <= AGREED * size:
        raise KinkError(f"differences of steps {STEP} and {STEP / 2} are {apart:.2g} apart")
    return coarse


def autograd(drawn: Drawn) -> list[Values] | None:
    """Return PyTorch's float64 gradients by the differentiable arguments.

    None if PyTorch is missing or has no gradient.
    """
    if not pa.functional("torch:cpu"):
        return None
    import torch  # only here: the suite runs without it

    device = pa.device("torch:cpu")
    positions = argnums(drawn)
    args: list[Any] = [placed(x, device, narrow=False) for x in drawn.args]
    natives = [torch.from_numpy(np.array(drawn.args[n])).requires_grad_() for n in positions]
    for n, native in zip(positions, natives, strict=True):
        args[n] = pa.asarray(native)
    try:
        with device, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            y = loss(drawn.function(*args))
            gradients: Sequence[Any] = torch.autograd.grad(y.native, natives, allow_unused=True)
    except (RuntimeError, NotImplementedError, ValueError):
        return None  # PyTorch has no gradient, or NumPy computes the function
    return [
        np.zeros_like(drawn.args[n]) if g is None else g.detach().resolve_conj().numpy()
        for n, g in zip(positions, gradients, strict=True)
    ]

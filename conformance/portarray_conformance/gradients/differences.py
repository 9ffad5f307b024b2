"""What gradients are compared with: central differences, and PyTorch's own gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import portarray as pa
from portarray_conformance.gradients.case import Drawn, Values

__all__ = ["KinkError", "autograd", "central", "followed", "loss", "placed"]

STEP = 2e-4
"""Step of differences, whose error is of its fourth power."""
AGREED = 1e-7
"""How far differences of two steps may be apart, beside 1 and the largest element."""


class KinkError(Exception):
    """A function has no derivative near a point, as far as differences can tell."""


def placed(values: Values, device: Any, *, narrow: bool) -> pa.Array:
    """Return values on a device, in single precision where that is asked for."""
    if narrow:
        values = values.astype({"f": "f4", "c": "c8"}.get(values.dtype.kind, values.dtype))
    if values.dtype.name == "int64" and not has(device, "int64"):
        values = values.astype("i4")
    return pa.asarray(values, device=device)


def has(device: Any, dtype: str) -> bool:
    """Tell whether a device has a dtype."""
    return dtype in pa.__array_namespace_info__().dtypes(device=device)


def followed(drawn: Drawn) -> list[int]:
    """Return the places of the arguments that have derivatives."""
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
    """Return the derivatives of a function by the elements of argument n, by central differences.

    Parameters
    ----------
    function : callable
        Takes NumPy arrays and returns a number or an array.
    at : sequence of ndarray
        Its arguments.
    n : int
        The argument: complex ones have the derivative by the real part, plus 1j times that by the
        imaginary part.

    Returns
    -------
    ndarray
        Of the shape of the argument.

    Raises
    ------
    KinkError
        Where differences of two steps are not equal: between them the function has a kink, or a
        step.
    """
    x = at[n]
    found: Values = np.zeros_like(x)
    for place in np.ndindex(*x.shape):
        for unit in (1, 1j) if x.dtype.kind == "c" else (1,):
            direction = np.zeros_like(x)
            direction[place] = unit
            found[place] += unit * along(function, at, {n: direction})
    return found


def along(
    function: Callable[[Sequence[Values]], Any],
    at: Sequence[Values],
    directions: dict[int, Values],
) -> Any:
    """Return the derivative of a function in a direction, by central differences of fourth order.

    Raises
    ------
    KinkError
        Where differences of two steps are not equal.
    """

    def moved(step: float) -> Any:
        return function(
            [x + step * directions[n] if n in directions else x for n, x in enumerate(at)]
        )

    def difference(step: float) -> Any:
        near = moved(step) - moved(-step)
        far = moved(2 * step) - moved(-2 * step)
        return (8 * near - far) / (12 * step)

    one, other = difference(STEP), difference(STEP / 2)
    size = 1 + np.max(np.abs(one), initial=0)
    apart = np.max(np.abs(one - other), initial=0)
    if not apart <= AGREED * size:
        raise KinkError(f"differences of steps {STEP} and {STEP / 2} are {apart:.2g} apart")
    return one


def autograd(drawn: Drawn) -> list[Values] | None:
    """Return PyTorch's float64 gradients through portarray's functions.

    Returns
    -------
    list of ndarray or None
        One for each followed argument; None where PyTorch is not there, or has no gradient.
    """
    if not pa.functional("torch:cpu"):
        return None
    import torch  # only here: the suite runs without it

    device = pa.device("torch:cpu")
    places = followed(drawn)
    args: list[Any] = [placed(x, device, narrow=False) for x in drawn.args]
    natives = [torch.from_numpy(np.array(drawn.args[n])).requires_grad_() for n in places]
    for n, native in zip(places, natives, strict=True):
        args[n] = pa.asarray(native)
    try:
        with device, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            y = loss(drawn.function(*args))
            found: Sequence[Any] = torch.autograd.grad(y.native, natives, allow_unused=True)
    except (RuntimeError, NotImplementedError, ValueError):
        return None  # it has none, or a function of NumPy serves there
    return [
        np.zeros_like(drawn.args[n]) if g is None else g.detach().resolve_conj().numpy()
        for n, g in zip(places, found, strict=True)
    ]

"""What linear algebra answers on matrices that have no answer, the same for every library.

Libraries raise errors of their own, fill in infinities or NaN, or end the process. Here stands the
one rule, applied by :mod:`portarray._dispatch.native_functions` around their functions:

- singular matrices have no inverse, indefinite ones no Cholesky factor: LinAlgError, on libraries
  that do not look (:attr:`Backend.unchecked_linalg <portarray.backends.base.Backend>`) by a look at
  the result, which waits for it;
- a matrix that is not square where it must be is a LinAlgError too, as in NumPy;
- NaN and infinity in a matrix of a stack make its results NaN, and its rank 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from portarray._config import config
from portarray.errors import LinAlgError

if TYPE_CHECKING:
    from portarray._dispatch.native_functions import NativeFunctions
    from portarray.backends.base import Backend

__all__ = ["CHECKED", "DECOMPOSED", "checked"]

Function = Callable[..., Any]

_SINGULAR = (
    "a matrix of shape {shape} is singular\nHint: pa.linalg.pinv computes a least-squares inverse"
)
_INDEFINITE = (
    "a matrix of shape {shape} is not positive definite (judged by its lower triangle)\n"
    "Hint: add a multiple of the identity"
)
_UNCONVERGED = "the algorithm did not converge for a matrix of shape {shape}\nHint: scale it"

CHECKED: dict[str, str] = {
    "linalg.cholesky": _INDEFINITE,
    **dict.fromkeys(("linalg.inv", "linalg.matrix_power", "linalg.solve"), _SINGULAR),
    **dict.fromkeys(("linalg.eig", "linalg.eigh", "linalg.eigvals"), _UNCONVERGED),
    **dict.fromkeys(("linalg.eigvalsh", "linalg.matrix_norm", "linalg.matrix_rank"), _UNCONVERGED),
    **dict.fromkeys(("linalg.pinv", "linalg.svd", "linalg.svdvals"), _UNCONVERGED),
    **dict.fromkeys(("linalg.det", "linalg.qr", "linalg.slogdet"), _UNCONVERGED),
}
"""The functions that are wrapped, and the reason to give where a library finds no answer."""

DECOMPOSED = CHECKED.keys() - {"linalg.matrix_norm", "linalg.matrix_power"}
"""Those that do not take float16 and bfloat16."""

_OBLONG = frozenset(("linalg.matrix_norm", "linalg.matrix_rank", "linalg.pinv")) | frozenset(
    ("linalg.qr", "linalg.svd", "linalg.svdvals")
)
_OF_SINGULAR_VALUES = ("nuc", 2, -2)  # norms
_ON_HOST: dict[str, Function] = {
    "linalg.cholesky": lambda x, **_: np.linalg.cholesky(x),
    "linalg.inv": np.linalg.inv,
    "linalg.matrix_power": np.linalg.matrix_power,
    "linalg.solve": lambda x1, _: np.linalg.inv(x1),
}


def checked(name: str, function: Function, functions: NativeFunctions) -> Function:
    """Return a library's function with the one rule for matrices without an answer."""
    backend = functions.backend
    looks = name in backend.unchecked_linalg
    heedless = name in backend.linalg_ignores_nonfinite
    norm = name == "linalg.matrix_norm"
    readable = backend.on_host(functions.device)

    @wraps(function)
    def with_rule(*args: Any, **options: Any) -> Any:
        try:
            if (
                heedless
                and (not norm or options.get("ord", "fro") in _OF_SINGULAR_VALUES)
                and not (readable and _known_finite(backend, args[0]))
            ):
                return _with_nan(name, function, functions, *args, **options)
            out = function(*args, **options)
        except Exception as error:
            x = args[0]
            fault = _misshapen(name, x, *args[1:])
            if fault:
                raise LinAlgError(name, fault) from error
            if not isinstance(error, backend.linalg_errors()):
                raise
            if not _all_finite(functions, x):
                return _with_nan(name, function, functions, *args, **options)
            raise LinAlgError(name, CHECKED[name].format(shape=tuple(x.shape))) from error
        if (
            looks
            and config.check_linalg
            and type(out) is backend.array_type
            and not backend.is_traced(out)
            and not (readable and _known_finite(backend, out))
        ):
            _look(name, functions, out, *args, **options)
        return out

    return with_rule


def _misshapen(name: str, x: Any, *others: Any) -> str:
    """Return what is wrong with the shapes, or an empty string."""
    shape = tuple(x.shape)
    if len(shape) < 2:
        return f"expected matrices of shape (..., M, N), got shape {shape}"
    if name not in _OBLONG and shape[-1] != shape[-2]:
        return f"expected square matrices of shape (..., M, M), got shape {shape}"
    return ""


def _known_finite(backend: Backend, x: Any) -> bool:
    """Return whether matrices in host memory are finite; False where nothing may wait for them."""
    if type(x) is not backend.array_type or not config._check_linalg:
        return False
    if type(x) is np.ndarray:
        values = x
    elif backend.is_traced(x):
        return False
    else:
        if not backend.is_watched(x):  # the tape takes the gradients of pa.grad
            x = backend.stop_gradient(x)
        values = backend.to_host(x, copy=None)  # PyTorch's lazy conjugates do not have a view
    # One pass without a temporary; where it overflows the numbers themselves are looked at.
    return math.isfinite(abs(np.vdot(values, values))) or bool(np.isfinite(values).all())


def _all_finite(functions: NativeFunctions, x: Any) -> bool:
    xp = functions.namespace
    return bool(xp.all(xp.isfinite(x)))


def _with_nan(
    name: str, function: Function, functions: NativeFunctions, x: Any, *args: Any, **options: Any
) -> Any:
    """Return the result with NaN for matrices that are not finite, which are not computed on."""
    xp = functions.namespace
    finite = xp.all(xp.isfinite(x), axis=(-2, -1), keepdims=True)
    identity = xp.eye(*x.shape[-2:], dtype=x.dtype, device=functions.device)
    try:
        out = function(xp.where(finite, x, identity), *args, **options)
    except functions.backend.linalg_errors() as error:
        raise LinAlgError(name, CHECKED[name].format(shape=tuple(x.shape))) from error

    def restored(result: Any) -> Any:
        missing = x.ndim - result.ndim  # eigenvalues have an axis less, norms and ranks two
        if name == "linalg.cholesky":
            half = xp.triu if options.get("upper") else xp.tril
            return xp.where(finite, result, half(xp.where(finite, result, np.nan)))
        at = xp.squeeze(finite, axis=(-2, -1)[2 - missing :]) if missing else finite
        if functions.numpy_dtype(result.dtype).kind in "iu":
            return xp.where(at, result, 0)
        return xp.where(at, result, np.nan)

    if isinstance(out, tuple):
        return type(out)(*map(restored, out))
    return restored(out)


def _look(name: str, functions: NativeFunctions, out: Any, *args: Any, **options: Any) -> None:
    """Raise if a result is not finite because a matrix is singular or indefinite.

    The host decides: infinities may also come of numbers that are too small.
    """
    backend = functions.backend
    if _all_finite(functions, out):
        return
    on_host = [backend.to_host(x, copy=None) if backend.owns(x) else x for x in args]
    x = on_host[0]
    finite = np.isfinite(x).all(axis=(-2, -1), keepdims=True)
    on_host[0] = np.where(finite, x, np.eye(x.shape[-1], dtype=x.dtype))
    try:
        with np.errstate(all="ignore"):
            _ON_HOST[name](*on_host, **options)
    except np.linalg.LinAlgError as error:
        raise LinAlgError(name, CHECKED[name].format(shape=tuple(x.shape))) from error

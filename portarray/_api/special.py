"""SciPy's special functions, element by element."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias

from portarray._api.comparison import isfinite
from portarray._api.exponential import exp, log
from portarray._api.searching import where
from portarray._api.statistical.totals import max, sum
from portarray._array import call, operands, slow_path

if TYPE_CHECKING:
    from portarray._array.array import Array

_Unary: TypeAlias = "Callable[[Array], Array]"
_Binary: TypeAlias = "Callable[[Array | float, Array | float], Array]"
_Ternary: TypeAlias = "Callable[[Array | float, Array | float, Array | float], Array]"


def _unary(name: str, summary: str, example: str) -> _Unary:
    full = f"special.{name}"

    def function(x: Array, /) -> Array:
        slow_path.leave_to_tape(full, x)
        return call.unary(full, x)

    return _documented(function, name, "x", summary, example)


def _binary(name: str, parameters: str, summary: str, example: str) -> _Binary:
    full = f"special.{name}"

    def function(x: Array | float, y: Array | float, /) -> Array:
        slow_path.leave_to_tape(full, x, y)
        return call.binary(full, *operands.promote(full, x, y))

    return _documented(function, name, parameters, summary, example)


def _documented(
    function: Callable[..., Array], name: str, parameters: str, summary: str, example: str
) -> Callable[..., Array]:
    """Name a function and write its docstring."""
    names = parameters.split()
    kind = "Array" if len(names) == 1 else "Array or Python number"
    function.__name__ = function.__qualname__ = name
    function.__signature__ = Signature(  # type: ignore[attr-defined]
        [Parameter(x, Parameter.POSITIONAL_ONLY) for x in names]
    )
    function.__doc__ = f"""{summary}

    Parameters
    ----------
    {", ".join(names)} : {kind}
        Real numbers, which broadcast. Integers are converted to the device's default
        floating-point dtype; 16-bit floating-point numbers are computed in float32.

    Returns
    -------
    Array
        Of the operands' floating-point dtype, on their device.

    Notes
    -----
    As SciPy's function of this name; :doc:`/special` has the error on each device.

    Examples
    --------
    >>> import portarray as pa
    >>> {example.replace(" -> ", chr(10) + "    ")}
    """
    return function


def _ternary(name: str, parameters: str, summary: str, example: str) -> _Ternary:
    full = f"special.{name}"

    def function(x: Array | float, y: Array | float, z: Array | float, /) -> Array:
        slow_path.leave_to_tape(full, x, y, z)
        table, natives = operands.common(full, operands.promote(full, x, y, z))
        result: Array = slow_path.called(full, table, natives, {})
        return result

    return _documented(function, name, parameters, summary, example)


# --- the normal distribution --------------------------------------------------------------------

erf = _unary(
    "erf",
    "Return the error function, ``2 / sqrt(pi)`` times the integral of ``exp(-t**2)`` up to x.",
    "round(float(pa.special.erf(pa.asarray(1.0))), 6) -> 0.842701",
)
erfc = _unary(
    "erfc",
    "Return ``1 - erf(x)``, precise where it is small.",
    "float(pa.special.erfc(pa.asarray(0.0))) -> 1.0",
)
erfcx = _unary(
    "erfcx",
    "Return ``exp(x**2) * erfc(x)``, which does not underflow.",
    "float(pa.special.erfcx(pa.asarray(0.0))) -> 1.0",
)
erfinv = _unary(
    "erfinv",
    "Return the inverse of :func:`erf`; infinities at 1 and -1, NaN beyond them.",
    "float(pa.special.erfinv(pa.asarray(1.0))) -> inf",
)
ndtr = _unary(
    "ndtr",
    "Return the standard normal distribution's cumulative probability up to x.",
    "float(pa.special.ndtr(pa.asarray(0.0))) -> 0.5",
)
log_ndtr = _unary(
    "log_ndtr",
    "Return the logarithm of :func:`ndtr`, precise in both tails.",
    "round(float(pa.special.log_ndtr(pa.asarray(0.0))), 6) -> -0.693147",
)
ndtri = _unary(
    "ndtri",
    "Return the standard normal distribution's quantile, the inverse of :func:`ndtr`.",
    "float(pa.special.ndtri(pa.asarray(0.0))) -> -inf",
)

# --- the gamma function -------------------------------------------------------------------------

gamma = _unary(
    "gamma",
    "Return the gamma function; NaN at negative integers.",
    "float(pa.special.gamma(pa.asarray(5.0))) -> 24.0",
)
gammaln = _unary(
    "gammaln",
    "Return the logarithm of the absolute value of the gamma function.",
    "float(pa.special.gammaln(pa.asarray(0.0))) -> inf",
)
digamma = _unary(
    "digamma",
    "Return the derivative of :func:`gammaln`.",
    "round(float(pa.special.digamma(pa.asarray(1.0))), 6) -> -0.577216",
)
psi = digamma
polygamma = _binary(
    "polygamma",
    "n x",
    "Return the n-th derivative of :func:`digamma`, for whole numbers n.",
    "round(float(pa.special.polygamma(1, pa.asarray(1.0))), 6) -> 1.644934",
)
beta = _binary(
    "beta",
    "a b",
    "Return the beta function, ``gamma(a) * gamma(b) / gamma(a + b)``.",
    "round(float(pa.special.beta(pa.asarray(2.0), 1.0)), 6) -> 0.5",
)
betaln = _binary(
    "betaln",
    "a b",
    "Return the logarithm of the absolute value of the beta function.",
    "round(float(pa.special.betaln(pa.asarray(2.0), 1.0)), 6) -> -0.693147",
)

# --- incomplete integrals -----------------------------------------------------------------------

gammainc = _binary(
    "gammainc",
    "a x",
    "Return the lower incomplete gamma function, divided by ``gamma(a)``.",
    "round(float(pa.special.gammainc(pa.asarray(1.0), 1.0)), 6) -> 0.632121",
)
gammaincc = _binary(
    "gammaincc",
    "a x",
    "Return ``1 - gammainc(a, x)``, precise where it is small.",
    "round(float(pa.special.gammaincc(pa.asarray(1.0), 1.0)), 6) -> 0.367879",
)
betainc = _ternary(
    "betainc",
    "a b x",
    "Return the incomplete beta function up to x, divided by ``beta(a, b)``.",
    "round(float(pa.special.betainc(pa.asarray(2.0), 1.0, 0.5)), 6) -> 0.25",
)

# --- Bessel functions ---------------------------------------------------------------------------

i0 = _unary(
    "i0",
    "Return the modified Bessel function of the first kind of order 0.",
    "round(float(pa.special.i0(pa.asarray(1.0))), 6) -> 1.266066",
)
i0e = _unary(
    "i0e",
    "Return ``exp(-abs(x)) * i0(x)``, which does not overflow.",
    "round(float(pa.special.i0e(pa.asarray(1.0))), 6) -> 0.46576",
)
i1 = _unary(
    "i1",
    "Return the modified Bessel function of the first kind of order 1.",
    "round(float(pa.special.i1(pa.asarray(1.0))), 6) -> 0.565159",
)
i1e = _unary(
    "i1e",
    "Return ``exp(-abs(x)) * i1(x)``, which does not overflow.",
    "round(float(pa.special.i1e(pa.asarray(1.0))), 6) -> 0.20791",
)

# --- logistic functions, entropies --------------------------------------------------------------

expit = _unary(
    "expit",
    "Return the logistic function, ``1 / (1 + exp(-x))``.",
    "float(pa.special.expit(pa.asarray(0.0))) -> 0.5",
)
log_expit = _unary(
    "log_expit",
    "Return the logarithm of :func:`expit`.",
    "float(pa.special.log_expit(pa.asarray(-1000.0))) -> -1000.0",
)
logit = _unary(
    "logit",
    "Return ``log(x / (1 - x))``, the inverse of :func:`expit`.",
    "float(pa.special.logit(pa.asarray(0.5))) -> 0.0",
)
entr = _unary(
    "entr",
    "Return ``-x * log(x)``: 0 at 0, and minus infinity below it.",
    "float(pa.special.entr(pa.asarray(1.0))) -> -0.0",
)
xlogy = _binary(
    "xlogy",
    "x y",
    "Return ``x * log(y)``, and 0 where x is 0.",
    "float(pa.special.xlogy(pa.asarray(0.0), 0.0)) -> 0.0",
)
xlog1py = _binary(
    "xlog1py",
    "x y",
    "Return ``x * log1p(y)``, and 0 where x is 0.",
    "float(pa.special.xlog1py(pa.asarray(0.0), -1.0)) -> 0.0",
)
rel_entr = _binary(
    "rel_entr",
    "x y",
    "Return ``x * log(x / y)``, the terms of a relative entropy: 0 where x is 0 and y is not "
    "negative, and infinity outside its domain.",
    "float(pa.special.rel_entr(pa.asarray(0.0), 1.0)) -> 0.0",
)
kl_div = _binary(
    "kl_div",
    "x y",
    "Return ``x * log(x / y) - x + y``: y where x is 0, and infinity outside its domain.",
    "float(pa.special.kl_div(pa.asarray(0.0), 1.0)) -> 1.0",
)

# --- sums ---------------------------------------------------------------------------------------


def logsumexp(
    a: Array,
    axis: int | tuple[int, ...] | None = None,
    b: Array | float | None = None,
    keepdims: bool = False,
) -> Array:
    """Return the logarithm of a sum of exponentials, which may overflow themselves.

    Parameters
    ----------
    a : Array
        Real numbers.
    axis : int or tuple of int, optional
        Axes that are summed over. None takes all.
    b : Array or float, optional
        Factors of the exponentials, which broadcast with `a`. Negative sums give NaN.
    keepdims : bool, default: False
        Whether the axes stay, with length 1.

    Returns
    -------
    Array
        ``log(sum(b * exp(a), axis))``.

    Examples
    --------
    >>> import portarray as pa
    >>> round(float(pa.special.logsumexp(pa.asarray([1000.0, 1000.0]))), 6)
    1000.693147
    """
    largest = max(a, axis=axis, keepdims=True)
    shift = where(largest == -inf, 0, largest)
    # Beside an infinity the others do not count, and equal infinities share the gradient.
    below = where(a == inf, 0, where(shift == inf, -inf, a - shift))
    powers = exp(below)
    total = sum(powers if b is None else powers * b, axis=axis, keepdims=True)
    result = log(total) + shift
    return result if keepdims else sum(result, axis=axis)


def softmax(x: Array, axis: int | tuple[int, ...] | None = None) -> Array:
    """Return exponentials divided by their sum.

    Parameters
    ----------
    x : Array
        Real numbers.
    axis : int or tuple of int, optional
        Axes along which the results sum to one. None takes all.

    Returns
    -------
    Array
        Of x's shape. :func:`portarray.kernels.softmax` is faster along one axis.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.special.softmax(pa.asarray([0.0, 0.0])).tolist()
    [0.5, 0.5]
    """
    _, powers = _shifted_powers(x, axis)
    return powers / sum(powers, axis=axis, keepdims=True)


def log_softmax(x: Array, axis: int | tuple[int, ...] | None = None) -> Array:
    """Return the logarithm of :func:`softmax`, precise where that is 0.

    Parameters
    ----------
    x : Array
        Real numbers.
    axis : int or tuple of int, optional
        Axes along which the softmax sums to one. None takes all.

    Returns
    -------
    Array
        Of x's shape.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.special.log_softmax(pa.asarray([1000.0, 0.0])).tolist()
    [0.0, -1000.0]
    """
    shift, powers = _shifted_powers(x, axis)
    return x - shift - log(sum(powers, axis=axis, keepdims=True))


def _shifted_powers(x: Array, axis: Any) -> tuple[Array, Array]:
    """Return the largest finite numbers along axes, and the exponentials of x less them."""
    largest = max(x, axis=axis, keepdims=True)
    shift = where(isfinite(largest), largest, 0)
    return shift, exp(x - shift)


_hurwitz = _binary("zeta", "x q", "Return Hurwitz's zeta function.", "")
_riemann = _unary("riemann_zeta", "Return Riemann's zeta function.", "")


def zeta(x: Array, q: Array | float | None = None) -> Array:
    """Return Hurwitz's zeta function, the sum of ``(k + q)**-x`` over k from 0.

    Parameters
    ----------
    x : Array
        Exponents. Below 1 the result is NaN, but for Riemann's function.
    q : Array or float, optional
        First base. None takes Riemann's zeta function of x, that is 1 where x is above 1.

    Returns
    -------
    Array
        Of the operands' floating-point dtype, on their device.

    Examples
    --------
    >>> import portarray as pa
    >>> round(float(pa.special.zeta(pa.asarray(2.0))), 6)
    1.644934
    """
    return _riemann(x) if q is None else _hurwitz(x, q)

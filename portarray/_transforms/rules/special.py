"""Gradients of special functions."""

from __future__ import annotations

import math
from typing import Any, NoReturn

from portarray._namespace import pa
from portarray._transforms.rules.table import define, over, times
from portarray.errors import NoGradientError

_ROOT = 1 / math.sqrt(2 * math.pi)


def _refused(name: str, parameter: str) -> Any:
    """Return the part of an operand without a derivative in terms of these functions."""

    def part(*_: Any) -> NoReturn:
        raise NoGradientError(
            f"special.{name}",
            f"its derivative by {parameter} is not known\n"
            f"Hint: use pa.stop_gradient on {parameter}",
        )

    return part


def _ratio_of_bessel(x: Any, order_one: Any) -> Any:
    """Return I1(x) / x, which is 1/2 at 0."""
    return pa.where(x == 0, 0.5, order_one / pa.where(x == 0, 1, x))


def _by_second(x: Any, divisor: Any) -> Any:
    """Return x / divisor, and 0 where x is 0; its derivative by x is 1 / divisor there, too."""
    is_undefined = (x == 0) & ((divisor == 0) | ~pa.isfinite(divisor))
    return x / pa.where(is_undefined, 1, divisor)


def _gamma_density(y: Any, a: Any, x: Any) -> Any:
    return pa.exp(pa.special.xlogy(a - 1, x) - x - pa.special.gammaln(a))


define(
    {
        "special.beta": (
            times(lambda y, a, b: y * (pa.special.digamma(a) - pa.special.digamma(a + b))),
            times(lambda y, a, b: y * (pa.special.digamma(b) - pa.special.digamma(a + b))),
        ),
        "special.betainc": (
            _refused("betainc", "a"),
            _refused("betainc", "b"),
            times(
                lambda y, a, b, x: pa.exp(
                    pa.special.xlogy(a - 1, x)
                    + pa.special.xlog1py(b - 1, -x)
                    - pa.special.betaln(a, b)
                )
            ),
        ),
        "special.betaln": (
            times(lambda y, a, b: pa.special.digamma(a) - pa.special.digamma(a + b)),
            times(lambda y, a, b: pa.special.digamma(b) - pa.special.digamma(a + b)),
        ),
        "special.digamma": times(lambda y, x: pa.special.zeta(pa.full_like(x, 2), x)),
        "special.entr": times(lambda y, x: -pa.log(x) - 1),
        "special.erf": times(lambda y, x: 2 / math.sqrt(math.pi) * pa.exp(-x * x)),
        "special.erfc": times(lambda y, x: -2 / math.sqrt(math.pi) * pa.exp(-x * x)),
        "special.erfcx": times(lambda y, x: 2 * x * y - 2 / math.sqrt(math.pi)),
        "special.erfinv": times(lambda y, x: math.sqrt(math.pi) / 2 * pa.exp(y * y)),
        "special.expit": times(lambda y, x: y * pa.special.expit(-x)),
        "special.gamma": times(lambda y, x: y * pa.special.digamma(x)),
        "special.gammainc": (_refused("gammainc", "a"), times(_gamma_density)),
        "special.gammaincc": (
            _refused("gammaincc", "a"),
            times(lambda y, a, x: -_gamma_density(y, a, x)),
        ),
        "special.gammaln": times(lambda y, x: pa.special.digamma(x)),
        "special.i0": times(lambda y, x: pa.special.i1(x)),
        "special.i0e": times(lambda y, x: pa.special.i1e(x) - pa.sign(x) * y),
        "special.i1": times(lambda y, x: pa.special.i0(x) - _ratio_of_bessel(x, y)),
        "special.i1e": times(
            lambda y, x: pa.special.i0e(x) - _ratio_of_bessel(x, y) - pa.sign(x) * y
        ),
        "special.kl_div": (
            times(lambda y, a, b: pa.log(a / b)),
            times(lambda y, a, b: 1 - _by_second(a, b)),
        ),
        "special.log_expit": times(lambda y, x: pa.special.expit(-x)),
        "special.log_ndtr": over(
            lambda y, x: pa.special.erfcx(x * -math.sqrt(0.5)) * math.sqrt(math.pi / 2)
        ),
        "special.logit": over(lambda y, x: x * (1 - x)),
        "special.ndtr": times(lambda y, x: _ROOT * pa.exp(-0.5 * x * x)),
        "special.ndtri": times(lambda y, x: pa.exp(0.5 * y * y) / _ROOT),
        "special.polygamma": (
            _refused("polygamma", "n"),
            times(lambda y, n, x: pa.special.polygamma(n + 1, x)),
        ),
        "special.rel_entr": (
            times(lambda y, a, b: pa.log(a / b) + 1),
            times(lambda y, a, b: -_by_second(a, b)),
        ),
        "special.riemann_zeta": _refused("zeta", "x"),
        "special.xlog1py": (
            times(lambda y, a, b: pa.log1p(b)),
            times(lambda y, a, b: _by_second(a, 1 + b)),
        ),
        "special.xlogy": (
            times(lambda y, a, b: pa.log(b)),
            times(lambda y, a, b: _by_second(a, b)),
        ),
        "special.zeta": (
            _refused("zeta", "x"),
            times(lambda y, s, q: -s * pa.special.zeta(s + 1, q)),
        ),
    }
)

"""Trigonometric and hyperbolic functions of dpnp's arrays."""

from __future__ import annotations

import dpnp
from dpnp import ndarray

from portarray.backends.dpnp.namespace.promotion import Scalar, pair

_atan2 = dpnp.atan2
_hypot = dpnp.hypot

acos = dpnp.acos
acosh = dpnp.acosh
asin = dpnp.asin
asinh = dpnp.asinh
atan = dpnp.atan
atanh = dpnp.atanh
cos = dpnp.cos
cosh = dpnp.cosh
sin = dpnp.sin
sinh = dpnp.sinh
tan = dpnp.tan
tanh = dpnp.tanh


def atan2(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Return the angle of the point with ordinate x1 and abscissa x2."""
    return _atan2(*pair(x1, x2))


def hypot(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Return ``sqrt(x1**2 + x2**2)``, without overflow in between."""
    return _hypot(*pair(x1, x2))

"""Trigonometric and hyperbolic functions of NumPy arrays."""

from __future__ import annotations

import numpy as np

acos = np.arccos
acosh = np.arccosh
asin = np.arcsin
asinh = np.arcsinh
atan = np.arctan
atan2 = np.arctan2
atanh = np.arctanh
cos = np.cos
cosh = np.cosh
sin = np.sin
sinh = np.sinh
tan = np.tan
tanh = np.tanh

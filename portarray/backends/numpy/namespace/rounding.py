"""Rounding of NumPy arrays; NumPy 2 keeps integers as they are."""

from __future__ import annotations

import numpy as np

ceil = np.ceil
floor = np.floor
round = np.round
trunc = np.trunc

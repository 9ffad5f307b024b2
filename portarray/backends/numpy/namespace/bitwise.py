"""Bits of NumPy arrays."""

from __future__ import annotations

import numpy as np

bitwise_and = np.bitwise_and
bitwise_invert = np.bitwise_invert
bitwise_left_shift = np.bitwise_left_shift
bitwise_or = np.bitwise_or
bitwise_right_shift = np.bitwise_right_shift
bitwise_xor = np.bitwise_xor

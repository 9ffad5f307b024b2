"""Logic on NumPy arrays."""

from __future__ import annotations

import numpy as np

logical_and = np.logical_and
logical_not = np.logical_not
logical_or = np.logical_or
logical_xor = np.logical_xor

"""Testing NumPy arrays for truth, and their differences."""

from __future__ import annotations

import numpy as np

all = np.all
any = np.any
diff = np.diff

"""The standard on NumPy arrays: NumPy's own functions, and those that must be corrected."""

import numpy as np

STANDARD = np
TAKES_SCALARS = True

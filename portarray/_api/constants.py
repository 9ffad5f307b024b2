"""The constants of the standard."""

from __future__ import annotations

import math

e: float = math.e
"""Euler's number, the base of natural logarithms."""

inf: float = math.inf
"""Positive infinity."""

nan: float = math.nan
"""Not a number."""

newaxis: None = None
"""In an index, a new axis of length one."""

pi: float = math.pi
"""The ratio of a circle's circumference to its diameter."""

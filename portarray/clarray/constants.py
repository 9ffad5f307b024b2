"""Constants."""

from __future__ import annotations

import math

e: float = math.e
"""Euler's number."""

inf: float = math.inf
"""Positive infinity."""

nan: float = math.nan
"""Not a number."""

newaxis: None = None
"""In an index: a new axis of length 1."""

pi: float = math.pi
"""The circle's circumference over its diameter."""

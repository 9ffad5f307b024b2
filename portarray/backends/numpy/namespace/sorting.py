"""Sorting NumPy arrays."""

from __future__ import annotations

from array_api_compat.numpy import argsort, sort

__all__ = ["argsort", "sort"]

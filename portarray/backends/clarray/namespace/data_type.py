"""Dtypes of arrays. clarray's own functions."""

from __future__ import annotations

from portarray.clarray.data_type import astype, can_cast, finfo, iinfo, isdtype, result_type

__all__ = [
    "astype",
    "can_cast",
    "finfo",
    "iinfo",
    "isdtype",
    "result_type",
]

"""Moving arrays and trees of arrays, beyond what the standard has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portarray._array import conversion
from portarray._devices import selection
from portarray._movement.routes import Plan

if TYPE_CHECKING:
    from portarray._array.array import Array

__all__ = ["TransferPlan", "transfer_plan"]

TransferPlan = Plan


def transfer_plan(x: Array, device: object, *, narrow: bool = False) -> TransferPlan:
    """Return how an array would go to a device; nothing is moved.

    Parameters
    ----------
    x : Array
        Of any device. What its library computes lazily is computed.
    device : device-like
        As for :func:`portarray.device`.
    narrow : bool
        Whether to accept the nearest dtype where the device has not x's.

    Returns
    -------
    TransferPlan
        Route, copies, bytes, and why it is not cheaper: what ``x.to_device(device)`` does.

    Raises
    ------
    DTypeNotSupportedError
        If the device lacks the dtype, unless ``narrow``.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.zeros(3, device="numpy")
    >>> pa.transfer_plan(x, "numpy").copies
    0
    """
    return conversion.planned(x, selection.resolve(device), narrow=narrow)

"""Moves of arrays between devices, and their transfer plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portarray._array import base, dispatch, operands, results
from portarray._array.native_arrays import needs_copy, table_for
from portarray._movement import routes

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray._devices.device import Device

__all__ = ["moved", "planned"]


def moved(
    x: Array,
    device: Device,
    *,
    copy: bool | None,
    narrow: bool = False,
    non_blocking: bool = False,
) -> Array:
    """Return an array on a device; the array itself if it is there and no copy is requested."""
    table = x._dispatch
    here = table.device
    if here is device and not copy:
        return x
    if here._home is not here:
        result: Array = here._functions.moved(x, device, copy=copy, narrow=narrow)
        return result
    target = table_for(table.dtype, device, narrow=narrow)
    native = x._native
    try:
        if target.dtype == table.dtype:
            native = routes.move(native, here, device, copy=copy, non_blocking=non_blocking)
        elif copy is False:
            raise needs_copy(table.dtype, target.dtype)
        else:
            cast = dispatch.table_of(here, target.dtype).cast
            native = routes.convert(
                native, here, device, target.dtype, cast, non_blocking=non_blocking
            )
    except Exception as error:  # noqa: BLE001  (translated and raised again)
        nbytes = x.size * target.dtype.itemsize
        results.reraise(error, "moving", device, here, nbytes=nbytes)
    return results.wrapped(native, target)


def planned(x: Array, device: Device, *, narrow: bool) -> routes.TransferPlan:
    """Return the plan of :func:`moved`."""
    if type(x) is not base.array_type:
        raise operands.refused(x, "transfer_plan", scalars=False)
    table = x._dispatch
    here = table.device
    target = table_for(table.dtype, device, narrow=narrow)
    native = x._native
    why = f"{device} does not support {table.dtype}, and uses {target.dtype}"
    try:
        if target.dtype == table.dtype:
            return routes.plan(native, here, device, dtype=table.dtype)
        if routes.converts(here, device):
            # The last copy is replaced by the conversion.
            plan = routes.plan(native, here, device, dtype=table.dtype)
            more = x.size * (target.dtype.itemsize - table.dtype.itemsize)
            return plan._replace(
                dtype=target.dtype, nbytes=plan.nbytes + more, reasons=(*plan.reasons[:-1], why)
            )
        # The conversion allocates new memory; plan with an empty array instead of converting.
        there = dispatch.table_of(here, target.dtype)
        new = there.functions["empty"](native.shape, dtype=there.native, device=here.native)
        plan = routes.plan(new, here, device, dtype=target.dtype)
    except Exception as error:  # noqa: BLE001  (translated and raised again)
        results.reraise(error, "transfer_plan", device, here)
    return plan._replace(
        nbytes=plan.nbytes + x.size * target.dtype.itemsize,
        reasons=(why, *plan.reasons),
    )

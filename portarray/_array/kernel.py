"""Dispatch of core kernels to a library's tuned version or the generic one.

A kernel's call takes the steps of any other: unwrap, find the version in a table by dtype and
shape, enter the device, call, translate errors, wrap. The kernels themselves, and the checks of
what they are given, are in :mod:`portarray.kernels`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from portarray._array import base, dispatch
from portarray._array.namespaces import namespace
from portarray._array.results import reraise, wrapped
from portarray._config import config

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray._array.dispatch import DispatchTable, Function
    from portarray._devices.device import Device
    from portarray.backends.types import TunedKernel

__all__ = [
    "Kernel",
    "is_concrete",
    "is_watched",
    "is_untraced",
    "of_arrays",
    "shape_of",
    "version",
    "written",
]

shape_of = attrgetter("_native.shape")
"""The native shape of an array; faster than ``x.shape``."""


_SCALAR_TYPES = frozenset({bool, int, float, str, type(None)})
"""Types of options that are passed on unchanged."""


class Kernel:
    """One core kernel.

    Parameters
    ----------
    name : str
        Its name in :mod:`portarray.kernels`.
    generic : callable or None
        Its generic version: takes a namespace of native arrays, then native arrays and options. A
        class that overrides :meth:`load_generic` passes None.
    check : callable, optional
        Takes the kernel's name, its positional arrays and its options. Raises for wrong arguments,
        and normalizes options in place.
    leads : int
        Position of the array whose dtype determines the version and the result.
    """

    __slots__ = ("_by_tables", "_function", "_generic", "_leads", "check", "name")

    def __init__(
        self,
        name: str,
        generic: Callable[..., Any] | None,
        check: Callable[[str, Sequence[Any], dict[str, Any]], None] | None = None,
        *,
        leads: int = 0,
    ) -> None:
        self.name = name
        self._function = generic
        self.check = _unchecked if check is None else check
        self._leads = leads
        self._by_tables: dict[DispatchTable, Function] = {}
        self._generic: dict[DispatchTable, Function] = {}

    def load_generic(self) -> Callable[..., Any]:
        """Return the generic version."""
        assert self._function is not None
        return self._function

    def __call__(self, *arrays: Array | None, **options: Any) -> Array:
        """Check the arguments and call the version that serves them."""
        self.check(self.name, arrays, options)
        table: DispatchTable = arrays[self._leads]._dispatch  # type: ignore[union-attr]  # it was checked
        natives: Sequence[Any]
        if options or len(arrays) > 1 or table.device._home is not table.device:
            table, natives = self.natives(table, arrays, options)
        else:
            natives = (arrays[0]._native,)  # type: ignore[union-attr]
        versions = self._by_tables if config._tuned_kernels else self._generic
        try:
            function = versions[table]
        except KeyError:
            function = versions[table] = self._resolve(table, tuned=config._tuned_kernels)
        try:
            result = function(*natives, **options)
        except Exception as error:  # noqa: BLE001  (translated and raised again)
            call = (natives, options)
            reraise(error, f"kernels.{self.name}", table.device, call=call)
        if type(result) is tuple:
            return tuple(wrapped(part, table) for part in result)  # type: ignore[return-value]
        return wrapped(result, table)

    def several(self, *arrays: Array | None, **options: Any) -> tuple[Array, ...]:
        """Call a kernel with several results."""
        results: Any = self(*arrays, **options)
        return results  # type: ignore[no-any-return]

    def natives(
        self, table: DispatchTable, arrays: Sequence[Array | None], options: dict[str, Any]
    ) -> tuple[DispatchTable, list[Any]]:
        """Return the call's table and native arrays; options are unwrapped in place.

        All must be on the table's device; the kernel checks their dtypes.
        """
        natives: list[Any] = []
        for x in arrays:
            if x is None:
                natives.append(None)
            else:
                if x._dispatch is not table:
                    table = dispatch.require_same_device(self.name, table, x._dispatch)
                natives.append(x._native)
        for key, value in options.items():
            kind = type(value)
            if kind in _SCALAR_TYPES:
                continue
            if kind is base.array_type:
                table = dispatch.require_same_device(self.name, table, value._dispatch)
                options[key] = value._native
            elif kind is tuple:
                for part in value:
                    if part._dispatch is not table:
                        table = dispatch.require_same_device(self.name, table, part._dispatch)
                options[key] = tuple([part._native for part in value])
            elif isinstance(value, np.dtype):
                options[key] = dispatch.table_of(table.device, value).native
        if table.device._home is not table.device:  # the generic version uses operators
            natives = table.device._functions.lifted(natives)
        return table, natives

    def table(self, arrays: Sequence[Any]) -> DispatchTable:
        """Return the table of the array that determines the version."""
        table: DispatchTable = arrays[self._leads]._dispatch
        return table

    def candidates(self, table: DispatchTable) -> tuple[TunedKernel, ...]:
        """Return every version for a table's library, of any dtype."""
        return table.device._backend.tuned_kernels.get(self.name, ())

    def _resolve(self, table: DispatchTable, *, tuned: bool) -> Function:
        """Build the function that selects a version by its arguments."""
        rows = [row for row in self.candidates(table) if table.dtype.name in row.dtypes]
        return dispatch.wrap_native(table, lambda: self._picking(table, rows if tuned else []))

    def _picking(self, table: DispatchTable, rows: Sequence[TunedKernel]) -> Function:
        generic, xp = self.load_generic(), namespace(table.device)
        if table.array_type is np.ndarray:  # NumPy warns about infinities that kernels expect
            generic = np.errstate(all="ignore")(generic)
        home = table.device._home
        if home is not table.device:  # a trace records it
            home_table = dispatch.table_of(home, table.dtype)

            def untraced(*args: Any, **options: Any) -> Any:
                cache = self._by_tables if config._tuned_kernels else self._generic
                if home_table not in cache:
                    cache[home_table] = self._resolve(home_table, tuned=config._tuned_kernels)
                return cache[home_table](*args, **options)

            traced: Function = table.device._functions.whole(
                f"kernels.{self.name}", untraced, partial(generic, xp)
            )
            return traced
        versions = [
            (
                row.function(generic) if row.wraps_generic else row.function,
                row.refuses,
                row.is_valid,
            )
            for row in rows
        ]
        if versions and versions[0][1:] == (None, None):
            return versions[0][0]

        def picked(*args: Any, **options: Any) -> Any:
            for function, refuses, is_valid in versions:
                if refuses is None or not refuses(*args, **options):
                    result = function(*args, **options)
                    if is_valid is None or is_valid(result, *args, **options):
                        return result
            return generic(xp, *args, **options)

        return picked


def is_untraced(*arrays: Array) -> bool:
    """Return whether no call with these arrays is recorded, so that memory may be written."""
    return all(x._dispatch.device._home is x._dispatch.device for x in arrays)


def written(out: Array, result: Array) -> Array:
    """Return the array that a kernel was to write: it has done so, or gets the result now."""
    if result._native is not out._native:
        if out._dispatch.device._backend.immutable and is_untraced(out):
            out._native = result._native
        else:
            out[...] = result
    return out


def of_arrays(function: Callable[..., Array], device: Device) -> Function:
    """Return a function of a device's native arrays that calls one of arrays."""
    table = next(iter(dispatch.tables_of(device).values()))

    def called(*natives: Any, **options: Any) -> Any:
        arrays = [None if x is None else wrapped(x, table) for x in natives]
        return function(*arrays, **options)._native

    return called


def is_watched(native: Any, device: Device) -> bool:
    """Return whether derivatives or a compiler follow a native array."""
    return bool(getattr(native, "requires_grad", False)) or device._backend.is_traced(native)


def is_concrete(arrays: Sequence[Array | None], device: Device) -> bool:
    """Return whether all arrays are a device's, and have values that nothing follows."""
    home = device._home
    for x in arrays:
        if x is not None and (x._dispatch.device is not home or is_watched(x._native, device)):
            return False
    return config._tuned_kernels


def _unchecked(name: str, arrays: Sequence[Any], options: dict[str, Any]) -> None:
    """Accept any arguments."""


def version(
    kernel: Kernel, arrays: Sequence[Any], options: Mapping[str, Any]
) -> tuple[TunedKernel | None, tuple[tuple[TunedKernel, str], ...]]:
    """Return the version for a call, and the reasons against those tried before it.

    None means the generic version.
    """
    table = kernel.table(arrays)
    if not config.tuned_kernels:
        why = "pa.config(tuned_kernels=False) asks for the generic version"
        return None, tuple((row, why) for row in kernel.candidates(table))
    call_options = dict(options)
    table, natives = kernel.natives(table, arrays, call_options)
    device = table.device
    refused: list[tuple[TunedKernel, str]] = []
    for row in kernel.candidates(table):
        if table.dtype.name not in row.dtypes:
            why = f"it takes {', '.join(sorted(row.dtypes))}, not {table.dtype}"
        else:
            with device._backend.scope(device.native) or nullcontext():  # as when it is called
                why = "" if row.refuses is None else row.refuses(*natives, **call_options)
        if not why:
            return row, tuple(refused)
        refused.append((row, why))
    return None, tuple(refused)

"""The support table: each function of the standard once for each device, and none on the host."""

from __future__ import annotations

from operator import attrgetter

import portarray as pa
from portarray._array.support import functions


def test_every_function_has_one_row(device: str) -> None:
    rows = [(row.chapter, row.function) for row in pa.support(device)]
    assert rows == list(functions())
    assert len(rows) == len(set(rows))


def test_no_function_leaves_the_device(device: str) -> None:
    """What a room says that it does on the host is its own choice; nothing falls there unasked."""
    found = pa.device(device)
    fallen = [
        row.function
        for row in pa.support(device)
        if row.served == "host"
        and not hasattr(attrgetter(row.function)(found.room.namespace), "__portarray_served__")
    ]
    assert fallen == []


def test_all_devices_by_default() -> None:
    assert {row.device for row in pa.support()} == {str(d) for d in pa.devices()}


def test_the_dtypes_of_a_row_are_those_the_function_takes(device: str) -> None:
    taken = {row.function: set(row.dtypes) for row in pa.support(device)}
    ones = {dtype: pa.ones(2, dtype=dtype, device=device) for dtype in taken["equal"]}
    for name in ("sin", "bitwise_invert", "floor", "logical_not", "negative"):
        for dtype, x in ones.items():
            try:
                getattr(pa, name)(x)
            except TypeError:
                assert dtype not in taken[name], (name, dtype)
            else:
                assert dtype in taken[name], (name, dtype)

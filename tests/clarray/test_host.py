"""Functions that run on the host: their operands, outputs and results."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from portarray import clarray as cl
from portarray._opencl.device import Device
from portarray.clarray import sets, sorting
from portarray.clarray.engine import host
from portarray.clarray.engine.copy import copy
from portarray.clarray.engine.transfer import from_numpy, to_numpy

Values = np.ndarray[Any, Any]


def test_views_are_for_reading(device: Device) -> None:
    x = from_numpy(np.arange(6.0).reshape(2, 3), device)
    visible = host.view(x[:, ::-1])
    assert visible.tolist() == [[2, 1, 0], [5, 4, 3]]
    with pytest.raises(ValueError, match="read-only"):
        visible[0, 0] = 1
    if device.host_memory:
        assert np.shares_memory(visible, to_numpy(x))


def test_results_are_arrays_of_the_device(device: Device) -> None:
    x = from_numpy(np.arange(6.0).reshape(2, 3), device)
    total = host.run(np.sum, x)
    assert total.shape == ()
    assert total.item() == 15
    assert total.device is device
    quotient, remainder = host.run(lambda a: np.divmod(a.T, 2), x[:, :2], dtype=np.dtype(np.int8))
    assert quotient.dtype == remainder.dtype == np.int8
    assert to_numpy(quotient).tolist() == [[0, 1], [0, 2]]
    assert quotient.contiguous
    scalar = host.run(lambda: np.float32(2), device=device)
    assert scalar.dtype == np.float32


def test_results_are_converted(device: Device) -> None:
    values = np.array([1.5, -2.25], np.float32)
    result = host.to_array(values, device, np.dtype(ml_dtypes.bfloat16))
    assert result.dtype == ml_dtypes.bfloat16
    assert result.tolist() == values.tolist()
    assert host.to_array(np.int64(3), device).item() == 3


def test_filling_waits_for_pending_kernels(device: Device) -> None:
    x = from_numpy(np.arange(100000, dtype=np.float32), device)
    for _ in range(5):
        x = copy(x)  # not waited for

    def halve(out: Values, values: Values) -> None:
        np.multiply(values, 0.5, out=out)

    result = host.fill(x.shape, x.dtype, device, halve, x)
    np.testing.assert_array_equal(to_numpy(copy(result)), np.arange(100000) / 2)
    assert host.fill((0, 2), x.dtype, device, lambda out: None).shape == (0, 2)


def test_changing_in_place_goes_through_views(device: Device) -> None:
    x = from_numpy(np.array([[3, 1, 2], [9, 8, 7]]), device)

    def order(values: Values) -> None:
        values.sort(axis=-1)

    host.modify(x[:, ::2], order)
    assert x.tolist() == [[2, 1, 3], [7, 8, 9]]


def test_public_functions_say_who_computes_them() -> None:
    for function in vars(cl).values():
        if isinstance(function, FunctionType):
            by_host = function.__module__ in (sorting.__name__, sets.__name__)
            assert getattr(function, "__portarray_served__", None) == ("host" if by_host else None)

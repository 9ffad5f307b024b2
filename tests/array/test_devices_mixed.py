"""Arrays never move implicitly: operands on two devices, foreign arrays, lists."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from drawn import same

import portarray as pa
from portarray.errors import DeviceMismatchError

TOGETHER: dict[str, Callable[[pa.Array, Any], Any]] = {
    "+": operator.add,
    "==": operator.eq,
    "@": operator.matmul,
    "+=": operator.iadd,
    "add": pa.add,
    "where": lambda x, y: pa.where(x > 0, x, y),
    "condition": lambda x, y: pa.where(y > 0, x, x),
    "concat": lambda x, y: pa.concat([x, y]),
    "stack": lambda x, y: pa.stack([x, y]),
    "meshgrid": lambda x, y: pa.meshgrid(x, y),
    "broadcast_arrays": lambda x, y: pa.broadcast_arrays(x, y),
    "clip": lambda x, y: pa.clip(x, y, None),
    "take": lambda x, y: pa.take(x, pa.astype(y, pa.int32)),
    "searchsorted": lambda x, y: pa.searchsorted(x, y),
    "sorter": lambda x, y: pa.searchsorted(x, x, sorter=pa.astype(y, pa.int32)),
    "rtol": lambda x, y: pa.linalg.matrix_rank(pa.linalg.outer(x, x), rtol=y[0]),
    "rtol of pinv": lambda x, y: pa.linalg.pinv(pa.linalg.outer(x, x), rtol=y[0]),
    "prepend": lambda x, y: pa.diff(x, prepend=y),
    "isin": lambda x, y: pa.isin(x, y),
    "repeat": lambda x, y: pa.repeat(x, pa.astype(y, pa.int32)),
    "tensordot": lambda x, y: pa.tensordot(x, y, axes=1),
    "vecdot": lambda x, y: pa.vecdot(x, y),
    "result_type": lambda x, y: pa.result_type(x, y),
    "outer": lambda x, y: pa.linalg.outer(x, y),
    "index": lambda x, y: x[pa.astype(y, pa.int32)],
    "mask": lambda x, y: x[y > 0],
    "assignment": lambda x, y: operator.setitem(x, slice(None), y),
    "NumPy ufunc": lambda x, y: np.add(x, y),
}


@pytest.mark.parametrize("name", TOGETHER)
@pytest.mark.parametrize("second_device", ["fake:cuda:1", "numpy:cpu:0"])
def test_two_devices(name: str, second_device: str, fake: str) -> None:
    """Two cards of one library do not mix either."""
    x = pa.asarray([1.0, 2.0], device="fake:cuda:0")
    y = pa.asarray([1.0, 1.0], device=second_device)
    with pytest.raises(DeviceMismatchError) as caught:
        TOGETHER[name](x, y)
    message = str(caught.value)
    assert {caught.value.first, caught.value.second} == {"fake:cuda:0", second_device}
    assert "fake:cuda:0" in message
    assert second_device in message
    assert "x.to_device(" in message
    assert "x.__array_namespace__() or device=x.device" in message
    same(x, np.asarray([1.0, 2.0]))
    same(y, np.asarray([1.0, 1.0]))
    # The fix that the message names.
    TOGETHER[name](x, y.to_device(x.device))


FOREIGN: dict[str, Callable[[], Any]] = {
    "NumPy array": lambda: np.asarray([1.0, 2.0]),
    "list": lambda: [1.0, 2.0],
    "tuple": lambda: (1.0, 2.0),
    "str": lambda: "1.0",
    "None": lambda: None,
}


@pytest.mark.one_device
@pytest.mark.parametrize("kind", FOREIGN)
def test_other_operands_are_refused(anywhere: str, kind: str) -> None:
    x = pa.asarray([1.0, 2.0], device=anywhere)
    for function in (pa.add, pa.less, pa.atan2, pa.matmul, pa.linalg.outer):
        with pytest.raises(TypeError):
            function(x, FOREIGN[kind]())
        with pytest.raises(TypeError):
            function(FOREIGN[kind](), x)
    for function in (operator.add, operator.matmul, operator.iadd):
        if kind == "NumPy array":  # as NumPy's ufuncs: see below
            continue
        with pytest.raises(TypeError):
            function(x, FOREIGN[kind]())
        with pytest.raises(TypeError):
            function(FOREIGN[kind](), x)
    same(x, np.asarray([1.0, 2.0], dtype=x.dtype))


@pytest.mark.one_device
@pytest.mark.parametrize("kind", ["NumPy array", "list", "tuple"])
def test_the_error_names_the_fix(anywhere: str, kind: str) -> None:
    x = pa.asarray([1.0, 2.0], device=anywhere)
    values = FOREIGN[kind]()
    name = "numpy.ndarray" if kind == "NumPy array" else kind
    operators = (
        lambda: x + values,
        lambda: operator.setitem(x, slice(None), values),
        lambda: x.at[0].subtract(values),
    )
    for call in (
        lambda: pa.multiply(x, values),
        lambda: pa.concat([x, values]),
        lambda: pa.stack([x[0], values]),
        lambda: pa.sum(values),
        lambda: pa.sin(values),
        lambda: pa.scatter_add(x, pa.asarray([0, 1], device=anywhere), values),
        *(() if kind == "NumPy array" else operators),
    ):
        with pytest.raises(TypeError, match=rf"(?s)got {name}\n.*make an array .*pa\.asarray"):
            call()
    same(x, np.asarray([1.0, 2.0], dtype=x.dtype))


OPERATORS = (operator.sub, operator.truediv, operator.pow, operator.lt, operator.ne)


def test_operators_take_numpy_arrays_on_both_sides(device: str) -> None:
    """``x op a`` and ``a op x`` are the ufunc, on the device of x, or both are refused."""
    x = pa.asarray([1.0, 2.0], dtype=pa.float32, device=device)
    values = np.asarray([3.0, 2.0], dtype=np.float32)
    if not x.device._backend.on_host(x.device.native):
        for call in (lambda: x - values, lambda: values - x, lambda: x @ values):
            with pytest.raises(TypeError, match=r"(?s)in host memory.*Hint: .*pa\.asarray"):
                call()
        return
    for function in OPERATORS:
        for result, expected in (
            (function(x, values), function(np.asarray([1.0, 2.0], dtype=np.float32), values)),
            (function(values, x), function(values, np.asarray([1.0, 2.0], dtype=np.float32))),
        ):
            assert result.device is x.device
            same(result, expected)
    assert float(x @ values) == float(values @ x) == 7.0
    y = x.at[:2].subtract(values)
    y[1:] = values[:1]
    y *= values
    same(y, np.asarray([-6.0, 6.0], dtype=np.float32))
    assert (x - np.asarray(1.0)).dtype == x.dtype  # a number
    with pa.config(host_access="error"):
        for call in (lambda: x - values, lambda: values - x):
            with pytest.raises(pa.HostAccessError):
                call()


class Metres(np.ndarray):
    """A subclass that computes itself, as those with units do."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [x.view(np.ndarray) if isinstance(x, Metres) else x for x in inputs]
        return "m", getattr(ufunc, method)(*plain, **options)


def test_subclasses_of_numpys_array_compute_themselves(device: str) -> None:
    x = pa.asarray([1.0, 2.0], dtype=pa.float32, device=device)
    if not x.device._backend.on_host(x.device.native):
        pytest.skip("their values are in host memory")
    length = np.asarray([3.0, 2.0], dtype=np.float32).view(Metres)
    for unit, total in (x + length, length + x, np.add(x, length)):
        assert unit == "m"
        assert total.device is x.device
        same(total, np.asarray([4.0, 4.0], dtype=np.float32))


def test_native_arrays_are_refused(anywhere: str) -> None:
    x = pa.asarray([1.0, 2.0], device=anywhere)
    for call in (lambda: pa.add(x, x.native), lambda: pa.sin(x.native), lambda: pa.sum(x.native)):
        with pytest.raises(TypeError, match=r"pa\.asarray"):
            call()
    if type(x.native) is not np.ndarray:
        with pytest.raises(TypeError):
            x + x.native
    assert pa.asarray(x.native).native is x.native


def test_two_scalars_make_an_array_on_the_default_device(anywhere: str) -> None:
    with pa.device(anywhere):
        x = pa.add(1, 2)
    assert (str(x.device), x.shape, int(x)) == (anywhere, (), 3)


def _standardized(x: pa.Array) -> pa.Array:
    """Standardize x with arrays created without ``device=``, as library code does."""
    xp = x.__array_namespace__()
    return (x - xp.asarray([1.0, 2.0])) * xp.ones(2) + xp.arange(2)


def test_code_that_creates_beside_its_argument(device: str, fake: str) -> None:
    x = pa.asarray([3.0, 5.0], device=device)
    with pa.device(fake):
        result = _standardized(x)
        with pa.config(strict_devices=True), pytest.raises(DeviceMismatchError):
            _standardized(x)
        with pa.config(strict_devices=True), x.device:
            same(_standardized(x), np.asarray([2.0, 4.0], dtype=x.dtype))
        assert str(pa.zeros(1).device).startswith(fake)
    assert result.device is x.device
    same(result, np.asarray([2.0, 4.0], dtype=x.dtype))

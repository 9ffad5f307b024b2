"""Moves that convert the dtype are right on every pair of devices and read data once."""

from __future__ import annotations

import itertools
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import portarray as pa
from portarray._array import dispatch

DEVICES = [str(device) for device in pa.devices()]

VALUES = {
    "b": [False, True],
    "u": [0, 1, 200, 255, 40_000],
    "i": [0, 1, -1, 100, -3, 70_000, -(2**40)],
    "f": [0.0, -0.0, 1.5, -2.25, 1 / 3, 1e6, 3e38, 1e300, np.inf, -np.inf, np.nan],
    "c": [0.0, 1.5 - 2j, 1 / 3 + 1e30j, complex(np.inf, -0.0), complex(0.0, np.nan)],
}
FITTING = {"f": [0.0, 1.0, 2.5, 100.25], "i": [0, 1, 100], "u": [0, 1, 100], "b": [False, True]}
"""What every integer dtype holds."""

LAYOUTS: dict[str, Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]] = {
    "C": lambda a: a,
    "transposed": lambda a: a.T,
    "gaps": lambda a: a[:, ::3],
    "reversed": lambda a: a[::-1, ::-2],
    "broadcast": lambda a: np.broadcast_to(a[0], (3, a.shape[1])),
    "empty": lambda a: a[:0],
    "0-d": lambda a: a[1, 2, ...],
}
NAMES = ("bool", "uint8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64")
SOURCES = (*NAMES, "complex128")


def has(device: str, name: str) -> bool:
    try:
        pa.zeros((), dtype=np.dtype(name), device=device)
    except pa.DTypeNotSupportedError:
        return False
    return True


HERE = {device: [name for name in SOURCES if has(device, name)] for device in DEVICES}


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_values_are_numpys_whatever_the_way(data: st.DataObject) -> None:
    source = data.draw(st.sampled_from(SOURCES), "source")
    name = data.draw(st.sampled_from(SOURCES), "target")
    dtype, target_dtype = np.dtype(source), np.dtype(name)
    if dtype.kind == "c" and target_dtype.kind not in "bc":
        return
    values = (
        FITTING[dtype.kind]
        if target_dtype.kind in "iu" and dtype.kind != "c"
        else VALUES[dtype.kind]
    )
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    view = LAYOUTS[data.draw(st.sampled_from(sorted(LAYOUTS)), "layout")]
    with np.errstate(all="ignore"):
        x = view(rng.choice(np.asarray(values), (4, 6)).astype(dtype))
        expected = x.astype(target_dtype)
    origin = data.draw(st.sampled_from([d for d in DEVICES if source in HERE[d]]), "from")
    array = pa.asarray(x, device=origin)
    for target in (d for d in DEVICES if name in HERE[d]):
        if source not in HERE[target] and name not in HERE[origin]:
            continue
        context = f"{origin} → {target}"
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            y = pa.astype(array, target_dtype, device=target)
            ways = [y]
            if source in HERE["numpy:cpu:0"]:
                ways += [pa.asarray(x, dtype=name, device=target)]
                ways += [pa.asarray(x.astype(dtype.newbyteorder(">")), dtype=name, device=target)]
        for y in ways:
            assert (str(y.device), y.dtype) == (target, target_dtype), context
            result = y.to_device("numpy").native
            np.testing.assert_array_equal(result, expected, err_msg=context)
            if target_dtype.kind == "f":
                numbers = ~np.isnan(expected)
                signs = np.signbit(result[numbers]), np.signbit(expected[numbers])
                np.testing.assert_array_equal(*signs, err_msg=context)


COPYING = [d for d in DEVICES if d in ("mlx:cpu:0", "jax:cpu:0", "dpnp:oneapi:0")]
"""Devices that copy all host memory that they are given."""


@pytest.mark.parametrize("target", COPYING)
def test_values_are_converted_while_they_are_copied(target: str) -> None:
    n = 1 << 20
    values = np.linspace(0.0, 1.0, n)
    expected = values.astype(np.float32)
    sources = ("numpy:cpu:0", "torch:cpu:0", "dpnp:oneapi:0")
    arrays: list[Any] = [values]
    arrays += [
        pa.asarray(values, device=source)
        for source in sources
        if source in DEVICES and source != target
    ]
    for x in arrays:
        pa.asarray(x, dtype="float32", device=target)
        tracemalloc.start()
        try:
            y = pa.asarray(x, dtype="float32", device=target)
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        # XLA takes over the one array of NumPy's that is made.
        assert most < (4 * n if target.startswith("jax") else 0) + (1 << 16)
        np.testing.assert_array_equal(y.to_device("numpy").native, expected)


def narrowed() -> list[tuple[str, str, str]]:
    """Return a source, a target and a dtype that the target lacks."""
    return [
        (source, target, name)
        for source, target in itertools.permutations(DEVICES, 2)
        for name in ("int64", "float64", "complex128")
        if name in HERE[source] and name not in HERE[target]
    ]


def test_a_plan_counts_a_conversion_as_the_copy_that_it_is() -> None:
    if not narrowed():
        pytest.skip("every device here has the dtypes of every other")
    values = np.arange(48).reshape(6, 8)
    for source, target, name in narrowed():
        for layout, view in LAYOUTS.items():
            x = pa.asarray(view(values.astype(name)), device=source)
            plan = pa.transfer_plan(x, target, narrow=True)
            y = x.to_device(target, narrow=True)
            context = f"{plan}, {layout}"
            assert plan.dtype == y.dtype, context
            assert plan.reasons == (f"{target} does not support {name}, and uses {y.dtype}",), (
                context
            )
            assert plan.nbytes == x.size * y.dtype.itemsize, context
            np.testing.assert_array_equal(y.to_device("numpy").native, view(values))


def test_lazy_conjugates_are_planned_as_copies() -> None:
    torch = pytest.importorskip("torch")
    x = pa.asarray(torch.full((3,), 1 + 2j, dtype=torch.complex128).conj(), device="torch")
    for target in ("mlx:cpu:0", "jax:cpu:0"):
        if target in DEVICES and "complex128" not in HERE[target]:
            plan = pa.transfer_plan(x, target, narrow=True)
            assert (plan.copies, plan.nbytes) == (2, 3 * 16 + 3 * 8)
            assert plan.reasons[0] == "the tensor is lazily conjugated or negated"
            assert x.to_device(target, narrow=True).tolist() == [1 - 2j] * 3


def test_imaginary_parts_are_not_lost_in_silence(device: str) -> None:
    for values in ([1j, 2.0], np.asarray([1j]).astype(">c16"), np.asarray([1j])):
        for name in ("float32", "int32"):
            with pytest.raises(TypeError, match="imaginary part"):
                pa.asarray(values, dtype=name, device=device)
    assert pa.asarray([0j, 1j], dtype="bool", device=device).tolist() == [False, True]


def test_half_precision_is_rounded_once(device: str) -> None:
    """Values near the middle of two halves are not rounded through float32."""
    if np.dtype("float16") not in dispatch.dtypes_of(pa.device(device)):
        pytest.skip(f"{device} has no float16")
    values = np.asarray([1 + 2.0**-11 + sign * 2.0**-40 for sign in (-1, 0, 1)] * 2000)
    expected = [1.0, 1.0, 1 + 2.0**-10] * 2000
    for some in (values, values[:3], values.tolist()):
        result = pa.astype(pa.asarray(some, dtype="float16", device=device), "float32")
        assert result.tolist() == expected[: len(some)]

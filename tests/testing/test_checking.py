"""``check_function`` finds faults that NumPy hides on the devices that show them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import portarray as pa
from portarray.testing import CheckError, check_function

X, Y = [1.0, 2.0, 3.5], [4.0, -1.0, 0.5]


@pytest.fixture(scope="module")
def devices() -> list[pa.Device]:
    """NumPy, and a library with memory of its own."""
    if not pa.functional("torch"):
        pytest.skip("PyTorch is not functional here")
    return [pa.device("numpy"), pa.device("torch:cpu")]


def right(x: Any, y: Any, axis: int = 0) -> dict[str, Any]:
    xp = x.__array_namespace__()
    return {"sum": (x + y, xp.sum(x, axis=axis)), "place": xp.argmax(x), "size": x.shape[0]}


def test_functions_that_are_right_everywhere_are_reported(devices: list[pa.Device]) -> None:
    report = check_function(functools.partial(right, axis=-1), X, np.asarray(Y), devices=devices)
    assert [row[:2] for row in report.rows] == [
        (name, dtype) for name in ("numpy:cpu", "torch:cpu") for dtype in ("float32", "float64")
    ]
    assert str(report) == "right: right on 4 devices and dtypes"
    # Complex inputs follow the precision; integers and everything else stay as they are.
    check_function(lambda z, n, names: (z * n, len(names)), [1j], [3], "abc", devices=devices)
    check_function(lambda n: n // 2, [3, 4], devices=devices)


def upcasts(x: Any, y: Any) -> Any:
    return x * pa.asarray(2.0, dtype=pa.float64, device=x.device) + y


def creates(x: Any, y: Any) -> Any:
    return x + y + pa.ones(3)


def creates_beside(x: Any, y: Any) -> Any:
    return x + y + x.__array_namespace__().asarray(1000.0, dtype=x.dtype)


def changes(x: Any, y: Any) -> Any:
    x[0] = 17
    return x + y


def leaves(x: Any, y: Any) -> Any:
    return np.asarray(x) + np.asarray(y)


def moves(x: Any, y: Any) -> Any:
    return (x + y).to_device("numpy" if "torch" in str(x.device) else "torch:cpu")


def differs(x: Any, y: Any) -> Any:
    return x + y * (1 + 0.01 * ("torch" in str(x.device)))


def mixes(x: Any, y: Any) -> Any:
    return x + pa.asarray(y, device=x.device)


def fewer(x: Any, y: Any) -> Any:
    return (x, y) if "torch" in str(x.device) else (x + y)


def raises(x: Any, y: Any) -> Any:
    if "torch" in str(x.device):
        raise ZeroDivisionError("of torch's")
    return x + y


FAULTS: list[tuple[Callable[..., Any], str, str]] = [
    (upcasts, "numpy:cpu float32, torch:cpu float32", "result is float64, expected float32"),
    (creates, "torch:cpu float32", "DeviceMismatchError"),
    (creates_beside, "torch:cpu float32", "DeviceMismatchError"),
    (changes, "numpy:cpu float32", "input 0 was modified"),
    (leaves, "torch:cpu float32", "result is numpy.ndarray, not an array on torch:cpu:0"),
    (moves, "torch:cpu float32", "result is on numpy:cpu:0, not on torch:cpu:0"),
    (differs, "torch:cpu float32", "result differs from NumPy's"),
    (mixes, "torch:cpu float32", "inputs on torch:cpu:0 and numpy:cpu:0 are not refused"),
    (fewer, "torch:cpu float32", "returns result[0], result[1], but result with NumPy"),
    (raises, "torch:cpu float32", "ZeroDivisionError: of torch's"),
]


@pytest.mark.parametrize(("function", "label", "said"), FAULTS)
def test_faults_are_found(
    function: Callable[..., Any], label: str, said: str, devices: list[pa.Device]
) -> None:
    with pytest.raises(CheckError) as caught:
        check_function(function, X, Y, devices=devices)
    text = str(caught.value)
    assert text.startswith(f"{function.__name__} fails on ")
    assert said in text
    assert label in text
    assert caught.value.report.failed


def test_arrays_may_be_created_beside_the_argument(devices: list[pa.Device]) -> None:
    check_function(creates_beside, X, Y, devices=devices, strict_devices=False)
    with pytest.raises(CheckError, match="DeviceMismatchError"):
        check_function(creates, X, Y, devices=devices, strict_devices=False)


def test_an_error_names_the_line(devices: list[pa.Device]) -> None:
    with pytest.raises(CheckError, match=r'test_checking.py:\d+: raise ZeroDivisionError\("of'):
        check_function(raises, X, Y, devices=devices)


def reads(x: Any, y: Any) -> Any:
    return x + y if pa.any(x > y) else x - y


def test_copies_to_the_host_are_found_unless_they_are_meant(devices: list[pa.Device]) -> None:
    with pytest.raises(CheckError, match="bool copies to the host, with torch:cpu:0"):
        check_function(reads, X, Y, devices=devices)
    check_function(reads, X, Y, devices=devices, transfers=["bool"])


def test_a_reference_and_tolerances(devices: list[pa.Device]) -> None:
    def off(x: Any) -> Any:
        return pa.exp(x) * 1.001

    with pytest.raises(CheckError, match="float64"):
        check_function(off, X, devices=devices, reference=np.exp)
    check_function(off, X, devices=devices, reference=np.exp, rtol=0.01)

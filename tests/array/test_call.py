"""Repeated calls: the fast path's text, its results and what it calls."""

from __future__ import annotations

import ast
import importlib.util
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import portarray as pa

TOOL = Path(__file__).parents[2] / "tools" / "expand_calls.py"


def test_the_file_is_up_to_date_with_its_generator() -> None:
    spec = importlib.util.spec_from_file_location("expand_calls", TOOL)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    there = ast.dump(ast.parse(tool.FILE.read_text("utf-8")))
    assert there == ast.dump(ast.parse(tool.expanded())), "run python tools/expand_calls.py"


def test_an_array_without_memory_is_an_error() -> None:
    x = object.__new__(pa.Array)  # which Python allows
    for function in (lambda: x + x, lambda: 1 - x, lambda: x[0], lambda: pa.sin(x)):
        with pytest.raises(AttributeError):
            function()


SCALARS = (True, 3, 2.5, 1j, np.bool_(True), np.int8(3), np.float32(2.5), np.complex64(1j))
FUNCTIONS = (pa.add, pa.less, pa.multiply, pa.not_equal)


def _outcome(function: Callable[..., pa.Array], *operands: Any) -> tuple[str, str, bytes]:
    """Return the dtype and values of a result, or the class and message of the error."""
    try:
        result = function(*operands)
    except (TypeError, OverflowError) as error:
        return type(error).__name__, str(error), b""
    return str(result.dtype), str(result.device), np.asarray(result).astype(complex).tobytes()


def test_repeated_calls_with_two_types_equal_the_first(device: str) -> None:
    names = ("bool", "uint8", "uint64", "int32", "float32", "complex64")
    available = pa.__array_namespace_info__().dtypes(device=device)
    arrays = [
        pa.asarray([0, 1, 3], dtype=available[name], device=device)
        for name in names
        if name in available
    ]
    pairs = [*itertools.permutations(arrays, 2)]
    pairs += [pair for x in arrays for y in SCALARS for pair in ((x, y), (y, x))]
    first = [_outcome(function, *pair) for pair in pairs for function in FUNCTIONS]
    assert first == [_outcome(function, *pair) for pair in pairs for function in FUNCTIONS]


def test_a_cached_scalar_type_does_not_accept_values_out_of_range() -> None:
    x = pa.asarray([1, 2], dtype=pa.int8, device="numpy")
    assert (x + np.int64(3)).tolist() == [4, 5]
    with pytest.raises(OverflowError, match="300"):
        x + np.int64(300)
    assert (x < np.int64(300)).tolist() == [True, True]
    assert pa.asarray([255, 1], dtype=pa.uint8, device="numpy").tolist() == [255, 1]
    with pytest.raises(OverflowError, match="256"):
        pa.asarray([256, 1], dtype=pa.uint8, device="numpy")
    assert pa.asarray([2**63], device="numpy").dtype == pa.uint64


STATEMENTS = {
    "x + y": 6,
    "pa.maximum(i, x)": 7,
    "x + f": 4,
    "i * 2.5": 6,
    "pa.asarray([1.0, 2.0])": 14,
    "pa.zeros(3)": 10,
    "pa.astype(i, pa.float64)": 8,
    "x[n]": 8,
}
"""Statements, and the largest number of Python calls that a repetition makes."""


@pytest.mark.one_device
@pytest.mark.parametrize("statement", STATEMENTS)
def test_repeated_calls_make_few_python_calls(device: str, statement: str) -> None:
    x = pa.asarray([[1.0, 2.0]], device=device)
    y, i = pa.astype(x, pa.float32), pa.astype(x, pa.int64)
    names = {"pa": pa, "x": x, "y": y, "i": i, "f": np.float64(2), "n": np.int64(0)}
    code = compile(statement, "statement", "eval")
    calls = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    with pa.device(device):
        for _ in range(3):
            eval(code, names)
        sys.setprofile(note)
        try:
            eval(code, names)
        finally:
            sys.setprofile(None)
    assert calls <= STATEMENTS[statement]

"""In-place operators keep dtype, shape and identity, and errors change nothing."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from drawn import VALUES, DType, drawing, dtypes_of, library_of, same, small
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import portarray as pa

ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.iadd,
    "subtract": operator.isub,
    "multiply": operator.imul,
}
BITWISE: dict[str, Callable[[Any, Any], Any]] = {
    "bitwise_and": operator.iand,
    "bitwise_or": operator.ior,
    "bitwise_xor": operator.ixor,
}


@given(data=st.data())
@drawing
def test_memory_and_dtype_stay(anywhere: str, data: st.DataObject) -> None:
    numeric = [d for d in dtypes_of(anywhere) if d.kind != "b"]
    dtype = data.draw(st.sampled_from(numeric))
    name = data.draw(st.sampled_from(list(ARITHMETIC)))
    a = data.draw(small(dtype, hnp.array_shapes(max_dims=2, max_side=3)))
    b = data.draw(small(dtype, _ending(data, a.shape)))
    x = pa.asarray(a, device=anywhere, copy=True)
    same_object, view = x, x[...]
    x = ARITHMETIC[name](x, pa.asarray(b, device=anywhere))
    assert x is same_object
    same(x, getattr(np, name)(a, b))
    # Where arrays can change, the work is done in place.
    same(view, a if library_of(anywhere) in VALUES else getattr(np, name)(a, b))


def _ending(data: st.DataObject, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Draw a shape that broadcasts to another without enlarging it."""
    ending = shape[data.draw(st.integers(0, len(shape))) :]
    return tuple(data.draw(st.sampled_from([1, n])) for n in ending)


@given(data=st.data())
@drawing
def test_a_wider_operand_of_the_same_kind(anywhere: str, data: st.DataObject) -> None:
    """The operation runs in the wider dtype, like NumPy's, and is cast back."""
    kind = data.draw(st.sampled_from("iufc"))
    mine = [d for d in dtypes_of(anywhere) if d.kind == kind]
    first, second = data.draw(st.sampled_from(mine)), data.draw(st.sampled_from(mine))
    a, b = data.draw(small(first, (3,))), data.draw(small(second, (3,)))
    x = pa.asarray(a, device=anywhere, copy=True)
    x *= pa.asarray(b, device=anywhere)
    a *= b
    same(x, a)


def _higher(dtype: DType, device: str) -> list[DType]:
    order = "bufc" if dtype.kind == "u" else "bifc"
    above = order[order.index(dtype.kind) + 1 :]
    return [d for d in dtypes_of(device) if d.kind in above]


@given(data=st.data())
@drawing
def test_a_higher_kind_is_refused(anywhere: str, data: st.DataObject) -> None:
    low = [d for d in dtypes_of(anywhere) if d.kind in "iuf"]
    dtype = data.draw(st.sampled_from(low))
    higher_dtype = data.draw(st.sampled_from(_higher(dtype, anywhere)))
    a = data.draw(small(dtype, (2,)))
    x = pa.asarray(a, device=anywhere, copy=True)
    # MLX has float64 and no complex128, to which it promotes beside a complex number.
    lacking = "does not support complex128"
    refusal = rf"do not fit the {dtype} array, .*\nHint: write x = x op y|{lacking}"
    with pytest.raises(TypeError, match=refusal):
        x += pa.ones(2, dtype=higher_dtype, device=anywhere)
    with pytest.raises(TypeError, match=refusal):
        x *= 1.5 if dtype.kind in "iu" else 1.5j
    same(x, a)


def test_division_of_integers_is_refused(anywhere: str) -> None:
    x = pa.asarray([4, 6], dtype=pa.int32, device=anywhere)
    for divisor in (2, pa.asarray([2, 2], dtype=pa.int32, device=anywhere)):
        with pytest.raises(TypeError, match="do not fit the int32 array"):
            x /= divisor
    same(x, np.asarray([4, 6], dtype=np.int32))
    x //= 4
    same(x, np.asarray([1, 1], dtype=np.int32))


def test_broadcasting_must_not_enlarge(anywhere: str) -> None:
    for shape, operand_shape in (((1, 3), (2, 3)), ((3,), (2, 3)), ((), (1,)), ((2, 1), (3,))):
        a = np.ones(shape, dtype=np.float32)
        x = pa.asarray(a, device=anywhere, copy=True)
        for function in (operator.iadd, operator.itruediv, operator.imod, operator.ipow):
            with pytest.raises(
                ValueError, match=r"cannot be broadcast to x's shape .*\nHint: write x = x op y"
            ):
                function(x, pa.ones(operand_shape, dtype=pa.float32, device=anywhere))
        same(x, a)


@pytest.mark.parametrize("name", BITWISE)
def test_bits_and_conditions(anywhere: str, name: str) -> None:
    for values in ([True, False], np.asarray([6, 3], dtype=np.uint8)):
        a = np.asarray(values)
        b = a[::-1]
        x = pa.asarray(a, device=anywhere, copy=True)
        x = BITWISE[name](x, pa.asarray(b, device=anywhere))
        same(x, getattr(np, name)(a, b))


def test_matmul(anywhere: str) -> None:
    a = np.asarray([[1, 2], [3, 4]], dtype=np.float32)
    x = pa.asarray(a, device=anywhere, copy=True)
    whole = x
    x @= x
    assert x is whole
    same(x, a @ a)
    with pytest.raises(ValueError, match=r"(?s)product has shape.*write x = x @ y"):
        x @= pa.ones((2, 3), dtype=pa.float32, device=anywhere)
    with pytest.raises(TypeError, match="complex64 values do not fit the float32 array"):
        x @= pa.ones((2, 2), dtype=pa.complex64, device=anywhere)
    same(x, a @ a)


def test_integers_that_do_not_fit(anywhere: str) -> None:
    x = pa.asarray([1], dtype=pa.int8, device=anywhere)
    with pytest.raises(OverflowError, match="128 is out of bounds for int8"):
        x += 128
    same(x, np.asarray([1], dtype=np.int8))


def test_operands_may_be_the_same_memory(anywhere: str) -> None:
    a = np.arange(5, dtype=np.float32)
    x = pa.asarray(a, device=anywhere, copy=True)
    x += x
    x[1:] += x[:-1]
    expected = 2 * a
    expected[1:] += expected[:-1].copy()
    same(x, expected)

"""What kernels refuse, on every device alike, and what they say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import portarray as pa

K: Any = pa.kernels  # what the type checker would refuse is given here


def x(*shape: int, dtype: Any = "float32", device: object = "numpy") -> pa.Array:
    return pa.ones(shape, dtype=dtype, device=device)


def attend(
    q: tuple[int, ...] = (2, 5, 4),
    k: tuple[int, ...] = (2, 7, 4),
    v: tuple[int, ...] = (2, 7, 3),
    **options: Any,
) -> Callable[[], object]:
    return lambda: K.attention(x(*q), x(*k), x(*v), **options)


def due(*shape: int) -> pa.Array:
    return x(*shape, dtype="int64")


Refused = tuple[Callable[[], object], type[Exception], tuple[str, ...]]

PRODUCTS: list[Refused] = [
    (lambda: K.matmul(x(2, 3), x(4, 5)), ValueError, ("(2, 3)", "(4, 5)")),
    (lambda: K.matmul(x(2, 3), x(4)), ValueError, ("(2, 3)", "(4,)")),
    (lambda: K.matmul(x(), x(4)), ValueError, ("()", "(4,)")),
    (lambda: K.matmul(x(2, 3, 4), x(3, 4, 5)), ValueError, ("(2, 3, 4)", "(3, 4, 5)")),
    (lambda: K.matmul(x(3, 3), x(3, 3, dtype="float64")), TypeError, ("float32", "float64")),
    (lambda: K.matmul(x(3, dtype="bool"), x(3, dtype="bool")), TypeError, ("bool",)),
    (lambda: K.gemm(x(2, 3), x(2, 3)), ValueError, ("(2, 3)", "transpose_a=False")),
    (lambda: K.gemm(x(2, 3, 4), x(4, 5)), ValueError, ("(2, 3, 4)", "kernels.matmul")),
    (lambda: K.gemm(x(2, 3), x(3, 4), beta=1.0), ValueError, ("beta=1.0", "no out")),
    (lambda: K.gemm(x(2, 3), x(3, 4), out=x(4, 2)), ValueError, ("(2, 4)", "(4, 2)")),
    (lambda: K.gemm(x(2, 3), x(3, 4, dtype="float64")), TypeError, ("float32", "float64")),
    (lambda: K.gemm(x(2, 2), x(2, 2), out=x(2, 2, dtype="float64")), TypeError, ("float64",)),
    (lambda: K.gemm(due(2, 2), due(2, 2)), TypeError, ("int64", "pa.astype")),
    (lambda: K.gemm(x(2, 2), x(2, 2), alpha=1j), TypeError, ("alpha=1j", "float32")),
    (lambda: K.solve_triangular(x(2, 3), x(2)), ValueError, ("(2, 3)", "square")),
    (lambda: K.solve_triangular(x(3, 3), x(2, 3)), ValueError, ("(2, 3)", "(..., 3, K)")),
    (lambda: K.solve_triangular(x(2, 3, 3), x(4, 3, 1)), ValueError, ("(2, 3, 3)", "(4, 3, 1)")),
    (lambda: K.solve_triangular(due(2, 2), due(2)), TypeError, ("int64",)),
    (lambda: K.solve_triangular(x(2, 2), [1.0]), TypeError, ("list", "pa.asarray")),
    (lambda: K.linear(x(2, 3), x(3, 2)), ValueError, ("(2, 3)", "(3, 2)", "(out, in)")),
    (lambda: K.linear(x(2, 3), x(3)), ValueError, ("(3,)",)),
    (lambda: K.linear(x(), x(2, 3)), ValueError, ("()",)),
    (lambda: K.linear(x(3), x(2, 3), x(3)), ValueError, ("(2, 3)", "(3,)", "(2,)")),
    (lambda: K.linear(x(3), x(2, 3, dtype="float16")), TypeError, ("float16", "pa.astype")),
    (lambda: K.linear(x(3), x(2, 3), x(2, dtype="float64")), TypeError, ("bias", "float64")),
    (lambda: K.linear(x(3), np.ones((2, 3))), TypeError, ("numpy.ndarray", "pa.asarray")),
    (lambda: K.embedding(x(3), x(2, 3)), TypeError, ("indices", "float32", "integer")),
    (lambda: K.embedding([1], x(2, 3)), TypeError, ("list", "pa.asarray")),
    (lambda: K.embedding(due(3), x(2, 3, 4)), ValueError, ("(2, 3, 4)", "(rows, dim)")),
]

ROW_KERNELS: list[Refused] = [
    (lambda: K.softmax(x(2, 3), axis=2), ValueError, ("axis 2",)),
    (lambda: K.softmax(x()), ValueError, ("0-d",)),
    (lambda: K.softmax(x(2), axis=0.5), TypeError, ("0.5",)),
    (lambda: K.softmax([1.0]), TypeError, ("list", "pa.asarray")),
    (lambda: K.log_softmax(due(2)), TypeError, ("int64", "pa.astype")),
    (lambda: K.silu(2.0), TypeError, ("float", "pa.asarray")),
    (lambda: K.silu(np.ones(3)), TypeError, ("numpy.ndarray", "pa.asarray")),
    (lambda: K.relu(x(3, dtype="complex64")), TypeError, ("complex64",)),
    (lambda: K.gelu(x(3), approximate="erf"), ValueError, ("'erf'", "'tanh'")),
    (lambda: K.rms_norm(x(2, 3), x(2)), ValueError, ("(2, 3)", "(2,)", "(3,)")),
    (lambda: K.rms_norm(x(2, 3), x(1, 3)), ValueError, ("(1, 3)", "(3,)")),
    (lambda: K.rms_norm(x(2, 3), x(3, dtype="float64")), TypeError, ("weight", "float64")),
    (lambda: K.rms_norm(x()), ValueError, ("0-d",)),
    (lambda: K.rms_norm(x(3), eps=-1e-6), ValueError, ("-1e-06",)),
    (lambda: K.rms_norm(x(3), eps=float("nan")), ValueError, ("nan",)),
    (lambda: K.rms_norm(x(3), eps="0"), TypeError, ("'0'",)),
    (lambda: K.layer_norm(x(2, 3), x(3), x(2)), ValueError, ("bias", "(2,)", "(3,)")),
    (lambda: K.layer_norm(x(2, 3), None, x(3, dtype="float64")), TypeError, ("bias",)),
    (lambda: K.cross_entropy(x(2, 3), due(3)), ValueError, ("(2, 3)", "(3,)", "(2,)")),
    (lambda: K.cross_entropy(x(2, 3), due(2, 1)), ValueError, ("(2, 1)", "(2,)")),
    (lambda: K.cross_entropy(x(2, 3), x(2)), TypeError, ("targets", "float32")),
    (lambda: K.cross_entropy(x(2, 3), x(2, dtype="bool")), TypeError, ("bool",)),
    (lambda: K.cross_entropy(x(2, 0), due(2)), ValueError, ("(2, 0)", "class")),
    (lambda: K.cross_entropy(x(), due()), ValueError, ("()",)),
    (lambda: K.cross_entropy(x(3), due(), reduction="max"), ValueError, ("'max'", "'mean'")),
    (lambda: K.cross_entropy(x(3), due(), label_smoothing=1.5), ValueError, ("1.5",)),
    (lambda: K.cross_entropy(x(3), due(), ignore_index=0.5), TypeError, ("0.5",)),
]

POSITIONS: list[Refused] = [
    (lambda: K.rope(x(5, 7)), ValueError, ("(5, 7)", "7 is odd")),
    (lambda: K.rope(x(5, 0)), ValueError, ("(5, 0)", "0 is none")),
    (lambda: K.rope(x(6)), ValueError, ("(6,)", "(..., length, dim)")),
    (lambda: K.rope(x(5, 6), due(4)), ValueError, ("(5, 6)", "(4,)", "(5,)")),
    (lambda: K.rope(x(2, 5, 6), due(2)), ValueError, ("(2,)", "(2, 5)")),
    (lambda: K.rope(x(5, 6), x(5)), TypeError, ("positions", "float32")),
    (lambda: K.rope(x(5, 6), theta=0), ValueError, ("theta", "0.0")),
    (lambda: K.rope(x(5, 6), due(5), tables=(x(5, 3),) * 2), TypeError, ("both",)),
    (lambda: K.rope(x(5, 6), tables=(x(5, 3), x(5, 2))), ValueError, ("(5, 3)", "(5, 2)")),
    (lambda: K.rope(x(5, 6), tables=(x(5, 4),) * 2), ValueError, ("(5, 6)", "(5, 4)")),
    (lambda: K.rope(x(5, 6), tables=(x(4, 3),) * 2), ValueError, ("(5, 6)", "(4, 3)")),
    (lambda: K.rope(x(5, 6), tables=(x(),) * 2), ValueError, ("()",)),
    (lambda: K.rope(x(5, 6), tables=x(5, 3)), TypeError, ("pair (cos, sin)",)),
    (
        lambda: K.rope(x(5, 6), tables=(x(5, 3, dtype="float64"),) * 2),
        TypeError,
        ("tables", "float64", "float32"),
    ),
    (lambda: K.rope_tables(due(5), 7), ValueError, ("7 is odd",)),
    (lambda: K.rope_tables(due(5), -2), ValueError, ("-2",)),
    (lambda: K.rope_tables(due(5), 4.0), TypeError, ("dimensions", "4.0")),
    (lambda: K.rope_tables(x(5), 4), TypeError, ("positions", "float32")),
    (lambda: K.rope_tables([1, 2], 4), TypeError, ("list", "pa.asarray")),
    (lambda: K.rope_tables(due(5), 4, dtype="int32"), TypeError, ("int32",)),
    (lambda: K.rope_tables(due(5), 4, dtype="bfloat16"), TypeError, ("bfloat16", "numpy")),
]

ATTENTION: list[Refused] = [
    (attend(q=(3, 5, 4)), ValueError, ("(3, 5, 4)", "(2, 7, 4)", "3 heads", "2 heads")),
    (attend(k=(0, 7, 4), v=(0, 7, 3)), ValueError, ("2 heads", "0 heads")),
    (attend(q=(1, 5, 4)), ValueError, ("1 heads", "2 heads")),
    (attend(q=(2, 5, 8)), ValueError, ("(2, 5, 8)", "(2, 7, 4)")),
    (attend(q=(2, 5, 0), k=(2, 7, 0)), ValueError, ("(2, 5, 0)", "empty")),
    (attend(v=(2, 6, 3)), ValueError, ("(2, 7, 4)", "(2, 6, 3)")),
    (attend(q=(5, 4)), ValueError, ("(5, 4)", "(2, 7, 4)", "(2, 7, 3)")),
    (attend((4,), (4,), (4,)), ValueError, ("(4,)", "two or more")),
    (attend((1, 2, 5, 4), (3, 2, 7, 4), (3, 2, 7, 3)), ValueError, ("(1, 2, 5, 4)",)),
    (attend(mask=x(5, 6, dtype="bool")), ValueError, ("(5, 6)", "(2, 5, 7)")),
    (attend(mask=x(1, 2, 5, 7)), ValueError, ("(1, 2, 5, 7)", "(2, 5, 7)")),
    (attend(mask=x(5, 7, dtype="int64")), TypeError, ("int64", "pa.astype(mask, pa.bool)")),
    (attend(mask=x(5, 7, dtype="float64")), TypeError, ("float64", "float32")),
    (attend(mask=np.ones((5, 7), bool)), TypeError, ("numpy.ndarray", "pa.asarray")),
    (attend(key_length=8), ValueError, ("8", "(2, 7, 4)", "7")),
    (attend(key_length=-1), ValueError, ("-1",)),
    (attend(key_length=2.5), TypeError, ("2.5",)),
    (attend(key_length=due(1)), TypeError, ("(1,)", "0-d")),
    (attend(key_length=x()), TypeError, ("float32",)),
    (attend(scale="1"), TypeError, ("'1'",)),
    (lambda: K.attention(x(5, 4), x(5, 4), [[1.0]]), TypeError, ("list", "pa.asarray")),
    (
        lambda: K.attention(x(5, 4), x(5, 4, dtype="float16"), x(5, 4)),
        TypeError,
        ("k of float16", "pa.astype(k, pa.float32)"),
    ),
]


@pytest.mark.parametrize(
    "rows",
    [PRODUCTS, ROW_KERNELS, POSITIONS, ATTENTION],
    ids=["products", "rows", "positions", "attention"],
)
def test_wrong_arguments_raise_errors_that_name_them(rows: list[Refused]) -> None:
    for case_index, (call, error, message) in enumerate(rows):
        with pytest.raises(error) as caught:
            call()
        for word in message:
            assert word in str(caught.value), f"row {case_index}: {caught.value}"


def test_arrays_of_two_devices_are_refused(fake: str) -> None:
    here, there = (f"{fake}:cuda:{index}" for index in (0, 1))
    calls: list[Callable[[], object]] = [
        lambda: K.linear(x(3, device=here), x(2, 3, device=there)),
        lambda: K.embedding(x(3, dtype="int64", device=here), x(2, 3, device=there)),
        lambda: K.rms_norm(x(3, device=here), x(3, device=there)),
        lambda: K.rope(x(1, 2, device=here), x(1, dtype="int64", device=there)),
        lambda: K.rope(x(1, 2, device=here), tables=(x(1, 1, device=there),) * 2),
        lambda: K.attention(*[x(3, 3, device=here)] * 3, mask=x(3, 3, device=there)),
        lambda: K.attention(*[x(3, 3, device=here)] * 3, key_length=pa.asarray(1, device=there)),
        lambda: K.cross_entropy(x(1, 2, device=here), x(1, dtype="int64", device=there)),
    ]
    for call in calls:
        with pytest.raises(pa.DeviceMismatchError) as caught:
            call()
        assert here in str(caught.value)
        assert there in str(caught.value)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
@pytest.mark.parametrize("tuned", [True, False])
def test_indices_and_classes_out_of_bounds_are_named(device: str, dtype: str, tuned: bool) -> None:
    """Alike on every device: negative ones do not count from the end."""
    with pa.device(device), pa.config(tuned_kernels=tuned):
        packed = pa.kernels.pack(pa.ones((3, 32), dtype=pa.float32), "Q8_0")
        for wrong in (3, 127) if dtype[0] == "u" else (3, 127, -1, -3, -4, -100):
            indices = pa.asarray([0, wrong, 2], dtype=dtype)
            calls: list[Callable[[], object]] = [
                lambda indices=indices: K.embedding(indices, pa.ones((3, 2))),
                lambda indices=indices: K.embedding(indices, packed),
                lambda indices=indices: K.cross_entropy(pa.ones((3, 3)), indices, ignore_index=2),
            ]
            for call in calls:
                with pytest.raises(IndexError, match=rf"index {wrong} is out of bounds .* size 3"):
                    call()
        if dtype == "int8":  # the lowest number is within 200 rows, counted from the end
            low = pa.asarray([-128], dtype=dtype)
            with pytest.raises(IndexError, match="-128"):
                K.embedding(low, pa.ones((200, 2)))
            with pytest.raises(IndexError, match="-128"):
                K.cross_entropy(pa.ones((1, 200)), low)


def test_arguments_at_the_limits_are_accepted(device: str) -> None:
    # NumPy's numbers, truth as a number, a list of two tables: what users have at hand.
    matrix = x(5, 4, device=device)
    K.softmax(matrix, axis=np.int64(0))
    K.rms_norm(matrix, eps=0)
    K.attention(matrix, matrix, matrix, causal=1, scale=np.float32(2), key_length=np.int32(3))
    cos, sin = K.rope_tables(
        pa.asarray(np.arange(5), device=device), np.int64(4), dtype=matrix.dtype
    )
    K.rope(matrix, tables=[cos, sin])


def test_refused_calls_change_nothing(device: str) -> None:
    matrix = x(5, 4, device=device)
    with pytest.raises(ValueError):
        K.attention(matrix, matrix, matrix, key_length=6)
    assert np.all(np.asarray(matrix.to_device("numpy")) == 1)

"""Types of a user's program, which mypy and Pyright check in this file without running it.

Each deliberately wrong line has a comment for both, and both report unneeded comments as errors.
``nox -s types`` runs them.
"""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=error
# pyright: reportUnusedExpression=false, reportUnusedCallResult=false

from __future__ import annotations

from typing import Any, assert_type

import numpy as np

import portarray as pa
from portarray.testing import (
    CheckReport,
    Device,
    DType,
    NativeXp,
    Xp,
    assert_close,
    assert_equal,
    check_function,
    yield_namespace_device_dtype_combinations,
)
from portarray.typing import DeviceLike, DTypeLike


def operators(x: pa.Array) -> None:
    assert_type(x == 3, pa.Array)
    assert_type(x != 3, pa.Array)
    assert_type(x == x, pa.Array)
    assert_type(x < 3.0, pa.Array)
    assert_type(x + 1, pa.Array)
    assert_type(2.0 * x, pa.Array)
    assert_type(x @ x.mT, pa.Array)
    assert_type(-x, pa.Array)
    assert_type(~(x == 1) & (x != x), pa.Array)
    assert_type(x[0, ..., None], pa.Array)
    assert_type(x[x == 3], pa.Array)
    assert_type(pa.where(x == 0, x, 1.0), pa.Array)
    x += 1
    x[x != x] = 0.0
    assert_type(x, pa.Array)
    assert_type(bool(pa.all(x == x)), bool)


def attributes(x: pa.Array) -> None:
    assert_type(x.shape, tuple[int, ...])
    assert_type(x.ndim, int)
    assert_type(x.dtype, np.dtype[Any])
    assert_type(x.device, pa.Device)
    assert_type(x.T, pa.Array)
    assert_type(x.sum(axis=0, dtype=pa.float64), pa.Array)
    assert_type(x.astype("float32"), pa.Array)
    assert_type(x.to_device("torch:cuda:1"), pa.Array)
    assert_type(x.item(), bool | int | float | complex)
    for row in x:
        assert_type(row, pa.Array)


def functions(x: pa.Array) -> None:
    assert_type(pa.sum(x, axis=(0, 1), keepdims=True), pa.Array)
    assert_type(pa.unstack(x), tuple[pa.Array, ...])
    assert_type(pa.unique_counts(x).counts, pa.Array)
    assert_type(pa.linalg.svd(x).S, pa.Array)
    assert_type(pa.linalg.slogdet(x).logabsdet, pa.Array)
    assert_type(pa.fft.rfft(x), pa.Array)
    assert_type(pa.kernels.softmax(x, axis=-1), pa.Array)
    assert_type(pa.finfo(pa.float32).eps, float)
    assert_type(pa.isdtype(x.dtype, ("real floating", pa.int8)), bool)
    assert_type(pa.isdtype(x.dtype, "real floting"), bool)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    xp = x.__array_namespace__()
    assert_type(xp.exp(x - xp.max(x, axis=-1, keepdims=True)), pa.Array)
    pa.sum(x, dim=0)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    x.sum(keepdim=True)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    pa.sin(x, out=x)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    pa.sum([1.0, 2.0])  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    pa.add(x, np.ones(3))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    pa.concatenate(x)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    pa.linalg.norm(x)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    x.cpu()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


def devices(x: pa.Array, text: str) -> None:
    device = pa.device("torch:cuda:1")
    assert_type(device, pa.Device)
    every: list[DeviceLike] = ["cpu", text, device, x.device]
    for device_like in every:
        assert_type(pa.ones(3, device=device_like), pa.Array)
    pa.zeros((2, 3), device=None)
    pa.memory(device)
    pa.synchronize()
    with pa.device("cpu") as d:
        assert_type(d, pa.Device)
    pa.ones(3, device=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    pa.ones(3, device=1.0)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    pa.ones(3, device=("cuda", 1))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    pa.ones(3, device=x)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    pa.ones(3, device=np.ones(3))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    pa.asarray(x, device=0)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    x.to_device(0)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    x.to_device(None)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    pa.device(0)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    pa.namespace(0)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def dtypes(x: pa.Array) -> None:
    every: list[DTypeLike] = ["float32", "bfloat16", "bool", pa.int8, x.dtype, np.dtype("f4"), int]
    for dtype_like in every:
        assert_type(pa.ones(3, dtype=dtype_like), pa.Array)
    pa.ones(3, dtype=pa.bfloat16)
    pa.ones(3, dtype=np.float16)
    pa.ones(3, dtype=None)
    pa.astype(x, "uint8")
    pa.ones(3, dtype="flaot32")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    pa.ones(3, dtype="float128")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    pa.ones(3, dtype=32)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    pa.ones(3, dtype=str)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    pa.astype(x, "flaot32")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    x.astype("flaot32")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    x.sum(dtype="flaot32")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    pa.sum(x, dtype="flaot32")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def fixtures(xp: Xp, device: Device, dtype: DType, native_xp: NativeXp) -> None:
    """What a test's arguments are when they are annotated."""
    x = xp.asarray([1.0, 2.0], dtype=dtype, device=device)
    assert_type(x, pa.Array)
    assert_type(xp.linalg.vector_norm(x), pa.Array)
    assert_type(device, pa.Device)
    assert_type(dtype, np.dtype[Any])
    native_xp.sum(native_xp.asarray([1.0, 2.0]))
    xp.median = xp.mean  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    assert_type(check_function(pa.sin, [1.0], devices=[device]), CheckReport)
    check_function(pa.sin, [1.0], devices=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert_close(x, x, rtol=1e-3, xp=xp)
    assert_equal(x, x)
    assert_type(next(yield_namespace_device_dtype_combinations("cpu")), tuple[str, str, str])

"""Values that JAX's functions get wrong, and errors of the common classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import portarray as pa  # noqa: E402

CPU = "jax:cpu:0"


def array(values: Any, dtype: str = "float32") -> pa.Array:
    return pa.asarray(np.asarray(values, dtype=dtype), device=CPU)


def test_division_by_broadcast_arrays_is_exact() -> None:
    """XLA multiplies by the inverse of a smaller divisor: 49 * (1/49) < 1, and 1/3e38 is 0."""
    whole = np.arange(1, 200, dtype=np.float32)
    for divisor in (49.0, array(49.0), array([49.0])):
        np.testing.assert_array_equal(np.asarray(array(whole) / divisor), whole / np.float32(49))
    huge = np.float32(3e38)
    assert float((array([8e38 / 4]) / array([[huge]]))[0, 0]) == np.float32(2e38) / huge
    assert float((array([[huge, huge]]) // array([huge]))[0, 1]) == 1.0


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint8", "uint32"])
def test_integers_divided_by_zero_give_zero(dtype: str) -> None:
    x = array([0, 1, 100], dtype)
    for divisor in (0, array(0, dtype), array([0, 0, 0], dtype)):
        assert (x // divisor).tolist() == [0, 0, 0]
        assert (x % divisor).tolist() == [0, 0, 0]


def test_integers_have_no_negative_powers() -> None:
    with pytest.raises(ValueError, match="negative"):
        array([2], "int32") ** -1
    assert (array([2], "int32") ** 3).tolist() == [8]


@pytest.mark.parametrize("setting", [True, False])
def test_integers_beyond_the_default_dtype_as_scalars(setting: bool) -> None:
    top, dtype = (2**63, "uint64") if setting else (2**31, "uint32")
    with jax.enable_x64(setting):
        x = array([1, top], dtype)
        assert (x & top).tolist() == [0, top]
        assert (x >= top).tolist() == [False, True]
        assert (x + top).tolist() == [top + 1, 0]
        assert pa.clip(x, 0, top).tolist() == [1, top]
        x[0] = top
        assert x.tolist() == [top, top]
        assert pa.full(1, top, dtype=x.dtype, device=CPU).tolist() == [top]
        assert (array([1.0]) * 2**40).tolist() == [2.0**40]


def test_signs_of_complex_zeros() -> None:
    z = complex(-4.0, -0.0)
    assert pa.sqrt(array([z], "complex64")).item() == complex(0, -2)
    assert np.signbit(pa.exp(array([complex(0, -0.0)], "complex64")).item().imag)


def test_zeros_that_have_no_sign() -> None:
    for z in (complex(-0.0, 0.0), complex(0.0, 0.0)):
        result = pa.expm1(array([z], "complex64")).item()
        assert not np.signbit(result.real)
    for z in (complex(-0.0, -0.0), complex(0.0, -0.0)):
        result = pa.sign(array([z], "complex64")).item()
        assert not np.signbit(result.real)
        assert not np.signbit(result.imag)
    assert not np.signbit(pa.sign(array([-0.0])).item())


def test_all_looks_at_imaginary_parts() -> None:
    assert bool(pa.all(array([1j, 2j], "complex64")))
    assert bool(pa.any(array([0, 2j], "complex64")))


WRONG_VALUES: dict[str, Callable[[Any], Any]] = {
    "broadcast": lambda x: x + array([1, 2, 3, 4, 5]),
    "comparison": lambda x: x < array([1, 2, 3, 4, 5]),
    "reshape": lambda x: pa.reshape(x, (7,)),
    "concat": lambda x: pa.concat([x, pa.ones(3, dtype=x.dtype, device=CPU)]),
    "stack": lambda x: pa.stack([x, pa.ones(3, dtype=x.dtype, device=CPU)]),
    "matmul": lambda x: x @ x,
    "broadcast_to": lambda x: pa.broadcast_to(x, (5, 5)),
    "squeeze": lambda x: pa.squeeze(x, 0),
    "assignment": lambda x: x.__setitem__(slice(None), array([1, 2, 3, 4, 5])),
    "tensordot": lambda x: pa.tensordot(x, x, axes=1),
    "vecdot": lambda x: pa.vecdot(x, array([1, 2, 3, 4, 5])),
    "axis": lambda x: pa.sum(x, axis=5),
    "expand_dims": lambda x: pa.expand_dims(x, axis=7),
    "empty maximum": lambda x: pa.max(pa.zeros((0,), device=CPU)),
    "cholesky": lambda x: pa.linalg.cholesky(x),
    "inverse": lambda x: pa.linalg.inv(x),
    "solve": lambda x: pa.linalg.solve(x, x),
    "cross": lambda x: pa.linalg.cross(x, x),
    "where": lambda x: pa.where(x > 0, x, array([1, 2, 3, 4, 5])),
    "permute_dims": lambda x: pa.permute_dims(x, (0, 0)),
    "in place": lambda x: x.__iadd__(array([1, 2, 3, 4, 5])),
    "fft": lambda x: pa.fft.fft(x, n=0),
}


@pytest.mark.parametrize("name", WRONG_VALUES)
def test_wrong_shapes_and_values_are_value_errors(name: str) -> None:
    x = pa.ones((2, 4), dtype=pa.float32, device=CPU)
    with pytest.raises((ValueError, IndexError)):
        WRONG_VALUES[name](x)

"""Text forms of arrays."""

from __future__ import annotations

import numpy as np
import pytest
from drawn import as_numpy, drawing, dtypes_of, small
from hypothesis import given
from hypothesis import strategies as st

import portarray as pa


@given(data=st.data())
@drawing
def test_values_read_as_numpy_prints_them(anywhere: str, data: st.DataObject) -> None:
    a = data.draw(small(data.draw(st.sampled_from(dtypes_of(anywhere)))))
    x = pa.asarray(a, device=anywhere)
    assert str(x) == ("[]" if a.size == 0 else str(a))
    assert f"{x}" == ("[]" if a.size == 0 else f"{a}")
    shown = repr(x)
    assert shown.startswith("Array(")
    assert shown.endswith(f"dtype={a.dtype}, device='{anywhere}')")
    if a.size == 0:
        assert f"shape={a.shape}" in shown


def test_examples(device: str) -> None:
    x = pa.asarray([[1.0, 2.5], [3.0, 4.0]], device=device)
    numbers = "[[1. , 2.5],\n       [3. , 4. ]]"
    assert repr(x) == f"Array({numbers}, dtype={x.dtype}, device='{device}')"
    assert repr(pa.asarray(True, device=device)) == f"Array(True, dtype=bool, device='{device}')"


def test_large_arrays_show_their_corners(anywhere: str) -> None:
    a = np.arange(2400, dtype=np.float32).reshape(40, 60)
    x = pa.asarray(a, device=anywhere)
    assert str(x) == np.array2string(a, threshold=0)
    assert "shape=(40, 60)" in repr(x)
    assert len(repr(x)) < 900
    long = np.arange(5000, dtype=np.int32)
    assert str(pa.asarray(long, device=anywhere)) == np.array2string(long, threshold=0)


def test_format_of_one_element(anywhere: str) -> None:
    x = pa.asarray(3.14159, dtype=pa.float32, device=anywhere)
    assert f"{x:.3f}" == "3.142"
    assert f"{pa.asarray(7, device=anywhere):03d}" == "007"
    assert f"{pa.asarray(True, device=anywhere)}" == "True"
    with pytest.raises(
        TypeError, match=r"'\.3f' formats 0-d arrays, and the array has shape \(1,\)"
    ):
        f"{pa.asarray([1.0], device=anywhere):.3f}"
    with pytest.raises(ValueError):
        f"{x:q}"


@given(data=st.data())
@drawing
def test_python_values(anywhere: str, data: st.DataObject) -> None:
    a = data.draw(small(data.draw(st.sampled_from(dtypes_of(anywhere)))))
    x = pa.asarray(a, device=anywhere)
    assert x.tolist() == a.tolist()
    assert (x.shape, x.ndim, x.size) == (a.shape, a.ndim, a.size)
    assert (x.itemsize, x.nbytes) == (a.itemsize, a.nbytes)
    if a.ndim:
        assert len(x) == len(a)
        assert [row.tolist() for row in x] == [row.tolist() for row in a]
        assert (3 in x) == (3 in a)
    if a.size == 1:
        assert x.item() == a.item()
        assert type(x.item()) is type(a.item())
    else:
        with pytest.raises(ValueError, match=r"not one element"):
            x.item()


def test_no_axes_to_walk_along(anywhere: str) -> None:
    x = pa.asarray(1.0, device=anywhere)
    for call in (len, iter):
        with pytest.raises(TypeError, match=r"(?s)0-d array .*x\.item\(\)"):
            call(x)
    with pytest.raises(ValueError, match=r"T: the array has 0 axes, not two\nHint: use x\.mT"):
        x.T  # noqa: B018
    with pytest.raises(ValueError, match=r"mT: the array has 0 axes, not two or more"):
        x.mT  # noqa: B018


def test_arrays_cannot_be_hashed_or_constructed_by_their_class(anywhere: str) -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(pa.asarray(1.0, device=anywhere))
    with pytest.raises(TypeError, match=r"use pa\.asarray"):
        pa.Array([1.0])
    x = pa.asarray([1.0], device=anywhere)
    with pytest.raises(AttributeError):
        x.note = 1  # type: ignore[attr-defined]
    for name in ("dtype", "device", "shape", "native"):
        with pytest.raises(AttributeError):
            setattr(x, name, None)
    assert as_numpy(x).tolist() == [1.0]


def test_methods_answer_as_the_functions(anywhere: str) -> None:
    a = np.asarray([[[1, 2, 3]], [[4, 5, 7]]], dtype=np.float32)
    x = pa.asarray(a, device=anywhere)
    for name in ("sum", "mean", "max", "min", "any", "all"):
        for options in ({}, {"axis": 0}, {"axis": (0, 2)}, {"axis": -1, "keepdims": True}):
            ours, theirs = getattr(x, name)(**options), getattr(a, name)(**options)
            assert as_numpy(ours).tolist() == np.asarray(theirs).tolist()
            assert ours.dtype == np.asarray(theirs).dtype
    assert x.sum(dtype=pa.complex64).dtype == pa.complex64
    assert x.mean(0, pa.complex64).dtype == pa.complex64
    assert x.reshape(3, 2).shape == x.reshape((3, -1)).shape == x.reshape([3, 2]).shape == (3, 2)
    assert (x.squeeze().shape, x.squeeze(1).shape, x.squeeze(-2).shape) == ((2, 3),) * 3
    with pytest.raises(ValueError):
        x.squeeze(0)
    assert x.conj().tolist() == x.tolist()
    z = pa.asarray([1 + 2j], dtype=pa.complex64, device=anywhere)
    assert (z.conj().tolist(), z.real.tolist(), z.imag.tolist()) == ([1 - 2j], [1.0], [2.0])

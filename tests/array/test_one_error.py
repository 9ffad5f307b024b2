"""A mistake raises the same class and message on every device.

Each mistake is a text that is evaluated on a device; its message must name the function, the device
and what is wrong, and no library's own text may leak.
"""

from __future__ import annotations

import pickle
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from numpy.exceptions import AxisError

import portarray as pa
from portarray.errors import LinAlgError

F, INT = pa.float32, pa.int32


def ones(*shape: int) -> pa.Array:
    return pa.ones(shape, dtype=F)


def ints(values: Any) -> pa.Array:
    return pa.asarray(values, dtype=INT)


NAN = float("nan")

# The mistake, the class of the error, and words of its message.
MISTAKES: list[tuple[str, type[Exception], tuple[str, ...]]] = [
    ("ones(2, 3) + ones(4)", ValueError, ("add", "(2, 3) and (4,)", "expand_dims")),
    ("3 * ones(2, 3) - ones(2, 3, 2)", ValueError, ("subtract", "(2, 3) and (2, 3, 2)")),
    ("pa.atan2(ones(0), ones(2))", ValueError, ("atan2", "(0,) and (2,)")),
    ("pa.where(ones(2) > 0, ones(3), ones(2))", ValueError, ("where", "(2,), (3,) and (2,)")),
    ("pa.clip(ones(2), ones(3), None)", ValueError, ("clip", "(2,) and (3,)")),
    ("pa.broadcast_arrays(ones(3), ones(2))", ValueError, ("broadcast_arrays", "(3,) and (2,)")),
    ("pa.broadcast_to(ones(3), (2, 4))", ValueError, ("broadcast_to", "(3,)", "(2, 4)")),
    ("pa.broadcast_to(ones(3, 1), (3,))", ValueError, ("broadcast_to", "(3, 1)", "(3,)")),
    ("ones(2, 3) @ ones(2, 3)", ValueError, ("matmul", "(2, 3) and (2, 3)", "mT")),
    ("pa.matmul(ones(), ones(2))", ValueError, ("matmul", "() and (2,)", "multiply")),
    ("pa.linalg.matmul(ones(2, 2, 3), ones(3, 3, 2))", ValueError, ("matmul", "(2, 2, 3)")),
    ("pa.vecdot(ones(3), ones(4))", ValueError, ("vecdot", "3 and 4")),
    ("pa.vecdot(ones(2, 3), ones(4, 3))", ValueError, ("vecdot", "(2, 3) and (4, 3)")),
    ("pa.tensordot(ones(2, 3), ones(2, 3), axes=1)", ValueError, ("tensordot", "(3,)", "(2,)")),
    ("pa.tensordot(ones(2, 3), ones(2, 3), axes=((0,), (1,)))", ValueError, ("tensordot",)),
    ("pa.linalg.cross(ones(2, 3), ones(4, 3))", ValueError, ("linalg.cross", "(2, 3) and (4, 3)")),
    ("pa.reshape(ones(6), (4,))", ValueError, ("reshape", "(6,)", "(4,)")),
    ("pa.reshape(ones(6), (4, -1))", ValueError, ("reshape", "6 elements", "(4, -1)")),
    ("pa.reshape(ones(0), (0, -1))", ValueError, ("reshape", "(0, -1)")),
    ("pa.concat([ones(2, 3), ones(2, 4)])", ValueError, ("concat", "(2, 3) and (2, 4)", "axis 0")),
    ("pa.stack([ones(2), ones(3)])", ValueError, ("stack", "(2,) and (3,)")),
    ("pa.where(ones(2) > 0, ones(2), ones(3))", ValueError, ("where", "(2,), (2,) and (3,)")),
    ("pa.clip(ones(2), ones(2), ones(3))", ValueError, ("clip", "(2,), (2,) and (3,)")),
    ("ones(2, 3, 4) + ones(3, 3, 4)", ValueError, ("add", "sizes 2 and 3 along axis -3")),
    ("pa.reshape(ones(6), (4, 2))", ValueError, ("reshape", "(6,)", "(4, 2)", "8")),
    ("pa.max(ones(2, 0))", ValueError, ("max", "(2, 0)")),
    ("pa.argmin(ones(0, 3))", ValueError, ("argmin", "(0, 3)")),
    ("pa.max(ones(0))", ValueError, ("max", "(0,)")),
    ("pa.min(ones(0, 3), axis=0)", ValueError, ("min", "(0, 3)", "axis 0")),
    ("pa.argmax(ones(0))", ValueError, ("argmax", "(0,)")),
    ("pa.argmin(ones(2, 0), axis=1, keepdims=True)", ValueError, ("argmin", "(2, 0)")),
    ("pa.repeat(ones(3), ints([1, 2]))", ValueError, ("repeat", "(2,)", "3")),
    ("pa.take(ones(3, 2), ints([0, 5]), axis=0)", IndexError, ("take", "5", "axis 0", "(3, 2)")),
    ("pa.take(ones(3), ints([-4]))", IndexError, ("take", "-4", "axis 0", "(3,)")),
    ("ones(3)[ints([5])]", IndexError, ("indexing", "5", "axis 0", "(3,)")),
    ("ones(3, 2)[..., ints([[0], [-3]])]", IndexError, ("indexing", "-3", "axis 1", "(3, 2)")),
    ("ones(3, 3)[ints([0, 1]), ints([0, 1, 2])]", IndexError, ("indexing", "(2,), (3,)")),
    ("ones(3, 2).__setitem__(ints([7]), 1.0)", IndexError, ("assignment", "7", "(3, 2)")),
    ("ones(3).__setitem__(slice(None), ones(2))", ValueError, ("assignment", "(2,)", "(3,)")),
    ("ones(3).__setitem__(ones(3) > 0, ones(2))", ValueError, ("assignment", "(2,)", "(3,)")),
    ("pa.take_along_axis(ones(3), ints([5]))", IndexError, ("take_along_axis", "5", "(3,)")),
    (
        "pa.take_along_axis(ones(3, 2), pa.zeros((1, 3), dtype=INT), axis=0)",
        ValueError,
        ("(1, 3)",),
    ),
    ("pa.std(ones(3), correction='a')", TypeError, ("correction", "'a'")),
    ("ints([2]) ** ints([-1])", ValueError, ("pow", "-1", "astype")),
    ("ints([2]) ** -1", ValueError, ("pow", "-1", "astype")),
    ("pa.linalg.solve(ones(2, 2), ones(2))", LinAlgError, ("linalg.solve", "singular", "pinv")),
    ("pa.linalg.solve(ones(3, 2, 2), ones(2, 1))", LinAlgError, ("linalg.solve", "(3, 2, 2)")),
    ("pa.linalg.solve(ones(2, 3), ones(2))", LinAlgError, ("linalg.solve", "(2, 3)", "square")),
    ("pa.linalg.solve(pa.eye(2, dtype=F), ones(3))", ValueError, ("linalg.solve", "2", "(3,)")),
    ("pa.linalg.inv(0 * ones(2, 2))", LinAlgError, ("linalg.inv", "singular")),
    ("pa.linalg.matrix_power(0 * ones(2, 2), -2)", LinAlgError, ("linalg.inv", "singular")),
    ("pa.linalg.cholesky(-ones(2, 2))", LinAlgError, ("linalg.cholesky", "positive definite")),
    *[
        (f"pa.linalg.{name}({x})", LinAlgError, (f"linalg.{name}", shape))
        for name in ("inv", "det", "slogdet", "eig", "eigvals", "eigh", "eigvalsh", "cholesky")
        for x, shape in (("ones(2, 3)", "(2, 3)"), ("ones(3)", "(3,)"))
    ],
    *[
        (f"pa.linalg.{name}(ones(3))", LinAlgError, (f"linalg.{name}", "(3,)"))
        for name in ("svd", "svdvals", "qr", "pinv", "matrix_rank", "matrix_norm", "trace")
    ],
    ("pa.linalg.matrix_power(ones(2, 3), 2)", LinAlgError, ("matrix_power", "(2, 3)")),
]


@pytest.mark.parametrize(("mistake", "kind", "phrases"), MISTAKES, ids=[row[0] for row in MISTAKES])
def test_every_device_raises_the_same_error(
    mistake: str, kind: type[Exception], phrases: tuple[str, ...]
) -> None:
    devices_by_text: dict[str, list[str]] = {}
    for device in pa.devices():
        with device, pytest.raises(Exception) as caught:
            eval(mistake)
        assert type(caught.value) is kind, f"{device}: {caught.value!r}"
        text = str(caught.value)
        devices_by_text.setdefault(text.replace(str(device), "DEVICE"), []).append(str(device))
        for word in phrases:
            assert word in text, (word, text)
    assert len(devices_by_text) == 1, "\n".join(
        f"{devices}: {text}" for text, devices in devices_by_text.items()
    )
    (text,) = devices_by_text
    assert "DEVICE" in text or kind is TypeError


def test_linalg_error_is_numpys_too(device: str) -> None:
    """``except`` with NumPy's, SciPy's or portarray's LinAlgError catches it."""
    x = pa.zeros((2, 2), dtype=F, device=device)
    for caught in (np.linalg.LinAlgError, ValueError, pa.linalg.LinAlgError):
        with pytest.raises(caught):
            pa.linalg.inv(x)
    with pytest.raises(pa.linalg.LinAlgError) as native:
        pa.namespace(device).linalg.inv(x.native)
    again = pickle.loads(pickle.dumps(native.value))
    assert (again.function, str(again)) == ("linalg.inv", str(native.value))


def test_without_looking_nothing_is_lost(device: str) -> None:
    """``check_linalg=False`` may return infinities or NaN, and regular matrices stay right."""
    regular = pa.asarray([[2.0, 1.0], [1.0, 3.0]], dtype=F, device=device)
    right = np.asarray([[2.0, 1.0], [1.0, 3.0]])
    singular = pa.zeros((2, 2), dtype=F, device=device)
    with pa.config(check_linalg=False):
        for name in ("inv", "cholesky"):
            answer = np.asarray(getattr(pa.linalg, name)(regular).tolist())
            np.testing.assert_allclose(answer, getattr(np.linalg, name)(right), rtol=1e-5)
        answer = np.asarray(pa.linalg.solve(regular, regular[0, :]).tolist())
        np.testing.assert_allclose(answer, np.linalg.solve(right, right[0]), rtol=1e-5)
        with suppress(np.linalg.LinAlgError):  # MLX says so when the values are needed
            assert not pa.all(pa.isfinite(pa.linalg.inv(singular)))


@pytest.mark.parametrize("wrong", [NAN, float("inf"), -float("inf")])
def test_matrices_that_are_not_finite(device: str, wrong: float) -> None:
    """NaN and infinity affect only their own matrix of a stack, without an error."""
    good = [[2.0, 1.0], [1.0, 3.0]]
    for index in np.ndindex(2, 2):
        bad = np.asarray(good)
        bad[index] = bad[index[::-1]] = wrong
        x = pa.asarray(np.stack([bad, np.asarray(good)]), device="cpu")
        x = pa.astype(x, F).to_device(device)
        results = {
            "eigvalsh": pa.linalg.eigvalsh(x),
            "eigh": pa.linalg.eigh(x).eigenvalues,
            "eigvals": pa.linalg.eigvals(x),
            "eig": pa.linalg.eig(x).eigenvalues,
            "svdvals": pa.linalg.svdvals(x),
            "svd": pa.linalg.svd(x).S,
            "pinv": pa.linalg.pinv(x),
            "norm": pa.linalg.matrix_norm(x, ord=2),
            "nuclear norm": pa.linalg.matrix_norm(x, ord="nuc", keepdims=True),
        }
        for name, out in results.items():
            assert pa.all(pa.isnan(out[0, ...])), (name, index, out)
            assert pa.all(pa.isfinite(out[1, ...])), (name, index, out)
        assert pa.linalg.matrix_rank(x).tolist() == [0, 2], index
        if np.isnan(wrong):
            for name in ("cholesky", "inv"):
                out = getattr(pa.linalg, name)(x)
                assert pa.any(pa.isnan(out[0, ...])), (name, index, out)
                assert pa.all(pa.isfinite(out[1, ...])), (name, index, out)
    indefinite = pa.asarray([[[NAN, 0.0], [0.0, 1.0]], [[-1.0, 0.0], [0.0, 1.0]]], dtype=F)
    with pytest.raises(LinAlgError, match="positive definite"):
        pa.linalg.cholesky(indefinite.to_device(device))


def test_axes_out_of_bounds_raise_axis_error(device: str) -> None:
    x = pa.zeros((2, 3), device=device)
    for call in (pa.sum, pa.flip, pa.sort, pa.argmax, pa.cumulative_sum):
        with pytest.raises(AxisError, match="axis 2 is out of bounds for 2 axes"):
            call(x, axis=2)

"""The comparison of programs accepts correct results and finds the smallest errors."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from portarray_conformance.programs.allowed_differences import Allowed
from portarray_conformance.programs.compare import SPREAD, ULPS, Comparison, wrong_elements
from portarray_conformance.programs.judge import error_difference, error_name
from portarray_conformance.programs.program import Raised, Snap

INF, NAN = np.inf, np.nan
FLOATS = ("float16", "bfloat16", "float32", "float64")


def dtype_of(name: str) -> Any:
    return ml_dtypes.bfloat16 if name == "bfloat16" else np.dtype(name)


def array(values: Any, dtype: str = "float64", undefined: Any = None) -> Snap:
    mask = None if undefined is None else np.asarray(undefined)
    return Snap("array", dtype, np.asarray(values).astype(dtype_of(dtype)), mask)


def problem(got: Snap, want: Snap, *noisy: Snap, loose: tuple[str, ...] = (), **rules: Any) -> str:
    return Comparison(Allowed(**rules), frozenset(loose)).problem(got, want, noisy)


@pytest.mark.parametrize("dtype", FLOATS)
def test_exact_results_must_be_the_same(dtype: str) -> None:
    """An error of one ULP fails where the noisy references do not spread."""
    want = array([1.5, -2.0, 3.0], dtype)
    step = float(ml_dtypes.finfo(dtype_of(dtype)).eps)
    assert problem(want, want, want, want) == ""
    for wrong in (1.5 + step, 1.5 - step):
        assert problem(array([wrong, -2.0, 3.0], dtype), want, want, want) == "value"


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_spread_bounds_the_error(dtype: str) -> None:
    unit = float(ml_dtypes.finfo(dtype_of(dtype)).eps)
    want = array([1.0, 1.0], dtype)
    noisy = array([1.0 + 2 * unit, 1.0], dtype), array([1.0, 1.0 + unit], dtype)
    most = int(SPREAD * 2 + ULPS)  # of the first element; SPREAD + ULPS of the second
    least = int(SPREAD + ULPS)
    assert problem(array([1 + most * unit, 1 + least * unit], dtype), want, *noisy) == ""
    assert problem(array([1 + (most + 1) * unit, 1.0], dtype), want, *noisy) == "value"
    assert problem(array([1.0, 1 + (least + 1) * unit], dtype), want, *noisy) == "value"
    assert problem(array([1.0, 1 + most * unit], dtype), want, *noisy) == "value"


@pytest.mark.parametrize(
    ("got", "want", "kind"),
    [
        (0.0, -0.0, "value: sign of zero"),
        (-0.0, 0.0, "value: sign of zero"),
        (NAN, 1.0, "value: NaN"),
        (1.0, NAN, "value: NaN"),
        (INF, 1.0, "value: infinity"),
        (1.0, -INF, "value: infinity"),
        (INF, -INF, "value"),
        (NAN, INF, "value: NaN"),
    ],
)
@pytest.mark.parametrize("dtype", [*FLOATS, "complex64", "complex128"])
def test_special_values_are_kinds_of_their_own(
    got: float, want: float, kind: str, dtype: str
) -> None:
    first, second = array([2.0, got], dtype), array([2.0, want], dtype)
    assert problem(first, second, second).startswith("value")
    assert problem(second, second, second) == ""
    if not dtype.startswith("complex"):
        assert problem(first, second, second) == kind
        # A spread elsewhere, or of the same element by digits, lets none of them pass.
        near = array([2.5, want], dtype)
        assert problem(first, second, near) == kind
        return
    turned = array([2.0, complex(1.0, got)], dtype), array([2.0, complex(1.0, want)], dtype)
    assert problem(*turned, turned[1]).startswith("value")


def test_complex_values_are_judged_in_the_plane() -> None:
    want = array([1 + 1e-9j], "complex128")
    noisy = array([1 + 1e-9j + 1e-12], "complex128")
    for turn in (1, -1, 1j, -1j):
        assert problem(array([1 + 1e-9j + 3.9e-12 * turn], "complex128"), want, noisy) == ""
        far = array([1 + 1e-9j + 4.1e-12 * turn], "complex128")
        assert problem(far, want, noisy) == "value"


def test_the_bounds_match_the_documentation() -> None:
    """The bound is four times the spread of the noise plus two ULP, as documented."""
    assert (SPREAD, ULPS) == (4.0, 2.0)


def test_where_the_references_disagree_nothing_is_compared() -> None:
    want = array([1, 2, 3], "int64")
    second = array([1, 5, 3], "int64")
    assert problem(array([1, 9, 3], "int64"), want, second) == ""
    assert problem(array([1, 9, 4], "int64"), want, second) == "value"
    finite, infinite = array([1.0, 2.0]), array([INF, 2.0])
    assert problem(array([NAN, 2.0]), finite, infinite) == ""
    assert problem(array([1.0, NAN]), finite, infinite) == "value: NaN"
    assert problem(array([1.0]), finite, array([1.0])) == ""
    assert problem(array([1.0]), finite, finite) == "shape"
    undefined = array([1, 2, 3], "int64", [False, True, False])
    assert problem(array([1, 9, 3], "int64"), undefined) == ""
    assert problem(array([9, 9, 3], "int64"), undefined) == "value"


def test_kinds_dtypes_and_shapes() -> None:
    x = array([1.0, 2.0])
    assert problem(array([1.0, 2.0], "float32"), x) == "dtype float32 for float64"
    assert problem(array([[1.0, 2.0]]), x, x) == "shape"
    assert problem(Snap("python", "float", 1.0), x) == "python for array"
    assert problem(Snap("python", "int", 1), Snap("python", "float", 1.0)) == "type int for float"
    assert problem(Snap("python", "float", -0.0), Snap("python", "float", 0.0)) != ""
    assert problem(Snap("python", "int", 1), Snap("python", "int", 2)) == "value"
    assert problem(Snap("python", "float", NAN), Snap("python", "float", NAN)) == ""


def test_tuples_are_compared_item_by_item() -> None:
    def result(*items: Snap) -> Snap:
        return Snap("tuple", "SVDResult(U,S,Vh)", items)

    u, s, v = array([1.0]), array([2.0]), array([3.0])
    want = result(u, s, v)
    assert problem(want, want) == ""
    assert problem(result(u, s), want) == "number of items"
    assert problem(Snap("tuple", "tuple()", (u, s, v)), want).startswith("type")
    for index in range(3):
        items = [u, s, v]
        items[index] = array([7.0])
        assert problem(result(*items), want, want) == "value"
        loose = ("U", "Vh")
        assert problem(result(*items), want, want, loose=loose) == ("value" if index == 1 else "")
        items[index] = array([7.0], "float32")
        assert problem(result(*items), want, want, loose=loose).startswith("dtype")
    assert problem(array([7.0]), u, loose=("result",)) == ""
    assert problem(array([7.0, 1.0]), u, loose=("result",)) == "shape"


def test_only_flushing_devices_may_flush() -> None:
    want, zero = array([1e-310, 1.0]), array([0.0, 1.0])
    assert problem(zero, want, flushes=False) != ""
    assert problem(zero, want, flushes=True) == ""
    assert problem(array([0.0, 1.0]), array([1e-300, 1.0]), flushes=True) != ""
    assert problem(array([1e-310, 0.0]), want, flushes=True) != ""


def test_differing_elements_are_distinguished() -> None:
    want = np.arange(6.0).reshape(2, 3)
    got = want.copy()
    got[1, 2] += 1
    assert np.argwhere(wrong_elements(got, want, [want], 2.0)).tolist() == [[1, 2]]


def raised(*bases: str, module: str = "builtins", alternatives: tuple[str, ...] = ()) -> Raised:
    return Raised(bases[0], bases, module, "said", alternatives)


def test_classes_of_errors() -> None:
    value, kind = raised("ValueError", "Exception"), raised("TypeError", "Exception")
    linalg = raised("LinAlgError", "ValueError", "Exception", module="portarray.errors")
    torch_error = raised("TorchError", "ValueError", "Exception", module="torch")
    assert error_difference(value, value) == ""
    assert error_difference(kind, value) == "TypeError for ValueError"
    # A more exact class is right, a less exact one is not.
    assert error_difference(linalg, value) == ""
    assert error_difference(value, linalg) == "ValueError for LinAlgError"
    assert error_difference(torch_error, value) == "torch.TorchError leaks"
    assert error_name(torch_error) == "ValueError"
    both = raised("ValueError", "Exception", alternatives=("TypeError",))
    assert error_difference(kind, both) == ""

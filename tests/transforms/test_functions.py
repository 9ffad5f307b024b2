"""The gradient of every function, on every device."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from gradient_cases import CASES, Case, placed

import portarray as pa
from portarray._transforms.rules import RULES
from portarray.backends import chapters, kinds

Values = np.ndarray[Any, Any]

STEP = 1e-6


def host(x: Any) -> Values:
    return np.asarray(pa.to_device(x, "numpy"))


def weights(shape: tuple[int, ...], *, is_complex: bool) -> Values:
    rng = np.random.default_rng(7)
    drawn: Values = rng.normal(size=shape)
    return drawn + 1j * rng.normal(size=shape) if is_complex else drawn


def loss(case: Case, x: Any) -> Any:
    """Return the elements of a function's result, weighted and summed."""
    y = case.function(x)
    if not pa.isdtype(y.dtype, "complex floating"):
        return pa.sum(
            y * pa.asarray(weights(y.shape, is_complex=False), dtype=y.dtype, device=y.device)
        )
    w = pa.asarray(weights(y.shape, is_complex=True), dtype=y.dtype, device=y.device)
    return pa.sum(pa.real(pa.conj(w) * y))


@cache
def differences(number: int) -> Values:
    """Return central differences of a case's loss, in NumPy's float64."""
    case = CASES[number]
    found: Values = np.zeros_like(case.x)
    units = (1, 1j) if np.iscomplexobj(case.x) else (1,)
    for place in np.ndindex(*case.x.shape):
        for unit in units:
            ends = []
            for sign in (1, -1):
                moved = case.x.copy()
                moved[place] += sign * STEP * unit
                ends.append(float(loss(case, pa.asarray(moved, device="numpy"))))
            found[place] += unit * (ends[0] - ends[1]) / (2 * STEP)
    return found


@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.name for case in CASES])
def test_gradients_are_those_of_differences(number: int, device: str) -> None:
    case = CASES[number]
    x = placed(case.x, device)
    wide = x.dtype == case.x.dtype
    if case.name == "astype" and not wide:
        pytest.skip("the device has no complex128")
    got = pa.grad(lambda x: loss(case, x))(x)
    assert got.device is pa.device(device)
    assert got.dtype == x.dtype
    expected = differences(number)
    bound = (1e-6 if wide else 3e-3) * (1 + np.max(np.abs(expected), initial=0))
    np.testing.assert_allclose(host(got), expected, rtol=0, atol=bound)


NONE = frozenset(
    {
        # integers and truth values
        *("all", "any", "argmax", "argmin", "argsort", "count_nonzero", "isin", "nonzero"),
        *("searchsorted", "signbit", "unique_all", "unique_counts", "unique_inverse", "isfinite"),
        *("isinf", "isnan", "equal", "greater", "greater_equal", "less", "less_equal", "not_equal"),
        *("logical_and", "logical_not", "logical_or", "logical_xor", "linalg.matrix_rank"),
        *("bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or"),
        *("bitwise_right_shift", "bitwise_xor"),
    }
)


def test_every_function_has_a_rule_or_none_for_a_reason() -> None:
    taken = {name for name, rule in kinds.ACCEPTED.items() if set("fc") & set(rule.kinds)}
    assert taken - set(RULES) <= NONE
    with pytest.raises(pa.NoGradientError, match="unique_values has no gradient"):
        pa.grad(lambda x: pa.sum(pa.unique_values(x)))(pa.asarray([1.0, 2.0], device="numpy"))
    assert set(RULES) >= {"getitem", "setitem", "take", "where"}
    assert not NONE & set(RULES)
    assert chapters.accepted("sum") is not None

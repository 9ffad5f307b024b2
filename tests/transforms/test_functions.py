"""The gradient of every function, on every device."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import numpy as np
import pytest
from gradient_cases import CASES, placed, weighted

import portarray as pa
from portarray._transforms.rules import RULES
from portarray.backends import chapters, kinds

Values = np.ndarray[Any, Any]

STEP = 1e-6
ALL = bool(os.environ.get("PORTARRAY_ALL_GRADIENTS"))


def host(x: Any) -> Values:
    return np.asarray(pa.to_device(x, "numpy"))


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
                ends.append(float(weighted(case, pa.asarray(moved, device="numpy"))))
            found[place] += unit * (ends[0] - ends[1]) / (2 * STEP)
    return found


@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.name for case in CASES])
def test_gradients_are_those_of_differences(number: int, device: str) -> None:
    case = CASES[number]
    # Rules are the same everywhere: NumPy's device has all cases, others a third of them each.
    share = sum(map(ord, device)) % 3
    if not (ALL or device.startswith("numpy") or number % 3 == share):
        pytest.skip("on other devices; PORTARRAY_ALL_GRADIENTS=1 runs all")
    x = placed(case.x, device)
    wide = x.dtype == case.x.dtype
    if case.name == "astype" and not wide:
        pytest.skip("the device has no complex128")
    got = pa.grad(lambda x: weighted(case, x))(x)
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

"""Which functions have a gradient. The gradients themselves: ``tests/conformance``."""

from __future__ import annotations

import pytest

import portarray as pa
from portarray._dispatch import categories
from portarray._dtypes import accepted
from portarray._transforms.rules import RULES

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
    taken = {name for name, rule in accepted.ACCEPTED.items() if set("fc") & set(rule.kinds)}
    assert taken - set(RULES) <= NONE
    with pytest.raises(pa.NoGradientError, match="unique_values: the function has no gradient"):
        pa.grad(lambda x: pa.sum(pa.unique_values(x)))(pa.asarray([1.0, 2.0], device="numpy"))
    assert set(RULES) >= {"getitem", "setitem", "take", "where"}
    assert not NONE & set(RULES)
    assert categories.accepted("sum") is not None

"""The tables of kernels say what they mean, before anything is compiled."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
import refused


def test_cases() -> None:
    pytest.importorskip("portarray.kernel_language")
    from cases.case import all_cases

    cases = all_cases()
    assert len({case.kernel.__code__ for case in cases}) >= 60
    assert [name for name, count in Counter(case.name for case in cases).items() if count > 1] == []
    for case in cases:
        assert len(case.arguments()) == case.kernel.__code__.co_argcount, case.name
        case.check(case.want())
        assert all(isinstance(array, np.ndarray) for array in case.want()), case.name


@pytest.mark.parametrize("table", ["BODIES", "MODULES", "CALLS", "DEBUGGED"])
def test_refused(table: str) -> None:
    """Texts are Python, so that it is the language that refuses them, and mark their lines."""
    rows = getattr(refused, table)
    assert len({row.name for row in rows}) == len(rows)
    for row in rows:
        compile(row.text, row.name, "exec")
        re.compile(row.says)
        assert bool(row.lines) == (table != "CALLS"), row.name

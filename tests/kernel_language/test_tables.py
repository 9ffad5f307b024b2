"""The tables of kernels say what they mean, before anything is compiled."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from refused.bodies import BODIES
from refused.calls import CALLS
from refused.modules import MODULES
from refused.rows import Refused


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


@pytest.mark.parametrize("rows", [BODIES, MODULES, CALLS])
def test_refused(rows: list[Refused]) -> None:
    """Texts are Python, so that it is the language that refuses them, and mark their lines."""
    assert len({row.name for row in rows}) == len(rows)
    for row in rows:
        compile(row.text, row.name, "exec")
        re.compile(row.says)
        assert bool(row.lines) == (rows is not CALLS), row.name

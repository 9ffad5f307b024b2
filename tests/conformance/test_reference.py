"""The reference of programs passes the conformance suite, which knows nothing of it."""

from __future__ import annotations

import pytest
from portarray_conformance import Target, all_cases, run
from portarray_conformance.reference import Reference

REFERENCE = Reference(views=True)
TARGET = Target("reference", REFERENCE.xp, fetch=REFERENCE.to_numpy)


@pytest.mark.parametrize("case", list(all_cases()), ids=lambda c: f"{c.function}-{c.aspect}")
def test_suite(case) -> None:  # type: ignore[no-untyped-def]
    for result in run(TARGET, [case], quick=True):
        assert not result.bad, f"{result.message}\n{result.example}"

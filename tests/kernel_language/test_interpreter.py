"""The interpreter: the cases, what it checks, and what it shows of the user's text."""

from __future__ import annotations

import pdb
import pickle
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases.case import Case, View, all_cases

import portarray as pa
import portarray.kernel_language as kl
from portarray.errors import (
    KernelDebugError,
    KernelIndexError,
    KernelVerificationError,
    KernelZeroDivisionError,
)

CASES = all_cases()
BY_ZERO = ("floor_divide",)
"""Cases that divide integers by zero."""


def passed(case: Case, device: str) -> list[Any]:
    """Return a case's arguments; a device that lacks a dtype is skipped."""
    found = []
    for value in case.arguments():
        try:
            if isinstance(value, View):
                value = value.of(pa.asarray(value.base, device=device))
            elif isinstance(value, np.ndarray):
                value = pa.asarray(value, device=device)
        except TypeError as error:
            pytest.skip(str(error))
        found.append(value)
    return found


def arrays(out: Any) -> tuple[Any, ...]:
    return tuple(np.asarray(x) for x in (out if isinstance(out, tuple) else (out,)))


def bare(case: Case) -> str:
    """Return a device that has all dtypes and runs no programs in this."""
    return (
        "numpy" if not any(dtype.name == "bfloat16" for dtype in case.dtypes()) else "torch:cpu:0"
    )


@pytest.mark.parametrize("seed", [None, 7], ids=["in-order", "drawn"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cases(case: Case, seed: int | None) -> None:
    compiled = pa.kernel(case.kernel, static=case.static)
    out = compiled.interpret(
        *passed(case, bare(case)), ndrange=case.ndrange, group=case.group, seed=seed
    )
    case.check(arrays(out))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cases_pass_all_checks(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    compiled = pa.kernel(case.kernel, static=case.static)
    if case.kernel.__name__ in BY_ZERO:
        with pa.config(kernel_debug=True), pytest.raises(KernelZeroDivisionError):
            compiled(*passed(case, bare(case)), ndrange=case.ndrange, group=case.group)
        return
    with pa.config(kernel_debug=True):
        out = compiled(*passed(case, bare(case)), ndrange=case.ndrange, group=case.group)
    case.check(arrays(out))
    assert case.prints in capsys.readouterr().out

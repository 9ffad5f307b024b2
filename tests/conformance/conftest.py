"""Fixtures of the tests of the conformance runner."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from portarray_conformance import Case, Target, module_target
from portarray_conformance.cases import Check
from portarray_conformance.run import Result, Status


@pytest.fixture(scope="session")
def strict() -> Target:
    return module_target("array_api_strict")


@pytest.fixture
def make_case() -> Callable[..., Case]:
    def make(check: Check, function: str = "sin", aspect: str = "values") -> Case:
        return Case(function=function, category="trigonometric", aspect=aspect, check=check)

    return make


@pytest.fixture
def make_result() -> Callable[..., Result]:
    def make(status: Status = "passed", **fields: object) -> Result:
        values: dict[str, object] = {
            "function": "sin",
            "category": "trigonometric",
            "aspect": "values",
            "target": "numpy:cpu:0",
            "served": "native",
            "status": status,
            "seconds": 0.25,
            "examples": 50,
        }
        return Result(**(values | fields))  # type: ignore[arg-type]

    return make

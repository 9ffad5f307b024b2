"""Vmapped programs: equal to those of each example, and planted differences are found."""

from __future__ import annotations

import os
from typing import Any

import pytest
from portarray_conformance.programs.vmapped import VmappedPrograms, run_vmapped
from portarray_conformance.target import portarray_target

from portarray._transforms import batching
from portarray._transforms import vmap as vmapping

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

MANY = "PORTARRAY_TEST_FULL" in os.environ


def test_vmapped_programs_are_those_of_each_example(device: str, monkeypatch: Any) -> None:
    """``PORTARRAY_TEST_FULL=1`` draws 5,000 programs in all."""
    library = device.partition(":")[0]
    if not MANY and library != "numpy":
        pytest.skip("PORTARRAY_TEST_FULL=1 draws programs for the other libraries")
    looped = vmapping.looped

    def counted(call: Any, args: Any, options: Any) -> Any:
        assert call.name not in batching.RULES, "the rule returns another shape or dtype"
        return looped(call, args, options)

    monkeypatch.setattr(vmapping, "looped", counted)  # where a rule returns something else
    count = {"numpy": 2500, "torch": 1000, "clarray": 600}.get(library, 300) if MANY else 40
    results = run_vmapped(portarray_target(device), count, 0)
    failed = [f"{x.function}: {x.message}\n{x.example}" for x in results if x.status == "failed"]
    assert not failed, "\n\n".join(failed)
    assert sum(result.examples for result in results) > 3 * count


@pytest.mark.parametrize(
    ("name", "call"), [("sum", "sum(a, axis=0)"), ("permute_dims", "permute_dims(a, (1, 0))")]
)
def test_a_wrong_rule_is_found(name: str, call: str, monkeypatch: Any) -> None:
    def swapped(call: Any, args: Any, options: Any) -> Any:
        rows = batching.looped(call, args, options)[0]
        return rows[:, ::-1]

    monkeypatch.setitem(vmapping.RULES, name, swapped)
    monkeypatch.delitem(batching.DIRECT, name, raising=False)  # which comes first
    target = portarray_target("numpy")
    program = ("a = xp.asarray([[1.0, 2.0], [3.0, 5.0]])", f"b = xp.{call}", "c = b + 1")
    with target.scope():
        difference = VmappedPrograms.on(target).find(program)
    assert difference is not None
    assert (difference.function, difference.kind) == (name, "value")

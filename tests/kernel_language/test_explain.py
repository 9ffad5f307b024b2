"""What ``kernel.explain`` says, held against what calls do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_helpers import require_launcher

import portarray as pa
import portarray.kernel_language as kl
from portarray.errors import DeviceMismatchError, KernelSyntaxError

SCALE = 0.5
OFFSETS = (1, 2)


@pa.kernel.function
def shifted(v: Any) -> Any:
    return v + OFFSETS[1]


@pa.kernel(static=("n",))
def explained(y: Any, a: Any, x: Any, k: Any, n: Any, dtype: Any) -> None:
    i, j = kl.index()
    shared = kl.local((n, 4), dtype)
    shared[kl.local_index(0) % n, 0] = a
    y[i, j] = shifted(SCALE * x[i, j]) + k


@pa.kernel
def counted(y: Any) -> None:
    y[0] = kl.index() + kl.index()


@pytest.fixture
def target(device: str) -> pa.Device:
    return require_launcher(device)


def test_explained(target: pa.Device) -> None:
    host = np.arange(60, dtype=np.float32).reshape(6, 10)
    x = pa.asarray(host, device=target)[:, ::2]
    y = pa.zeros((6, 5), dtype=pa.float32, device=target)
    arguments = (y, 2.0, x, 3, np.int64(2), pa.float32)
    plan = explained.explain(*arguments, group=(2, 3))
    np.testing.assert_array_equal(np.asarray(y), 0)
    assert (plan.kernel, plan.device) == ("explained", str(target))
    assert (plan.ndrange, plan.group, plan.rounded) == ((6, 5), (2, 3), (6, 6))
    launcher = target._backend.launcher(target.native)
    assert (plan.computes, plan.dialect) == (launcher.name, launcher.dialect)
    assert (plan.index_bits, plan.local_memory) == (32, 32)
    assert plan.constants == {"SCALE": 0.5, "OFFSETS": (1, 2)}
    result = {
        parameter.name: (parameter.role, parameter.type.partition(",")[0])
        for parameter in plan.parameters
    }
    default = str(pa.result_type(pa.asarray(1.0, device=target), 1.0))
    assert result == {
        "y": ("written", "float32"),
        "a": ("value", default),
        "x": ("read", "float32"),
        "k": ("value", "int32"),
        "n": ("static", "2"),
        "dtype": ("static", repr(pa.float32)),
    }
    got = explained(*arguments, group=(2, 3))
    np.testing.assert_array_equal(np.asarray(got), host[:, ::2] / 2 + 5)
    assert bool(plan.parameters[0].copied) == (got is not y)
    again = explained.explain(*arguments, group=(2, 3))
    assert again.program == "in memory"
    text = str(again)
    assert text.splitlines()[0] == f"explained on {target}"
    for part in ("(6, 5) in groups of (2, 3), launched as (6, 6)", "32 bits", "SCALE = 0.5"):
        assert part in text
    with pa.config(kernel_debug=True):
        assert "interpreter" in explained.explain(*arguments).program
    empty = explained.explain(y[:0], 2.0, x[:0], 3, 2, pa.float32)
    assert (empty.ndrange, empty.group) == ((0, 5), ())
    assert "nothing is launched" in str(empty)


def test_wide_indices(target: pa.Device) -> None:
    """Sums of two places fit their type, however many work-items there are."""
    y = pa.zeros(1, dtype=pa.float32, device=target)
    for size, bits in ((2**30 - 1, 32), (2**30, 64), (2**31 - 1, 64)):
        plan = counted.explain(y, ndrange=size)
        assert plan.index_bits == bits
        assert size <= plan.rounded[0] <= 2**31


def test_read_only_arrays_are_copied() -> None:
    require_launcher("numpy")
    y = pa.asarray(np.zeros(3, np.float32), device="numpy", copy=False)
    host = np.zeros(3, np.float32)
    host.flags.writeable = False
    locked = pa.asarray(host, device="numpy", copy=False)
    assert counted.explain(locked, ndrange=1).parameters[0].copied == "it is read-only"
    assert counted.explain(y, ndrange=1).parameters[0].copied == ""


def test_explain_raises_the_errors_of_a_call(target: pa.Device) -> None:
    y = pa.zeros((3, 3), dtype=pa.int32, device=target)
    with pytest.raises(TypeError, match="no argument is an array"):
        counted.explain(1)
    with pytest.raises(ValueError, match="positive"):
        counted.explain(y, ndrange=0)
    with pytest.raises(KernelSyntaxError):
        explained.explain(y, 1.0, y, 1, 2, pa.int32)
    second = pa.zeros(3, device="numpy")
    if second.device is not y.device:
        with pytest.raises(DeviceMismatchError):
            explained.explain(y, 1.0, second, 1, 2, pa.int32)

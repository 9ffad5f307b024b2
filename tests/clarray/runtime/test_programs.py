from __future__ import annotations

import numpy as np
import pytest

from portarray.clarray.array import empty
from portarray.clarray.engine.transfer import to_numpy
from portarray.clarray.errors import KernelError
from portarray.clarray.runtime.device import Device

FILL = """__kernel void fill(__global int *o, int value) {
    o[get_global_id(0)] = value;
}
"""


def test_a_kernel_is_built_and_runs(device: Device) -> None:
    out = empty((1000,), np.dtype(np.int32), device)
    device.kernel(FILL, "fill", 1, [np.int32]).launch((1000,), None, (out.storage,), 7)
    assert (to_numpy(out) == 7).all()


def test_a_kernel_that_does_not_build_says_its_name_and_the_log(device: Device) -> None:
    with pytest.raises(KernelError, match="undeclared") as caught:
        device.kernel("__kernel void broken(__global int *o) { o[0] = missing; }", "broken", 1)
    assert caught.value.kernel == "broken"
    assert "missing" in caught.value.log

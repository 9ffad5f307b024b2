"""Processes forked from one in which devices are open: a clear error, and nothing that hangs."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from portarray._opencl.device import Device

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")

PROGRAM = """
import os, sys
import numpy as np
from portarray import clarray as cl

device = cl.devices()[{index}]
x = cl.asarray(np.arange(1000.0), device=device)
device.finish()
pending = x + 1 if {pending} else None
child = os.fork()
if child:
    ended = os.waitpid(child, 0)[1]
    assert (x + 1).tolist()[-1] == 1000.0  # the parent goes on
    sys.exit(os.waitstatus_to_exitcode(ended))

refused = []
for attempt in (
    lambda: x + 1,
    lambda: cl.asarray(np.arange(5.0), device=device, copy=None) * 2,
    lambda: cl.zeros(1 << 22, device=device),
    lambda: np.asarray(pending) if {pending} else None,
):
    try:
        attempt()
    except cl.DeviceNotFunctionalError as error:
        assert "before this process was forked" in str(error) and "spawn" in str(error)
        refused.append(True)
    else:
        refused.append(False)
assert refused == [True, True, True, {pending}], refused
if not {pending}:
    assert np.asarray(x)[-1] == 999.0  # what was computed before is there
    values = np.asarray(x).copy()
    del x
os._exit(7)
"""


@pytest.mark.parametrize("pending", [False, True])
def test_a_forked_process_gets_an_error(device: Device, pending: bool) -> None:
    if not device.host_memory:
        pytest.skip("the program opens devices of its own")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM.format(index=device.index, pending=pending)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (7, "")

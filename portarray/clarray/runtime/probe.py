"""Checks that a device works: a kernel is built for it, runs, and gives the right result.

Some drivers crash the process instead of failing, such as a PoCL that does not know the CPU. Before
the first use of a driver's version it is therefore tried in a child process, and the verdict is
cached on disk; later processes only load and run one small program.

Run as a program, it tries one device and prints why it does not work, or nothing::

    python -m portarray.clarray.runtime.probe PLATFORM DEVICE
"""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyopencl as cl

from portarray import _atomic_files
from portarray._opencl.folders import cache_folder, write
from portarray._opencl.processor import processor
from portarray.clarray.runtime import discovery
from portarray.clarray.runtime.device import Device

TIMEOUT = 120.0
"""Seconds until a trial counts as hanging."""

WORKS = "it works"
"""The verdict on a driver that did not crash."""

_FAULT = re.compile(r"it (crashes|hangs): .*; remove .* to try again", re.DOTALL)
"""The verdict on a driver that did."""

_FROM_OUTSIDE = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")
"""Signals that are not the driver's fault: from the system, short of memory, or a user."""

_SOURCE = """
__kernel void probe(__global int *o, const __global int *a, int value) {
    const long i = get_global_id(0);
    o[i] = a[i] * a[i] + value;
}
"""


def check(device: Device) -> str:
    """Run a kernel on a device in this process; return what is wrong, or an empty string."""
    given = np.arange(64, dtype=np.int32)
    found = np.zeros_like(given)
    try:
        a, o = device.pool.take(given.nbytes), device.pool.take(given.nbytes)
        with device.lock:
            cl.enqueue_copy(device.queue, a.buffer, given)
        kernel = device.kernel(_SOURCE, "probe", 2, [np.int32])
        kernel.launch((64,), (16,), (o, a), 5)
        device.finish()
        with device.lock:
            cl.enqueue_copy(device.queue, found, o.buffer)
    except Exception as error:  # noqa: BLE001 - a driver may raise anything; it is returned
        return reason_of(error)
    wrong = np.flatnonzero(found != given * given + 5)
    if wrong.size:
        at = int(wrong[0])
        return (
            f"it computes wrongly: x * x + 5 for x = {given[at]} gave {found[at]}, "
            f"not {given[at] ** 2 + 5}"
        )
    return ""


def reason_of(error: BaseException) -> str:
    """Return an error's text as one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def refusals_of(natives: list[cl.Device]) -> list[str]:
    """Return why devices do not work, trying unknown drivers in child processes."""
    files = [verdict_file(native) for native in natives]
    known = [_read(file) for file in files]
    children: dict[int, subprocess.Popen[str]] = {}
    for number, (native, file, verdict) in enumerate(zip(natives, files, known, strict=True)):
        # If no verdict can be written, every process would spend seconds on trials.
        if verdict is None and sys.executable and write(file, b""):
            child = _start(native)
            if child is not None:
                children[number] = child
    for number, child in children.items():
        verdict = _outcome(child)
        if verdict is None:
            continue
        file = files[number]
        # Errors may be transient; only crashes and hangs are recorded.
        crashed = verdict.startswith(("it crashes", "it hangs"))
        if crashed:
            verdict = f"{verdict}; remove {file} to try again"
        write(file, (verdict if crashed else WORKS).encode())
        known[number] = verdict if crashed else WORKS
    return ["" if verdict in (None, WORKS) else str(verdict) for verdict in known]


def begin_here(native: cl.Device) -> bool:
    """Tell whether a driver is tried in this process first, and leave a mark that it is.

    Intel's driver for CPUs knows every CPU that it accepts, and a child process takes longer than
    everything else that a first kernel needs. A process that ends on the way leaves the mark: the
    next one tries the driver in a child.
    """
    if not native.type & cl.device_type.CPU or "Intel" not in native.platform.name:
        return False
    file = verdict_file(native)
    return not file.exists() and write(file, b"")


def passed(native: cl.Device) -> None:
    """Record that a driver works, which was tried in this process."""
    write(verdict_file(native), WORKS.encode())


def verdict_file(native: cl.Device) -> Path:
    """Return the file with the verdict on a device and this version of its driver."""
    platform = native.platform
    versions = (platform.version, native.driver_version, processor())
    parts = (platform.name, native.name, *versions, sys.prefix)
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]
    return cache_folder("verdicts") / f"{key}.txt"


def _read(file: Path) -> str | None:
    """Return a verdict; None where there is none, or no whole one."""
    try:
        verdict = _atomic_files.read(file).decode()
    except (OSError, UnicodeDecodeError):
        return None
    return verdict if verdict == WORKS or _FAULT.fullmatch(verdict) else None


def _start(native: cl.Device) -> subprocess.Popen[str] | None:
    command = [sys.executable, "-m", __name__, native.platform.name.strip(), native.name.strip()]
    # The child must import from the same paths, with or without PYTHONPATH.
    paths = os.pathsep.join(path for path in sys.path if path)
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env={**os.environ, "PYTHONPATH": paths},
        )
    except OSError:  # no more processes: the device is checked in this one only
        return None


def _outcome(child: subprocess.Popen[str]) -> str | None:
    """Return what was wrong in a trial, or an empty string; None if it has no verdict."""
    try:
        said, complained = child.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        return f"it hangs: a kernel did not run within {TIMEOUT:g} s in a process of its own"
    if child.returncode == 0:
        return ""
    if child.returncode == 1:
        # Without output it did not reach the device: that Python cannot import clarray.
        return said.strip().splitlines()[-1] if said.strip() else None
    if child.returncode < 0:
        try:
            how = signal.Signals(-child.returncode).name
        except ValueError:
            how = f"signal {-child.returncode}"
        if how in _FROM_OUTSIDE:
            return None
        return f"it crashes: a kernel in a process of its own ended that by {how}"
    last = (complained.strip().splitlines() or ["it said nothing"])[-1]
    return f"it crashes: a process of its own ended with status {child.returncode}: {last}"


def main(arguments: list[str]) -> int:
    """Check the device with given names of platform and device."""
    platform, name = arguments
    for native in discovery.candidates():
        if (native.platform.name.strip(), native.name.strip()) == (platform, name):
            try:
                reason = check(Device(native, 0))
            except Exception as error:  # noqa: BLE001 - as in `check`
                reason = reason_of(error)
            sys.stdout.write(f"{reason}\n" if reason else "")
            return 1 if reason else 0
    sys.stdout.write(f"there is no device {name} on {platform}\n")
    return 1


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stdout.flush()
    # Some drivers crash when they are unloaded, which does not matter here.
    os._exit(status)

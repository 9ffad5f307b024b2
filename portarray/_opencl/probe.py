"""Check that a device works: build a kernel, run it and compare its result.

Some drivers crash the process instead of failing, such as a PoCL that does not know the CPU. The
first use of a driver version therefore happens in a child process, and the verdict is cached on
disk; later processes only load and run one small program.

Run as a program, it checks one device and prints why it does not work, or nothing::

    python -m portarray._opencl.probe PLATFORM DEVICE
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
from portarray._opencl import discovery
from portarray._opencl.device import Device
from portarray._opencl.folders import cache_folder, write
from portarray._opencl.processor import processor

TIMEOUT = 120.0
"""Seconds after which a check counts as hanging."""

WORKS = "it works"
"""The verdict on a driver that did not crash."""

_FAULT = re.compile(r"it (crashes|hangs): .*; remove .* to try again", re.DOTALL)
"""The verdict on a driver that crashed."""

_EXTERNAL_SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT", "SIGHUP")
"""Signals from a system out of memory or a user: not the driver's fault."""

_SOURCE = """
__kernel void probe(__global int *o, const __global int *a, int value) {
    const long i = get_global_id(0);
    o[i] = a[i] * a[i] + value;
}
"""


def check(device: Device) -> str:
    """Run a kernel on a device in this process; return what is wrong, or an empty string."""
    x = np.arange(64, dtype=np.int32)
    result = np.zeros_like(x)
    try:
        a, o = device.pool.take(x.nbytes), device.pool.take(x.nbytes)
        with device.lock:
            cl.enqueue_copy(device.queue, a.buffer, x)
        kernel = device.kernel(_SOURCE, "probe", 2, [np.int32])
        kernel.launch((64,), (16,), (o, a), 5)
        device.finish()
        with device.lock:
            cl.enqueue_copy(device.queue, result, o.buffer)
    except Exception as error:  # noqa: BLE001 - a driver may raise anything; it is returned
        return reason_of(error)
    wrong = np.flatnonzero(result != x * x + 5)
    if wrong.size:
        i = int(wrong[0])
        return f"it computes wrong results: x * x + 5 for x = {i} gave {result[i]}, not {i * i + 5}"
    return ""


def reason_of(error: BaseException) -> str:
    """Return an error's text as one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())


def refusals_of(natives: list[cl.Device]) -> list[str]:
    """Return why devices do not work, trying unknown drivers in child processes."""
    files = [verdict_file(native) for native in natives]
    verdicts = [_read(file) for file in files]
    children: dict[int, subprocess.Popen[str]] = {}
    for index, (native, file) in enumerate(zip(natives, files, strict=True)):
        # If no verdict can be written, every process would spend seconds on checks.
        if verdicts[index] is None and sys.executable and write(file, b""):
            child = _start(native)
            if child is not None:
                children[index] = child
    for index, child in children.items():
        outcome = _outcome(child)
        if outcome is None:
            continue
        file = files[index]
        verdict = WORKS
        # Other errors may be transient; only crashes and hangs are recorded.
        if outcome.startswith(("it crashes", "it hangs")):
            verdict = f"{outcome}; remove {file} to try again"
        write(file, verdict.encode())
        verdicts[index] = verdict
    return ["" if verdict in (None, WORKS) else str(verdict) for verdict in verdicts]


def begin_in_process(native: cl.Device) -> bool:
    """Return whether to check a driver in this process first; if so, leave a mark on disk.

    Intel's CPU driver knows every CPU that it accepts, and a child process takes longer than
    everything else that a first kernel needs. If this process crashes, the mark remains, and the
    next process checks the driver in a child.
    """
    if not native.type & cl.device_type.CPU or "Intel" not in native.platform.name:
        return False
    file = verdict_file(native)
    return not file.exists() and write(file, b"")


def record_success(native: cl.Device) -> None:
    """Record that a driver works that was checked in this process."""
    write(verdict_file(native), WORKS.encode())


def verdict_file(native: cl.Device) -> Path:
    """Return the file with the verdict on a device and this version of its driver."""
    platform = native.platform
    versions = (platform.version, native.driver_version, processor())
    parts = (platform.name, native.name, *versions, sys.prefix)
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]
    return cache_folder("verdicts") / f"{key}.txt"


def _read(file: Path) -> str | None:
    """Return a verdict; None if it is missing or damaged."""
    try:
        verdict = _atomic_files.read(file).decode()
    except (OSError, UnicodeDecodeError):
        return None
    return verdict if verdict == WORKS or _FAULT.fullmatch(verdict) else None


def _start(native: cl.Device) -> subprocess.Popen[str] | None:
    command = [sys.executable, "-m", __name__, native.platform.name.strip(), native.name.strip()]
    # The child must import from the same paths as this process.
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
    except OSError:  # no more processes: the device is checked only in this one
        return None


def _outcome(child: subprocess.Popen[str]) -> str | None:
    """Return what is wrong, or an empty string; None if the child did not check the device."""
    try:
        output, errors = child.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        return f"it hangs: a kernel did not run within {TIMEOUT:g} s in a child process"
    if child.returncode == 0:
        return ""
    if child.returncode == 1:
        # Without output it did not reach the device: its Python cannot import this module.
        return output.strip().splitlines()[-1] if output.strip() else None
    if child.returncode < 0:
        try:
            name = signal.Signals(-child.returncode).name
        except ValueError:
            name = f"signal {-child.returncode}"
        if name in _EXTERNAL_SIGNALS:
            return None
        return f"it crashes: a kernel ended its child process with {name}"
    last_line = (errors.strip().splitlines() or ["without output"])[-1]
    return f"it crashes: a child process exited with status {child.returncode}: {last_line}"


def main(arguments: list[str]) -> int:
    """Check the device with these names of platform and device."""
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
    # Some drivers crash when unloaded, which does not matter here.
    os._exit(status)

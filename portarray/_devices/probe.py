"""Probing: make an array on a device, compute with it and read it back.

Run as a program to probe in a separate process, for devices that may crash it::

    python -m portarray._devices.probe torch:cuda:0

It prints why the device does not function, or nothing, and ends with status 1 or 0.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Literal, get_args

import numpy as np

from portarray._dispatch import native_functions
from portarray.backends import registry
from portarray.backends.base import Backend
from portarray.errors import PortarrayError

__all__ = ["Step", "compute", "in_child", "main", "reason_of"]

Step = Literal["load", "count", "compute"]
"""How far a probe goes: import the library, count its devices, compute on one."""

TIMEOUT = 120.0
"""Seconds a child process may take, the driver's first kernel compilations included."""


def compute(backend: Backend, platform: str, index: int) -> str:
    """Compute on a device and check the result.

    Returns
    -------
    str
        Why the device does not function, or an empty string.
    """
    try:
        native = backend.native_device(platform, index)
        dtypes = backend.dtypes(platform, index)
        dtype = next((np.dtype(d) for d in ("float32", "int32") if np.dtype(d) in dtypes), None)
        if dtype is None:
            return "it does not have float32 or int32"
        operand = np.asarray([1, 2, 3, 4], dtype=dtype)
        functions = native_functions.NativeFunctions(backend, native)
        add, multiply = (functions.resolve(name, dtype)[0] for name in ("add", "multiply"))
        with backend.eager(), backend.scope(native) or contextlib.nullcontext():
            x = backend.from_host(operand, native, copy=True)
            y = add(multiply(x, x), x)
            backend.synchronize(native)
            computed = np.array(backend.to_host(y, copy=True))
            backend.memory(native)  # listing devices needs it
    except Exception as error:  # noqa: BLE001 - a driver may raise anything; its reason is returned
        return reason_of(error)
    expected = operand * operand + operand
    if computed.dtype != dtype or computed.tolist() != expected.tolist():
        return (
            f"it computes wrong results: x * x + x for x = {operand.tolist()} in {dtype} "
            f"gave {computed.tolist()} in {computed.dtype}"
        )
    return ""


def reason_of(error: BaseException) -> str:
    """Return an error of a library as one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def in_child(library: str, platform: str, index: int, step: Step) -> str:
    """Run a probe in a child process and return why it failed, or an empty string."""
    import signal  # lazy: these take milliseconds, and most processes start no child
    import subprocess

    if not sys.executable:
        return "it crashed or hung an earlier process, and there is no Python to try it in"
    name = f"{library}:{platform}:{index}"
    command = [sys.executable, "-m", __name__, name, "--step", step]
    if not registry.package_of(library).startswith(f"{registry.__name__.rpartition('.')[0]}."):
        command += ["--backend", registry.package_of(library)]
    # The child must find the same modules as this process.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT,
            env=environment,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"it hangs: a child process did not finish in {TIMEOUT:g} s"
    except OSError as error:
        return (
            f"it crashed or hung an earlier process, and no child process could be started: {error}"
        )
    if done.returncode == 0:
        return ""
    if done.returncode < 0:
        try:
            how = signal.Signals(-done.returncode).name
        except ValueError:
            how = f"signal {-done.returncode}"
        return f"it crashes: a child process was killed by {how}"
    said = done.stdout.strip().splitlines()
    if done.returncode == 1 and said:
        return said[-1]
    last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
    return f"it crashes: a child process ended with status {done.returncode}: {last}"


def main(arguments: list[str] | None = None) -> int:
    """Probe one device in this process; see the module's text."""
    import argparse  # lazy, as above

    parser = argparse.ArgumentParser(prog="portarray._devices.probe", description=__doc__)
    parser.add_argument("device", help="library:platform:index")
    parser.add_argument("--step", choices=get_args(Step), default="compute")
    parser.add_argument(
        "--backend", help="package of a backend that is neither built in nor a plugin"
    )
    options = parser.parse_args(arguments)
    library, _, platform_text = options.device.partition(":")
    platform, _, index = platform_text.partition(":")
    reason = _probe(library, platform, int(index or 0), options.step, options.backend)
    sys.stdout.write(f"{reason}\n" if reason else "")
    return 1 if reason else 0


def _probe(library: str, platform: str, index: int, step: Step, package: str | None) -> str:
    try:
        if package is not None:
            registry.add_backend(package)
        if registry.find_info(library) is None:
            return f"unknown library {library!r}"
        if step == "load":
            registry.load_backend(library)
            return ""
        backend = registry.load_backend(library)
        count = backend.count(platform)
        if step == "count":
            return ""
        if index >= count:
            there = f"there {'is 1 device' if count == 1 else f'are {count} devices'}"
            return backend.reason_unsupported(platform) if count == 0 else there
        return compute(backend, platform, index)
    except PortarrayError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - as in `compute`
        return reason_of(error)


if __name__ == "__main__":
    sys.exit(main())

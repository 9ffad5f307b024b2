"""Launchers for arrays in host memory: OpenCL's CPU runtime computes in the memory of any library.

The device is the first of clarray's that takes addresses of the process, so that compiled programs
and their cache on disk are clarray's. OpenCL is imported when a kernel is run first. Where no such
device is found, a C compiler makes the programs, and they are called through cffi.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from portarray._installation import pip_install
from portarray._launchers.launcher import Launch, Launcher, Layout, Program, Range

if TYPE_CHECKING:
    from portarray._opencl.recording import Recorder

__all__ = ["OverHost", "host_launcher", "log_of"]

_WANTED = "kernels in host memory run through OpenCL's CPU runtime"


def host_launcher(address: Callable[[Any], int] | None = None) -> Launcher | str:
    """Return a launcher for arrays in host memory, or the reason why there is none.

    Through OpenCL, else through a C compiler.

    Parameters
    ----------
    address : callable, optional
        Returns the address of a native array's first element; by default arrays are NumPy's.
    """
    launcher = _through_opencl(address)
    if not isinstance(launcher, str):
        return launcher
    instead = _through_c(address)
    if not isinstance(instead, str):
        return instead
    fix = pip_install("portarray[opencl]")
    return f"{_WANTED}{launcher}, or through a C compiler ({instead})\nHint: {fix}"


def _through_opencl(address: Callable[[Any], int] | None) -> Launcher | str:
    if importlib.util.find_spec("pyopencl") is None:
        return ""
    try:
        from portarray._launchers import opencl
    except ImportError as error:  # of pyopencl: without the system's loader, for one
        return f" (pyopencl cannot be imported: {error.__cause__ or error})"
    launcher = opencl.host_launcher(address)
    return f" ({launcher})" if isinstance(launcher, str) else launcher


def _through_c(address: Callable[[Any], int] | None) -> Launcher | str:
    if importlib.util.find_spec("cffi") is None:
        return f"cffi is missing: {pip_install('portarray[c]')}"
    try:
        from portarray._launchers import c
    except ImportError as error:
        return f"cffi cannot be imported: {error}"
    return c.host_launcher(address)


def log_of(program: Program) -> str:
    """Return what the CPU's compiler says of a program; for libraries that do not pass it on."""
    if importlib.util.find_spec("pyopencl") is None:
        return ""
    from portarray._launchers import opencl

    return opencl.log_of(program)


class OverHost:
    """Base of launchers that use the host's: its properties, and no ``build``."""

    immutable = False

    def __init__(self, host: Launcher) -> None:
        self._host = host
        self.name = host.name
        self.max_sizes = host.max_sizes
        self.max_groups = host.max_groups
        self.dialect = host.dialect
        self.offsets = host.offsets
        self.float64 = host.float64
        self.atomics64 = host.atomics64
        self.max_group = host.max_group
        self.local_memory = host.local_memory

    def group(self, ndrange: Range) -> Range:
        """Return a fast group size."""
        return self._host.group(ndrange)

    def writable(self, x: Any) -> Any:
        """Return the array."""
        return x

    def copied(self, x: Any, *, written: bool) -> str:
        """Return why an array is copied."""
        return ""

    def address(self, x: Any) -> tuple[Hashable, int]:
        """Return where an array's first element is."""
        return self._host.address(x)

    def origin(self, program: Program) -> str:
        """Return where building takes a program from."""
        return self._host.origin(program)

    def build(self, program: Program) -> Launch:
        """Compile a program and return what runs its kernel."""
        return self._host.build(program)

    def recorder(
        self, layout: Callable[[Any], Layout], array_type: type, new: Callable[[Any], Any]
    ) -> Recorder | None:
        """Return a recorder of launches, None if the host's launcher has none.

        ``new`` returns a new array like another one, in C order.
        """
        recorder = getattr(self._host, "recorder", None)
        made: Recorder | None = None if recorder is None else recorder(layout, array_type, new)
        return made

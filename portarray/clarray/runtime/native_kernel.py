"""Kernels from pyopencl without what it keeps of them on disk.

For each kernel's name and number of arguments pyopencl writes Python code that sets them, and keeps
it in a database in the user's cache folder. Reading that takes longer than writing the code anew,
writing to it ten times as long, and where the folder cannot be written no kernel can be made at
all. clarray sets arguments below that code, and so does without.
"""

from __future__ import annotations

import os
import threading

import platformdirs
import pyopencl as cl

_lock = threading.Lock()


def _open_cache() -> None:
    """Import the module with the database, which cannot be imported where that cannot be."""
    folder = platformdirs.user_cache_path("pytools", "pytools")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        usable = os.access(folder, os.W_OK)
    except OSError:
        usable = False
    if not usable:
        cl._PYOPENCL_NO_CACHE = True  # as if the user had set the variable of that name
    import pyopencl.invoker  # noqa: F401 - after the line above


def native_kernel(program: cl._cl._Program, name: str) -> cl.Kernel:
    """Return a kernel of a program that was built."""
    # The setting is pyopencl's for the whole process. Another thread's kernels that are made in
    # this moment are made without the database too, and work.
    with _lock:
        before = cl._PYOPENCL_NO_CACHE
        cl._PYOPENCL_NO_CACHE = True
        try:
            return cl.Kernel(program, name)
        finally:
            cl._PYOPENCL_NO_CACHE = before


_open_cache()

"""pyopencl kernels without its cache on disk.

pyopencl generates Python code that sets a kernel's arguments, and caches it in a database. Reading
the database takes longer than generating the code, and writing ten times as long. Without a
writable cache folder, pyopencl creates no kernels. The launchers here need no generated code.
"""

from __future__ import annotations

import os
import threading

import platformdirs
import pyopencl as cl

_lock = threading.Lock()


def _open_cache() -> None:
    """Import the module that opens the database; importing fails if the folder is not writable."""
    folder = platformdirs.user_cache_path("pytools", "pytools")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_writable = os.access(folder, os.W_OK)
    except OSError:
        is_writable = False
    if not is_writable:
        cl._PYOPENCL_NO_CACHE = True  # as the environment variable of that name
    import pyopencl.invoker  # noqa: F401 - after the line above


def native_kernel(program: cl._cl._Program, name: str) -> cl.Kernel:
    """Return a kernel of a built program."""
    # The setting is global to the process; kernels that another thread creates meanwhile do not use
    # the database either, and work.
    with _lock:
        previous = cl._PYOPENCL_NO_CACHE
        cl._PYOPENCL_NO_CACHE = True
        try:
            return cl.Kernel(program, name)
        finally:
            cl._PYOPENCL_NO_CACHE = previous


_open_cache()

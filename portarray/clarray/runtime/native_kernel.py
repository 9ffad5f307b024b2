"""pyopencl kernels without its cache on disk.

pyopencl generates Python code that sets a kernel's arguments, and caches it in a database. Reading
the database takes longer than generating the code, writing ten times as long, and without a
writable cache folder it makes no kernels. clarray sets arguments below that code and needs none.
"""

from __future__ import annotations

import os
import threading

import platformdirs
import pyopencl as cl

_lock = threading.Lock()


def _open_cache() -> None:
    """Import the module that opens the database; it fails where the folder is not writable."""
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
    """Return a kernel of a built program."""
    # The setting is global to the process; kernels that another thread makes meanwhile lack the
    # database too, and work.
    with _lock:
        before = cl._PYOPENCL_NO_CACHE
        cl._PYOPENCL_NO_CACHE = True
        try:
            return cl.Kernel(program, name)
        finally:
            cl._PYOPENCL_NO_CACHE = before


_open_cache()

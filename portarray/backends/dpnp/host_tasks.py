"""More threads for SYCL's host tasks; imported before dpnp, as SYCL reads the setting then.

On CPUs oneMKL waits for host tasks while its caller holds the GIL, and SYCL's few threads for them
may all be waiting for the GIL, to release operands of other calls (``keep_args_alive`` of
https://github.com/IntelPython/dpctl/blob/master/dpctl/apis/include/dpctl4pybind11.hpp): a deadlock,
which more threads make less likely.
"""

from __future__ import annotations

import os

__all__: list[str] = []

THREADS = "64"

os.environ.setdefault("SYCL_QUEUE_THREAD_POOL_SIZE", THREADS)

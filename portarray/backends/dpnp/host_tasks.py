"""More threads for SYCL's tasks on the host; imported before dpnp, when SYCL reads how many.

On CPUs oneMKL waits for such tasks while its caller holds Python's lock, and the few threads that
SYCL has for them may all be waiting for that lock, to release operands of other calls
(``keep_args_alive`` of
https://github.com/IntelPython/dpctl/blob/master/dpctl/apis/include/dpctl4pybind11.hpp): a deadlock,
which needs more calls at once the more threads there are.
"""

from __future__ import annotations

import os

__all__: list[str] = []

THREADS = "64"

os.environ.setdefault("SYCL_QUEUE_THREAD_POOL_SIZE", THREADS)

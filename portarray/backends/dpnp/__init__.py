"""The dpnp backend: Intel GPUs, and CPUs with Intel's runtime, through SYCL."""

from __future__ import annotations

from portarray.backends.types import BackendInfo, PlatformFacts

INFO = BackendInfo(
    library="dpnp",
    title="dpnp",
    module="dpnp",
    ranks={"oneapi": 10},
    install={"": "portarray[dpnp]"},
    # Since this version arrays are in dpnp (dpnp.tensor) instead of dpctl.
    oldest="0.20",
    facts={"oneapi": PlatformFacts(dlpack=14, host_functions=("linalg.eig", "linalg.eigvals"))},
)

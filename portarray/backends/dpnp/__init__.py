"""The room of dpnp: Intel GPUs, and CPUs with Intel's runtime, through SYCL."""

from portarray.backends.protocol import RoomInfo

INFO = RoomInfo(
    library="dpnp",
    title="dpnp",
    module="dpnp",
    ranks={"oneapi": 10},
    install={"": "portarray[dpnp]"},
    pending="this release has no complete dpnp room yet",
)

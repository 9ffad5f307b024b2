"""A GPU without float64 and complex128, in host memory."""

from portarray.backends.types import BackendInfo

INFO = BackendInfo(
    library="nofloat64",
    title="NoFloat64",
    module="nofloat64",
    ranks={"metal": 900},
    install={"": "nofloat64"},
)

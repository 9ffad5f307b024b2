"""The backend of clarray, portarray's own array library for OpenCL."""

from portarray.backends.types import BackendInfo

INFO = BackendInfo(
    library="clarray",
    title="clarray",
    module="pyopencl",
    ranks={"opencl": 10},
    install={"": "portarray[opencl]"},
)

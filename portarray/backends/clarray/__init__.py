"""The room of clarray, portarray's own array library for OpenCL."""

from portarray.backends.protocol import RoomInfo

INFO = RoomInfo(
    library="clarray",
    title="clarray",
    module="pyopencl",
    ranks={"opencl": 10},
    install={"": "portarray[opencl]"},
)

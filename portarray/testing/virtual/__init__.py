"""The backend of virtual devices: NumPy with the restrictions of real devices.

It is registered inside ``virtual_devices`` blocks, or for the process if the environment variable
``PORTARRAY_VIRTUAL`` is set.
"""

from portarray.backends.types import BackendInfo

INFO = BackendInfo(
    library="virtual",
    title="Virtual devices",
    module="portarray.testing.virtual",
    ranks=dict.fromkeys(("cuda", "rocm", "metal", "oneapi", "opencl", "tpu"), 1000),
    install={"": "portarray"},
    distributions=("portarray",),
    virtual=True,
)

"""The backend of virtual devices: NumPy behind devices that refuse what real ones refuse.

It is registered while there are virtual devices: those of ``virtual_devices`` and those that the
environment variable ``PORTARRAY_VIRTUAL`` names.
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

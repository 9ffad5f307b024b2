"""The NumPy backend: CPUs, always available."""

from portarray.backends.types import BackendInfo

INFO = BackendInfo(
    library="numpy", title="NumPy", module="numpy", ranks={"cpu": 10}, install={"": "numpy"}
)

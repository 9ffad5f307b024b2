"""The NumPy backend: every CPU, always there."""

from portarray.backends.types import BackendInfo

INFO = BackendInfo(
    library="numpy",
    title="NumPy",
    module="numpy",
    ranks={"cpu": 10},
    install={"": "numpy"},
)

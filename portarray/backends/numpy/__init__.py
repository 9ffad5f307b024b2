"""The NumPy backend: every CPU, always there."""

from portarray.backends.protocol import BackendInfo

INFO = BackendInfo(
    library="numpy",
    title="NumPy",
    module="numpy",
    ranks={"cpu": 10},
    install={"": "numpy"},
)

"""The NumPy room: every CPU, always there."""

from portarray.backends.protocol import RoomInfo

INFO = RoomInfo(
    library="numpy",
    title="NumPy",
    module="numpy",
    ranks={"cpu": 10},
    install={"": "numpy"},
)

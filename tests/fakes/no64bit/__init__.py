"""An accelerator without any 64-bit type."""

from portarray.backends.types import BackendInfo

INFO = BackendInfo(
    library="no64bit",
    title="No64Bit",
    module="no64bit",
    ranks={"tpu": 900},
    install={"": "no64bit"},
)

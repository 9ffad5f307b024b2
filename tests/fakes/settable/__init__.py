"""A GPU whose library has 64-bit types as its user's setting says, and arrays of two classes."""

from portarray.backends.types import BackendInfo

INFO = BackendInfo(
    library="settable",
    title="Settable",
    module="settable",
    ranks={"rocm": 900},
    install={"": "settable"},
)

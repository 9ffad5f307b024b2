"""A GPU whose library has arrays of two classes, and 64-bit types by a user's setting."""

from portarray.backends.types import BackendInfo

INFO = BackendInfo(
    library="settable",
    title="Settable",
    module="settable",
    ranks={"rocm": 900},
    install={"": "settable"},
)

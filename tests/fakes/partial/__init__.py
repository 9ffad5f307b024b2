"""A GPU whose library lacks some functions, so that the host serves them."""

from portarray.backends.types import BackendInfo

INFO = BackendInfo(
    library="partial",
    title="Partial",
    module="partial",
    ranks={"oneapi": 900},
    install={"": "partial"},
)

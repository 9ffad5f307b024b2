"""A GPU whose library lacks some functions, so that the host serves them."""

from portarray.backends.protocol import BackendInfo

INFO = BackendInfo(
    library="partial",
    title="Partial",
    module="partial",
    ranks={"oneapi": 900},
    install={"": "partial"},
)

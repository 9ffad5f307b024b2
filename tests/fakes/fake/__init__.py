"""Two GPUs with memory of their own, and a current device."""

from portarray.backends.types import BackendInfo

INFO = BackendInfo(
    library="fake", title="Fake", module="fake", ranks={"cuda": 900}, install={"": "fake"}
)

"""The backend of array-api-strict: a plugin that shows how any library joins portarray."""

from portarray.backends.types import BackendInfo

INFO = BackendInfo(
    library="strict",
    title="array-api-strict",
    module="array_api_strict",
    ranks={"cpu": 1000},  # behind every library that is meant for computing
    install={"": "portarray-strict"},
    distributions=("array-api-strict",),
    oldest="2.6",  # the first with the functions of 2025.12
)

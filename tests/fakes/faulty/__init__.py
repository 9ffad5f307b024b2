"""A GPU whose probe fails as the variable FAULTY says."""

from portarray.backends.types import BackendInfo

INFO = BackendInfo(
    library="faulty", title="Faulty", module="faulty", ranks={"opencl": 900}, install={"": "faulty"}
)

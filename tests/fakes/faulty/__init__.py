"""A GPU whose probe fails according to the variable FAULTY."""

from portarray.backends.types import BackendInfo

INFO = BackendInfo(
    library="faulty", title="Faulty", module="faulty", ranks={"opencl": 900}, install={"": "faulty"}
)

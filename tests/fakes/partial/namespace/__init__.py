from typing import Any

from partial.devices import LIBRARY
from portarray.backends.numpy import namespace as of_numpy

LACKING = ("cos", "sin", "tan", "acos", "asin", "atan2", "sort")
NAMES: dict[str, Any] = LIBRARY.namespace(of_numpy)
globals().update({name: value for name, value in NAMES.items() if name not in LACKING})
del NAMES["linalg"].eigh

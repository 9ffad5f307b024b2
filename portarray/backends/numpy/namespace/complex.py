"""Parts of complex NumPy arrays."""

from __future__ import annotations

import operator

from portarray.backends.types import Rows

BY_DTYPE: Rows = {
    "imag": {"iufc": operator.attrgetter("imag")},
    "real": {"iufc": operator.attrgetter("real")},
}

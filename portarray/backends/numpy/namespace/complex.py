"""Parts of complex NumPy arrays."""

from __future__ import annotations

import operator

from portarray.backends.types import Rows

ROWS: Rows = {
    "imag": {"iufc": operator.attrgetter("imag")},
    "real": {"iufc": operator.attrgetter("real")},
}

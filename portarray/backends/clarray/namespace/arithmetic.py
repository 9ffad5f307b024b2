"""In-place operators of clarray's arrays."""

from __future__ import annotations

import operator

from portarray.backends.types import Rows

IN_PLACE: Rows = {
    "add": {"iufc": operator.iadd},
    "bitwise_and": {"biu": operator.iand},
    "bitwise_left_shift": {"iu": operator.ilshift},
    "bitwise_or": {"biu": operator.ior},
    "bitwise_right_shift": {"iu": operator.irshift},
    "bitwise_xor": {"biu": operator.ixor},
    "divide": {"fc": operator.itruediv},
    "floor_divide": {"iuf": operator.ifloordiv},
    "multiply": {"iufc": operator.imul},
    "pow": {"iufc": operator.ipow},
    "remainder": {"iuf": operator.imod},
    "subtract": {"iufc": operator.isub},
}

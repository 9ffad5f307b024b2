"""Bitwise operations on integer and boolean tensors."""

from __future__ import annotations

import operator

import torch

from portarray.backends.torch.namespace import unsigned
from portarray.backends.torch.namespace.overlap import overlapping
from portarray.backends.torch.namespace.unsigned import modular
from portarray.backends.types import Rows

BY_DTYPE: Rows = {
    "bitwise_and": {"biu": torch.bitwise_and, unsigned.NAMES: modular(torch.bitwise_and)},
    "bitwise_invert": {"biu": torch.bitwise_not, unsigned.NAMES: modular(torch.bitwise_not)},
    "bitwise_left_shift": {
        "iu": torch.bitwise_left_shift,
        unsigned.NAMES: modular(torch.bitwise_left_shift),
    },
    "bitwise_or": {"biu": torch.bitwise_or, unsigned.NAMES: modular(torch.bitwise_or)},
    "bitwise_right_shift": {"iu": torch.bitwise_right_shift, unsigned.NAMES: unsigned.shift_right},
    "bitwise_xor": {"biu": torch.bitwise_xor, unsigned.NAMES: modular(torch.bitwise_xor)},
}
# Operators also accept the scalar first.
WITH_PYTHON_SCALAR: Rows = {
    "bitwise_and": {"bi uint8": operator.and_},
    "bitwise_left_shift": {"i uint8": operator.lshift},
    "bitwise_or": {"bi uint8": operator.or_},
    "bitwise_right_shift": {"i uint8": operator.rshift},
    "bitwise_xor": {"bi uint8": operator.xor},
}
IN_PLACE: Rows = {
    "bitwise_and": {"bi uint8": overlapping("iand")},
    "bitwise_left_shift": {"i uint8": overlapping("ilshift")},
    "bitwise_or": {"bi uint8": overlapping("ior")},
    "bitwise_right_shift": {"i uint8": overlapping("irshift")},
    "bitwise_xor": {"bi uint8": overlapping("ixor")},
}

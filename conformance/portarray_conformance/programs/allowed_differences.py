"""Where targets may differ: the results that a statement does not determine.

Each row is on the page "Where devices may differ"; nothing else is allowed. Values that no
rule determines, such as those of ``empty`` or the signs of singular vectors, are never compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from portarray_conformance.programs.program import Snap
from portarray_conformance.programs.statements import read_statement
from portarray_conformance.target import NumpyArray

# Results, or fields of results, that are not unique. factors.py judges those of decompositions by
# their products.
LOOSE: Mapping[str, frozenset[str]] = {
    "empty": frozenset({"result"}),
    "empty_like": frozenset({"result"}),
    "linalg.svd": frozenset({"U", "Vh"}),
    "linalg.eigh": frozenset({"eigenvectors"}),
    "linalg.eig": frozenset({"eigenvectors", "eigenvalues"}),
    "linalg.eigvals": frozenset({"result"}),
    "linalg.qr": frozenset({"Q", "R"}),
}


def loose_parts(statement: str) -> frozenset[str]:
    """Return which parts of a statement's result are not compared with the reference."""
    return LOOSE.get(read_statement(statement).function, frozenset())


def is_lost_write(message: str) -> bool:
    """Return whether an error refuses a write that would not reach the array behind a copy."""
    return "this array is a copy" in message


@dataclass(frozen=True, slots=True)
class Allowed:
    """The differences allowed for one target, which may take subnormal numbers for zero."""

    flushes: bool = False

    def elements(self, got: Snap, want: Snap) -> NumpyArray:
        """Return the elements that may differ."""
        open_ = np.zeros(want.value.shape, dtype=bool)
        if self.flushes and want.value.dtype.kind in "fc":
            tiny = np.finfo(want.value.dtype).smallest_normal
            with np.errstate(all="ignore"):
                open_ |= (np.abs(want.value) <= tiny) & (np.abs(got.value) <= tiny)
        return open_

"""Where targets may differ: what a statement leaves open, row by row.

Each row stands on the page "Where devices may differ"; nothing else is allowed. Values that no
rule fixes, such as those of ``empty`` or the signs of singular vectors, are left open for all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from portarray_conformance.programs.program import Snap
from portarray_conformance.programs.statements import read_statement

NumpyArray = npt.NDArray[Any]

# Results, or fields of results, of which several are right. Those of decompositions are judged
# by their product with the others: see factors.py.
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
    """Return which parts of a statement's result are no values of the reference's."""
    return LOOSE.get(read_statement(statement).function, frozenset())


class Allowed:
    """The rows, for one target.

    Parameters
    ----------
    flushes
        Whether the target takes subnormal numbers for zero.
    """

    def __init__(self, *, flushes: bool = False) -> None:
        self.flushes = flushes
        self.statement = ""
        self.function = ""
        self.inputs: list[Snap] = []

    def begin(self, statement: str, before: Mapping[str, Snap], after: Mapping[str, Snap]) -> None:
        """Take note of the statement that is judged next, and of the reference's values."""
        self.statement = statement
        known = read_statement(statement)
        self.function = known.function
        self.inputs = [before[name] for name in known.read if name in before]

    def dtype(self, got: Snap, want: Snap) -> bool:
        """Say whether another dtype is allowed."""
        return False

    def value(self, got: Snap, want: Snap) -> bool:
        """Say whether another value that is no array is allowed."""
        return False

    def elements(self, got: Snap, want: Snap) -> NumpyArray:
        """Return the elements that may differ."""
        open_ = np.zeros(want.value.shape, dtype=bool)
        if self.flushes and want.value.dtype.kind in "fc":
            tiny = np.finfo(want.value.dtype).smallest_normal
            with np.errstate(all="ignore"):
                open_ |= (np.abs(want.value) <= tiny) & (np.abs(got.value) <= tiny)
        return open_

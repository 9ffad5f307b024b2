"""The reference for programs, and the options for drawing them."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray_conformance.programs.generator import ProgramOptions
from portarray_conformance.programs.program import Machine
from portarray_conformance.reference import Reference
from portarray_conformance.target import Target

EXTRA_DTYPES = ("float16", "bfloat16")
DEFAULTS = ("real floating", "complex floating", "integral", "indexing")


class NumPyReference:
    """NumPy under portarray's rules, with the dtypes and default dtypes of a target."""

    def __init__(
        self, dtypes: list[str], defaults: dict[str, str], *, strict: bool, subnormals: bool = True
    ) -> None:
        self._dtypes, self._defaults, self._subnormals = dtypes, defaults, subnormals
        self._noisy: dict[int, tuple[Reference, Machine]] = {}
        _, self.exact = self._make(None)
        self.strict_errors = strict

    def _make(self, noise: int | None) -> tuple[Reference, Machine]:
        reference = Reference(
            self._dtypes, self._defaults, noise=noise, views=True, subnormals=self._subnormals
        )
        return reference, Machine(
            reference.xp,
            is_array=reference.is_array,
            to_numpy=reference.to_numpy,
            dtype_name=reference.dtype_name,
            undefined=_undefined,
        )

    def noisy(self, seed: int) -> Machine:
        """Return a reference whose functions perturb their results, each time alike."""
        if seed not in self._noisy:
            self._noisy[seed] = self._make(seed)
        reference, machine = self._noisy[seed]
        reference.restart()
        return machine


def _undefined(x: Any) -> Any:
    marks = x.undefined
    return None if marks is None else marks.copy()


def reference_for(target: Target, options: ProgramOptions) -> NumPyReference:
    """Return the reference for a target."""
    defaults = {kind: target.default(kind) for kind in DEFAULTS}
    return NumPyReference(
        list(options.dtypes), defaults, strict=options.portarray, subnormals=options.subnormal
    )


def options_for(target: Target, machine: Machine, *, subnormal: bool) -> ProgramOptions:
    """Return the options for drawing programs for a target."""
    dtypes = list(target.dtypes())
    ours = not target.label.startswith("module ")
    if ours:
        dtypes += [name for name in EXTRA_DTYPES if _has(machine, name)]
    return ProgramOptions(dtypes, portarray=ours, subnormal=subnormal)


def _has(machine: Machine, name: str) -> bool:
    """Return whether a target of portarray has a dtype beyond the standard's."""
    try:
        machine.xp.ones(1, dtype=getattr(machine.xp, name))
    except (TypeError, AttributeError, ImportError):
        return False
    return True


def flushes(machine: Machine) -> bool:
    """Return whether the target takes subnormal numbers for zero."""
    xp = machine.xp
    tiny = machine.to_numpy(xp.asarray([1e-40, 2e-40], dtype=xp.float32) * 1)
    return not np.all(tiny)

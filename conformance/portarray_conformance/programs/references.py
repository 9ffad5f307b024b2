"""The reference that programs are compared with, and what is drawn for a target."""

from __future__ import annotations

from collections import namedtuple
from functools import cache
from typing import Any

import numpy as np

from portarray_conformance.programs.generator import Rules
from portarray_conformance.programs.program import Machine, Snap
from portarray_conformance.reference import Reference
from portarray_conformance.target import Target

EXTRA_DTYPES = ("float16", "bfloat16")
DEFAULTS = ("real floating", "complex floating", "integral", "indexing")


class NumPyReference:
    """NumPy under portarray's rules, with the dtypes and default dtypes of a target."""

    def __init__(
        self,
        dtypes: list[str],
        defaults: dict[str, str],
        *,
        strict: bool,
        subnormals: bool = True,
    ) -> None:
        self._dtypes, self._defaults, self._subnormals = dtypes, defaults, subnormals
        self._noisy: dict[int, tuple[Reference, Machine]] = {}
        _, self.exact = self._made(None)
        self.strict_errors = strict

    def _made(self, noise: int | None) -> tuple[Reference, Machine]:
        reference = Reference(
            self._dtypes, self._defaults, noise=noise, views=True, subnormals=self._subnormals
        )
        return reference, Machine(
            reference.xp,
            is_array=reference.is_array,
            to_numpy=reference.to_numpy,
            dtype_name=reference.dtype_name,
            unsure=_unsure,
        )

    def noisy(self, seed: int) -> Machine:
        """Return a reference whose functions perturb their results, each time alike."""
        if seed not in self._noisy:
            self._noisy[seed] = self._made(seed)
        reference, machine = self._noisy[seed]
        reference.restart()
        return machine

    def restore(self, machine: Machine, snap: Snap) -> Any:
        """Return a value of the machine's namespace from its snapshot."""
        return restore(machine, snap)


def _unsure(x: Any) -> Any:
    marks = x.unsure
    return None if marks is None else marks.copy()


def restore(machine: Machine, snap: Snap) -> Any:
    """Return a value of the machine's namespace from its snapshot."""
    xp = machine.xp
    if snap.kind == "array":
        value = snap.value
        return xp.asarray(np.array(value, copy=True), dtype=getattr(xp, snap.what))
    if snap.kind == "tuple":
        items = [restore(machine, item) for item in snap.value]
        if snap.what.endswith(")"):
            return _tuple_type(snap.what)(*items)
        return items if snap.what == "list" else tuple(items)
    if snap.kind == "dtype":
        return getattr(xp, snap.value)
    return snap.value


@cache
def _tuple_type(what: str) -> Any:
    """Return a type of named tuples from its text, such as ``"QRResult(Q,R)"``."""
    name, _, fields = what.rstrip(")").partition("(")
    return namedtuple(name, fields.split(","))


def find_reference(target: Target, rules: Rules) -> NumPyReference:
    """Return the reference for a target."""
    defaults = {kind: target.default(kind) for kind in DEFAULTS}
    return NumPyReference(
        list(rules.dtypes), defaults, strict=rules.portarray, subnormals=rules.subnormal
    )


def rules_of(target: Target, machine: Machine, *, subnormal: bool) -> Rules:
    """Return what is drawn for a target."""
    dtypes = list(target.dtypes())
    ours = not target.label.startswith("module ")
    if ours:
        dtypes += [name for name in EXTRA_DTYPES if _has(machine, name)]
    return Rules(dtypes, portarray=ours, subnormal=subnormal)


def _has(machine: Machine, name: str) -> bool:
    """Say whether a target of portarray has a dtype beyond the standard's."""
    try:
        machine.xp.ones(1, dtype=getattr(machine.xp, name))
    except (TypeError, AttributeError, ImportError):
        return False
    return True


def flushes(machine: Machine) -> bool:
    """Say whether the target takes subnormal numbers for zero."""
    xp = machine.xp
    tiny = machine.to_numpy(xp.asarray([1e-40, 2e-40], dtype=xp.float32) * 1)
    return not np.all(tiny)

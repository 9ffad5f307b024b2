"""Checks of differentiable kernels: at their definition, and against differences."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from portarray._array import conversion
from portarray._array.array import Array
from portarray._kernel_language import arguments, tree, types
from portarray._kernel_language.arguments import CallSpec
from portarray._kernel_language.definition import Definition
from portarray._kernel_language.derivatives.adjoint import adjoint_of
from portarray._kernel_language.derivatives.cache import AdjointCache, no_gradient
from portarray._kernel_language.derivatives.simple_statements import Unsupported
from portarray._kernel_language.frontend import read_kernel
from portarray._kernel_language.host_copies import on_host
from portarray._kernel_language.scope import Shared
from portarray._kernel_language.setting import Setting
from portarray.errors import KernelSyntaxError

_FLOAT = np.dtype(np.float64)
_INT = np.dtype(np.int32)


def check_definition(definition: Definition) -> None:
    """Raise NoGradientError if a kernel does not have an adjoint, whatever its arguments are.

    It is read for arrays of float64, with as many axes as it indexes. If its text does not tell
    these types, or it is not valid for them, its first call checks it.
    """
    parameters = _guessed(definition)
    if parameters is None:
        return
    dtypes = frozenset(np.dtype(name) for name in ("bool", "int32", "int64", "float32", "float64"))
    setting = Setting(default=_FLOAT, dtypes=dtypes, ndim=_axes(definition))
    try:
        function = read_kernel(definition.source, parameters, setting, Shared())
    except KernelSyntaxError:
        return
    differentiated = frozenset(name for name, x in parameters.items() if isinstance(x, types.Array))
    try:
        adjoint_of(function, setting, differentiated)
    except Unsupported as error:
        raise no_gradient(definition, error) from None


def _guessed(definition: Definition) -> dict[str, Any] | None:
    """Return types of arguments by their uses: None if a parameter is used in other ways."""
    counts: dict[str, set[int]] = {}  # of indices
    integers: set[str] = set()
    for name, index in _indexed(definition):
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        counts.setdefault(name, set()).add(len(parts))
        integers.update(x.id for part in parts for x in ast.walk(part) if isinstance(x, ast.Name))
    for node in definition.source.nodes():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "range":
                integers.update(x.id for x in ast.walk(node) if isinstance(x, ast.Name))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            counts.setdefault(node.value.id, set())
    parameters: dict[str, Any] = {}
    at = definition.source.node
    for name, is_static in zip(definition.names, definition.is_static, strict=True):
        if is_static or len(counts.get(name, ())) > 1 or counts.get(name) == set():
            return None
        if name in counts:
            dtype = _INT if name in integers else _FLOAT
            (ndim,) = counts[name]
            parameters[name] = types.Array(name, dtype, ndim)
        else:
            type_ = types.weak_int(types.INDEX_BITS) if name in integers else types.WEAK_FLOAT
            parameters[name] = tree.Variable(at, type_, name)
    return parameters


def _indexed(definition: Definition) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names of indexed parameters with the indices."""
    for node in definition.source.nodes():
        pair: list[ast.expr] = []
        if isinstance(node, ast.Subscript):
            pair = [node.value, node.slice]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            pair = node.args[:2] if node.func.attr.startswith("atomic_") else []
        if len(pair) == 2 and isinstance(pair[0], ast.Name) and pair[0].id in definition.names:
            yield pair[0].id, pair[1]


def _axes(definition: Definition) -> int:
    """Return how many axes of an ndrange a kernel asks for."""
    axes = 1
    for node in definition.source.nodes():
        if isinstance(node, ast.Assign) and ast.unparse(node.value).endswith(".index()"):
            axes = max(axes, *[len(getattr(target, "elts", [0])) for target in node.targets])
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".index") and node.args:
            axis = getattr(node.args[0], "value", None)
            axes = max(axes, axis + 1) if isinstance(axis, int) else axes
    return axes


def differences(
    definition: Definition,
    adjoints: AdjointCache,
    spec: CallSpec,
    interpret: Callable[..., Any],
    interpret_adjoint: Callable[..., Any],
) -> dict[str, float]:
    """Return how much the adjoint differs from central differences, by the arrays of a call.

    Both are computed by the interpreter in float64, in a random direction. The differences are
    relative to the derivative. Arrays along whose direction the kernel is not smooth are left out.
    """
    rng = np.random.default_rng(0)
    floats = [n for n, x in enumerate(spec.args) if type(x) is Array and x.dtype.kind == "f"]
    args = [
        conversion.asarray(on_host(x), dtype=_FLOAT if n in floats else None, device="numpy")
        if type(x) is Array
        else x
        for n, x in enumerate(spec.args)
    ]
    ranges = {"ndrange": spec.ndrange, "group": spec.group}
    exact = arguments.call_spec(definition, tuple(args), {}, spec.ndrange, spec.group)
    written = adjoints.written(exact)
    entry = adjoints.of(exact, frozenset(definition.names[n] for n in floats))
    weights = {definition.names[n]: rng.normal(size=args[n].shape) for n in written if n in floats}

    def value(position: int, moved: Any) -> float:
        changed = [moved if n == position else x for n, x in enumerate(args)]
        outputs = zip(_sequence(interpret(*changed, **ranges)), written, strict=True)
        pairs = [(weights.get(definition.names[n]), y) for y, n in outputs]
        return sum(float(np.sum(w * np.asarray(y))) for w, y in pairs if w is not None)

    adjoint = entry.adjoint
    by_name = dict(zip(definition.names, args, strict=True))
    cotangents = {
        name: conversion.asarray(weights.get(name, np.zeros(by_name[name].shape)), device="numpy")
        for name in adjoint.cotangents
    }
    passed = [*cotangents.values(), *[by_name[name] for name in adjoint.values]]
    sizes = exact.sizes(written) or (1,)
    if adjoint.written and 0 not in sizes:
        outputs = interpret_adjoint(entry, *passed, ndrange=sizes, group=spec.group)
        cotangents.update(zip(adjoint.written, _sequence(outputs), strict=False))
    out = {}
    for n in floats:
        name, x = definition.names[n], np.asarray(args[n])
        direction = rng.normal(size=x.shape)
        g = np.asarray(cotangents[name]) if name in cotangents else np.zeros(x.shape)
        steps = [1e-5, 2e-5]
        fine, coarse = (
            (value(n, conversion.asarray(x + h * direction, device="numpy"))
             - value(n, conversion.asarray(x - h * direction, device="numpy"))) / (2 * h)
            for h in steps
        )  # fmt: skip
        scale = 1.0 + float(np.sum(np.abs(g * direction)))
        if abs(fine - coarse) < 1e-6 * scale:  # not across a jump
            out[name] = abs(float(np.sum(g * direction)) - fine) / scale
    return out


def _sequence(returned: Any) -> Sequence[Any]:
    return returned if type(returned) is tuple else (returned,)

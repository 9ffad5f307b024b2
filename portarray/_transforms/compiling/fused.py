"""Fused kernels as steps of a program."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import portarray.kernel_language as kl
from portarray._array import dispatch
from portarray._devices.device import Device
from portarray._kernel_language import arguments, preparing, source
from portarray._kernel_language.definition import define
from portarray._kernel_language.launch_cache import put as remember
from portarray._kernel_language.preparing import Prepared
from portarray._kernel_language.ranges import launch_ranges
from portarray._launchers.launcher import strides_of
from portarray._transforms.compiling import fusion, texts
from portarray._transforms.compiling.explanation import FusedKernel
from portarray._transforms.compiling.expressions import ELEMENTWISE, REDUCTIONS
from portarray._transforms.compiling.fusion import Group, is_alias
from portarray._transforms.compiling.graph import Constant, Graph, Node, Ref, refs
from portarray._transforms.compiling.texts import KernelText
from portarray._transforms.standard import pa
from portarray.errors import PortarrayError

__all__ = ["Fused", "fused_steps"]

CPU_LANES = 16
"""Work-items of a row on CPUs: the numbers in a wide register."""
GPU_LANES = 256
MOST_KERNELS = 1024
"""Kernels for several sizes that a compiled function remembers."""


class Fused:
    """A kernel that computes several nodes."""

    def __init__(
        self,
        graph: Graph,
        made: KernelText,
        device: Device,
        calls: list[str],
        compiled: dict[Any, Any] | None,
    ) -> None:
        self.outputs = made.outputs
        self._inputs = [x.number for x in made.arrays if x.__class__ is Ref]
        self._constants = [
            (n, x.native) for n, x in enumerate(made.arrays) if x.__class__ is Constant
        ]
        values = [graph.values[n] for n in made.outputs]
        namespace = dispatch.functions_of(device).namespace
        self._empty = namespace.empty
        self._assign = namespace.setitem
        self._layout = device._backend.layout
        self._native = device.native
        self._array_type = device._backend.array_type
        shapes = [
            own if _is_total(own, value.shape) else value.shape
            for own, value in zip(made.output_shapes, values, strict=True)
        ]
        self._made = [
            (shape, value.native_dtype) for shape, value in zip(shapes, values, strict=True)
        ]
        self._totals = [
            (n, _total(graph, number, namespace))
            for n, number in enumerate(made.outputs)
            if _is_total(made.output_shapes[n], values[n].shape)
        ]
        self._shapes = [(s, strides_of(s)) for s in (*made.output_shapes, *made.array_shapes)]
        self._own_shapes = [
            *shapes,
            *(_shape(graph, x) for x in made.arrays),
        ]
        self.key, ready, self._items = _prepared(graph, made, device, compiled)
        # NumPy's results without axes are no arrays.
        self._numbers = [n for n, shape in enumerate(self._own_shapes) if shape == ()]
        self._array_type, self._asarray = device._backend.array_type, namespace.asarray
        self._launch, self._values = ready.launch, ready.values
        self._rounded, self._items = launch_ranges(
            ready.draft.launcher, made.ndrange, self._items, barriers=ready.draft.tree.barriers
        )
        self._sizes = made.ndrange
        # What a program that gives memory on asks: see "buffers".
        self.whole = [
            n for n, value in enumerate(values) if not _is_total(made.output_shapes[n], value.shape)
        ]
        self._read_once = {
            x.number: shape
            for x, shape in zip(made.arrays, made.array_shapes, strict=True)
            if x.__class__ is Ref and self._inputs.count(x.number) == 1
        }
        self._by_elements = made.group is None
        reads = sum(_bytes(graph, x, device) for x in made.arrays)
        writes = sum(math.prod(x.shape) * x.dtype.itemsize for x in values)
        self.told = FusedKernel(
            tuple(calls), made.text, device, math.prod(self._sizes), reads, writes
        )

    def inputs(self) -> list[int]:
        """Return the numbers of the values that it takes."""
        return self._inputs

    def is_read_at(self, number: int, place: int) -> bool:
        """Tell whether each element of an input is read where one of an output is written."""
        return (
            self._by_elements
            and self._read_once.get(number) == self._sizes == (self._shapes[place][0])
        )

    def __call__(self, *natives: Any, into: Sequence[Any] = ()) -> list[Any]:
        """Run the kernel and return new arrays, or those of ``into`` that are not None."""
        made: list[Any] = list(into) or [None] * len(self._made)
        for n, (shape, dtype) in enumerate(self._made):
            if made[n] is None or self._offset(made[n], shape) is None:
                made[n] = self._empty(shape, dtype=dtype, device=self._native)
        arrays = [*made, *natives]
        for n, x in self._constants:
            arrays.insert(len(made) + n, x)
        for n in self._numbers:
            if arrays[n].__class__ is not self._array_type:
                arrays[n] = self._asarray(arrays[n])
        layouts = []
        for n, (x, shape) in enumerate(zip(arrays, self._own_shapes, strict=True)):
            offset = self._offset(x, shape)
            if offset is None:
                arrays[n] = copy = self._empty(shape, dtype=x.dtype, device=self._native)
                self._assign(copy, (...,), x)
                offset = self._offset(copy, shape)
            own, steps = self._shapes[n]
            layouts.append((own, steps, offset))
        self._launch(arrays, self._values(layouts, self._sizes, ()), self._rounded, self._items)
        for n, total in self._totals:
            made[n] = total(made[n])
        return made

    def _offset(self, x: Any, shape: tuple[int, ...]) -> int | None:
        """Return the offset of an array in C order, None for others and for NumPy's scalars."""
        if x.__class__ is not self._array_type:
            return None
        try:
            _, strides, offset = self._layout(x)
        except ValueError:  # strides that are no multiples of the size of an element
            return None
        return None if arguments.is_strided(shape, strides) else offset


def _is_total(own: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Tell whether a kernel computes parts of a total."""
    return math.prod(own) != math.prod(shape)


def _total(graph: Graph, number: int, namespace: Any) -> Callable[[Any], Any]:
    """Return what combines the totals of parts."""
    value = graph.values[number]
    assert value.node is not None
    name = "sum" if value.node.name == "mean" else value.node.name
    reduce = getattr(namespace, name)
    options = {"dtype": value.native_dtype} if name in ("sum", "prod") else {}

    def total(parts: Any) -> Any:
        return namespace.reshape(reduce(parts, **options), value.shape)

    return total


def _shape(graph: Graph, x: Ref | Constant) -> tuple[int, ...]:
    return graph.values[x.number].shape if isinstance(x, Ref) else tuple(x.native.shape)


def _dtype(graph: Graph, x: Ref | Constant, device: Device) -> np.dtype[Any]:
    if isinstance(x, Ref):
        return graph.values[x.number].dtype
    found: np.dtype[Any] = dispatch.tables_of(device)[x.native.dtype].dtype
    return found


def _bytes(graph: Graph, x: Ref | Constant, device: Device) -> int:
    return math.prod(_shape(graph, x)) * _dtype(graph, x, device).itemsize


def _prepared(
    graph: Graph, made: KernelText, device: Device, compiled: dict[Any, Any] | None
) -> tuple[Any, Prepared, Any]:
    """Return a kernel for arrays in C order, which may be compiled before, and its group."""
    dtypes = [graph.values[n].dtype for n in made.outputs]
    dtypes += [_dtype(graph, x, device) for x in made.arrays]
    shapes = (*made.output_shapes, *made.array_shapes)
    samples = [
        pa.empty((1,) * len(shape), dtype=dtype, device=device)
        for shape, dtype in zip(shapes, dtypes, strict=True)
    ]
    own = define(source.generated(made.text, "fused", {"kl": kl, "math": math, "pa": pa}), ())
    asked = arguments.asked(own, tuple(samples), {}, made.ndrange, made.group)
    key = made.text, asked.key
    ready = None if compiled is None else compiled.get(key)
    if ready is None:
        ready = preparing.prepare(own, asked)
        if compiled is not None:
            remember(compiled, key, ready, MOST_KERNELS)
    return key, ready, asked.group


def fused_steps(
    graph: Graph, compiled: dict[Any, Any] | None = None
) -> tuple[list[Any], list[FusedKernel], dict[str, str]]:
    """Return the steps of a graph: nodes, and kernels for several of them; and reasons.

    With ``compiled``, where kernels are kept, their texts have no sizes.
    """
    reasons: dict[str, str] = {}
    launchers = {device: device._backend.launcher(device.native) for device in graph.devices()}
    for device, launcher in launchers.items():
        if not isinstance(launcher, str) and launcher.immutable:
            launchers[device] = launcher = "its arrays cannot be written into"
        if isinstance(launcher, str):
            reasons[str(device)] = launcher

    def fusable(node: Node) -> str:
        if isinstance(launchers[node.device], str):
            return "no kernels there"
        return _why_not(graph, node)

    def worth(group: Group, calls: int) -> bool:
        if calls < 2 or not math.prod(group.domain):
            return False
        backend = graph.nodes[group.nodes[0]].device._backend
        return calls * math.prod(group.domain) > backend.launch_cost

    groups, others = fusion.fuse(graph, fusable, worth)
    reasons.update(others)
    kept = refs(graph.outputs)
    last: dict[int, Fused] = {}
    inside: set[int] = set()
    for group in groups:
        device = graph.nodes[group.nodes[0]].device
        needed = fusion.outputs(graph, group, kept)
        made = texts.text_of(
            graph, group, needed, _uniform(device), _lanes(device), sized=compiled is not None
        )
        calls = [graph.nodes[n].name for n in group.nodes if not is_alias(graph.nodes[n])]
        try:
            last[group.nodes[-1]] = Fused(graph, made, device, calls, compiled)
        except PortarrayError as error:  # its calls are made one by one
            reasons[", ".join(calls)] = str(error).partition("\n")[0]
        else:
            inside.update(group.nodes)
    steps = [
        last.get(n, node) for n, node in enumerate(graph.nodes) if n in last or n not in inside
    ]
    return _ordered(graph, steps), [one.told for one in last.values()], reasons


def _ordered(graph: Graph, steps: Sequence[Any]) -> list[Any]:
    """Return steps each after those that it depends on: a kernel computes values early or late."""
    known = set(graph.inputs)
    rest = list(steps)
    out: list[Any] = []
    while rest:
        waiting = []
        for step in rest:
            if known.issuperset(step.inputs()):
                out.append(step)
                known.update(step.outputs)
            else:
                waiting.append(step)
        assert len(waiting) < len(rest), "the groups of a graph depend on each other"
        rest = waiting
    return out


def _why_not(graph: Graph, node: Node) -> str:
    """Return why a node cannot be part of a kernel."""
    if node.several or (node.name not in ELEMENTWISE and node.name not in REDUCTIONS):
        return "kernels call it as it is"
    operands = [x for x in node.args if isinstance(x, (Ref, Constant))]
    dtypes = [graph.values[node.outputs[0]].dtype]
    dtypes += [_dtype(graph, x, node.device) for x in operands]
    if any(dtype.kind == "c" for dtype in dtypes) or any(isinstance(x, complex) for x in node.args):
        return "kernels have no complex numbers"
    if node.name in REDUCTIONS:
        if any(dtype.kind == "b" for dtype in dtypes) or "where" in node.options:
            return "a reduction of truth values"
    elif set(node.options) - {"approximate", "copy", "device"}:
        return f"with {', '.join(node.options)}"
    return ""


def _lanes(device: Device) -> Callable[[int], int]:
    def lanes(length: int) -> int:
        most = CPU_LANES if device.kind == "cpu" else GPU_LANES
        while most > 2 and most // 2 >= length:
            most //= 2
        return most

    return lanes


def _uniform(device: Device) -> Callable[[Constant], Any]:
    """Return what tells the number that all elements of a constant are."""

    def uniform(x: Constant) -> Any:
        if not hasattr(x.native, "shape") or not math.prod(x.native.shape):
            return None
        if isinstance(x.native, np.ndarray):
            values = x.native
        else:
            values = device._backend.read_host(x.native, device.native)
        first = values.reshape(-1)[0]
        if values.dtype.kind == "c" or not (values == first).all():
            return None
        if first == 0 and values.dtype.kind not in "biu" and np.signbit(values).any():
            return None
        return first

    return uniform

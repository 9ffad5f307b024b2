"""Fused kernels as steps of a program."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import portarray.kernel_language as kl
from portarray import _codegen
from portarray._array import dispatch
from portarray._devices.device import Device
from portarray._kernel_language import arguments, preparing
from portarray._kernel_language.definition import define
from portarray._kernel_language.launch_cache import put
from portarray._kernel_language.preparing import Prepared
from portarray._kernel_language.ranges import launch_ranges
from portarray._launchers.launcher import strides_of
from portarray._namespace import pa
from portarray._transforms.compiling import fusion
from portarray._transforms.compiling.explanation import FusedKernel
from portarray._transforms.compiling.expressions import ELEMENTWISE, REDUCTIONS
from portarray._transforms.compiling.fusion import Group, is_alias
from portarray._transforms.compiling.graph import Constant, Graph, Node, Ref, refs
from portarray._transforms.compiling.kernel_source import KernelText, KernelWriter
from portarray.errors import PortarrayError

__all__ = ["Fused", "fused_steps"]

CPU_LANES = 16
"""Work-items per row on CPUs: the elements in a wide register."""
GPU_LANES = 256
MOST_KERNELS = 1024
"""Size-generic kernels that a compiled function caches."""


class Fused:
    """A step of a program: a kernel that computes several nodes."""

    def __init__(
        self,
        graph: Graph,
        kernel: KernelText,
        device: Device,
        calls: list[str],
        compiled: dict[Any, Any] | None,
    ) -> None:
        self.outputs = kernel.outputs
        self._inputs = [x.index for x in kernel.arrays if x.__class__ is Ref]
        self._constants = [
            (n, x.native) for n, x in enumerate(kernel.arrays) if x.__class__ is Constant
        ]
        values = [graph.values[n] for n in kernel.outputs]
        namespace = dispatch.functions_of(device).namespace
        self._empty = namespace.empty
        self._assign = namespace.setitem
        self._layout = device._backend.layout
        self._native = device.native
        self._array_type = device._backend.array_type
        shapes = [
            computed if _is_total(computed, value.shape) else value.shape
            for computed, value in zip(kernel.output_shapes, values, strict=True)
        ]
        self._output_specs = [
            (shape, value.native_dtype) for shape, value in zip(shapes, values, strict=True)
        ]
        self._totals = [
            (n, _total(graph, index, namespace))
            for n, index in enumerate(kernel.outputs)
            if _is_total(kernel.output_shapes[n], values[n].shape)
        ]
        self._shapes = [(s, strides_of(s)) for s in (*kernel.output_shapes, *kernel.array_shapes)]
        self._own_shapes = [
            *shapes,
            *(_shape(graph, x) for x in kernel.arrays),
        ]
        self.key, ready, self._items = _prepared(graph, kernel, device, compiled)
        # NumPy returns scalars instead of 0-d arrays.
        self._numbers = [n for n, shape in enumerate(self._own_shapes) if shape == ()]
        self._array_type, self._asarray = device._backend.array_type, namespace.asarray
        self._launch, self._values = ready.launch, ready.values
        self._rounded, self._items = launch_ranges(
            ready.draft.launcher, kernel.ndrange, self._items, barriers=ready.draft.tree.barriers
        )
        self._sizes = kernel.ndrange
        # For buffer reuse, see buffers.py.
        self.whole = [
            n
            for n, value in enumerate(values)
            if not _is_total(kernel.output_shapes[n], value.shape)
        ]
        self._read_once = {
            x.index: shape
            for x, shape in zip(kernel.arrays, kernel.array_shapes, strict=True)
            if x.__class__ is Ref and self._inputs.count(x.index) == 1
        }
        self._by_elements = kernel.group is None
        reads = sum(_bytes(graph, x, device) for x in kernel.arrays)
        writes = sum(math.prod(x.shape) * x.dtype.itemsize for x in values)
        self.description = FusedKernel(
            tuple(calls), kernel.text, device, math.prod(self._sizes), reads, writes
        )

    @property
    def has_totals(self) -> bool:
        """Whether calls of the library combine what the kernel computes."""
        return bool(self._totals)

    def inputs(self) -> list[int]:
        """Return the indices of its input values."""
        return self._inputs

    def constants(self) -> list[Constant]:
        """Return its constant inputs."""
        return [Constant(x) for _, x in self._constants]

    def is_read_at(self, index: int, position: int) -> bool:
        """Return whether each element of an input is read only where an output's is written."""
        return (
            self._by_elements
            and self._read_once.get(index) == self._sizes == (self._shapes[position][0])
        )

    def __call__(self, *natives: Any, into: Sequence[Any] = ()) -> list[Any]:
        """Run the kernel and return its outputs: arrays of ``into``, or new ones for None."""
        outputs: list[Any] = list(into) or [None] * len(self._output_specs)
        for n, (shape, dtype) in enumerate(self._output_specs):
            if outputs[n] is None or self._offset(outputs[n], shape) is None:
                outputs[n] = self._empty(shape, dtype=dtype, device=self._native)
        arrays = [*outputs, *natives]
        for n, x in self._constants:
            arrays.insert(len(outputs) + n, x)
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
            kernel_shape, steps = self._shapes[n]
            layouts.append((kernel_shape, steps, offset))
        self._launch(arrays, self._values(layouts, self._sizes, ()), self._rounded, self._items)
        for n, total in self._totals:
            outputs[n] = total(outputs[n])
        return outputs

    def _offset(self, x: Any, shape: tuple[int, ...]) -> int | None:
        """Return the offset of an array in C order, None for others and for NumPy scalars."""
        if x.__class__ is not self._array_type:
            return None
        try:
            _, strides, offset = self._layout(x)
        except ValueError:  # strides that are not multiples of the item size
            return None
        return None if arguments.is_strided(shape, strides) else offset


def _is_total(computed: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Return whether a kernel computes parts of a total."""
    return math.prod(computed) != math.prod(shape)


def _total(graph: Graph, index: int, namespace: Any) -> Callable[[Any], Any]:
    """Return a function that combines the totals of parts."""
    value = graph.values[index]
    assert value.node is not None
    name = "sum" if value.node.name == "mean" else value.node.name
    reduce = getattr(namespace, name)
    options = {"dtype": value.native_dtype} if name in ("sum", "prod") else {}

    def total(parts: Any) -> Any:
        return namespace.reshape(reduce(parts, **options), value.shape)

    return total


def _shape(graph: Graph, x: Ref | Constant) -> tuple[int, ...]:
    return graph.values[x.index].shape if isinstance(x, Ref) else tuple(x.native.shape)


def _dtype(graph: Graph, x: Ref | Constant, device: Device) -> np.dtype[Any]:
    if isinstance(x, Ref):
        return graph.values[x.index].dtype
    dtype: np.dtype[Any] = dispatch.tables_of(device)[x.native.dtype].dtype
    return dtype


def _bytes(graph: Graph, x: Ref | Constant, device: Device) -> int:
    return math.prod(_shape(graph, x)) * _dtype(graph, x, device).itemsize


def _prepared(
    graph: Graph, kernel: KernelText, device: Device, compiled: dict[Any, Any] | None
) -> tuple[Any, Prepared, Any]:
    """Return the key and compiled kernel for arrays in C order, and its group size."""
    dtypes = [graph.values[n].dtype for n in kernel.outputs]
    dtypes += [_dtype(graph, x, device) for x in kernel.arrays]
    shapes = (*kernel.output_shapes, *kernel.array_shapes)
    samples = [
        pa.empty((1,) * len(shape), dtype=dtype, device=device)
        for shape, dtype in zip(shapes, dtypes, strict=True)
    ]
    definition = define(
        _codegen.define("fused", kernel.text, {"kl": kl, "math": math, "pa": pa}), ()
    )
    request = arguments.call_spec(definition, tuple(samples), {}, kernel.ndrange, kernel.group)
    key = kernel.text, request.key
    ready = None if compiled is None else compiled.get(key)
    if ready is None:
        ready = preparing.prepare(definition, request)
        if compiled is not None:
            put(compiled, key, ready, MOST_KERNELS)
    return key, ready, request.group


def fused_steps(
    graph: Graph, compiled: dict[Any, Any] | None = None
) -> tuple[list[Any], list[FusedKernel], dict[str, str]]:
    """Return the steps of a graph (nodes and fused kernels), the kernels, and reasons.

    ``compiled`` is a cache of kernels; with it, their sources contain no sizes.
    """
    reasons: dict[str, str] = {}
    launchers = {device: device._backend.launcher(device.native) for device in graph.devices()}
    for device, launcher in launchers.items():
        if not isinstance(launcher, str) and launcher.immutable:
            launchers[device] = launcher = "its arrays are immutable"
        if isinstance(launcher, str):
            reasons[str(device)] = launcher

    def fusable(node: Node) -> str:
        if isinstance(launchers[node.device], str):
            return "the device has no kernels"
        return _reason_unsupported(graph, node)

    def worth(group: Group, calls: int) -> bool:
        if calls < 2 or not math.prod(group.domain):
            return False
        backend = graph.nodes[group.nodes[0]].device._backend
        return calls * math.prod(group.domain) > backend.launch_cost

    groups, others = fusion.fuse(graph, fusable, worth)
    reasons.update(others)
    graph_outputs = refs(graph.outputs)
    last: dict[int, Fused] = {}
    inside: set[int] = set()
    for group in groups:
        device = graph.nodes[group.nodes[0]].device
        needed = fusion.outputs(graph, group, graph_outputs)
        kernel = KernelWriter(
            graph, group, needed, _uniform(device), _lanes(device), sized=compiled is not None
        ).written()
        calls = [graph.nodes[n].name for n in group.nodes if not is_alias(graph.nodes[n])]
        try:
            last[group.nodes[-1]] = Fused(graph, kernel, device, calls, compiled)
        except PortarrayError as error:  # the calls run one by one
            reasons[", ".join(calls)] = str(error).partition("\n")[0]
        else:
            inside.update(group.nodes)
    steps = [
        last.get(n, node) for n, node in enumerate(graph.nodes) if n in last or n not in inside
    ]
    return (
        _ordered(graph, steps),
        [kernel_step.description for kernel_step in last.values()],
        reasons,
    )


def _ordered(graph: Graph, steps: Sequence[Any]) -> list[Any]:
    """Return steps in dependency order: a kernel may compute values earlier or later."""
    computed = set(graph.inputs)
    remaining = list(steps)
    out: list[Any] = []
    while remaining:
        waiting = []
        for step in remaining:
            if computed.issuperset(step.inputs()):
                out.append(step)
                computed.update(step.outputs)
            else:
                waiting.append(step)
        assert len(waiting) < len(remaining), "the groups of a graph depend on each other"
        remaining = waiting
    return out


def _reason_unsupported(graph: Graph, node: Node) -> str:
    """Return why a node cannot be part of a kernel, "" if it can."""
    if node.several or (node.name not in ELEMENTWISE and node.name not in REDUCTIONS):
        return "not elementwise and not a reduction"
    operands = [x for x in node.args if isinstance(x, (Ref, Constant))]
    dtypes = [graph.values[node.outputs[0]].dtype]
    dtypes += [_dtype(graph, x, node.device) for x in operands]
    if any(0 in shape for shape in (_shape(graph, x) for x in (*operands, Ref(node.outputs[0])))):
        return "no elements"
    if any(dtype.kind == "c" for dtype in dtypes) or any(isinstance(x, complex) for x in node.args):
        return "kernels do not support complex numbers"
    if node.name in REDUCTIONS:
        if any(dtype.kind == "b" for dtype in dtypes) or "where" in node.options:
            return "a reduction of booleans"
    elif set(node.options) - {"approximate", "copy", "device"}:
        return f"with {', '.join(node.options)}"
    if node.name == "clip" and not all(_is_bound(x, dtypes) for x in node.args[1:]):
        return "with bounds that the dtype does not hold"
    if node.name == "pow" and dtypes[0].kind == "i" and not _is_natural(node.args[1]):
        return "negative powers of integers are an error"
    return ""


def _is_bound(x: Any, dtypes: Sequence[np.dtype[Any]]) -> bool:
    """Return whether a bound of ``clip`` needs no conversion to the dtype of the clipped array."""
    if isinstance(x, (Ref, Constant)):
        return len(set(dtypes)) == 1
    if x is None or dtypes[0].kind not in "iu":
        return True
    limits = np.iinfo(dtypes[0])
    return bool(limits.min <= x <= limits.max)


def _is_natural(x: Any) -> bool:
    return isinstance(x, int) and x >= 0


def _lanes(device: Device) -> Callable[[int], int]:
    def lanes(length: int) -> int:
        most = CPU_LANES if device.kind == "cpu" else GPU_LANES
        while most > 2 and most // 2 >= length:
            most //= 2
        return most

    return lanes


def _uniform(device: Device) -> Callable[[Constant], Any]:
    """Return a function that returns the value of a uniform constant, None for others."""

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

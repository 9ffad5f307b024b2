"""Source of fused kernels, in the kernel language."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from portarray._transforms.compiling import expressions
from portarray._transforms.compiling.expressions import COSTLY, REDUCTIONS
from portarray._transforms.compiling.fusion import Axes, Group, is_alias
from portarray._transforms.compiling.graph import Constant, Graph, Node, Ref

__all__ = ["KernelText", "KernelWriter"]


@dataclass(frozen=True, slots=True)
class KernelText:
    """The source of a kernel and its launch parameters.

    Its parameters are the ``outputs``, then the ``arrays`` that it reads. ``output_shapes`` and
    ``array_shapes`` are the shapes inside the kernel.
    """

    text: str
    outputs: list[int]
    output_shapes: list[tuple[int, ...]]
    arrays: list[Ref | Constant]
    array_shapes: list[tuple[int, ...]]
    ndrange: tuple[int, ...]
    group: tuple[int, ...] | None


class KernelWriter:
    """A writer of the kernel of a group.

    ``constant`` returns the value of a uniform constant, or None; ``lanes`` returns how many
    work-items share a row of a given length. With ``sized`` the source contains no sizes.
    """

    def __init__(
        self,
        graph: Graph,
        group: Group,
        outputs: Sequence[int],
        constant: Callable[[Constant], Any],
        lanes: Callable[[int], int],
        *,
        sized: bool,
    ) -> None:
        self.graph = graph
        self.group = group
        self.outputs = list(outputs)
        self.constant = constant
        self.nodes = [graph.nodes[n] for n in group.nodes]
        self.node_of = {node.outputs[0]: node for node in self.nodes}
        self.arrays: dict[tuple[Any, Axes], tuple[str, Ref | Constant, Axes]] = {}
        self.operands: dict[int, list[str | tuple[Any, Axes]]] = {}
        for node in self.nodes:
            self._find_operands(node)
        self._collapse()
        self.row = math.prod(self.sizes[self.first_inner :])
        self.sized = sized
        self.holder: dict[int, int] = {}  # costly value to the output that stores it
        size_texts = [self._size_text(n) for n in range(len(self.sizes))]
        self.row_text = " * ".join(size_texts[self.first_inner :]) if sized else str(self.row)
        self.part_text = size_texts[0]
        self.lanes = lanes(self.row) if group.inner is not None else 0
        self.index = [f"i{n}" for n in range(len(self.sizes))]
        if group.inner is not None:
            outer, inner = size_texts[: self.first_inner], size_texts[self.first_inner :]
            self.index = [*_unravelled("row", outer), *_unravelled("(begin + lane)", inner)]

    def _find_operands(self, node: Node) -> None:
        operands: list[str | tuple[Any, Axes]] = []
        axes = self.group.axes[node.outputs[0]]
        for x in node.args[:1] if node.name in REDUCTIONS or is_alias(node) else node.args:
            if x.__class__ is Ref and x.index in self.node_of:
                operands.append(f"v{x.index}")
            elif x.__class__ in (Ref, Constant):
                scalar = self.constant(x) if x.__class__ is Constant else None
                if scalar is not None:
                    dtype = np.dtype(scalar.dtype)
                    value = expressions.literal(scalar)
                    operands.append(value if dtype.kind == "b" else expressions.cast(value, dtype))
                else:
                    array_axes = self._own_axes(node, x, axes)
                    key = (x.index if x.__class__ is Ref else x, array_axes)
                    if key not in self.arrays:
                        self.arrays[key] = (f"x{len(self.arrays)}", x, array_axes)
                    operands.append(key)
            elif node.name == "astype":
                break  # its dtype
            else:
                operands.append("None" if x is None else expressions.literal(x))
        self.operands[node.outputs[0]] = operands

    def _own_axes(self, node: Node, x: Ref | Constant, axes: Axes) -> Axes:
        shape = self.graph.values[x.index].shape if isinstance(x, Ref) else x.native.shape
        if node.name in REDUCTIONS:
            return tuple([n if size > 1 else -1 for n, size in enumerate(shape)])
        aligned = axes[len(axes) - len(shape) :]
        return tuple([axis if size > 1 else -1 for axis, size in zip(aligned, shape, strict=True)])

    def _collapse(self) -> None:
        """Merge neighbouring axes that every array has or lacks together."""
        group = self.group
        every = [axes for _, _, axes in self.arrays.values()]
        every += [group.axes[index] for index in self.outputs]
        self.kernel_axis: dict[int, int] = {}  # axis of the domain to axis of the kernel
        self.sizes: list[int] = []
        self.first_inner = 0
        last: Any = None
        for axis, size in enumerate(group.domain):
            if size <= 1:
                continue
            is_inner = group.inner is not None and axis >= group.inner
            pattern = (is_inner, *[axis in axes for axes in every])
            if pattern == last:
                self.sizes[-1] *= size
            else:
                self.sizes.append(size)
                last = pattern
            self.kernel_axis[axis] = len(self.sizes) - 1
            if not is_inner:
                self.first_inner = len(self.sizes)
        if not self.sizes:
            self.sizes, self.first_inner = [1], 1
        if group.parts:
            self.kernel_axis = dict.fromkeys(self.kernel_axis, 0)
            self.sizes, self.first_inner = [group.parts, self.sizes[0] // group.parts], 1

    def _kernel_axes(self, axes: Axes) -> list[int]:
        if self.group.parts:
            return [0, 1] if self.group.is_full(axes) else []
        return sorted({self.kernel_axis[axis] for axis in axes if axis >= 0})

    def _shape(self, axes: Axes) -> tuple[int, ...]:
        return tuple([self.sizes[n] for n in self._kernel_axes(axes)]) or (1,)

    def _index(self, axes: Axes) -> str:
        return ", ".join(self.index[n] for n in self._kernel_axes(axes)) or "0"

    def _output_shape(self, index: int) -> tuple[int, ...]:
        if self.group.parts and not self._is_full(index):
            return (self.group.parts,)
        return self._shape(self.group.axes[index])

    def _output_index(self, index: int) -> str:
        if self.group.parts and not self._is_full(index):
            return "row"
        return self._index(self.group.axes[index])

    def _is_full(self, index: int) -> bool:
        return self.group.is_full(self.group.axes[index])

    def _size_text(self, axis: int) -> str:
        """Return the source of the length of an axis of the kernel."""
        parameters = [(name, self._kernel_axes(axes)) for name, _, axes in self.arrays.values()]
        parameters += [
            (f"o{n}", self._kernel_axes(self.group.axes[index]))
            for n, index in enumerate(self.outputs)
            if self._is_full(index) or not self.group.parts
        ]
        for name, axes_there in parameters if self.sized else ():
            if axis in axes_there:
                return f"{name}.shape[{axes_there.index(axis)}]"
        return str(self.sizes[axis])

    def written(self) -> KernelText:
        """Return the kernel."""
        names = [f"o{n}" for n in range(len(self.outputs))]
        names += [name for name, _, _ in self.arrays.values()]
        body = self._by_rows() if self.group.inner is not None else self._by_elements()
        text = f"def fused({', '.join(names)}):\n" + "".join(f"    {line}\n" for line in body)
        ndrange: tuple[int, ...] = tuple(self.sizes)
        group = None
        if self.group.inner is not None:
            ndrange, group = (
                (math.prod(self.sizes[: self.first_inner]) * self.lanes,),
                (self.lanes,),
            )
        return KernelText(
            text,
            self.outputs,
            [self._output_shape(index) for index in self.outputs],
            [x for _, x, _ in self.arrays.values()],
            [self._shape(axes) for _, _, axes in self.arrays.values()],
            ndrange,
            group,
        )

    def _by_elements(self) -> list[str]:
        lines = [f"{', '.join(f'i{n}' for n in range(len(self.sizes)))} = kl.index()"]
        lines += self._computed([node.outputs[0] for node in self.nodes], set())
        for n, index in enumerate(self.outputs):
            lines.append(f"o{n}[{self._index(self.group.axes[index])}] = v{index}")
        return lines

    def _computed(
        self, values: Sequence[int], loaded: set[str], held: Collection[int] = ()
    ) -> list[str]:
        """Return the lines that compute values, in order; ``held`` values are read from outputs."""
        lines = []
        for index in values:
            if index in held:
                lines.append(f"v{index} = {self._element_of(self.holder[index])}")
                continue
            for operand in self.operands[index]:
                if isinstance(operand, tuple):
                    name, _, axes = self.arrays[operand]
                    if f"a{name}" not in loaded:
                        loaded.add(f"a{name}")
                        lines.append(f"a{name} = {name}[{self._index(axes)}]")
            operand_texts = [
                f"a{self.arrays[operand][0]}" if isinstance(operand, tuple) else operand
                for operand in self.operands[index]
            ]
            node = self.node_of[index]
            if is_alias(node):
                lines.append(f"v{index} = {operand_texts[0]}")
            else:
                dtype = self.graph.values[index].dtype
                source = self.graph.values[node.inputs()[0]].dtype
                text = expressions.expression(node.name, operand_texts, dtype, source, node.options)
                lines.append(f"v{index} = {text}")
        return lines

    def _levels(self) -> dict[int, int]:
        """Return the number of consecutive reductions that each value depends on."""
        levels: dict[int, int] = {}
        for node in self.nodes:
            level = max([levels[n] for n in node.inputs() if n in levels], default=0)
            levels[node.outputs[0]] = level + (node.name in REDUCTIONS)
        return levels

    def _needed(self, values: Sequence[int], held: Collection[int] = ()) -> list[int]:
        """Return full values and the full values they are computed from, in order."""
        needed: set[int] = set()
        pending = [n for n in values if self._is_full(n)]
        while pending:
            index = pending.pop()
            if index in needed:
                continue
            needed.add(index)
            if index in held:
                continue
            pending += [
                n for n in self.node_of[index].inputs() if n in self.node_of and self._is_full(n)
            ]
        return [node.outputs[0] for node in self.nodes if node.outputs[0] in needed]

    def _element_of(self, index: int) -> str:
        """Return the source of an output's element."""
        at = self.outputs.index(index)
        return f"o{at}[{self._index(self.group.axes[index])}]"

    def _holding(self, levels: dict[int, int]) -> dict[int, int]:
        """Return costly values that later passes need, with outputs that can store them meanwhile.

        Each work-item writes and reads the same elements, which a CPU has in its cache. On GPUs,
        with many lanes, computing the values again is cheaper.
        """
        holders: dict[int, int] = {}
        if self.lanes > _FEW:
            return holders
        reduced = [n for n in levels if self.node_of[n].name in REDUCTIONS]
        for output in self.outputs:
            early = {
                int(operand[1:])
                for n in reduced
                if levels[n] <= levels[output] and isinstance(operand := self.operands[n][0], str)
            }
            computed = set(self._needed(sorted(early)))
            for n in reversed(self._needed([output])):
                if (
                    n in computed - set(self.outputs) - holders.keys()
                    and self.graph.values[n].dtype == self.graph.values[output].dtype
                    and self.group.axes[n] == self.group.axes[output]
                    and any(self.node_of[m].name in COSTLY for m in self._needed([n]))
                ):
                    holders[n] = output
                    break
        return holders

    def _by_rows(self) -> list[str]:
        levels, lanes, row = self._levels(), self.lanes, self.row
        self.holder = self._holding(levels)
        held: set[int] = set()
        lines = ["row = kl.group_index(0)", "lane = kl.local_index(0)"]
        if self.sized:
            lines.append(f"length = {self.row_text}")
        length = "length" if self.sized else str(row)
        shared: dict[str, str] = {}
        names: set[str] = set()  # of values loaded once per row
        row_values = [n for n in levels if not self._is_full(n)]
        passes = max([levels[n] for n in levels if self._is_full(n)], default=0)
        body: list[str] = []
        for level in range(passes + 1):
            ready = [
                n
                for n in row_values
                if levels[n] == level and self.node_of[n].name not in REDUCTIONS
            ]
            body += self._computed(ready, names)
            reduced = [
                n for n in row_values
                if self.node_of[n].name in REDUCTIONS and levels[n] == level + 1
            ]  # fmt: skip
            stored = [n for n in self.outputs if self._is_full(n) and levels[n] == level]
            operands = [self.operands[n][0] for n in reduced]
            inside = [int(operand[1:]) for operand in operands if isinstance(operand, str)]
            needed = self._needed([*inside, *stored], held)
            loop = self._computed(needed, set(names), held)
            for n in self.holder.keys() & set(needed) - held:
                if levels[self.holder[n]] > level:
                    held.add(n)
                    loop.append(f"{self._element_of(self.holder[n])} = v{n}")
            for n in reduced:
                operand = self.operands[n][0]
                if isinstance(operand, tuple) and f"a{self.arrays[operand][0]} = " not in "".join(
                    loop
                ):
                    name, _, axes = self.arrays[operand]
                    loop.append(f"a{name} = {name}[{self._index(axes)}]")
            for n in reduced:
                operand = self.operands[n][0]
                x = f"a{self.arrays[operand][0]}" if isinstance(operand, tuple) else operand
                how, kind = REDUCTIONS[self.node_of[n].name], self._accumulated(n)
                body.append(f"r{n} = {expressions.cast(how.initial(kind), kind)}")
                x = expressions.cast(x, kind)
                loop.append(f"r{n} = {how.combine.format(f'r{n}', x)}")
            for n in stored:
                loop.append(f"{self._element_of(n)} = v{n}")
            held -= {n for n in held if self.holder[n] in stored}
            if loop:
                body.append(f"for begin in range(0, {length}, {lanes}):")
                indent = "    "
                if row % lanes or self.sized:
                    body.append(f"    if begin + lane < {length}:")
                    indent = "        "
                body += [indent + line for line in loop]
            for n in reduced:
                body += self._combined(n, shared)
        remaining = [n for n in row_values if levels[n] == passes + 1]
        body += self._computed(
            [n for n in remaining if self.node_of[n].name not in REDUCTIONS], names
        )
        stored = [n for n in self.outputs if not self._is_full(n)]
        if stored:
            body.append("if lane == 0:")
            for n in stored:
                at = self.outputs.index(n)
                body.append(f"    o{at}[{self._output_index(n)}] = v{n}")
        lines += [f"{name} = kl.local(({lanes},), kl.{kind})" for kind, name in shared.items()]
        return lines + body

    def _accumulated(self, index: int) -> np.dtype[Any]:
        """Return the dtype in which a reduction is accumulated."""
        dtype = self.graph.values[index].dtype
        is_half = dtype.itemsize == 2 and dtype.kind not in "iu"
        return np.dtype(np.float32) if is_half else dtype

    def _combined(self, index: int, shared: dict[str, str]) -> list[str]:
        """Return the lines that combine the partial results of a row's lanes."""
        kind = self._accumulated(index)
        part = shared.setdefault(kind.name, f"part{len(shared)}")
        how = REDUCTIONS[self.node_of[index].name]
        r = f"r{index}"
        lines = [f"{part}[lane] = {r}", "kl.barrier()"]
        if self.lanes <= _FEW:
            lines += [
                f"{r} = {part}[0]",
                f"for k in kl.unroll(range(1, {self.lanes})):",
                f"    {r} = {how.combine.format(r, f'{part}[k]')}",
            ]
        else:
            step = self.lanes // 2
            while step:
                both = how.combine.format(f"{part}[lane]", f"{part}[lane + {step}]")
                lines += [
                    f"if lane < {step}:",
                    f"    {part}[lane] = {both}",
                    "kl.barrier()",
                ]
                step //= 2
            lines.append(f"{r} = {part}[0]")
        lines.append("kl.barrier()")
        count = str(self.row * max(self.group.parts, 1))
        if self.sized:
            count = f"length * {self.part_text}" if self.group.parts else "length"
            count = expressions.cast(count, kind)
        end = how.end.format(r, n=count)
        dtype = self.graph.values[index].dtype
        lines.append(f"v{index} = {end if dtype == kind else expressions.cast(end, dtype)}")
        return lines


_FEW = 16
"""Most lanes that each combine all partial results, without a tree reduction."""


def _unravelled(name: str, sizes: Sequence[str]) -> list[str]:
    """Return the source of the indices along several axes for a linear index."""
    indices = []
    remaining = name
    for size in reversed(sizes[1:]):
        indices.append(f"{remaining} % {size}")
        remaining = f"({remaining} // {size})"
    return [remaining, *reversed(indices)]
